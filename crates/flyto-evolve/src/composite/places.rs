//! Where the references of a step lead to within results.
//!
//! Results are kept as texts, and few of them can be taken apart at once. So before a step begins, each result that it refers
//! to is read once for all of its references, and what is kept is where in the text each of them leads. A call then takes apart
//! what its own input has, however large the results are and however many items the step has.
//!
//! | what | how often an output is read for it |
//! | --- | --- |
//! | the references of a step | once for each level that they go through |
//! | a call | the parts that its input is made of |
//! | an undo that refers to its own step | once for each call |

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    ops::Range,
    sync::Arc,
};

use serde::{
    Deserializer as _,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::results::{Parsed, StepValue};

/// How deep results are read: more than a reader of JSON takes apart.
const MAX_DEPTH: usize = 160;

/// Places by the pointers that lead there; `None` for a pointer that leads nowhere.
///
/// A place is a range of bytes in the text of the output that the pointer begins with. With the output `{"files": ["a", "b"]}`:
///
/// | pointer | place | what stands there |
/// | --- | --- | --- |
/// | `/steps/ID/output` | 0..21 | all of it |
/// | `/steps/ID/output/files/1` | 16..19 | `"b"` |
/// | `/steps/ID/output/files/2` | none | |
///
/// It takes two numbers for each reference, however large the part is and however many references go through it.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<String, Option<Range<usize>>>);

impl Places {
    /// Looks for parts of the outputs of steps: for each step, pointers with what is left of them behind `output`.
    ///
    /// An output is read once for each level of what is looked for in it, and not once for each pointer. One that is not JSON,
    /// or that is not there, has no places, and neither has one that cannot be read: the reference itself tells that.
    pub(super) fn find<'a>(
        refs: BTreeMap<&'a str, BTreeMap<&'a str, &'a [String]>>,
        steps: &BTreeMap<String, Arc<StepValue>>,
        parsed: &Parsed,
    ) -> Self {
        let mut res = HashMap::new();
        for (id, refs) in refs {
            let Some(json) = steps.get(id).and_then(|it| it.json()) else { continue };
            let wanted: Vec<Wanted<'_>> = refs.into_iter().map(|it| (it.1, it.0)).collect();
            let mut found = HashMap::new();
            // What cannot be read is told by the call that needs it.
            if look(json, &wanted, 0, parsed, &mut found).is_some() {
                res.extend(wanted.into_iter().map(|(_, pointer)| {
                    let place = found.get(pointer).map(|part: &&str| {
                        let start = part.as_ptr().addr() - json.as_ptr().addr();
                        start..start + part.len()
                    });
                    (pointer.to_owned(), place)
                }));
            }
        }
        Self(res)
    }

    /// Where a reference leads to in the output of its step; the outer `None` where that was not looked for.
    ///
    /// It holds for the output that was read and for no other: the step that a call is of has another one each time, so its own
    /// is not looked for.
    pub(super) fn get(&self, pointer: &str) -> Option<Option<Range<usize>>> {
        self.0.get(pointer).cloned()
    }
}

/// A position as RFC 6901 writes it: without a sign and without zeros before it.
pub(super) fn array_index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || !token.starts_with('0');
    (is_plain && token.bytes().all(|it| it.is_ascii_digit())).then(|| token.parse().ok())?
}

/// The tokens that are left of a pointer, and the whole of it.
type Wanted<'a> = (&'a [String], &'a str);

/// Finds the parts of a JSON text that pointers lead to.
///
/// A part that a pointer ends at is told as it stands in the text, so that its numbers keep their digits. Each level is read once for all of them; `None` where it is no JSON,
/// or is nested too deep.
fn look<'a, 't>(
    text: &'t str,
    wanted: &[Wanted<'a>],
    depth: usize,
    parsed: &Parsed,
    found: &mut HashMap<&'a str, &'t str>,
) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut parts: BTreeMap<&str, Vec<Wanted<'a>>> = BTreeMap::new();
    for &(tokens, pointer) in wanted {
        match tokens.split_first() {
            Some((token, rest)) => parts.entry(token).or_default().push((rest, pointer)),
            None => drop(found.insert(pointer, text)),
        }
    }
    if parts.is_empty() {
        return Some(());
    }
    parsed.count(text);
    let is_list_or_object = text.trim_start().starts_with(['{', '[']);
    if !is_list_or_object {
        return Some(());
    }
    let members = Members(parts.keys().copied().collect());
    let members = serde_json::Deserializer::from_str(text).deserialize_any(members).ok()?;
    for (token, part) in members {
        look(part.get(), &parts[token], depth + 1, parsed, found)?;
    }
    Some(())
}

/// The texts of the members of an object with these names, or of the items of a list at these positions. Of members with the
/// same name, the last one counts, as with [`serde_json::Value`].
struct Members<'a>(BTreeSet<&'a str>);

impl<'a, 'de> Visitor<'de> for Members<'a> {
    type Value = BTreeMap<&'a str, &'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut res = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            match self.0.get(&*key) {
                Some(token) => drop(res.insert(*token, map.next_value()?)),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(res)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut res = BTreeMap::new();
        let wanted = self.0.iter().filter_map(|it| Some((array_index(it)?, *it)));
        let mut wanted: BTreeMap<usize, &str> = wanted.collect();
        for index in 0.. {
            match wanted.remove(&index) {
                Some(token) => match items.next_element()? {
                    Some(item) => drop(res.insert(token, item)),
                    None => break,
                },
                None if items.next_element::<IgnoredAny>()?.is_none() => break,
                None => {}
            }
        }
        Ok(res)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::composite::{
        results::Output,
        value::{Expr, Scope},
    };

    fn steps(outputs: &[String]) -> BTreeMap<String, Arc<StepValue>> {
        let step = |text: &String| StepValue {
            status: "done".into(),
            is_error: false.into(),
            truncated: false.into(),
            text: Some(text.as_str().into()),
            output: Some(Output::JsonText),
            omitted: None,
        };
        outputs.iter().enumerate().map(|(i, it)| (format!("s{i}"), step(it).into())).collect()
    }

    fn places(
        exprs: &Value,
        steps: &BTreeMap<String, Arc<StepValue>>,
        parsed: &Arc<Parsed>,
    ) -> Places {
        let expr = Expr::parse(exprs, "", &mut |at, what, _| panic!("{at}: {what}"));
        let mut scope = Scope::new(Arc::default());
        (scope.steps, scope.parsed) = (steps.clone(), Arc::clone(parsed));
        Arc::into_inner(scope.for_all([&expr].into_iter(), None).places).unwrap()
    }

    #[track_caller]
    fn check(text: &str, tokens: &str, expected: Option<&str>) {
        let steps = steps(&[text.to_owned()]);
        let pointer = format!("/steps/s0/output{tokens}");
        // Beside others that go through it and beyond it.
        let refs = json!([{"$ref": pointer}, {"$ref": "/steps/s0/output"}, {"$ref": format!("{pointer}/0")}]);
        let found = places(&refs, &steps, &Arc::default()).get(&pointer).unwrap();
        assert_eq!(found.map(|it| text[it].to_owned()).as_deref(), expected);
        let value = serde_json::from_str::<Value>(text).unwrap();
        let expected = expected.map(|it| serde_json::from_str(it).unwrap());
        assert_eq!(value.pointer(tokens), expected.as_ref());
    }

    #[test]
    fn a_place_is_that_of_the_pointer() {
        check(r#" {"a": [1, {"b": 1.10}] } "#, "/a/1/b", Some("1.10"));
        check(r#"{"a":1,"a": [2] ,"b":0}"#, "/a", Some("[2]"));
        check(r#"{"\u0061/~":"x"}"#, "/a~1~0", Some("\"x\""));
        check("[[10,11],[20]]", "/1/0", Some("20"));
        check("[[10,11],[20]]", "/1/1", None);
        check("[10,11]", "/01", None);
        check("[10,11]", "/a", None);
        check(r#"{"a":"text"}"#, "/a/0", None);
        check("[]", "", Some("[]"));
    }

    #[test]
    fn each_result_is_read_once_for_all_references() {
        let items = vec!["x".repeat(90); 10_000];
        let list = serde_json::to_string(&items).unwrap();
        let steps = steps(&vec![list.clone(); 3]);
        let refs = (0..600).map(|i| json!({"$ref": format!("/steps/s{}/output/{i}", i % 3)}));
        let parsed = Arc::default();
        let found = places(&refs.collect(), &steps, &parsed);
        assert_eq!(parsed.n_bytes(), 3 * list.len());
        assert_eq!(found.get("/steps/s1/output/1"), Some(Some(94..186)));
    }

    proptest! {
        #[test]
        fn any_text_has_places_or_none(text in "[\\[\\]{}:,\"a0 ]{0,30}", tokens in "(/[a0]){0,4}") {
            let steps = steps(std::slice::from_ref(&text));
            let pointer = format!("/steps/s0/output{tokens}");
            let found = places(&json!([{"$ref": pointer}]), &steps, &Arc::default());
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let part = found.get(&pointer).unwrap();
                let part = part.map(|it| serde_json::from_str::<Value>(&text[it]).unwrap());
                prop_assert_eq!(part.as_ref(), value.pointer(&tokens));
            }
        }
    }
}
