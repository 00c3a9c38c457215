//! Putting values into a command.

use std::{borrow::Cow, collections::HashMap, fmt};

use flyto_diagnostics::{Pointer, quoted};
use flyto_tools::Input;
use serde_json::{Value, value::RawValue};

use super::{
    Filled,
    text::{Item, Part, Quote, Taken, Word},
};

/// The key of a parameter's schema that lets its values begin with `-`.
const DASH: &str = "x-flyto-dash";

/// The most references that lead from one part of a schema to another.
const MOST_REFERENCES: usize = 16;

/// A word that means something of its own to a program, wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// `NAME=…` sets a variable, and is run in part.
    NoAssignment,
    /// `;` ends the words of a command, as `+` does, and these stand for the name of a file.
    NoneOf(&'static [&'static str]),
}

/// Why a value cannot be put into a command. Shows as `/path: holds a NUL character …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Where the value stands in the input, or would stand; empty for the input as a whole.
    pub(crate) pointer: String,
    /// What is wrong with it.
    pub(crate) why: String,
    /// It is missing, and the schema says that it must be there.
    pub(crate) required: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, why, .. } = self;
        match pointer.as_str() {
            "" => write!(f, "(root): {why}"),
            pointer => write!(f, "{pointer}: {why}"),
        }
    }
}

/// The value of one parameter.
#[derive(Debug)]
enum Given<'a> {
    Missing {
        required: bool,
    },
    /// A text, and whether nobody minds that it begins with `-`.
    Text {
        text: Cow<'a, str>,
        free: bool,
    },
}

pub(super) fn fill(
    text: &str,
    taken: &Taken,
    schema: &Value,
    input: &Input,
) -> Result<Filled, Vec<Refusal>> {
    let Some(members) = input.value().as_object() else {
        let why = "expected an object".to_owned();
        return Err(vec![Refusal { pointer: String::new(), why, required: false }]);
    };
    let mut refusals = Vec::new();
    let mut values = Vec::new();
    for name in &taken.params {
        let given = match members.get(name) {
            Some(value @ (Value::Number(_) | Value::Array(_) | Value::Object(_))) => Given::Text {
                text: as_written(input, name).unwrap_or_else(|| value.to_string()).into(),
                free: true,
            },
            value => given(schema, name, value),
        };
        if matches!(&given, Given::Text { text, .. } if text.contains('\0')) {
            let why = "holds a NUL character, which no argument can hold";
            refusals.push(refusal(name, why));
        }
        values.push(given);
    }
    let mut filler = Filler { text, names: &taken.params, values, refusals, args: Vec::new() };
    let filled = if taken.live { filler.shell(taken) } else { filler.direct(taken) };
    if filler.refusals.is_empty() { Ok(filled) } else { Err(filler.refusals) }
}

fn refusal(name: &str, why: impl Into<String>) -> Refusal {
    let pointer = Pointer::root().join(name).to_string();
    Refusal { pointer, why: why.into(), required: false }
}

fn given<'a>(schema: &'a Value, name: &str, value: Option<&'a Value>) -> Given<'a> {
    let declared = declared(schema, name);
    match value {
        Some(Value::String(text)) => {
            let listed = |key| declared.and_then(|it| it.get(key));
            let free = listed(DASH) == Some(&Value::Bool(true))
                || listed("const").and_then(Value::as_str) == Some(text)
                || listed("enum")
                    .and_then(Value::as_array)
                    .is_some_and(|it| it.iter().any(|it| it.as_str() == Some(text)));
            Given::Text { text: text.into(), free }
        }
        Some(other) => Given::Text { text: other.to_string().into(), free: true },
        // What the author wrote as default is no more to be doubted than the rest of the command.
        None => match declared.and_then(|it| it.get("default")) {
            Some(Value::String(text)) => Given::Text { text: text.into(), free: true },
            Some(Value::Null) | None => {
                let required = schema.get("required").and_then(Value::as_array);
                let required =
                    required.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(name)));
                Given::Missing { required }
            }
            Some(other) => Given::Text { text: other.to_string().into(), free: true },
        },
    }
}

/// The JSON of a value without blanks. Its numbers keep the digits that they are written with: an
/// identifier with a digit changed is another one.
fn as_written(input: &Input, name: &str) -> Option<String> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(input.as_str()).ok()?;
    compact(members.get(name)?.get())
}

fn compact(json: &str) -> Option<String> {
    let mut res = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => {
                let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let string = strings.next()?.ok()?;
                len = strings.byte_offset();
                res += &Value::String(string).to_string();
            }
            c => res.push(c),
        }
        rest = &rest[len..];
    }
    Some(res)
}

/// What the schema says about a parameter, where it says so directly or by reference.
fn declared<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let mut res = schema.get("properties")?.get(name)?;
    for _ in 0..MOST_REFERENCES {
        let Some(target) = res.get("$ref").and_then(Value::as_str) else { break };
        res = schema.pointer(target.strip_prefix('#')?)?;
    }
    Some(res)
}

struct Filler<'a> {
    text: &'a str,
    names: &'a [String],
    values: Vec<Given<'a>>,
    refusals: Vec<Refusal>,
    /// The positional parameters of the shell: which parameter each of them is.
    args: Vec<usize>,
}

impl Filler<'_> {
    fn refuse(&mut self, refusal: Refusal) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Whether a word stays, that is: whether all its values are there.
    fn stays(&mut self, word: &Word) -> bool {
        let mut stays = true;
        for part in &word.parts {
            let Part::Value { param, .. } = part else { continue };
            if let Given::Missing { required } = self.values[*param] {
                stays = false;
                if required {
                    let refusal = refusal(&self.names[*param], "is required");
                    self.refuse(Refusal { required, ..refusal });
                } else if word.needed {
                    let why = "is missing, and the command needs a word in its place";
                    self.refuse(refusal(&self.names[*param], why));
                }
            }
        }
        stays
    }

    /// Refuses a value that makes of a word what it is not to be.
    fn guard(&mut self, word: &Word) {
        if let Some(bound) = word.bound {
            self.bind(word, bound);
        }
        self.guard_option(word);
    }

    /// Refuses values that a program would not take as they are.
    fn bind(&mut self, word: &Word, bound: Bound) {
        let mut whole = String::new();
        let mut values = Vec::new();
        for part in &word.parts {
            match part {
                Part::Literal { cooked, .. } => whole += cooked,
                Part::Value { param, .. } => {
                    whole += self.value(*param);
                    values.push(*param);
                }
                Part::Expansion(_) | Part::Substitution(..) => {}
            }
        }
        let why = match bound {
            Bound::NoAssignment => whole.contains('=').then(|| {
                "holds `=`, so the program would take it for a variable, and run `$(shell …)` in it"
                    .to_owned()
            }),
            Bound::NoneOf(texts) => {
                let found = texts.iter().find(|it| match **it {
                    ";" | "+" => whole == **it,
                    place => values.iter().any(|param| self.value(*param).contains(place)),
                });
                found.map(|it| match *it {
                    ";" | "+" => {
                        format!("is `{it}`, which ends the words of the command that is run")
                    }
                    place => {
                        format!("holds `{place}`, in whose place the name of a file would be put")
                    }
                })
            }
        };
        if let (Some(why), Some(param)) = (why, values.first()) {
            self.refuse(refusal(&self.names[*param], why));
        }
    }

    /// Refuses a value that makes an option of a word.
    fn guard_option(&mut self, word: &Word) {
        if word.after_dashes {
            return;
        }
        // The first of these that is not empty begins the word.
        let mut begins = None;
        let mut len = 0;
        for part in &word.parts {
            let (text, by) = match part {
                Part::Literal { cooked, .. } => (cooked.as_str(), None),
                Part::Value { param, .. } => match &self.values[*param] {
                    Given::Text { text, free } => (&**text, Some((*param, *free))),
                    Given::Missing { .. } => return,
                },
                // What comes of it is known to the shell alone, and may be nothing.
                Part::Expansion(_) | Part::Substitution(..) => {
                    len += 1;
                    continue;
                }
            };
            len += text.len();
            if !text.is_empty() && begins.is_none() {
                begins = Some((text, by));
            }
        }
        let Some((text, Some((param, free)))) = begins else { return };
        let plus = word.no_option && text.starts_with('+');
        if (!free || word.no_option) && (text.starts_with('-') && len > 1 || plus) {
            let shown: String = text.chars().take(40).collect();
            let cut = if shown.len() < text.len() { "…" } else { "" };
            let sign = if plus { '+' } else { '-' };
            let why = format!(
                "begins with `{sign}`, so the program could take it for an option: {}; \
                 for a file, write ./ in front",
                quoted(&format!("{shown}{cut}"))
            );
            self.refuse(refusal(&self.names[param], why));
        }
    }

    fn value(&self, param: usize) -> &str {
        match &self.values[param] {
            Given::Text { text, .. } => text,
            Given::Missing { .. } => "",
        }
    }

    fn direct(&mut self, taken: &Taken) -> Filled {
        let mut words = Vec::new();
        for item in &taken.items {
            let Item::Word(word) = item else { continue };
            if !self.stays(word) {
                continue;
            }
            self.guard(word);
            let parts = word.parts.iter().map(|it| match it {
                Part::Literal { cooked, .. } => cooked,
                Part::Value { param, .. } => self.value(*param),
                Part::Expansion(_) | Part::Substitution(..) => {
                    unreachable!("a text with these needs a shell")
                }
            });
            words.push(parts.collect::<String>());
        }
        let mut words = words.into_iter();
        Filled { program: words.next().unwrap_or_default(), args: words.collect() }
    }

    fn shell(&mut self, taken: &Taken) -> Filled {
        let mut text = String::new();
        self.items(&taken.items, &mut text);
        // `sh` would take what begins so for one of its own options.
        if text.starts_with(['-', '+']) {
            text.insert(0, ' ');
        }
        let mut args = vec!["-c".to_owned(), text, "sh".to_owned()];
        args.extend(self.args.iter().map(|it| self.value(*it).to_owned()));
        Filled { program: "sh".to_owned(), args }
    }

    fn items(&mut self, items: &[Item], res: &mut String) {
        for item in items {
            match item {
                Item::Gap(_, span) => *res += &self.text[span.clone()],
                Item::Word(word) if self.stays(word) => {
                    self.guard(word);
                    for part in &word.parts {
                        self.part(part, res);
                    }
                }
                Item::Word(_) => {}
            }
        }
    }

    fn part(&mut self, part: &Part, res: &mut String) {
        match part {
            Part::Literal { raw, .. } | Part::Expansion(raw) => *res += &self.text[raw.clone()],
            Part::Substitution(_, items) => {
                *res += "$(";
                self.items(items, res);
                res.push(')');
            }
            Part::Value { param, quote, .. } => {
                let index = self.args.iter().position(|it| it == param).unwrap_or_else(|| {
                    self.args.push(*param);
                    self.args.len() - 1
                });
                let number = index + 1;
                *res += &match quote {
                    Quote::None => format!("\"${{{number}}}\""),
                    Quote::Double => format!("${{{number}}}"),
                    Quote::Single => format!("'\"${{{number}}}\"'"),
                };
            }
        }
    }
}
