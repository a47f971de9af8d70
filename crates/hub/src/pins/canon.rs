//! One way of writing a definition, whatever its layout.
//!
//! Only what a model or a person is shown is part of it. Two texts that JSON means to be the same are written alike;
//! every other difference stays, down to one character. Numbers are compared digit by digit, because a reader may not
//! round them as we would.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use super::numbers;

/// The members of a definition that are shown.
const SHOWN: [&str; 7] =
    ["annotations", "description", "icons", "inputSchema", "name", "outputSchema", "title"];
/// Of these, texts for people.
const TEXTS: [&str; 2] = ["description", "title"];
/// Members whose order carries nothing: names that must be there, types of which one fits.
const SETS: [&str; 2] = ["required", "type"];
/// Deeper texts are compared as they are.
const MOST_NESTING: usize = 256;

/// Writes what is shown of a definition. A text that cannot be read counts as it is.
pub(super) fn canonical(definition: &str) -> String {
    let Some(shown) = shown(definition) else { return format!("as it is {definition}") };
    let mut out = String::with_capacity(definition.len());
    Node::Object(shown).write(&mut out);
    out
}

/// Writes what is shown of a definition, numbers that stand alone in its title and description looking alike. `None` for
/// a text that cannot be read.
pub(super) fn but_for_numbers(definition: &str) -> Option<String> {
    let mut out = String::with_capacity(definition.len());
    Node::Object(shown(definition)?.into_iter().map(blanked).collect()).write(&mut out);
    Some(out)
}

fn blanked<'t>((key, value): (String, Node<'t>)) -> (String, Node<'t>) {
    match value {
        Node::Text(text) if TEXTS.contains(&&*key) => (key, Node::Text(numbers::blanked(&text))),
        Node::Plain(_) | Node::Text(_) | Node::Broken(_) | Node::List(_) | Node::Object(_) => (key, value),
    }
}

/// One value of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// As a person reads it.
    pub(super) read: String,
    /// In one form, which two values have in common only if they are the same.
    pub(super) form: String,
}

/// Returns what is shown of a definition by its place; a list of plain values is one part. Two definitions have the
/// same parts only if they are written alike. `None` for a text that cannot be read.
pub(super) fn parts(definition: &str) -> Option<BTreeMap<String, Part>> {
    let mut parts = BTreeMap::new();
    members("", shown(definition)?, &mut parts);
    Some(parts)
}

/// Returns the members of a definition that are shown and say something.
fn shown(definition: &str) -> Option<Vec<(String, Node<'_>)>> {
    let mut reader = Reader { text: definition, at: 0 };
    let Node::Object(members) = reader.value(0)? else { return None };
    reader.skip_space();
    if reader.peek().is_some() {
        return None;
    }
    let members = members.into_iter().filter(|(key, _)| SHOWN.contains(&key.as_str()));
    let members =
        members.map(|(key, value)| if key == "icons" { (key, addresses(value)) } else { (key, value) });
    Some(members.filter(|(_, value)| !value.says_nothing()).collect())
}

fn members(path: &str, members: Vec<(String, Node<'_>)>, parts: &mut BTreeMap<String, Part>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (key, value) in members {
        let value = value.of(&key);
        let is_plain = !key.is_empty() && !key.contains(['.', '[', ']', '#', '"']);
        let key = if is_plain { key } else { quoted(&key) };
        let dot = if path.is_empty() { "" } else { "." };
        let count = seen.entry(key.clone()).and_modify(|it| *it += 1).or_insert(1);
        let again = if *count > 1 { format!("#{count}") } else { String::new() };
        part(format!("{path}{dot}{key}{again}"), value, parts);
    }
}

fn part(path: String, node: Node<'_>, parts: &mut BTreeMap<String, Part>) {
    let is_plain = |node: &Node<'_>| match node {
        Node::Plain(_) | Node::Text(_) | Node::Broken(_) => true,
        Node::List(_) | Node::Object(_) => false,
    };
    let read = match node {
        Node::Object(inner) if !inner.is_empty() => return members(&path, inner, parts),
        Node::List(items) if !items.iter().all(is_plain) => {
            for (at, item) in items.into_iter().enumerate() {
                part(format!("{path}[{at}]"), item, parts);
            }
            return;
        }
        Node::List(ref items) => {
            let written = |item: &Node<'_>| match item {
                Node::Plain(text) | Node::Broken(text) => (*text).to_owned(),
                Node::Text(text) => quoted(text),
                Node::List(_) | Node::Object(_) => String::new(),
            };
            format!("[ {} ]", items.iter().map(written).collect::<Vec<_>>().join(" , "))
        }
        Node::Text(ref text) => text.clone(),
        Node::Plain(text) | Node::Broken(text) => text.to_owned(),
        Node::Object(_) => "{}".to_owned(),
    };
    let mut form = String::new();
    node.write(&mut form);
    parts.insert(path, Part { read, form });
}

enum Node<'t> {
    /// A number or a word of JSON.
    Plain(&'t str),
    Text(String),
    /// A text with half of a character, which no `String` can hold.
    Broken(&'t str),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Node<'_> {
    /// Whether it is shown as nothing, just as if it were not there.
    fn says_nothing(&self) -> bool {
        match self {
            Self::Plain(word) => *word == "null",
            Self::Text(text) => text.is_empty(),
            Self::Broken(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
        }
    }

    /// Returns the value of a member of this name: where order carries nothing, in one order.
    fn of(mut self, key: &str) -> Self {
        if let Self::List(items) = &mut self
            && SETS.contains(&key)
            && items.iter().all(|item| matches!(item, Self::Text(_)))
        {
            items.sort_by(by_text);
        }
        self
    }

    fn write(self, out: &mut String) {
        match self {
            Self::Plain(word) => out.push_str(&one_form(word)),
            Self::Text(text) => out.push_str(&quoted(&text)),
            Self::Broken(text) => {
                out.push('!');
                out.push_str(text);
            }
            Self::List(items) => {
                out.push('[');
                for item in items {
                    item.write(out);
                    out.push(',');
                }
                out.push(']');
            }
            Self::Object(mut members) => {
                // Of two members of one name, readers differ in which counts: both do, in their order.
                members.sort_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (key, value) in members {
                    out.push_str(&quoted(&key));
                    out.push(':');
                    value.of(&key).write(out);
                    out.push(',');
                }
                out.push('}');
            }
        }
    }
}

/// A number in one form; a word of JSON as it is.
fn one_form(word: &str) -> Cow<'_, str> {
    let is_number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    number(word).filter(|_| is_number).map_or(Cow::Borrowed(word), Cow::Owned)
}

fn by_text(a: &Node<'_>, b: &Node<'_>) -> Ordering {
    match (a, b) {
        (Node::Text(a), Node::Text(b)) => a.cmp(b),
        (_, _) => Ordering::Equal,
    }
}

/// Of an icon its address is shown; size and type only say how.
fn addresses(icons: Node<'_>) -> Node<'_> {
    let Node::List(items) = icons else { return icons };
    let address = |item| match item {
        Node::Object(members) => Node::Object(members.into_iter().filter(|(key, _)| key == "src").collect()),
        other @ (Node::Plain(_) | Node::Text(_) | Node::Broken(_) | Node::List(_)) => other,
    };
    Node::List(items.into_iter().map(address).collect())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text serialises")
}

/// Reads a text that is JSON already. Where it is not, reading ends with nothing.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn value(&mut self, depth: usize) -> Option<Node<'t>> {
        if depth > MOST_NESTING {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => {
                let text = self.string()?;
                Some(serde_json::from_str(text).map_or(Node::Broken(text), Node::Text))
            }
            b'-' | b'0'..=b'9' => Some(Node::Plain(
                self.run(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')),
            )),
            b'a'..=b'z' => Some(Node::Plain(self.run(|byte| byte.is_ascii_lowercase()))),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<Node<'t>> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(Node::Object(members));
                }
                b',' => self.at += 1,
                b'"' => {
                    let key = self.string()?;
                    let key = serde_json::from_str(key).unwrap_or_else(|_| format!("!{key}"));
                    self.skip_space();
                    (self.peek()? == b':').then(|| self.at += 1)?;
                    members.push((key, self.value(depth + 1)?));
                }
                _ => return None,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Node<'t>> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(Node::List(items));
                }
                b',' => self.at += 1,
                _ => items.push(self.value(depth + 1)?),
            }
        }
    }

    /// Takes a string with its quotes.
    fn string(&mut self) -> Option<&'t str> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..self.at);
                }
                _ => self.at += 1,
            }
        }
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn skip_space(&mut self) {
        self.run(|byte| byte.is_ascii_whitespace());
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Writes a number as its digits and a power of ten; nothing of it is rounded.
fn number(text: &str) -> Option<String> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let power: i64 = power.parse().ok()?;
    let power = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return Some("0".to_owned());
    }
    let power = power.checked_add(i64::try_from(digits.len() - kept.len()).ok()?)?;
    Some(format!("{sign}{kept}e{power}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_numbers_are_told_apart_digit_by_digit_and_written_in_one_form() {
        let written = |text| number(text).unwrap();
        for same in [["1000", "1e3"], ["1.0", "1"], ["-0.50", "-5e-1"], ["0.0", "-0"], ["12.30E+2", "1230"]] {
            assert_eq!(written(same[0]), written(same[1]), "{same:?}");
        }
        assert_ne!(written("18446744073709551616"), written("18446744073709551617"));
        assert_ne!(written("0.10000000000000001"), written("0.1"));
        assert_ne!(written("1"), written("-1"));
        assert_eq!(number("1e99999999999999999999"), None);
    }

    #[test]
    fn t27_a_text_that_cannot_be_read_counts_as_it_is() {
        let deep = format!("{{\"name\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        for text in ["[1]", "", "{\"name\":", "{\"name\" 1}", "\"x", deep.as_str()] {
            assert_eq!(canonical(text), format!("as it is {text}"));
        }
        let half = |unit: &str| canonical(&format!("{{\"name\":\"{unit}\"}}"));
        assert_ne!(half("\\ud800"), half("\\ud801"));
    }
}
