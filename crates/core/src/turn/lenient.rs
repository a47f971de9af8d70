//! JSON as models write it: single quotes, bare keys, trailing commas, the constants of Python.

use serde_json::{Map, Value};

/// Values inside values that are read.
const MAX_DEPTH: usize = 32;

/// Reads the value at the beginning of a text; returns it with the bytes that it takes. What is not finished is no
/// value.
pub(super) fn read(text: &str) -> Option<(Value, usize)> {
    let mut strict = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = strict.next() {
        return Some((value, strict.byte_offset()));
    }
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    Some((value, reader.at))
}

/// Reads the arguments of a call in the way of programming languages, `key="value", other=2)`, up to its end.
pub(super) fn keyword_arguments(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut reader = Reader { text, at: 0 };
    let mut arguments = Map::new();
    reader.skip();
    while !reader.takes(')') {
        let name = reader.word()?;
        reader.skip();
        if !reader.takes('=') {
            return None;
        }
        let value = reader.value(0)?;
        arguments.insert(name, value);
        reader.skip();
        if !reader.takes(',') && reader.peek() != Some(')') {
            return None;
        }
        reader.skip();
    }
    Some((arguments, reader.at))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip();
        match self.peek()? {
            _ if depth > MAX_DEPTH => None,
            '{' => self.object(depth),
            '[' => self.list(depth),
            quote @ ('"' | '\'') => self.quoted(quote).map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ => match self.word()?.as_str() {
                "true" | "True" => Some(Value::Bool(true)),
                "false" | "False" => Some(Value::Bool(false)),
                "null" | "None" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.takes('{');
        loop {
            self.skip();
            // A model that copies an example copies its ellipsis.
            if self.takes('…') {
                continue;
            }
            if self.takes('}') {
                return Some(Value::Object(members));
            }
            let key = match self.peek()? {
                quote @ ('"' | '\'') => self.quoted(quote)?,
                _ => self.word()?,
            };
            self.skip();
            if !self.takes(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            // Of two values for one name nobody knows which is meant.
            if members.insert(key, value).is_some() {
                return None;
            }
            self.skip();
            if !self.takes(',') && self.peek()? != '}' {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.takes('[');
        loop {
            self.skip();
            if self.takes(']') {
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip();
            if !self.takes(',') && self.peek()? != ']' {
                return None;
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        self.takes(quote);
        let mut text = String::new();
        loop {
            let c = self.peek()?;
            self.at += c.len_utf8();
            match c {
                _ if c == quote => return Some(text),
                '\\' => {
                    let escaped = self.peek()?;
                    self.at += escaped.len_utf8();
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'u' => {
                            let code = self.text.get(self.at..self.at + 4)?;
                            self.at += 4;
                            text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                        }
                        other => text.push(other),
                    }
                }
                _ => text.push(c),
            }
        }
    }

    fn number(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
        self.at += end;
        serde_json::from_str(&rest[..end]).ok()
    }

    fn word(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let end =
            rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '$')).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| rest[..end].to_owned())
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn takes(&mut self, c: char) -> bool {
        let is_there = self.peek() == Some(c);
        if is_there {
            self.at += c.len_utf8();
        }
        is_there
    }

    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_models_write_instead_of_json_is_read() {
        let read = |text| read(text).map(|(value, _)| value);
        assert_eq!(read(r#"{"a": [1, 2.5]} and more"#), Some(json!({ "a": [1, 2.5] })));
        assert_eq!(read("{'zone': 'Tokyo', limit: 3,}"), Some(json!({ "zone": "Tokyo", "limit": 3 })));
        assert_eq!(read("{\"ok\": True, 'none': None, \"list\": [False,]}"), {
            Some(json!({ "ok": true, "none": null, "list": [false] }))
        });
        assert_eq!(read("{'values': {…}}"), Some(json!({ "values": {} })));
        assert_eq!(read("{'text': 'it\\'s\\u00e9\nhere'}"), Some(json!({ "text": "it's\u{e9}\nhere" })));
    }

    #[test]
    fn what_is_not_finished_or_says_two_things_is_no_value() {
        for text in ["{\"a\": 1", "{'a': 'b", "[1, 2", "{a 1}", "{'a': 1, 'a': 2}", "{'a': yes}", "", "}"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(read(&"['a',".repeat(100_000)), None);
    }

    #[test]
    fn arguments_of_a_function_are_read_to_its_end() {
        let (arguments, bytes) = keyword_arguments("zone='Tokyo', limit=3) is it").expect("it is a call");
        assert_eq!(Value::Object(arguments), json!({ "zone": "Tokyo", "limit": 3 }));
        assert_eq!(bytes, "zone='Tokyo', limit=3)".len());
        assert_eq!(keyword_arguments(")").map(|it| it.1), Some(1));
        assert!(keyword_arguments("zone) tells").is_none());
    }
}
