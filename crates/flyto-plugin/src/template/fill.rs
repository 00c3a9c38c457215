//! Putting values into a command.
//!
//! Without a shell the result is the argument vector itself. With one it is a text that holds
//! only what the author wrote and names of variables, and the values behind it as arguments. In
//! both cases a value that is no text is written as compact JSON.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
    ops::Range,
};

use flyto_diagnostics::{Pointer, quoted};
use flyto_program::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS_BYTES};
use flyto_tools::Input;
use serde_json::{Value, value::RawValue};

use super::words::{Parsed, Part, Quote, VARIABLE, Word};

/// The key of a parameter's schema that lets its values begin with `-`.
const DASH: &str = "x-flyto-dash";

/// The most references that lead from one part of a schema to another.
const MOST_REFERENCES: usize = 16;

/// What runs for one call.
///
/// Both are complete: nothing splits or expands them any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

/// Why a value cannot be put into a command. Shows as `/path: holds a NUL character …`.
/// A call with one is [`Failure::BadInput`](flyto_tools::Failure::BadInput), and nothing was
/// started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Where the value stands in the input, or would stand; empty for the input as a whole.
    pub(crate) pointer: String,
    /// What is wrong with it.
    pub(crate) why: String,
    /// It is missing, and the schema says that it must be there.
    pub(crate) required: bool,
}

impl Refusal {
    /// The values together are longer than the system lets arguments be.
    ///
    /// What the start of the program said; no single value is to blame.
    pub(crate) fn too_long(err: &dyn std::error::Error) -> Self {
        let cause = err.source().map(|it| format!(": {it}")).unwrap_or_default();
        let why = format!("the values are longer than the system lets arguments be{cause}");
        Self::of_command(why)
    }

    /// No single value is to blame.
    pub(super) fn of_command(why: String) -> Self {
        Self { pointer: String::new(), why, required: false }
    }
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
///
/// What a call gives for one name of the command.
#[derive(Debug)]
enum Given<'a> {
    /// There is none, and no default.
    Missing { required: bool },
    /// A text, and whether it may begin with `-` without a `--` before it.
    Text { text: Cow<'a, str>, free: bool },
}

/// All values are looked at before any word is built, so that every refusal is in the result.
pub(super) fn fill(
    text: &str,
    parsed: &Parsed,
    schema: &Value,
    input: &Input,
) -> Result<Filled, Vec<Refusal>> {
    let Some(members) = input.value().as_object() else {
        return Err(vec![Refusal::of_command("expected an object".to_owned())]);
    };
    let mut refusals = Vec::new();
    let mut values = Vec::new();
    let mut written = None;
    for name in &parsed.params {
        let given = match members.get(name) {
            Some(value @ (Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
                let written = written.get_or_insert_with(|| members_as_written(input));
                let text = written.get(name.as_str()).and_then(|it| compact(it.get()));
                Given::Text { text: text.unwrap_or_else(|| value.to_string()).into(), free: true }
            }
            value => given(schema, name, value),
        };
        if matches!(&given, Given::Text { text, .. } if text.contains('\0')) {
            let why = "holds a NUL character, which no argument can hold";
            refusals.push(refusal(name, why));
        }
        values.push(given);
    }
    let mut filler = Filler { refusals, ..Filler::new(text, &parsed.params, values) };
    let filled = if parsed.needs_shell { filler.shell(parsed) } else { filler.direct(parsed) };
    if filler.refusals.is_empty() { Ok(filled) } else { Err(filler.refusals) }
}

/// The words that would run, with the placeholders as they are written. The text needs no shell.
pub(super) fn as_written(text: &str, parsed: &Parsed) -> Filled {
    let value = |it: &String| Given::Text { text: format!("{{{{{it}}}}}").into(), free: true };
    let values = parsed.params.iter().map(value).collect();
    Filler::new(text, &parsed.params, values).direct(parsed)
}

/// A refusal of the value under `name`.
fn refusal(name: &str, why: impl Into<String>) -> Refusal {
    let pointer = Pointer::root().join(name).to_string();
    Refusal { pointer, why: why.into(), required: false }
}

/// The value, else the default of the schema. Only a text that the caller chose freely has to be
/// guarded against a `-`: numbers, listed values and defaults pass.
fn given<'a>(schema: &'a Value, name: &str, value: Option<&'a Value>) -> Given<'a> {
    let declared = declared(schema, name);
    let key = |key| declared.and_then(|it| it.get(key));
    let Some(it) = value.or_else(|| key("default").filter(|it| !it.is_null())) else {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(name)));
        return Given::Missing { required };
    };
    let Some(text) = it.as_str() else {
        return Given::Text { text: it.to_string().into(), free: true };
    };
    // What the author wrote as default is no more to be doubted than the rest of the command.
    let free = value.is_none()
        || key(DASH) == Some(&Value::Bool(true))
        || key("const") == Some(it)
        || key("enum").and_then(Value::as_array).is_some_and(|all| all.contains(it));
    Given::Text { text: text.into(), free }
}

/// The members of the input as they are written.
/// Each as a piece of the text, so that a number keeps its digits.
fn members_as_written(input: &Input) -> HashMap<String, &RawValue> {
    serde_json::from_str(input.as_str()).unwrap_or_default()
}

/// JSON without blanks. Its numbers keep the digits that they are written with: an identifier with
/// a digit changed is another one. Escapes come out in one form. `None` where a text cannot be
/// read, as with half a surrogate pair; the caller then writes the parsed value.
fn compact(json: &str) -> Option<String> {
    let mut res = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => {
                let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                res += &Value::String(strings.next()?.ok()?).to_string();
                len = strings.byte_offset();
            }
            c => res.push(c),
        }
        rest = &rest[len..];
    }
    Some(res)
}

/// What the schema says about a parameter, where it says so directly or by reference.
/// Follows at most [`MOST_REFERENCES`] references, all within the schema.
fn declared<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let mut res = schema.get("properties")?.get(name)?;
    for _ in 0..MOST_REFERENCES {
        let Some(target) = res.get("$ref").and_then(Value::as_str) else { break };
        res = schema.pointer(target.strip_prefix('#')?)?;
    }
    Some(res)
}

/// One call at work.
struct Filler<'a> {
    text: &'a str,
    names: &'a [String],
    /// One for each of `names`.
    values: Vec<Given<'a>>,
    /// Each once.
    refusals: Vec<Refusal>,
    /// Which parameter each variable of the shell holds.
    args: Vec<usize>,
    /// Of all arguments so far.
    n_bytes: usize,
}

impl<'a> Filler<'a> {
    fn new(text: &'a str, names: &'a [String], values: Vec<Given<'a>>) -> Self {
        Self { text, names, values, refusals: Vec::new(), args: Vec::new(), n_bytes: 0 }
    }

    /// Notes a refusal, unless it is noted already: a name may stand in several words.
    fn refuse(&mut self, refusal: Refusal) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Whether a word stays, that is: whether all its values are there.
    /// A word without its value goes as a whole, quotes and letters of its own included. A value
    /// that is required, or without which another word would take the place of this one, is
    /// refused instead.
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

    /// Refuses a value that makes an option of a word, whose values are all there.
    /// A lone `-` passes, as it names a stream for most programs. So does any word behind `--`.
    fn guard(&mut self, word: &Word) {
        // What comes of an expansion is known to the shell alone, and may be nothing.
        let shown = |it: &&Part| self.n_bytes(it) > 0;
        let Some(Part::Value { param, .. }) = word.parts.iter().find(shown) else { return };
        let Given::Text { text, free: false } = &self.values[*param] else { return };
        let is_lone = || {
            let is_empty = |it: &Part| {
                matches!(it, Part::Literal { .. } | Part::Value { .. }) && self.n_bytes(it) == 0
            };
            text == "-" && word.parts.iter().filter(|it| !is_empty(it)).count() == 1
        };
        if word.after_dashes || !text.starts_with('-') || is_lone() {
            return;
        }
        let shown: String = text.chars().take(40).collect();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        let why = format!(
            "begins with `-`, so the program could take it for an option: {}; for a file, write ./ in front",
            quoted(&format!("{shown}{cut}"))
        );
        self.refuse(refusal(&self.names[*param], why));
    }

    /// Refuses values that make an argument too long for any program, or all of them together.
    /// Called before the argument is put together, and says whether it can be. Linux only; of the
    /// values in the argument, the one that takes most of its bytes is named.
    fn measure(&mut self, parts: &[Part]) -> bool {
        let n_bytes = parts.iter().map(|it| self.n_bytes(it)).fold(0, usize::saturating_add);
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        if !cfg!(target_os = "linux") {
            return true;
        }
        if n_bytes > MAX_ARGUMENT_BYTES {
            self.refuse_long(parts, n_bytes);
            return false;
        }
        let fits = self.n_bytes <= MAX_ARGUMENTS_BYTES;
        if !fits {
            self.refuse(Refusal::of_command(format!(
                "the arguments together have more than {MAX_ARGUMENTS_BYTES} bytes, which no program can get"
            )));
        }
        fits
    }

    fn refuse_long(&mut self, parts: &[Part], n_bytes: usize) {
        let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
        for param in parts.iter().filter_map(Part::param) {
            *taken.entry(param).or_default() += self.value(param).len();
        }
        let Some((param, _)) = taken.into_iter().max_by_key(|(_, n_bytes)| *n_bytes) else {
            return;
        };
        let n_own = self.value(param).len();
        let most = format!("an argument of a program has at most {MAX_ARGUMENT_BYTES}");
        let why = if n_own > MAX_ARGUMENT_BYTES {
            format!("has {n_own} bytes, and {most}")
        } else {
            format!("has {n_own} bytes and makes an argument of {n_bytes}, and {most}")
        };
        self.refuse(refusal(&self.names[param], why));
    }

    /// How long a part is without a shell.
    fn n_bytes(&self, part: &Part) -> usize {
        match part {
            Part::Value { param, .. } => self.value(*param).len(),
            part => part.literal(self.text).unwrap_or_default().len(),
        }
    }

    /// The text of a value; empty where it is missing.
    fn value(&self, param: usize) -> &str {
        match &self.values[param] {
            Given::Text { text, .. } => text,
            Given::Missing { .. } => "",
        }
    }

    /// The words for a program that is started without a shell.
    fn direct(&mut self, parsed: &Parsed) -> Filled {
        let mut words = Vec::new();
        for word in &parsed.words {
            if !self.stays(word) {
                continue;
            }
            self.guard(word);
            if !self.measure(&word.parts) {
                continue;
            }
            let parts = word.parts.iter().map(|it| match it {
                Part::Literal { .. } => it.literal(self.text).unwrap_or_default(),
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

    /// The text for a shell. Values come in as positional parameters and are moved to variables
    /// before the text begins, so that `"$@"`, `getopts` and `for` without a list find none of
    /// them. A value is bounded by itself, as each is one argument of `sh`.
    fn shell(&mut self, parsed: &Parsed) -> Filled {
        let mut text = String::new();
        self.words(&parsed.words, 0..self.text.len(), &mut text);
        let n_values = self.args.len();
        if n_values > 0 {
            let moved = (1..=n_values).map(|it| format!("{VARIABLE}{it}=${{{it}}}; "));
            text = moved.collect::<String>() + "set --; " + &text;
        }
        // `sh` would take what begins so for one of its own options.
        if text.starts_with(['-', '+']) {
            text.insert(0, ' ');
        }
        let mut args = vec!["-c".to_owned(), text, "sh".to_owned()];
        if cfg!(target_os = "linux") && args[1].len() > MAX_ARGUMENT_BYTES {
            let n_bytes = args[1].len();
            self.refuse(Refusal::of_command(format!(
                "the command has {n_bytes} bytes with the names of variables in place of values, and an argument of a \
                 program has at most {MAX_ARGUMENT_BYTES}"
            )));
        }
        for param in self.args.clone() {
            let value = Part::Value { param, quote: Quote::None, span: 0..0 };
            if self.measure(&[value]) {
                args.push(self.value(param).to_owned());
            }
        }
        Filled { program: "sh".to_owned(), args }
    }

    /// Writes what stands in a span, which these words are in.
    /// Everything between the words is copied as it is written.
    fn words(&mut self, words: &[Word], span: Range<usize>, res: &mut String) {
        let mut end = span.start;
        for word in words {
            *res += &self.text[end..word.span.start];
            end = word.span.end;
            if self.stays(word) {
                self.guard(word);
                word.parts.iter().for_each(|it| self.part(it, res));
            }
        }
        *res += &self.text[end..span.end];
    }

    /// Writes one part of a word. A value becomes a reference to its variable, in double quotes
    /// in every case; single quotes around it are closed and opened again.
    fn part(&mut self, part: &Part, res: &mut String) {
        match part {
            Part::Literal { raw, .. } | Part::Expansion(raw) => *res += &self.text[raw.clone()],
            Part::Substitution(span, words) => {
                *res += "$(";
                self.words(words, span.start + 2..span.end - 1, res);
                res.push(')');
            }
            Part::Value { param, quote, .. } => {
                let index = self.args.iter().position(|it| it == param).unwrap_or_else(|| {
                    self.args.push(*param);
                    self.args.len() - 1
                });
                let number = index + 1;
                *res += &match quote {
                    Quote::None => format!("\"${{{VARIABLE}{number}}}\""),
                    Quote::Double => format!("${{{VARIABLE}{number}}}"),
                    Quote::Single => format!("'\"${{{VARIABLE}{number}}}\"'"),
                };
            }
        }
    }
}
