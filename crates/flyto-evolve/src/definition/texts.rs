//! The texts of a definition with their places: what is looked through for secrets and hidden characters.

use flyto_diagnostics::Pointer;
use serde_json::Value;

use super::ToolDefinition;

impl ToolDefinition {
    /// Every text of the definition with the JSON Pointer of its place in the file, names of members included. A name
    /// of a member has the pointer of its value.
    ///
    /// They are in the order of the keys, and what is not text is left out.
    ///
    /// ```
    /// use flyto_evolve::ToolDefinition;
    ///
    /// let def = ToolDefinition::script("now", "The time.", "date\n").with_tags(["clock"]);
    /// let texts = def.texts();
    /// assert!(texts.contains(&("/script".into(), "date\n".into())));
    /// assert!(texts.contains(&("/tags/0".into(), "clock".into())));
    /// ```
    #[must_use]
    pub fn texts(&self) -> Vec<(String, String)> {
        let mut res = Vec::new();
        let mut whole = self.content();
        if !self.created_by.is_empty() {
            whole["created_by"] = self.created_by.as_str().into();
        }
        let Value::Object(map) = &whole else { return res };
        let mut at = Pointer::root();
        for (key, value) in map {
            at.push(key);
            collect(value, &mut at, &mut res);
            at.pop();
        }
        res
    }
}

/// Recurses as deep as the reader lets a definition be nested.
fn collect(value: &Value, at: &mut Pointer, res: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => res.push((at.as_str().to_owned(), text.clone())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_index(index);
                collect(item, at, res);
                at.pop();
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                at.push(key);
                res.push((at.as_str().to_owned(), key.clone()));
                collect(value, at, res);
                at.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
