//! JSON (RFC 8259), as much of it as a plugin needs: values are read, strings are written.

use std::fmt;

/// Arrays and objects may hold each other this deep.
const MAX_DEPTH: usize = 128;

/// A JSON value. Numbers keep their text, and objects the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The member of an object; the last one, if several have the name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(it, _)| it == name).map(|(_, value)| value)
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(text) = self { text.parse().ok() } else { None }
    }
}

impl fmt::Display for Value {
    /// Writes JSON on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::String(text) => f.write_str(&string(text)),
            Self::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { '[' } else { ',' })?;
                }
                f.write_str(if items.is_empty() { "[]" } else { "]" })
            }
            Self::Object(members) => {
                for (at, (name, value)) in members.iter().enumerate() {
                    let before = if at == 0 { '{' } else { ',' };
                    write!(f, "{before}{}:{value}", string(name))?;
                }
                f.write_str(if members.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

/// `text` as a JSON string, with its quotes.
pub fn string(text: &str) -> String {
    let mut res = String::with_capacity(text.len() + 2);
    res.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => res.extend(['\\', c]),
            '\n' => res.push_str("\\n"),
            '\r' => res.push_str("\\r"),
            '\t' => res.push_str("\\t"),
            c if c < ' ' => res.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => res.push(c),
        }
    }
    res.push('"');
    res
}

/// Reads a whole text.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.blanks();
    if reader.at == text.len() { Ok(value) } else { Err(reader.expected("the end")) }
}

struct Reader<'a> {
    text: &'a str,
    /// The offset of what is read next; never within a character.
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn expected(&self, what: &str) -> String {
        format!("this is no JSON: {what} is expected at byte {}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether `token` comes next, behind blanks; then it is passed over.
    fn take(&mut self, token: &str) -> bool {
        self.blanks();
        let is_next = self.text[self.at..].starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn require(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    fn value(&mut self) -> Result<Value, String> {
        self.blanks();
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'[') => self.array(),
            Some(b'{') => self.object(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.take("null") => Ok(Value::Null),
            _ if self.take("true") => Ok(Value::Bool(true)),
            _ if self.take("false") => Ok(Value::Bool(false)),
            _ => Err(self.expected("a value")),
        }
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err("the JSON is nested too deep".to_owned()) } else { Ok(()) }
    }

    fn array(&mut self) -> Result<Value, String> {
        self.require("[")?;
        self.deeper()?;
        let mut items = Vec::new();
        if !self.take("]") {
            loop {
                items.push(self.value()?);
                if self.take("]") {
                    break;
                }
                self.require(",")?;
            }
        }
        self.depth -= 1;
        Ok(Value::Array(items))
    }

    fn object(&mut self) -> Result<Value, String> {
        self.require("{")?;
        self.deeper()?;
        let mut members = Vec::new();
        if !self.take("}") {
            loop {
                self.blanks();
                let name = self.string()?;
                self.require(":")?;
                members.push((name, self.value()?));
                if self.take("}") {
                    break;
                }
                self.require(",")?;
            }
        }
        self.depth -= 1;
        Ok(Value::Object(members))
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let begins_with_zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && begins_with_zero {
            return Err(self.expected("a number without leading zeros"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Value::Number(self.text[start..self.at].to_owned()))
    }

    /// Passes over digits, one at least, and counts them.
    fn digits(&mut self) -> Result<usize, String> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(self.at - start) }
    }

    fn string(&mut self) -> Result<String, String> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a string"));
        }
        self.at += 1;
        let mut res = String::new();
        loop {
            let rest = &self.text[self.at..];
            let n_plain = rest.find(|it: char| it == '"' || it == '\\' || it < ' ');
            let n_plain = n_plain.unwrap_or(rest.len());
            res.push_str(&rest[..n_plain]);
            self.at += n_plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(res);
                }
                Some(b'\\') => {
                    self.at += 1;
                    res.push(self.escape()?);
                }
                _ => return Err(self.expected("the end of the string")),
            }
        }
    }

    /// The character that an escape stands for; its backslash was passed over.
    fn escape(&mut self) -> Result<char, String> {
        let c = self.peek().ok_or_else(|| self.expected("an escape"))?;
        let res = match c {
            b'"' | b'\\' | b'/' => char::from(c),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        Ok(res)
    }

    /// The character of one `\u` escape, or of two that are halves of one character. Half a character
    /// alone is no text; U+FFFD stands for it.
    fn unicode(&mut self) -> Result<char, String> {
        let first = self.four_digits()?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            } else {
                // Another character, which is read next.
                self.at = before;
            }
        }
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let code = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
        let code = code.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }
}
