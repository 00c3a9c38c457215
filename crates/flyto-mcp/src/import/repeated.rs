//! JSON in which the members are noticed that stand in an object more than once.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The most members that are told.
const MAX_TOLD: usize = 100;

/// The most bytes that are told of the place of one: the names above it are as long as the file likes.
const MAX_POINTER_BYTES: usize = 1000;

/// A document, and JSON pointers (RFC 6901) to the members that stand more than once in their objects. Of each the last one
/// is in the document, as with `JSON.parse`. Of members of the root that `is_read` does not take, nothing is told.
///
/// # Errors
///
/// The text is no JSON, or is deeper than serde_json reads.
pub(super) fn parse(
    text: &str,
    is_read: impl Fn(&str) -> bool,
) -> serde_json::Result<(Value, Vec<String>)> {
    let mut reader = Reader { is_read: &is_read, pointer: String::new(), told: Vec::new() };
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Seed(&mut reader).deserialize(&mut json)?;
    json.end()?;
    Ok((value, reader.told))
}

struct Reader<'a> {
    is_read: &'a dyn Fn(&str) -> bool,
    /// Where the value is that is read.
    pointer: String,
    told: Vec<String>,
}

impl Reader<'_> {
    fn tell(&mut self) {
        let member = self.pointer[1..].split('/').next().unwrap_or_default();
        if self.told.len() < MAX_TOLD && (self.is_read)(member) {
            let end = self.pointer.floor_char_boundary(MAX_POINTER_BYTES);
            self.told.push(self.pointer[..end].to_owned());
        }
    }
}

struct Seed<'a, 'b>(&'a mut Reader<'b>);

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_string<E>(self, it: String) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut res = Vec::new();
        let n_bytes = self.0.pointer.len();
        // An index is no name, and no pointer to a member is shorter for it.
        self.0.pointer.push_str("/-");
        while let Some(item) = items.next_element_seed(Seed(self.0))? {
            res.push(item);
        }
        self.0.pointer.truncate(n_bytes);
        Ok(res.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut res = Map::new();
        let n_bytes = self.0.pointer.len();
        while let Some(name) = members.next_key::<String>()? {
            self.0.pointer.push('/');
            self.0.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            if res.contains_key(&name) {
                self.0.tell();
            }
            let value = members.next_value_seed(Seed(self.0))?;
            self.0.pointer.truncate(n_bytes);
            res.insert(name, value);
        }
        Ok(res.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let (value, told) = parse(text, |it| it == "a").unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{text}");
        told
    }

    #[test]
    fn the_last_member_counts() {
        assert!(told(r#"{"a": {"b": 1, "c": [1.5, -2, true, null, "x\n"]}, "b": {}}"#).is_empty());
        assert_eq!(
            told(r#"{"a": 1, "a": {"b/~": 1, "b/~": 2}, "b": 1, "b": 2}"#),
            ["/a", "/a/b~1~0"]
        );
        assert_eq!(told(r#"{"a": [{"x": 1, "x": 2}]}"#), ["/a/-/x"]);
    }

    #[test]
    fn what_is_told_is_bounded() {
        let member = r#""b": 1, "#.repeat(1000);
        assert_eq!(told(&format!(r#"{{"a": {{{member}"b": 2}}}}"#)).len(), MAX_TOLD);
        let name = "é".repeat(1 << 20);
        let told = told(&format!(r#"{{"a": {{"{name}": 1, "{name}": 2}}}}"#));
        assert!(told[0].len() <= MAX_POINTER_BYTES);
    }
}
