//! Names of tools: what a name may hold, and which one passes for another.

use flyto_tools::{InvalidNameKind, ToolId};

/// The names of tools that a host has by itself. No run-time tool has one of them, or one that looks like it.
pub const PROTECTED_NAMES: &[&str] = &[
    "Bash",
    "Read",
    "Edit",
    "Write",
    "Glob",
    "Grep",
    "Agent",
    "WebFetch",
    "WebSearch",
    "ToolSearch",
];

/// The longest name of a tool that has a file, in bytes: a file name of 255 with `.json` and a suffix of quarantine.
pub(crate) const MAX_FILE_NAME_BYTES: usize = 180;

/// Looks at a name that is also that of a file. Faults are words that follow "the name".
pub(crate) fn file_name_fault(name: &str) -> Option<&'static str> {
    if name.contains(':') {
        return Some("holds a colon, which stands between a plugin and its tool");
    }
    if name.contains(['/', '\\', '\0']) {
        return Some("holds a character of paths");
    }
    if name.starts_with('.') {
        return Some("begins with a dot");
    }
    if name.len() > MAX_FILE_NAME_BYTES {
        return Some("is longer than 180 bytes");
    }
    ToolId::parse(name).err().map(|err| match err.why {
        InvalidNameKind::Empty => "is empty",
        InvalidNameKind::Blank => "holds white space, a control character or an invisible one",
        InvalidNameKind::Separator => "holds `__`, which stands between a plugin and its tool",
        _ => "cannot be that of a tool",
    })
}

/// Looks at the name of a tool. What has the form of a proposal's id is none, so that no tool is shown where a person asks
/// for the text that waits under an id.
pub(crate) fn tool_name_fault(name: &str) -> Option<&'static str> {
    if let Some(fault) = file_name_fault(name) {
        return Some(fault);
    }
    let is_digest = |it: &str| it.len() == 40 && it.bytes().all(|it| it.is_ascii_hexdigit());
    name.rsplit_once('-')
        .is_some_and(|(_, it)| is_digest(it))
        .then_some("ends with `-` and 40 hexadecimal digits, as the id of a proposal does")
}

/// Looks at a name that an agent proposes: one that every model API takes as it is.
pub(crate) fn proposed_name_fault(name: &str) -> Option<&'static str> {
    if let Some(fault) = tool_name_fault(name) {
        return Some(fault);
    }
    if name.len() > 64 {
        return Some("is longer than 64 bytes");
    }
    if !name.starts_with(|it: char| it.is_ascii_alphabetic()) {
        return Some("begins with something else than a letter of ASCII");
    }
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    (!name.chars().all(is_plain))
        .then_some("holds something else than ASCII letters, digits, `_` and `-`")
}

/// The name with a single `_` for every run of what a proposed name cannot hold. One that would be protected has `_tool`
/// behind it.
pub(crate) fn better_name(name: &str) -> Option<String> {
    let parts: Vec<&str> =
        name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let mut res: String = parts.join("_").chars().take(64).collect();
    let is_protected = |it: &str| {
        PROTECTED_NAMES.contains(&it) || look_alike(it, PROTECTED_NAMES.iter().copied()).is_some()
    };
    if is_protected(&res) {
        res.push_str("_tool");
    }
    proposed_name_fault(&res).is_none().then_some(res)
}

/// A name that a person could take for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookAlike {
    /// The other name.
    pub other: String,
    /// Whether they differ in case alone.
    pub is_case: bool,
}

/// The first of `others` that a person could take `name` for: one that differs in case, in `-` and `_`, or in
/// characters of like shape, such as `l`, `1` and `I`, or a letter of another script.
///
/// Equal names are no look-alikes. The shapes are a short list: the digits, and the Cyrillic, Greek and full-width letters
/// that look like those of ASCII. Of longer names the first 256 bytes count.
///
/// ```
/// use flyto_evolve::{PROTECTED_NAMES, look_alike};
///
/// let found = look_alike("web-fetch", PROTECTED_NAMES.iter().copied()).expect("it is one");
/// assert_eq!(found.other, "WebFetch");
/// assert!(look_alike("fetch_page", PROTECTED_NAMES.iter().copied()).is_none());
/// ```
pub fn look_alike<'a>(name: &str, others: impl IntoIterator<Item = &'a str>) -> Option<LookAlike> {
    let shape = skeleton(name);
    others.into_iter().find(|it| *it != name && skeleton(it) == shape).map(|other| LookAlike {
        other: other.to_owned(),
        is_case: other.to_lowercase() == name.to_lowercase(),
    })
}

/// The name without what the eye does not tell apart.
fn skeleton(name: &str) -> String {
    let end = name.floor_char_boundary(ToolId::MAX_BYTES);
    let mut res = String::with_capacity(end);
    for it in name[..end].chars().flat_map(char::to_lowercase) {
        let it = match it {
            // Full-width forms of ASCII (Unicode block FF00).
            '\u{ff01}'..='\u{ff5e}' => {
                char::from_u32(u32::from(it) - 0xfee0).map_or(it, |it| it.to_ascii_lowercase())
            }
            other => other,
        };
        res.push(match it {
            '-' | '_' | '.' | ' ' | '\u{2010}'..='\u{2015}' => continue,
            '0' | 'о' | 'ο' | 'օ' => 'o',
            '1' | 'i' | 'і' | 'ι' | 'ı' | '|' | 'ӏ' => 'l',
            '5' | 'ѕ' => 's',
            'а' | 'α' => 'a',
            'в' | 'β' => 'b',
            'с' | 'ϲ' => 'c',
            'ԁ' => 'd',
            'е' | 'ε' => 'e',
            'ɡ' | 'ց' => 'g',
            'н' | 'һ' => 'h',
            'ј' | 'ϳ' => 'j',
            'к' | 'κ' => 'k',
            'м' | 'μ' => 'm',
            'ո' | 'η' => 'n',
            'р' | 'ρ' => 'p',
            'ԛ' => 'q',
            'г' => 'r',
            'т' | 'τ' => 't',
            'υ' | 'ս' => 'u',
            'ν' | 'ѵ' => 'v',
            'ԝ' | 'ω' => 'w',
            'х' | 'χ' => 'x',
            'у' | 'γ' => 'y',
            'ζ' => 'z',
            other => other,
        });
    }
    res.replace("rn", "m").replace("vv", "w")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_passes_for_a_protected_one_is_found() {
        for name in [
            "bash",
            "BASH",
            "b-ash",
            "ba5h",
            "Вash",
            "ｂａｓｈ",
            "web_fetch",
            "WebFetсh",
            "g1ob",
            "tool-search",
        ] {
            assert!(look_alike(name, PROTECTED_NAMES.iter().copied()).is_some(), "{name}");
        }
        for name in ["Bash", "bash_run", "reader", "global", "rebase"] {
            assert!(look_alike(name, PROTECTED_NAMES.iter().copied()).is_none(), "{name}");
        }
    }

    #[test]
    fn names_of_proposals_are_those_of_every_model_api() {
        for name in ["a", "count_lines", "git-log2", "A1"] {
            assert_eq!(proposed_name_fault(name), None, "{name}");
        }
        for name in [
            "",
            "a b",
            "a/b",
            "a:b",
            "..",
            ".a",
            "a\\b",
            "a\tb",
            "1a",
            "_a",
            "a.b",
            "ä",
            "mcp__x__Bash",
            "a\u{200b}b",
            "Bash ",
        ] {
            assert!(proposed_name_fault(name).is_some(), "{name:?}");
        }
        assert!(proposed_name_fault(&"x".repeat(65)).is_some());
    }

    #[test]
    fn a_name_with_the_form_of_an_id_is_no_name() {
        let digits = "0123456789abcdefABCD0123456789abcdefABCD";
        assert!(tool_name_fault(&format!("now-{digits}")).is_some());
        for name in [digits.to_owned(), format!("now_{digits}"), format!("now-{}", &digits[1..])] {
            assert_eq!(tool_name_fault(&name), None, "{name}");
        }
    }

    #[test]
    fn a_better_name_is_one() {
        assert_eq!(better_name("count lines!").as_deref(), Some("count_lines"));
        assert_eq!(better_name("mcp__x__Bash").as_deref(), Some("mcp_x_Bash"));
        assert_eq!(better_name("工具"), None);
        for (name, better) in [("Bash ", "Bash_tool"), ("web fetch", "web_fetch_tool")] {
            assert_eq!(better_name(name).as_deref(), Some(better));
            assert!(look_alike(better, PROTECTED_NAMES.iter().copied()).is_none());
        }
    }

    #[test]
    fn a_name_of_the_go_layout_may_be_wider() {
        for name in ["工具", "a.b", "1a", "_a"] {
            assert_eq!(file_name_fault(name), None, "{name}");
        }
        for name in ["a/b", "..", "a:b", "", "a b", "__", "a\0b"] {
            assert!(file_name_fault(name).is_some(), "{name:?}");
        }
    }
}
