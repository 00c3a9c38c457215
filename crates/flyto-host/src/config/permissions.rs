//! Rules of permission: the section `permissions` of a configuration.
//!
//! ```json
//! {"permissions": {"allow": ["Bash(git diff:*)"], "ask": ["files:*"], "deny": ["Read(~/.ssh/**)"]}}
//! ```
//!
//! Rules of several files add up, unlike other keys: a rule that denies holds whichever file it stands in, so a
//! later file must not take it away. A project that is not trusted adds rules that ask or deny, and none that allow.
//! A rule that cannot be read is an error of its file. What rules mean is decided by `flyto-permission`.

use std::path::{Path, PathBuf};

use flyto_diagnostics::{At, Findings, MAX_ENTRIES, ObjectReader, Reported, Span, quoted};
use flyto_permission::{Layer, Place, Rule, RuleError, Rules, Verdict};

use crate::{codes, links};

/// Rules that allow, ask or deny calls, each with its source. The default has none, so every call of a model is asked
/// where nothing is allowed by its class.
///
/// ```
/// use flyto_host::Config;
///
/// let mut config = Config::default();
/// config.permissions.allow("notes:*")?;
/// config.permissions.deny("Bash(rm:*)")?;
/// assert!(config.permissions.allow("Bash(git diff").is_err());
/// assert_eq!(config.permissions.len(), 2);
/// # Ok::<(), flyto_host::permission::RuleError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    rules: Vec<Written>,
    /// Whether the operator trusts the content of the project's file that is used in full.
    trusts_project: bool,
}

/// A rule as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    layer: Layer,
    effect: Verdict,
    text: String,
    place: Place,
    /// Where relative paths of it start, if not in the current directory: the directory of the project.
    dir: Option<PathBuf>,
}

/// Where the rules of a program stand that embeds the host.
const EMBEDDER: &str = "the program";

impl Permissions {
    /// Allows what a rule names, as the operator. More than 10,000 rules cost no decision more time.
    ///
    /// # Errors
    ///
    /// A text that is no rule; nothing is added.
    pub fn allow(&mut self, rule: &str) -> Result<(), RuleError> {
        self.add(Layer::Operator, Verdict::Allow, rule, Place::new(EMBEDDER, 0, 0, ""))
    }

    /// Has what a rule names asked first, as the operator.
    ///
    /// # Errors
    ///
    /// A text that is no rule; nothing is added.
    pub fn ask(&mut self, rule: &str) -> Result<(), RuleError> {
        self.add(Layer::Operator, Verdict::Ask, rule, Place::new(EMBEDDER, 0, 0, ""))
    }

    /// Denies what a rule names.
    ///
    /// # Errors
    ///
    /// A text that is no rule; nothing is added.
    pub fn deny(&mut self, rule: &str) -> Result<(), RuleError> {
        self.add(Layer::Operator, Verdict::Deny, rule, Place::new(EMBEDDER, 0, 0, ""))
    }

    /// Adds a rule of any source. Rules of a [`Layer::Project`] that allow hold only where the content of the project's
    /// file is trusted; those of a plugin never do.
    ///
    /// # Errors
    ///
    /// A text that is no rule; nothing is added.
    pub fn add(
        &mut self,
        layer: Layer,
        effect: Verdict,
        rule: &str,
        place: Place,
    ) -> Result<(), RuleError> {
        Rule::check(rule)?;
        self.rules.push(Written { layer, effect, text: rule.to_owned(), place, dir: None });
        Ok(())
    }

    /// How many rules there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules, ready to decide, with the directories in which tools of class `file` work without a rule.
    pub(crate) fn rules<'a>(&self, roots: impl IntoIterator<Item = &'a Path>) -> Rules {
        let mut res = Rules::builder();
        for Written { layer, effect, text, place, dir } in &self.rules {
            let (layer, place) = (layer.clone(), place.clone());
            let added = match dir {
                Some(dir) => res.add_in(dir, layer, *effect, text, place),
                None => res.add(layer, *effect, text, place),
            };
            added.expect("it was read before");
        }
        let res = if self.trusts_project { res.trust_project() } else { res };
        res.roots(roots).build()
    }

    /// Adds the rules of the operator's own file.
    pub(super) fn extend(&mut self, rules: Vec<Written>) {
        self.rules.extend(rules);
    }

    /// Adds the rules of a project's file that the operator trusts.
    pub(super) fn extend_trusted(&mut self, rules: Vec<Written>, file: &Path) {
        self.trusts_project = true;
        self.extend_project(rules, file, |_| true);
    }

    /// Adds what narrows of the rules of a project that is not trusted.
    pub(super) fn extend_narrowing(&mut self, rules: Vec<Written>, file: &Path) {
        self.extend_project(rules, file, |it| it.effect != Verdict::Allow);
    }

    fn extend_project(
        &mut self,
        rules: Vec<Written>,
        file: &Path,
        keeps: impl Fn(&Written) -> bool,
    ) {
        // The file is `.flyto/config.json` of the project.
        let dir = file.parent().and_then(Path::parent).map(links::real);
        let kept = rules.into_iter().filter(keeps);
        let of_project = |it| Written { layer: Layer::Project, dir: dir.clone(), ..it };
        self.rules.extend(kept.map(of_project));
    }
}

/// The keys of the section, each with its name in [`FileConfig::set`](super::file::FileConfig::set) and with what its
/// rules do.
pub(super) const KEYS: [(&str, &str, Verdict); 3] = [
    ("allow", "permissions.allow", Verdict::Allow),
    ("ask", "permissions.ask", Verdict::Ask),
    ("deny", "permissions.deny", Verdict::Deny),
];

/// Why an unknown key is an error.
const NOT_READ: &str = "a rule that is not read would not hold";

/// Reads the value of `permissions`: what can be read of it, and whether that is all.
pub(super) fn read(at: At<'_>, findings: &mut Findings) -> (Vec<Written>, Result<(), Reported>) {
    let mut rules = Vec::new();
    let mut reader = match ObjectReader::new(at, findings) {
        Ok(reader) => reader,
        Err(reported) => return (rules, Err(reported)),
    };
    let mut res = Ok(());
    for (key, _, effect) in KEYS {
        match reader.optional_string_array(key) {
            Ok(Some(_)) => {}
            Ok(None) => continue,
            // The texts in the list are rules all the same.
            Err(reported) => res = Err(reported),
        }
        for at in reader.at(key).items().take(MAX_ENTRIES) {
            let Some(text) = at.value().as_str() else { continue };
            let location = at.location();
            let (line, column) =
                location.place().map_or((0, 0), |it| (number(it.line), number(it.column)));
            let place = Place::new(location.name(), line, column, at.pointer().to_string());
            match Rule::check(text) {
                Ok(()) => rules.push(Written {
                    layer: Layer::Operator,
                    effect,
                    text: text.to_owned(),
                    place,
                    dir: None,
                }),
                Err(err) => res = Err(reader.push(refused(at, text, &err))),
            }
        }
    }
    reader.suggest_for("allowed", "allow");
    reader.suggest_for("denied", "deny");
    reader.suggest_for("defaultMode", "ask");
    let known = reader.refuse_unknown(NOT_READ);
    (rules, res.and(known))
}

/// A file has at most as many lines and columns as bytes, and those are bounded far below.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Says what is wrong with a rule, and what to write.
fn refused(at: At<'_>, text: &str, err: &RuleError) -> flyto_diagnostics::Diagnostic {
    let what = format!("{} is no rule: {}", quoted(&err.text), err.why);
    let mut diag = at.error(codes::BAD_RULE, what).with_reason(NOT_READ);
    // The bytes of the rule are those of the file where nothing in it is escaped.
    let span = at.span();
    let inner = Span { start: span.start + 1, end: span.end.saturating_sub(1) };
    if at.source().slice(inner) == Some(text) {
        let part = Span { start: inner.start + err.span.start, end: inner.start + err.span.end };
        diag.location = flyto_diagnostics::Location::text(at.source(), part);
    }
    match &err.suggestion {
        Some(rule) => {
            diag.with_help(format!("write {}", quoted(rule))).with_suggestion(span, quoted(rule))
        }
        None => diag.with_help("`flyto explain F0320` lists the forms of rules"),
    }
}
