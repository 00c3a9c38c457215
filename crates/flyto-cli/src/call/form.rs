//! The form of a server's question: which fields it has, and what a line of text says for one.

use serde_json::{Number, Value};

/// The most fields that are asked for, and the most choices of one.
const MAX_FIELDS: usize = 32;
const MAX_CHOICES: usize = 64;

/// One field, asked for by a line.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    /// Its key in the answer.
    pub(super) name: String,
    /// What it is called, and what it is for, as the server says; empty where it says nothing.
    pub(super) title: String,
    pub(super) description: String,
    is_required: bool,
    default: Option<Value>,
    kind: Kind,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text { min: u64, max: Option<u64> },
    Number { is_whole: bool, min: Option<f64>, max: Option<f64> },
    Flag,
    One(Vec<Choice>),
    Several(Vec<Choice>),
}

/// A choice: what the server gets, and what is shown.
#[derive(Debug, PartialEq)]
struct Choice {
    value: String,
    title: String,
}

impl Field {
    /// The fields of an object schema; `None` where one of them cannot be asked for by a line, or there are too many.
    pub(super) fn all(schema: &Value) -> Option<Vec<Self>> {
        let fields = schema.get("properties")?.as_object()?;
        let required: Vec<&str> = match schema.get("required") {
            Some(names) => names.as_array()?.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        let field = |(name, schema): (&String, &Value)| {
            let text = |key: &str| schema[key].as_str().unwrap_or_default().to_owned();
            Some(Self {
                name: name.clone(),
                title: text("title"),
                description: text("description"),
                is_required: required.contains(&name.as_str()),
                default: schema.get("default").cloned(),
                kind: Kind::of(schema)?,
            })
        };
        (fields.len() <= MAX_FIELDS).then(|| fields.iter().map(field).collect())?
    }

    /// What may be written, in words.
    pub(super) fn hint(&self) -> String {
        let choices = |choices: &[Choice]| {
            let shown =
                choices.iter().enumerate().map(|(at, it)| format!("{} {}", at + 1, it.title));
            shown.collect::<Vec<_>>().join(", ")
        };
        let mut res = match &self.kind {
            Kind::Text { .. } => "text".to_owned(),
            Kind::Number { is_whole: true, .. } => "a whole number".to_owned(),
            Kind::Number { .. } => "a number".to_owned(),
            Kind::Flag => "y or n".to_owned(),
            Kind::One(it) => format!("one of: {}", choices(it)),
            Kind::Several(it) => format!("some of, with commas: {}", choices(it)),
        };
        match &self.default {
            Some(Value::String(text)) => res.push_str(&format!("; default {text}")),
            Some(value) => res.push_str(&format!("; default {value}")),
            None if !self.is_required => res.push_str("; may be empty"),
            None => {}
        }
        res
    }

    /// What a line says; `None` where the field is left out.
    ///
    /// # Errors
    ///
    /// The field cannot have it; in words.
    pub(super) fn read(&self, line: &str) -> Result<Option<Value>, String> {
        let line = line.trim();
        if line.is_empty() {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Ok(Some(default.clone())),
                (None, false) => Ok(None),
                (None, true) => Err("it cannot be empty".to_owned()),
            };
        }
        self.kind.read(line).map(Some)
    }
}

impl Kind {
    fn of(schema: &Value) -> Option<Self> {
        let choices = |from: &Value| Choice::all(from);
        Some(match schema["type"].as_str()? {
            "string" => match Choice::all(schema)? {
                none if none.is_empty() => Self::Text {
                    min: schema["minLength"].as_u64().unwrap_or(0),
                    max: schema["maxLength"].as_u64(),
                },
                choices => Self::One(choices),
            },
            kind @ ("number" | "integer") => Self::Number {
                is_whole: kind == "integer",
                min: schema["minimum"].as_f64(),
                max: schema["maximum"].as_f64(),
            },
            "boolean" => Self::Flag,
            "array" => match choices(schema.get("items")?)? {
                none if none.is_empty() => return None,
                choices => Self::Several(choices),
            },
            _ => return None,
        })
    }

    fn read(&self, line: &str) -> Result<Value, String> {
        match self {
            Self::Text { min, max } => {
                let n = line.chars().count() as u64;
                if n < *min || max.is_some_and(|max| n > max) {
                    let most = max.map_or(String::new(), |it| format!(", at most {it}"));
                    return Err(format!("it has {n} characters; at least {min} are needed{most}"));
                }
                Ok(line.into())
            }
            Self::Number { is_whole, min, max } => {
                let number = match is_whole {
                    true => line.parse::<i64>().ok().map(Number::from),
                    false => line.parse::<f64>().ok().and_then(Number::from_f64),
                };
                let number = number.ok_or_else(|| format!("{line:?} is no such number"))?;
                let value = number.as_f64().unwrap_or_default();
                if min.is_some_and(|it| value < it) {
                    return Err(format!("{line} is less than {}", min.unwrap_or_default()));
                }
                if max.is_some_and(|it| value > it) {
                    return Err(format!("{line} is more than {}", max.unwrap_or_default()));
                }
                Ok(number.into())
            }
            Self::Flag => match line {
                "y" | "Y" | "yes" | "true" => Ok(true.into()),
                "n" | "N" | "no" | "false" => Ok(false.into()),
                _ => Err("write y or n".to_owned()),
            },
            Self::One(choices) => Choice::find(choices, line),
            Self::Several(choices) => {
                let words = line.split(',').map(str::trim).filter(|it| !it.is_empty());
                words
                    .map(|it| Choice::find(choices, it))
                    .collect::<Result<Vec<_>, _>>()
                    .map(Value::from)
            }
        }
    }
}

impl Choice {
    /// The choices of a schema, none where it has none; `None` where they are no texts, or too many.
    fn all(schema: &Value) -> Option<Vec<Self>> {
        let titled = ["oneOf", "anyOf"].iter().find_map(|it| schema.get(it)?.as_array());
        let res: Vec<Self> = match (titled, schema.get("enum")) {
            (Some(all), _) => all
                .iter()
                .map(|it| {
                    let value = it["const"].as_str()?.to_owned();
                    let title = it["title"].as_str().unwrap_or(&value).to_owned();
                    Some(Self { value, title })
                })
                .collect::<Option<_>>()?,
            (None, Some(all)) => all
                .as_array()?
                .iter()
                .enumerate()
                .map(|(at, it)| {
                    let value = it.as_str()?.to_owned();
                    let title = schema["enumNames"][at].as_str().unwrap_or(&value).to_owned();
                    Some(Self { value, title })
                })
                .collect::<Option<_>>()?,
            (None, None) => Vec::new(),
        };
        (res.len() <= MAX_CHOICES).then_some(res)
    }

    /// The choice that a word names: by what the server gets, by what is shown, or by its number.
    fn find(choices: &[Self], word: &str) -> Result<Value, String> {
        let named = choices.iter().find(|it| it.value == word || it.title == word);
        let at = word.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        match named.or_else(|| choices.get(at?)) {
            Some(choice) => Ok(choice.value.as_str().into()),
            None => Err(format!("{word:?} is none of the choices")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(schema: Value) -> Option<Vec<Field>> {
        Field::all(&json!({"type": "object", "properties": schema, "required": ["r"]}))
    }

    /// The hint of a field, and what each line says for it.
    #[track_caller]
    fn check(name: &str, schema: Value, hint: &str, lines: &[(&str, Result<Option<Value>, &str>)]) {
        let fields = fields(json!({name: schema})).expect("it can be asked for");
        assert_eq!(fields[0].hint(), hint);
        for (line, expected) in lines {
            let expected = expected.clone().map_err(ToOwned::to_owned);
            assert_eq!(fields[0].read(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_is_read_for_its_field() {
        let empty = Err("it cannot be empty");
        let text = json!({"type": "string", "maxLength": 3});
        let long = Err("it has 4 characters; at least 0 are needed, at most 3");
        check("r", text, "text", &[(" ab\n", Ok(Some(json!("ab")))), ("", empty), ("abcd", long)]);
        let text = json!({"type": "string", "default": "d"});
        check("o", text, "text; default d", &[("\n", Ok(Some(json!("d"))))]);
        let whole = json!({"type": "integer", "minimum": 1, "maximum": 9});
        check(
            "o",
            whole,
            "a whole number; may be empty",
            &[
                ("", Ok(None)),
                ("3", Ok(Some(json!(3)))),
                ("3.5", Err("\"3.5\" is no such number")),
                ("0", Err("0 is less than 1")),
                ("10", Err("10 is more than 9")),
            ],
        );
        let number = json!({"type": "number"});
        check(
            "r",
            number,
            "a number",
            &[("2.5", Ok(Some(json!(2.5)))), ("NaN", Err("\"NaN\" is no such number"))],
        );
        let flag = json!({"type": "boolean", "default": false});
        check(
            "r",
            flag,
            "y or n; default false",
            &[
                ("y", Ok(Some(json!(true)))),
                ("", Ok(Some(json!(false)))),
                ("x", Err("write y or n")),
            ],
        );
    }

    #[test]
    fn a_choice_is_named_or_counted() {
        let hint = "one of: 1 Red, 2 b";
        let lines: &[(&str, Result<Option<Value>, &str>)] = &[
            ("Red", Ok(Some(json!("r")))),
            ("r", Ok(Some(json!("r")))),
            ("2", Ok(Some(json!("b")))),
            ("0", Err("\"0\" is none of the choices")),
            ("3", Err("\"3\" is none of the choices")),
        ];
        check(
            "r",
            json!({"type": "string", "enum": ["r", "b"], "enumNames": ["Red"]}),
            hint,
            lines,
        );
        let titled = json!([{"const": "r", "title": "Red"}, {"const": "b"}]);
        check("r", json!({"type": "string", "oneOf": titled}), hint, lines);
        let several = json!({"type": "array", "items": {"anyOf": titled}});
        let hint = "some of, with commas: 1 Red, 2 b";
        check("r", several, hint, &[("2, Red", Ok(Some(json!(["b", "r"]))))]);
    }

    #[test]
    fn a_form_that_no_line_answers_is_not_asked() {
        for schema in [
            json!({"type": "object"}),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "enum": [1]}),
            json!({}),
        ] {
            assert_eq!(fields(json!({"a": schema})), None, "{schema}");
        }
        let many: serde_json::Map<_, _> =
            (0..33).map(|it| (it.to_string(), json!({"type": "boolean"}))).collect();
        assert_eq!(fields(many.into()), None);
    }
}
