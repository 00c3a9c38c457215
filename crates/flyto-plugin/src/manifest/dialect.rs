//! How a value of a server refers to a variable.

use flyto_execenv::{Declared, Template, TemplateError};

use crate::environment::{PLUGIN_DATA, PLUGIN_ROOT};

/// What Claude Code calls the plugin's two directories, and what they are called here.
const CLAUDE_DIRS: [(&str, &str); 2] =
    [("CLAUDE_PLUGIN_ROOT", PLUGIN_ROOT), ("CLAUDE_PLUGIN_DATA", PLUGIN_DATA)];

/// The rules by which references in a value are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `${NAME}`, `$NAME`, `${NAME:-default}`, and `$$` for a dollar.
    Own,
    /// Those of [Claude Code](https://code.claude.com/docs/en/mcp): `${NAME}` and `${NAME:-default}`; every other `$` is a
    /// dollar.
    Claude,
}

impl Dialect {
    /// Reads a value.
    ///
    /// # Errors
    ///
    /// A `${` that is not closed or that holds no name, and where it stands in `text`.
    pub(super) fn parse(self, text: &str) -> Result<Template, (usize, TemplateError)> {
        if self == Self::Own {
            return Template::parse(text).map_err(|err| (err.offset(), err));
        }
        let mut own = String::with_capacity(text.len());
        // Where each `${` stands, in the one text and in the other.
        let mut places = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            own.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(behind) = rest.strip_prefix("${") {
                places.push((own.len(), text.len() - rest.len()));
                own.push_str("${");
                let name = &behind[..behind.find(['}', ':']).unwrap_or(behind.len())];
                let dir = CLAUDE_DIRS.into_iter().find(|it| it.0 == name);
                own.push_str(dir.map_or(name, |it| it.1));
                rest = &behind[name.len()..];
                // A default is a text without references.
                let end = rest.find('}').map_or(rest.len(), |it| it + 1);
                own.push_str(&rest[..end]);
                rest = &rest[end..];
            } else {
                own.push_str("$$");
                rest = &rest[1..];
            }
        }
        own.push_str(rest);
        Template::parse(&own).map_err(|err| {
            let place = places.iter().find(|it| it.0 == err.offset());
            (place.map_or(0, |it| it.1), err)
        })
    }

    /// The variables of a server that declares `env`: Claude Code sets the plugin's two directories as well.
    pub(super) fn with_dirs(self, mut env: Declared) -> Declared {
        if self == Self::Claude {
            for (name, own) in CLAUDE_DIRS {
                if env.get(name).is_none() {
                    // Where there is no place for data, it is empty.
                    let value = Template::parse(&format!("${{{own}:-}}"));
                    env.insert(name, value.expect("it is a reference"));
                }
            }
        }
        env
    }
}

#[cfg(test)]
mod tests {
    use flyto_execenv::Environment;

    use super::*;

    #[test]
    fn only_braces_are_references_for_claude() {
        let host = [("PLUGIN_ROOT", "/r"), ("A", "a")].into_iter().collect::<Environment>();
        for (text, expect) in [
            ("${CLAUDE_PLUGIN_ROOT}/x", "/r/x"),
            ("${CLAUDE_PLUGIN_ROOT:-y}", "/r"),
            ("$A $$ ${A}$", "$A $$ a$"),
            ("${B:-$A}${A}", "$Aa"),
            ("$${A}", "$a"),
        ] {
            let template = Dialect::Claude.parse(text).expect(text);
            assert_eq!(template.expand(&host), Ok(expect.into()), "{text}");
        }
        for (text, offset) in [("$a ${user.key}", 3), ("$${A", 1), ("é$ ${}", 4)] {
            let err = Dialect::Claude.parse(text).expect_err(text);
            assert_eq!(err.0, offset, "{text}");
        }
    }
}
