//! A user's own rules for secrets, from a file in gitleaks' form.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use flyto_diagnostics::{Diagnostic, Location, Source, Span, files};
use flyto_program::chain;
use flyto_security::{Builder, DefaultGuard, RulesError};

use crate::codes;

/// The key of a configuration file.
pub(super) const KEY: &str = "secret_rules";

/// A user's own rules for secrets, in the form of gitleaks' `gitleaks.toml` (version 8). They hold beside those of
/// [`flyto_security`], in results and in the inputs that are recorded.
///
/// ```
/// use flyto_host::SecretRules;
///
/// let text = "[[rules]]\nid = \"acme\"\nregex = '''acme_[0-9a-f]{16}'''\nkeywords = [\"acme_\"]\n";
/// let rules = SecretRules::parse("/etc/acme.toml", text)?;
/// assert_eq!(rules.path().to_str(), Some("/etc/acme.toml"));
/// # Ok::<(), flyto_security::RulesError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SecretRules {
    path: PathBuf,
    text: Arc<str>,
}

impl SecretRules {
    /// The rules of a text, which is checked whole. `path` is where it came from, for people.
    ///
    /// # Errors
    ///
    /// Those of [`Builder::gitleaks_toml`]: no such file, a pattern that cannot be used, more than 4 MiB, more than 4,096
    /// rules.
    pub fn parse(path: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> Result<Self, RulesError> {
        let res = Self { path: path.into(), text: text.into() };
        let checked = DefaultGuard::builder().gitleaks_toml(&res.text);
        checked.map(|_| res)
    }

    /// The file that has them.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A guard's builder with these rules.
    pub(crate) fn add_to(&self, builder: Builder) -> Builder {
        builder.gitleaks_toml(&self.text).expect("the text was checked when it was read")
    }

    /// Reads the file that a configuration names.
    pub(super) fn read(path: &Path) -> Result<Self, Box<Diagnostic>> {
        let source = files::open(path)?;
        Self::parse(path, source.text()).map_err(|err| {
            let (place, what) = place_of(&source, &err);
            let diag = Diagnostic::error(codes::BAD_SECRET_RULES, place, what);
            let diag = diag.with_reason("a rule that is not read would find no secret");
            Box::new(diag.with_help("correct the file, or remove the key \"secret_rules\""))
        })
    }
}

/// Where in a text its error is, and what is wrong there in one line.
fn place_of(source: &Source, err: &RulesError) -> (Location, String) {
    let whole = || Location::file(source.name());
    match err {
        RulesError::Syntax(syntax) => {
            let span = syntax.span().map(|it| Span::new(it.start, it.end));
            let what = format!("{err}: {}", syntax.message());
            (span.map_or_else(whole, |span| Location::text(source, span)), what)
        }
        RulesError::Pattern { rule, .. } => {
            // The id stands there as it is, unless it is written with escapes.
            let at = Some(rule.as_str()).filter(|it| !it.is_empty());
            let at = at.and_then(|it| source.text().find(&format!("{it:?}")).map(|at| (at, it)));
            let span = at.map(|(at, it)| Span::new(at + 1, at + 1 + it.len()));
            // The error of a pattern draws it over several lines; the last one says what is wrong.
            let what = chain(err);
            let (first, last) = (what.lines().next(), what.lines().next_back());
            let what = match (first, last) {
                (Some(first), Some(last)) if first != last => {
                    format!("{}: {}", first.trim_end_matches(':'), last.trim())
                }
                _ => what,
            };
            (span.map_or_else(whole, |span| Location::text(source, span)), what)
        }
        _ => (whole(), err.to_string()),
    }
}

/// Without the rules, which may be many.
impl fmt::Debug for SecretRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretRules").field("path", &self.path).finish_non_exhaustive()
    }
}
