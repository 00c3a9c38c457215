//! The id of a message of which only the start is there.
//!
//! A line that is too long is thrown away but for its start. The id in that start tells which
//! call it would have answered, so that only this call fails.

use std::{borrow::Cow, cell::Cell, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, MapAccess, Visitor},
};

/// Reads the `id` of the object that begins with `start`, if it comes before the cut.
/// Members behind other values are found, too, as long as those values end before the cut. Of
/// two ids the last one counts.
pub(super) fn id_near_start(start: &[u8]) -> Option<u64> {
    let found = Cell::new(None);
    // The cut may have gone through a number.
    let n_digits = start.iter().rev().take_while(|it| it.is_ascii_digit()).count();
    let start = &start[..start.len() - n_digits];
    // The cut is an error of the syntax; what was found before it counts all the same.
    let _ = serde_json::Deserializer::from_slice(start).deserialize_map(Members(&found));
    found.get()
}

/// Notes the id while the members pass by; the cell keeps it when the cut ends the parse with an
/// error.
struct Members<'a>(&'a Cell<Option<u64>>);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "id" {
                self.0.set(map.next_value::<Id<'de>>()?.number());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The number of a call, as a number or as the text of one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id<'a> {
    Number(u64),
    Text(#[serde(borrow)] Cow<'a, str>),
}

impl Id<'_> {
    /// `None` for a text that is no number: such a line answers no call.
    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(id) => Some(*id),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::id_near_start;

    #[track_caller]
    fn check(start: &str, expect: Option<u64>) {
        assert_eq!(id_near_start(start.as_bytes()), expect, "{start}");
    }

    #[test]
    fn an_id_before_the_cut_is_found() {
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"output":"xxx"#, Some(7));
        check(r#" { "id" : "12", "result":"#, Some(12));
        check(r#"{"extra":{"id":1},"id":2,"#, Some(2));
    }

    #[test]
    fn an_id_beyond_the_cut_or_within_something_is_not() {
        for start in [
            r#"{"result":{"id":1,"output":"xxx"#,
            r#"{"id":1"#,
            r#"{"id":null,"result":"x"#,
            r#"{"id":"seven","#,
            r#"[{"id":1}"#,
            "",
        ] {
            check(start, None);
        }
    }
}
