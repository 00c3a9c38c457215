//! Whether calls are alike, so that a tool for them would help.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// After how many calls of one shape a tool is proposed.
const N_ALIKE: usize = 3;
/// How many shapes are kept; the one that was seen least goes first.
const MAX_SHAPES: usize = 256;
/// How much of an input is looked at, in bytes.
const MAX_INPUT_BYTES: usize = 4096;

/// Calls of one shape that were made again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hint {
    /// The tool that was called.
    pub tool: String,
    /// What the calls have in common, with `*` for what differs between calls.
    pub shape: String,
    /// How many calls there were.
    pub n_calls: usize,
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tool, shape, n_calls } = self;
        write!(
            f,
            "{tool} was called {n_calls} times as {shape}; if that is needed again, create a tool for it"
        )
    }
}

/// Looks at the calls of a session, and says once for each shape that a tool would help. A host passes every call in.
///
/// Two calls are alike where they are calls of one tool and differ in numbers, paths and quoted texts only. Nothing is
/// written anywhere, and at most 256 shapes of 4 KiB are kept.
///
/// ```
/// use flyto_evolve::CallHints;
/// use serde_json::json;
///
/// let mut hints = CallHints::default();
/// let mut told = 0;
/// for file in ["a.log", "b.log", "c.log", "d.log"] {
///     let input = json!({"command": format!("grep -c error logs/{file} | sort")});
///     told += usize::from(hints.observe("Bash", &input).is_some());
/// }
/// assert_eq!(told, 1);
/// ```
#[derive(Debug, Default)]
pub struct CallHints {
    seen: BTreeMap<(String, String), Seen>,
}

/// What was seen of calls that are alike.
#[derive(Debug, Default)]
struct Seen {
    n_calls: usize,
    inputs: BTreeSet<String>,
    is_told: bool,
}

impl CallHints {
    /// Looks at one call. The same call again is a repetition and no reason for a tool: three different ones of one shape
    /// are.
    pub fn observe(&mut self, tool: &str, input: &Value) -> Option<Hint> {
        let text = input.to_string();
        let text = &text[..text.floor_char_boundary(MAX_INPUT_BYTES)];
        let shape = shape(text);
        let key = (tool.to_owned(), shape.clone());
        if !self.seen.contains_key(&key) && self.seen.len() >= MAX_SHAPES {
            let least = self.seen.iter().min_by_key(|it| it.1.n_calls).map(|it| it.0.clone());
            least.and_then(|it| self.seen.remove(&it));
        }
        let seen = self.seen.entry(key).or_default();
        seen.n_calls += 1;
        if seen.inputs.len() < N_ALIKE {
            seen.inputs.insert(text.to_owned());
        }
        if seen.is_told || seen.inputs.len() < N_ALIKE {
            return None;
        }
        seen.is_told = true;
        Some(Hint { tool: tool.to_owned(), shape, n_calls: seen.n_calls })
    }
}

/// The text with `*` for words that have a digit, a `/` or a `.`, and for what stands in quotes within a text.
fn shape(text: &str) -> String {
    let mut res = String::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    let flush = |word: &mut String, res: &mut String| {
        let varies = word.chars().any(|it| it.is_ascii_digit() || it == '/' || it == '.');
        res.push_str(if varies { "*" } else { word });
        word.clear();
    };
    while let Some(it) = rest.next() {
        match it {
            // A quote within a text of JSON.
            '\\' if rest.peek() == Some(&'"') => {
                flush(&mut word, &mut res);
                rest.next();
                let mut before = ' ';
                for it in rest.by_ref() {
                    if before == '\\' && it == '"' {
                        break;
                    }
                    before = it;
                }
                res.push('*');
            }
            '\'' => {
                flush(&mut word, &mut res);
                rest.by_ref().find(|it| *it == '\'');
                res.push('*');
            }
            it if it.is_alphanumeric() || "_-./".contains(it) => word.push(it),
            it => {
                flush(&mut word, &mut res);
                res.push(it);
            }
        }
    }
    flush(&mut word, &mut res);
    res
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_that_differ_in_values_have_one_shape() {
        let of = |command: &str| shape(&json!({ "command": command }).to_string());
        assert_eq!(of("git log -n 5 src/a.rs"), of("git log -n 12 lib/b.rs"));
        assert_eq!(of("grep \"a b\" x.log"), of("grep \"c\" y.log"));
        assert_eq!(of("grep 'a b' x.log"), of("grep '' y.log"));
        assert_ne!(of("git log -n 5"), of("git show -n 5"));
        assert_eq!(of("é '"), of("é 'x"));
    }

    #[test]
    fn the_same_call_again_is_no_hint() {
        let mut hints = CallHints::default();
        assert!((0..10).all(|_| hints.observe("Bash", &json!({"command": "date"})).is_none()));
        for n in 0..1000 {
            hints.observe(&format!("tool{}", n % 300), &json!({"n": n}));
        }
        assert!(hints.seen.len() <= MAX_SHAPES);
    }
}
