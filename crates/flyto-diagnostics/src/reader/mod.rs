//! Reading an object whose keys are known.

pub(crate) mod duplicates;
mod keys;
mod shape;
mod unknown;

use std::borrow::Cow;

use crate::at::At;
use crate::code::Code;
use crate::codes;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::findings::{Findings, Reported};
use crate::json::{Member, Spanned, string_literal};
use crate::quote::quoted;
use crate::similar::{Tolerance, nearest};
use crate::source::Span;
use duplicates::{Duplicates, Signatures};
pub use keys::{ObjectKeys, recorded_keys};
use shape::{Misfit, Shape};

/// The most findings of one kind that one object or array gets. A file that is wrong throughout says
/// so in the first few.
const MOST_FINDINGS: usize = 16;

/// Room for the keys that are asked for; the tool of a plugin has about 40. It stays below 1 KiB, up
/// to which allocators have pieces at hand.
const N_KEYS: usize = 48;

/// Reads one object member by member, and records a finding for everything that is not right.
///
/// A getter that fails has recorded why, so a caller keeps the results, calls
/// [`finish`](Self::finish), and then uses `?` on them: that way one run shows every problem of the
/// object, and only the part that asked for the object is lost. Keys are remembered in the order in
/// which they are asked for; `finish` warns about every other one.
///
/// For all optional getters `null` is the same as a key that is not there. A key that occurs twice
/// has a finding, and getting it fails.
///
/// ```
/// use flyto_diagnostics::{At, Findings, ObjectReader, Source, json};
///
/// struct Tool<'v> { name: &'v str, args: Vec<&'v str> }
///
/// fn read_tool<'v>(at: At<'v>, findings: &mut Findings) -> Result<Tool<'v>, flyto_diagnostics::Reported> {
///     let mut reader = ObjectReader::new(at, findings)?;
///     let name = reader.required_string("name");
///     let args = reader.optional_string_array("args");
///     reader.finish();
///     Ok(Tool { name: name?, args: args?.unwrap_or_default() })
/// }
///
/// let source = Source::new("tool.json", r#"{"name": "list", "arg": ["-l"]}"#);
/// let value = json::parse(&source)?;
/// let mut findings = Findings::new();
/// let tool = read_tool(At::root(&source, &value), &mut findings)?;
/// assert_eq!((tool.name, tool.args.len()), ("list", 0));
/// assert_eq!(findings.into_vec()[0].help.as_deref(), Some(r#"did you mean "args"?"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "`finish` reports the keys that were not asked for"]
pub struct ObjectReader<'v, 'f> {
    at: At<'v>,
    members: &'v [Member<'v>],
    findings: &'f mut Findings,
    /// What the keys are like, to pass over those that are not there.
    signatures: Signatures,
    /// Which of the first 64 members were asked for, one bit each.
    asked: u64,
    /// What was asked for, in that order; a key that was asked for again stands here again.
    known: Vec<&'static str>,
    /// Further keys that need no finding, each with the key that it is a spelling of.
    allowed: Vec<(&'v str, Option<&'static str>)>,
    /// Pairs of a spelling that is there and the key it stands for.
    spelled: Vec<(&'static str, &'static str)>,
    /// Pairs of a key that does not work and the one to suggest.
    hints: Vec<(&'static str, &'static str)>,
    /// Further such pairs.
    hint_table: &'static [(&'static str, &'static str)],
    duplicates: Duplicates<'v>,
    /// Further keys whose value must not be used.
    refused: Vec<(&'v str, Reported)>,
}

impl<'v, 'f> ObjectReader<'v, 'f> {
    /// Begins with the object at a place.
    ///
    /// # Errors
    ///
    /// [`Reported`] when there is no object (`F0023`). A key that occurs twice (`F0020`) does not
    /// fail here; getting that key does.
    pub fn new(at: At<'v>, findings: &'f mut Findings) -> Result<Self, Reported> {
        let Some(members) = at.value().as_object() else {
            return Err(findings.push(Shape::Object.misfit(at, Misfit::Type)));
        };
        let (duplicates, signatures) = duplicates::report(at, findings);
        Ok(Self {
            at,
            members,
            findings,
            duplicates,
            signatures,
            asked: 0,
            known: Vec::with_capacity(N_KEYS),
            allowed: Vec::new(),
            spelled: Vec::new(),
            hints: Vec::new(),
            hint_table: &[],
            refused: Vec::new(),
        })
    }

    /// Makes `other` work in place of `key`, with a warning (`F0025`) that says to write `key`. Both
    /// at once are an error (`F0026`), and getting `key` then fails. Called before `key` is read.
    ///
    /// ```
    /// # use flyto_diagnostics::{At, Findings, ObjectReader, Source, json};
    /// let source = Source::new("tool.json", r#"{"timeout_secs": 5}"#);
    /// let value = json::parse(&source)?;
    /// let mut findings = Findings::new();
    /// let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
    /// reader.also_spelled("timeout_seconds", "timeout_secs");
    /// assert_eq!(reader.optional_u64("timeout_seconds"), Ok(Some(5)));
    /// reader.finish();
    /// assert_eq!(findings.into_vec()[0].help.as_deref(), Some(r#"write "timeout_seconds""#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn also_spelled(&mut self, key: &'static str, other: &'static str) {
        if self.is_present(other) {
            if self.is_present(key) {
                let why = format!("{} is another spelling of {}", quoted(other), quoted(key));
                self.refuse_both(key, other, &why);
            } else if let Some(name) = self.name_of(other) {
                let what = format!("{} is another spelling of {}", quoted(other), quoted(key));
                let warning = self
                    .about_key(Severity::Warning, name, codes::OTHER_SPELLING, what)
                    .with_help(format!("write {}", quoted(key)))
                    .with_suggestion(name.span, string_literal(key));
                self.findings.push(warning);
                self.spelled.push((other, key));
            }
        }
        self.allowed.push((other, Some(key)));
    }

    /// Refuses an object that has both keys (`F0026`) for the reason given, a sentence in lower case
    /// without a full stop. Getting either of them then fails as well.
    ///
    /// ```
    /// # use flyto_diagnostics::{At, Findings, ObjectReader, Source, json};
    /// # let source = Source::new("server.json", r#"{"command": "x", "url": "https://x"}"#);
    /// # let value = json::parse(&source)?;
    /// # let mut findings = Findings::new();
    /// # let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
    /// let both = reader.exclusive("command", "url", "a server is started or reached, not both");
    /// assert!(both.is_err() && reader.optional_string("url").is_err());
    /// # reader.finish();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Reported`] when both are there.
    pub fn exclusive(&mut self, key: &str, other: &str, why: &str) -> Result<(), Reported> {
        if self.is_present(key) && self.is_present(other) {
            return self.refuse_both(key, other, why).map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Accepts a key that is not read here, such as one that editors read. It is not offered when another key is
    /// unknown.
    pub fn allow(&mut self, key: &'v str) {
        self.allowed.push((key, None));
    }

    /// Suggests `key` where `other` is written: a name from elsewhere that no likeness of letters
    /// leads to, such as `cwd` for `work_dir`. `other` stays unknown.
    pub fn suggest_for(&mut self, other: &'static str, key: &'static str) {
        self.hints.push((other, key));
    }

    /// As [`suggest_for`](Self::suggest_for) for each pair of a table, which costs nothing until
    /// there is an unknown key. A second table takes the place of the first.
    pub fn suggest_for_each(&mut self, pairs: &'static [(&'static str, &'static str)]) {
        self.hint_table = pairs;
    }

    /// Whether the key is there with another value than `null`. This does not count as reading it.
    pub fn is_present(&self, key: &str) -> bool {
        self.member(key).is_some_and(|member| !member.value.is_null())
    }

    /// Where the value of a key is, for findings about it; where the object is, if the key is not
    /// there.
    pub fn at(&self, key: &str) -> At<'v> {
        self.member(self.spelling(key)).map_or(self.at, |member| self.at.to(&member.value))
    }

    /// Records a finding.
    pub fn push(&mut self, diagnostic: impl Into<Diagnostic>) -> Reported {
        self.findings.push(diagnostic)
    }

    /// Where findings go, to read a part of the object with another reader.
    pub fn findings(&mut self) -> &mut Findings {
        self.findings
    }

    /// Any value, `null` included.
    ///
    /// # Errors
    ///
    /// [`Reported`] when the key occurs twice or excludes another one that is there.
    #[inline(always)]
    pub fn optional(&mut self, key: &'static str) -> Result<Option<At<'v>>, Reported> {
        if self.ask(key) { self.value_of(key) } else { Ok(None) }
    }

    /// Notes that a key is asked for, and says whether it may be there. Most keys are not, which costs next to nothing as a
    /// part of the caller: the signature of a key that is written there is worked out by the compiler.
    #[inline(always)]
    fn ask(&mut self, key: &'static str) -> bool {
        self.known.push(key);
        // What must not be used is there.
        !self.spelled.is_empty() || self.signatures.may_have(key)
    }

    /// The value of a key that was noted as asked for.
    #[inline(never)]
    fn value_of(&mut self, key: &'static str) -> Result<Option<At<'v>>, Reported> {
        let spelling = self.spelling(key);
        let Some(index) = self.index(spelling) else { return Ok(None) };
        self.duplicates.refuse_key(spelling)?;
        if let Some(&(_, reported)) = self.refused.iter().find(|it| it.0 == key) {
            return Err(reported);
        }
        self.asked |= 1_u64.checked_shl(index as u32).unwrap_or_default();
        Ok(Some(self.at.to(&self.members[index].value)))
    }

    /// Any value, `null` included.
    ///
    /// # Errors
    ///
    /// As for [`optional`](Self::optional), and when the key is not there (`F0022`).
    pub fn required(&mut self, key: &'static str) -> Result<At<'v>, Reported> {
        self.optional(key)?.ok_or_else(|| self.missing(key, "…"))
    }

    /// A string.
    ///
    /// # Errors
    ///
    /// As for [`optional`](Self::optional), and for another type (`F0023`).
    #[inline(always)]
    pub fn optional_string(&mut self, key: &'static str) -> Result<Option<&'v str>, Reported> {
        self.optional_of(key, Shape::String, shape::string)
    }

    /// A string.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string), and when the key is not there (`F0022`).
    pub fn required_string(&mut self, key: &'static str) -> Result<&'v str, Reported> {
        self.required_of(key, Shape::String, shape::string)
    }

    /// A truth value.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string).
    #[inline(always)]
    pub fn optional_bool(&mut self, key: &'static str) -> Result<Option<bool>, Reported> {
        self.optional_of(key, Shape::Bool, shape::boolean)
    }

    /// A whole number that is not negative. `30.0` and `3e1` are the whole number 30.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string), and for a number that is negative, has a
    /// fraction or is too large (`F0024`).
    #[inline(always)]
    pub fn optional_u64(&mut self, key: &'static str) -> Result<Option<u64>, Reported> {
        self.optional_of(key, Shape::Unsigned, shape::unsigned)
    }

    /// A whole number.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string), and for a number that has a fraction or is
    /// too large (`F0024`).
    pub fn optional_i64(&mut self, key: &'static str) -> Result<Option<i64>, Reported> {
        self.optional_of(key, Shape::Signed, shape::signed)
    }

    /// A number, which is finite: JSON has no form of infinity, and a number beyond the range of a 64-bit float is
    /// refused when the text is parsed.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string).
    pub fn optional_f64(&mut self, key: &'static str) -> Result<Option<f64>, Reported> {
        self.optional_of(key, Shape::Number, shape::number)
    }

    /// An object, to be read by a reader of its own.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string).
    #[inline(always)]
    pub fn optional_object(&mut self, key: &'static str) -> Result<Option<At<'v>>, Reported> {
        self.optional_of(key, Shape::Object, shape::object)
    }

    /// An object, to be read by a reader of its own.
    ///
    /// # Errors
    ///
    /// As for [`required_string`](Self::required_string).
    pub fn required_object(&mut self, key: &'static str) -> Result<At<'v>, Reported> {
        self.required_of(key, Shape::Object, shape::object)
    }

    /// An array; [`At::items`] gives what is in it.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string).
    pub fn optional_array(&mut self, key: &'static str) -> Result<Option<At<'v>>, Reported> {
        self.optional_of(key, Shape::Array, shape::array)
    }

    /// An array; [`At::items`] gives what is in it.
    ///
    /// # Errors
    ///
    /// As for [`required_string`](Self::required_string).
    pub fn required_array(&mut self, key: &'static str) -> Result<At<'v>, Reported> {
        self.required_of(key, Shape::Array, shape::array)
    }

    /// An array of strings.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string), with a finding for each item that is no
    /// string.
    pub fn optional_string_array(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Vec<&'v str>>, Reported> {
        let at = self.optional_of(key, Shape::StringArray, shape::array)?;
        at.map(|at| self.strings(at.items())).transpose()
    }

    /// An array of strings.
    ///
    /// # Errors
    ///
    /// As for [`optional_string_array`](Self::optional_string_array), and when the key is not there
    /// (`F0022`).
    pub fn required_string_array(&mut self, key: &'static str) -> Result<Vec<&'v str>, Reported> {
        let list = self.optional_string_array(key)?;
        list.ok_or_else(|| self.missing(key, Shape::StringArray.sample()))
    }

    /// An object whose values are strings, in the order of the text: pairs of key and value, such as the
    /// variables of a program.
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string), with a finding for each value that is no
    /// string, and for each key that occurs twice (`F0020`).
    pub fn optional_string_map(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Vec<(&'v str, &'v str)>>, Reported> {
        let Some(at) = self.optional_of(key, Shape::StringMap, shape::object)? else {
            return Ok(None);
        };
        let unique = duplicates::refuse(at, self.findings);
        let texts = || at.members().map(|(name, value)| (name, value.value().as_str()));
        if texts().all(|(_, text)| text.is_some()) {
            unique?;
            return Ok(Some(texts().map(|(name, it)| (name, it.unwrap_or_default())).collect()));
        }
        let values = self.strings(at.members().map(|(_, value)| value))?;
        let names = at.members().map(|(name, _)| name);
        unique?;
        Ok(Some(names.zip(values).collect()))
    }

    /// Any value, to be passed on as it is. `null` is a value here.
    ///
    /// # Errors
    ///
    /// As for [`optional`](Self::optional), and when a key occurs twice anywhere within the value
    /// (`F0020`).
    pub fn optional_json(
        &mut self,
        key: &'static str,
    ) -> Result<Option<serde_json::Value>, Reported> {
        let Some(at) = self.optional(key)? else { return Ok(None) };
        at.refuse_duplicate_keys(self.findings)?;
        Ok(Some(at.value().to_json()))
    }

    /// One of a few words, as what it stands for.
    ///
    /// ```
    /// # use flyto_diagnostics::{At, Findings, ObjectReader, Source, json};
    /// # let source = Source::new("tool.json", r#"{"network": "off"}"#);
    /// # let value = json::parse(&source)?;
    /// # let mut findings = Findings::new();
    /// # let mut reader = ObjectReader::new(At::root(&source, &value), &mut findings)?;
    /// let network = reader.optional_one_of("network", &[("on", true), ("off", false)]);
    /// assert_eq!(network, Ok(Some(false)));
    /// # reader.finish();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`optional_string`](Self::optional_string), and for any other word (`F0024`), with the
    /// nearest choice as a suggestion.
    pub fn optional_one_of<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>, Reported> {
        let Some(word) = self.optional_string(key)? else { return Ok(None) };
        match choices.iter().find(|choice| choice.0 == word) {
            Some(&(_, meaning)) => Ok(Some(meaning)),
            None => {
                let names: Vec<_> = choices.iter().map(|choice| choice.0).collect();
                let diagnostic = shape::no_choice(self.at(key), word, &names);
                Err(self.push(diagnostic))
            }
        }
    }

    /// Warns about every key that was not asked for (`F0021`), with a suggestion where a known key is
    /// near, else with the list of known keys.
    pub fn finish(mut self) {
        self.report_unknown(None);
    }

    #[inline(always)]
    fn optional_of<T>(
        &mut self,
        key: &'static str,
        shape: Shape,
        read: fn(At<'v>) -> Result<T, Misfit>,
    ) -> Result<Option<T>, Reported> {
        if self.ask(key) { self.read_of(key, shape, read) } else { Ok(None) }
    }

    /// Reads the value of a key that was noted as asked for.
    #[inline(never)]
    fn read_of<T>(
        &mut self,
        key: &'static str,
        shape: Shape,
        read: fn(At<'v>) -> Result<T, Misfit>,
    ) -> Result<Option<T>, Reported> {
        let at = self.value_of(key)?.filter(|at| !at.value().is_null());
        at.map(|at| self.read(at, shape, read)).transpose()
    }

    fn required_of<T>(
        &mut self,
        key: &'static str,
        shape: Shape,
        read: fn(At<'v>) -> Result<T, Misfit>,
    ) -> Result<T, Reported> {
        match self.optional(key)? {
            Some(at) => self.read(at, shape, read),
            None => Err(self.missing(key, shape.sample())),
        }
    }

    fn read<T>(
        &mut self,
        at: At<'v>,
        shape: Shape,
        read: fn(At<'v>) -> Result<T, Misfit>,
    ) -> Result<T, Reported> {
        read(at).map_err(|misfit| {
            let counted = self.findings.count_only(Severity::Error);
            counted.unwrap_or_else(|| self.findings.push(shape.misfit(at, misfit)))
        })
    }

    /// The strings of many places, or a finding for each place that holds something else.
    fn strings(
        &mut self,
        places: impl ExactSizeIterator<Item = At<'v>>,
    ) -> Result<Vec<&'v str>, Reported> {
        let mut res = Vec::with_capacity(places.len());
        let mut n_bad = 0;
        let mut failed = None;
        for at in places {
            match at.value().as_str() {
                Some(text) => res.push(text),
                None if n_bad < MOST_FINDINGS => {
                    n_bad += 1;
                    failed = Some(self.findings.push(Shape::String.misfit(at, Misfit::Type)));
                }
                None => break,
            }
        }
        failed.map_or(Ok(res), Err)
    }

    fn is_allowed(&self, name: &str) -> bool {
        self.allowed.iter().any(|it| it.0 == name)
    }

    fn missing(&mut self, key: &'static str, sample: &str) -> Reported {
        let brace = Span::new(self.at.span().start, self.at.span().start + 1);
        let what = format!("the key {} is missing", quoted(key));
        let place = Location::text(self.at.source(), brace);
        let diag =
            Diagnostic::error(codes::MISSING_KEY, place, what).with_pointer(self.at.pointer());
        let others = self.members.iter().map(|member| &*member.key.value);
        let others = others.filter(|name| !self.known.contains(name) && !self.is_allowed(name));
        let Some(near) = nearest(key, others, Tolerance::Letters) else {
            return self.push(diag.with_help(format!("add `{}: {sample}`", quoted(key))));
        };
        // One finding for one slip: the key is not reported again as unknown.
        self.allowed.push((near, None));
        let diag = diag.with_help(format!("{} looks like it; write {}", quoted(near), quoted(key)));
        match self.name_of(near) {
            Some(name) => {
                let there = Location::text(self.at.source(), name.span);
                let diag = diag.with_suggestion(name.span, string_literal(key));
                self.push(diag.with_related(there, "this key is unknown"))
            }
            None => self.push(diag),
        }
    }

    /// Reports that both keys are there, and keeps both from being used.
    fn refuse_both(&mut self, key: &str, other: &str, why: &str) -> Option<Reported> {
        let (first, second) = (self.name_of(key)?, self.name_of(other)?);
        let (first, second) =
            if first.span.start < second.span.start { (first, second) } else { (second, first) };
        let (one, two) = (quoted(&first.value), quoted(&second.value));
        let what = format!("{one} and {two} exclude each other");
        let there = Location::text(self.at.source(), first.span);
        let diag = self
            .about_key(Severity::Error, second, codes::EXCLUSIVE_KEYS, what)
            .with_reason(why)
            .with_help("remove one of them")
            .with_related(there, format!("{one} is here"));
        let reported = self.push(diag);
        self.refused.extend([(&*first.value, reported), (&*second.value, reported)]);
        Some(reported)
    }

    /// A finding about a key, rather than about its value.
    fn about_key(
        &self,
        severity: Severity,
        key: &Spanned<Cow<'_, str>>,
        code: Code,
        what: String,
    ) -> Diagnostic {
        let place = Location::text(self.at.source(), key.span);
        let pointer = self.at.pointer().join(&key.value);
        Diagnostic::new(severity, code, place, what).with_pointer(pointer)
    }

    /// How a key is spelt in this object.
    #[inline]
    fn spelling<'k>(&self, key: &'k str) -> &'k str {
        self.spelled.iter().find(|it| it.1 == key).map_or(key, |it| it.0)
    }

    fn member(&self, key: &str) -> Option<&'v Member<'v>> {
        self.index(key).map(|index| &self.members[index])
    }

    #[inline]
    fn index(&self, key: &str) -> Option<usize> {
        self.signatures.find(key, self.members)
    }

    fn name_of(&self, key: &str) -> Option<&'v Spanned<Cow<'v, str>>> {
        self.member(key).map(|member| &member.key)
    }
}
