//! From the text of a rule to what it names.
//!
//! A text is read once, by [`Form::parse`]; what it names is filed in the index of
//! [`Rules`](crate::Rules), and a [`Rule`] keeps the text for people. Texts that
//! are nearly a rule are refused with what to write instead, because a rule that
//! silently names nothing is one that does not deny. Bounds: [`MAX_BYTES`] bytes
//! for a rule, [`MAX_WORDS`] words for one of commands, and those of patterns.

use std::{fmt, ops::Range, sync::Arc};

use flyto_diagnostics::closest;
use flyto_tools::{PermissionClass, ToolId};
use serde::{Serialize, Serializer};

use crate::{Layer, Place, Verdict, glob::Glob, host};

/// A rule: a text, what follows from it, and where it comes from. Cheap to clone.
///
/// ```
/// use flyto_permission::{Layer, Place, Request, Rules, Verdict};
/// use flyto_tools::ToolId;
///
/// let mut rules = Rules::builder();
/// rules.add(Layer::Operator, Verdict::Deny, "db:*", Place::new("config.json", 3, 15, ""))?;
/// let id = ToolId::parse("db:drop").expect("this is a name");
/// let decision = rules.build().decide(&Request::new(&id));
/// let rule = decision.rule().expect("a rule denies it");
/// assert_eq!((rule.text(), rule.place().line), ("db:*", 3));
/// assert_eq!(rule.to_string(), "db:* (deny, operator, config.json:3:15)");
/// # Ok::<(), flyto_permission::RuleError>(())
/// ```
///
/// Clones share one allocation. Two rules are equal where text, effect, layer and
/// place are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    inner: Arc<Inner>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Inner {
    text: String,
    effect: Verdict,
    layer: Layer,
    place: Place,
}

impl Rule {
    pub(crate) fn new(text: &str, effect: Verdict, layer: Layer, place: Place) -> Self {
        Self { inner: Arc::new(Inner { text: text.to_owned(), effect, layer, place }) }
    }

    /// The text as it was written.
    ///
    /// It is what an operator searches a configuration for.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// What happens with a call that it names.
    #[must_use]
    pub fn effect(&self) -> Verdict {
        self.inner.effect
    }

    /// Which source it comes from.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.inner.layer
    }

    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.inner.place
    }

    /// Whether it has the form `mcp__server__tool`.
    pub(crate) fn is_written_for_server(&self) -> bool {
        self.text().starts_with(FOR_SERVER)
    }

    /// Whether it names one thing and nothing else: one tool, one command with all
    /// its words, one host. Such a rule was written for this very call, and answers
    /// for more than a wider one does. A path may be a directory, so a rule for
    /// files is never exact.
    ///
    /// ```
    /// use flyto_permission::{Layer, Place, Rules, Verdict};
    ///
    /// let mut rules = Rules::builder();
    /// for text in ["mail:send", "Bash(make)", "mail:*", "Bash(make:*)"] {
    ///     rules.add(Layer::Operator, Verdict::Allow, text, Place::default())?;
    /// }
    /// let exact: Vec<_> = rules.build().iter().map(|it| it.is_exact()).collect();
    /// assert_eq!(exact, [true, true, false, false]);
    /// # Ok::<(), flyto_permission::RuleError>(())
    /// ```
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(
            Form::parse(self.text()),
            Ok(Form::Tool(_)
                | Form::Command { is_prefix: false, .. }
                | Form::Host(host::Pattern::Exact(_)))
        )
    }

    /// The text of a rule that names exactly this tool; `None` where a rule cannot,
    /// because its id reads as another form: `class:bash` is a class of tools,
    /// `Bash` every command.
    ///
    /// ```
    /// use flyto_permission::Rule;
    /// use flyto_tools::ToolId;
    ///
    /// let id = |text| ToolId::parse(text).expect("this is a name");
    /// assert_eq!(Rule::for_tool(&id("mail:send")).as_deref(), Some("mail:send"));
    /// assert_eq!(Rule::for_tool(&id("class:bash")), None);
    /// assert_eq!(Rule::for_tool(&id("Bash")), None);
    /// ```
    #[must_use]
    pub fn for_tool(id: &ToolId) -> Option<String> {
        let text = id.as_str();
        let is_tool = Form::parse(text).is_ok_and(|it| it == Form::Tool(text.to_owned()));
        is_tool.then(|| text.to_owned())
    }

    /// Reads a rule and keeps nothing of it.
    ///
    /// # Errors
    ///
    /// A text that is no rule, with the bytes that are wrong and what to write.
    pub fn check(text: &str) -> Result<(), RuleError> {
        Form::parse(text).map(drop)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { text, effect, layer, place } = &*self.inner;
        write!(f, "{text} ({effect}, {layer}, {place})")
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(serializer)
    }
}

/// A text that is no rule.
///
/// ```
/// use flyto_permission::{Layer, Place, Rules, Verdict};
///
/// let err = Rules::builder()
///     .add(Layer::Operator, Verdict::Allow, "Bash(git diff *)", Place::default())
///     .expect_err("the star is not at the end of a prefix");
/// assert_eq!(err.suggestion.as_deref(), Some("Bash(git diff:*)"));
/// ```
///
/// `Display` is one line with the text, what is wrong and, where it is known, what
/// to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the rule {text:?}: {why}{}", hint(.suggestion))]
#[non_exhaustive]
pub struct RuleError {
    /// The text, cut to 256 bytes at most.
    pub text: String,
    /// What is wrong.
    pub why: &'static str,
    /// The bytes of the text that are wrong. Offsets in the whole text, also where
    /// [`text`](Self::text) was cut.
    pub span: Range<usize>,
    /// What was probably meant.
    /// A whole rule, to be put in the place of the text.
    pub suggestion: Option<String>,
}

/// The end of the message: empty without a suggestion.
fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |it| format!("; write {it}"))
}

impl RuleError {
    pub(crate) fn new(
        text: &str,
        why: &'static str,
        span: Range<usize>,
        suggestion: Option<String>,
    ) -> Self {
        const MAX: usize = 256;
        let text = text[..text.floor_char_boundary(MAX)].to_owned();
        Self { text, why, span, suggestion }
    }
}

/// What a rule names.
///
/// Names are not looked up: a rule for a tool that does not exist is a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Tools of a class.
    Class(String),
    /// A tool by its id. In the form `owner:tool`, however it was written, or a
    /// bare name.
    Tool(String),
    /// Tools of an owner whose own name starts so. An empty prefix is every tool of
    /// the owner.
    Owner { owner: String, prefix: String },
    /// Any command.
    AnyCommand,
    /// Commands by their words. Words after quote removal. With `is_prefix`,
    /// further words may follow, none included.
    Command { words: Vec<String>, is_prefix: bool },
    /// Files; `None` for all. `writes` is true for `Edit` and `Write`, which mean
    /// the same.
    Path { writes: bool, glob: Option<Glob> },
    /// Hosts.
    Host(host::Pattern),
}

/// How rules for tools of a server start.
const FOR_SERVER: &str = "mcp__";
/// Longest rule in bytes.
const MAX_BYTES: usize = 4096;
/// Most words of a rule for commands. A decision compares each word of a call with
/// rules as long as this.
const MAX_WORDS: usize = 256;
/// Forms that take brackets.
///
/// All other forms are names of tools.
const HEADS: &[&str] = &["Bash", "Read", "Edit", "Write", "WebFetch"];

impl Form {
    /// `Bash(*)` and its like are read as the form without brackets. What is
    /// neither a form nor a class has to be the name of a tool.
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        let whole = 0..text.len();
        let fail = |why, span, suggestion| Err(RuleError::new(text, why, span, suggestion));
        if text.len() > MAX_BYTES {
            return fail("it is longer than 4,096 bytes", whole, None);
        }
        if text.trim().is_empty() {
            return fail("it is empty", whole, Some("Bash(git diff:*)".to_owned()));
        }
        if text.trim() != text {
            return fail("there is a blank at an end", whole, Some(text.trim().to_owned()));
        }
        if let Some(open) = text.find('(') {
            let head = &text[..open];
            let Some(inner) = text[open + 1..].strip_suffix(')') else {
                return fail("a bracket is not closed", open..text.len(), Some(format!("{text})")));
            };
            let Some(head) = HEADS.iter().find(|it| **it == head) else {
                let near = closest(head, HEADS.iter().copied()).map(|it| format!("{it}({inner})"));
                let near = near.or_else(|| head.contains("__").then(|| head.to_owned()));
                return fail(
                    "only Bash, Read, Edit, Write and WebFetch take brackets",
                    0..open,
                    near,
                );
            };
            let at = open + 1;
            return match *head {
                _ if inner == "*" || inner == "**" => Self::parse(head),
                "Bash" => command(text, inner, at),
                "WebFetch" => fetch(text, inner, at),
                _ => match files(inner) {
                    Ok(glob) => Ok(Self::Path { writes: *head != "Read", glob: Some(glob) }),
                    Err((why, span, better)) => {
                        let suggestion = better.map(|it| format!("{head}({it})"));
                        fail(why, span.start + at..span.end + at, suggestion)
                    }
                },
            };
        }
        match text {
            "Bash" => return Ok(Self::AnyCommand),
            "Read" => return Ok(Self::Path { writes: false, glob: None }),
            "Edit" | "Write" => return Ok(Self::Path { writes: true, glob: None }),
            "WebFetch" => return Ok(Self::Host(host::Pattern::All)),
            _ => {}
        }
        if let Some(name) = text.strip_prefix("class:") {
            if name.is_empty() || name.contains(['*', ' ', ':']) {
                let why = "a class is one name";
                return fail(why, 6..text.len(), Some("class:generic".to_owned()));
            }
            return class(text, name);
        }
        tool(text)
    }
}

/// The classes that Flyto itself gives a meaning.
pub(crate) const OWN_CLASSES: [PermissionClass; 6] = [
    PermissionClass::BASH,
    PermissionClass::FILE,
    PermissionClass::WEBFETCH,
    PermissionClass::READONLY,
    PermissionClass::GENERIC,
    PermissionClass::UNDECLARED,
];

/// What stands behind `class:`.
///
/// A class of Flyto's own in other letters, and a name that no tool could show,
/// name nothing.
fn class(text: &str, name: &str) -> Result<Form, RuleError> {
    let fail = |why, better: Option<&str>| {
        let suggestion = better.map(|it| format!("class:{it}"));
        Err(RuleError::new(text, why, 6..text.len(), suggestion))
    };
    let is_own = |it: &&PermissionClass| it.as_str().eq_ignore_ascii_case(name);
    match OWN_CLASSES.iter().find(is_own) {
        Some(own) if own.as_str() != name => {
            fail("a class of this name is written in small letters", Some(own.as_str()))
        }
        None if ToolId::parse(name).is_err() => {
            fail("a class is one name, without characters that are not seen", None)
        }
        _ => Ok(Form::Class(name.to_owned())),
    }
}

/// `webFetch` or `BASH`; in small letters it is the name of a tool, and tools have
/// such names.
///
/// Such a text would name a tool that does not exist, and deny nothing.
fn is_form_in_other_case(form: &str, text: &str) -> bool {
    form.eq_ignore_ascii_case(text) && text.bytes().any(|it| it.is_ascii_uppercase())
}

/// `plugin:tool`, `plugin:*`, `plugin__tool`, `mcp__server__tool`, `tool`.
///
/// `a__b` is a wire name and means `a:b`; a server's tool is `mcp__server__tool`. A
/// star stands only at the end of the tool's own name.
fn tool(text: &str) -> Result<Form, RuleError> {
    let fail = |why, suggestion| Err(RuleError::new(text, why, 0..text.len(), suggestion));
    if text.contains(|it: char| it.is_whitespace() || it.is_control() || it == ')') {
        let first = text.split_whitespace().next().unwrap_or("");
        let suggestion = match closest(first, HEADS.iter().copied()) {
            _ if text.contains(')') => None,
            Some(head) if head != first => None,
            _ => Some(format!("Bash({text}:*)")),
        };
        return fail("a name of a tool holds no blank; commands stand in Bash(…)", suggestion);
    }
    if let Some(head) =
        closest(text, HEADS.iter().copied()).filter(|it| is_form_in_other_case(it, text))
    {
        return fail("a form of this name is written in another case", Some(head.to_owned()));
    }
    let (owner, name) = if let Some(rest) = text.strip_prefix(FOR_SERVER) {
        match rest.split_once("__") {
            Some((server, tool)) => (Some(server), tool),
            None => (Some(rest), "*"),
        }
    } else if let Some((owner, tool)) = text.split_once(':') {
        (Some(owner), tool)
    } else if let Some((owner, tool)) = text.split_once("__") {
        (Some(owner), tool)
    } else {
        (None, text)
    };
    if owner == Some("") || name.is_empty() {
        return fail("a name is missing beside the colon", None);
    }
    if owner.is_some_and(|it| it.contains('*')) || owner.is_none() && name.contains('*') {
        let why = "a star cannot stand for an owner: name the plugin, the server or a class";
        // A class would name tools of every plugin: which owners are meant is for the operator to say.
        return fail(why, None);
    }
    // A name that no tool can have would deny nothing.
    let stem = name.trim_end_matches('*');
    let stem = if stem.is_empty() { "x" } else { stem };
    let is_name = match owner {
        Some(owner) => ToolId::with_owner(owner, stem),
        None => ToolId::parse(stem),
    };
    if is_name.is_err() {
        let why =
            "no tool can have this name: it is too long, or holds a character that is not seen";
        return fail(why, None);
    }
    match (owner, name.strip_suffix('*')) {
        (_, Some(prefix)) if prefix.contains('*') => {
            fail("a star stands only at the end of a name", None)
        }
        (Some(owner), Some(prefix)) => {
            Ok(Form::Owner { owner: owner.to_owned(), prefix: prefix.to_owned() })
        }
        (_, None) if name.contains('*') => fail("a star stands only at the end of a name", None),
        (Some(owner), None) => Ok(Form::Tool(format!("{owner}:{name}"))),
        (None, _) => Ok(Form::Tool(name.to_owned())),
    }
}

/// What stands in `Bash(…)`.
///
/// `at` is where `inner` starts in `text`, for the places of errors.
fn command(text: &str, inner: &str, at: usize) -> Result<Form, RuleError> {
    let fail = |why, span: Range<usize>, suggestion| {
        Err(RuleError::new(text, why, span.start + at..span.end + at, suggestion))
    };
    let (line, is_prefix) = match inner.strip_suffix(":*") {
        Some(line) => (line, true),
        None => (inner, false),
    };
    if let Some(stem) = line.strip_suffix('*') {
        let stem = stem.trim_end();
        let suggestion = (!stem.contains('*')).then(|| format!("Bash({stem}:*)"));
        return fail(
            "words that follow are written as `:*`",
            line.len() - 1..line.len(),
            suggestion,
        );
    }
    match words(line) {
        Ok(words) if words.is_empty() => {
            fail("a command is missing", 0..inner.len(), Some("Bash".to_owned()))
        }
        Ok(words) if words.len() > MAX_WORDS => {
            fail("a command of more than 256 words is too long for a rule", 0..inner.len(), None)
        }
        Ok(words) => Ok(Form::Command { words, is_prefix }),
        Err((why, byte)) => fail(why, byte..byte + 1, None),
    }
}

/// What stands in `Read(…)`, `Edit(…)` and `Write(…)`.
///
/// On `Err`: what is wrong, at which bytes, and what was probably meant.
///
/// | written | is an error, since |
/// | --- | --- |
/// | ` a`, `a ` | no file has this name but one with a blank at the end |
/// | `a:*` | this is how rules for commands end |
/// | `!a` | other languages of patterns exclude files so |
/// | `file:///a` | this is an address |
/// | `$HOME/a` | variables are not read; `routes/$id` is a name |
fn files(inner: &str) -> Result<Glob, (&'static str, Range<usize>, Option<String>)> {
    let whole = 0..inner.len();
    if inner.trim() != inner {
        let meant = inner.trim().to_owned();
        return Err(("there is a blank at an end of the pattern", whole, Some(meant)));
    }
    if let Some(stem) = inner.strip_suffix(":*") {
        let why = "`:*` stands behind words of commands";
        return Err((why, stem.len()..inner.len(), Some(stem.to_owned())));
    }
    if inner.starts_with('!') {
        let why = "a pattern excludes nothing; a name that begins so is written as `./!…`";
        return Err((why, 0..1, None));
    }
    if let Some((scheme, path)) = inner.split_once(":/")
        && scheme.bytes().all(|it| it.is_ascii_alphanumeric())
    {
        let path = path.trim_start_matches('/');
        let meant = (scheme == "file").then(|| format!("/{path}"));
        return Err(("a pattern is a path and no address", 0..scheme.len() + 2, meant));
    }
    // Only at the start: names of files may begin with a dollar sign.
    let variable = inner.strip_prefix('$').map(|it| it.split('/').next().unwrap_or(it));
    let is_name =
        |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
    if let Some(name) = variable.filter(|it| is_name(it)) {
        let rest = &inner[1 + name.len()..];
        let meant = match name {
            "HOME" => Some(format!("~{rest}")),
            "PWD" => Some(format!(".{rest}")),
            _ => None,
        };
        return Err(("a pattern holds no variable", 0..1 + name.len(), meant));
    }
    Glob::parse(inner).map_err(|(why, span)| (why, span, None))
}

/// Splits a line at blanks; quotes and backslashes keep a blank in a word.
///
/// Operators, expansions, wildcards and blanks of other kinds outside of quotes are
/// refused: a rule compares words, and such a text would never be one. On `Err`: what
/// is wrong, and at which byte.
fn words(line: &str) -> Result<Vec<String>, (&'static str, usize)> {
    let mut res = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.char_indices();
    while let Some((at, it)) = chars.next() {
        match it {
            ' ' | '\t' => res.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(("a quote is not closed", at)),
                        Some((_, end)) if end == it => break,
                        Some((_, inner)) => word.push(inner),
                    }
                }
            }
            '\\' => match chars.next() {
                Some((_, it)) => word.get_or_insert_default().push(it),
                None => return Err(("a backslash at the end", at)),
            },
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '$' | '`' => {
                return Err((
                    "a rule names the words of one command, without operators of the shell",
                    at,
                ));
            }
            '*' => {
                return Err((
                    "a star stands only at the end, as `:*`; quote one that is meant",
                    at,
                ));
            }
            '?' | '[' if is_wildcard(it, word.as_deref(), chars.as_str()) => {
                return Err(("a rule holds no wildcard; quote one that is meant", at));
            }
            '{' if is_brace(chars.as_str()) => {
                return Err(("braces are not read: write one rule for each case", at));
            }
            it if it.is_control() => return Err(("a rule holds no control character", at)),
            // A name of a tool can hold none of these.
            it if !it.is_ascii() && ToolId::parse(&format!("x{it}")).is_err() => {
                return Err(("a character that is not seen, or a blank of another kind", at));
            }
            it => word.get_or_insert_default().push(it),
        }
    }
    res.extend(word);
    Ok(res)
}

/// Whether a shell reads a sign as a wildcard: not `[`, the name of a program.
fn is_wildcard(sign: char, before: Option<&str>, behind: &str) -> bool {
    let is_alone = behind.is_empty() || behind.starts_with([' ', '\t', '[']);
    sign == '?' || before.is_some_and(|it| it != "[") || !is_alone
}

/// Whether a shell makes several words of a brace that begins before this.
fn is_brace(behind: &str) -> bool {
    let inner = behind.split([' ', '\t']).next().unwrap_or_default().split_once('}');
    inner.is_some_and(|(it, _)| it.contains(',') || it.contains(".."))
}

/// What stands in `WebFetch(…)`.
///
/// A host without `domain:`, or a whole address, is refused with the rule that was
/// meant.
fn fetch(text: &str, inner: &str, at: usize) -> Result<Form, RuleError> {
    let span = at..at + inner.len();
    let fail = |why, suggestion| Err(RuleError::new(text, why, span.clone(), suggestion));
    let Some(name) = inner.strip_prefix("domain:") else {
        let host = match host::read(inner) {
            Ok(address) => Some(address.host),
            Err(_) => host::Pattern::parse(inner).is_ok().then(|| inner.to_owned()),
        };
        let suggestion = host.map(|it| format!("WebFetch(domain:{it})"));
        return fail("hosts are named as `domain:`", suggestion);
    };
    match host::Pattern::parse(name) {
        Ok(pattern) => Ok(Form::Host(pattern)),
        Err(why) => {
            let below = name.strip_prefix('.').filter(|it| host::Pattern::parse(it).is_ok());
            let host = match below {
                Some(it) => Some(format!("*.{it}")),
                None => host::read(name).ok().map(|it| it.host),
            };
            let host = host.map(|it| format!("WebFetch(domain:{it})"));
            fail(why, host)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_commands_has_so_many_words_at_most() {
        let rule = |n: usize, end: &str| format!("Bash({}{end})", vec!["a"; n].join(" "));
        for end in ["", ":*"] {
            assert!(Rule::check(&rule(256, end)).is_ok());
            let text = rule(257, end);
            let err = Rule::check(&text).expect_err("it is too long");
            assert_eq!(err.why, "a command of more than 256 words is too long for a rule");
            assert_eq!(err.span, "Bash(".len()..text.len() - ")".len());
        }
        // Quotes keep blanks in a word.
        assert!(Rule::check(&format!("Bash(echo '{}')", "a ".repeat(300))).is_ok());
    }
}
