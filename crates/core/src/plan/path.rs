//! Where in a result a value lies, written `results[0].path`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The member of an object.
    Key(String),
    /// The element of a list; a negative one counts from its end.
    Index(i64),
    /// All elements of a list.
    Every,
}

/// Leads from a value to a value inside it; the empty path leads to the value itself.
///
/// ```
/// use serde_json::json;
/// use toolyard_core::plan::Path;
///
/// let path: Path = "results[*].path".parse().unwrap();
/// assert_eq!(path.pick(&json!({"results": [{"path": "a"}, {"path": "b"}]})), Some(json!(["a", "b"])));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Path(pub Vec<Segment>);

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no path; write it like `results[0].path`, `[-1]` or `items[*].id`")]
pub struct BadPath(String);

impl Path {
    /// Returns the value that the path leads to, if there is one.
    ///
    /// What does not have the rest of the path is left out of a `[*]`.
    pub fn pick(&self, value: &Value) -> Option<Value> {
        pick(&self.0, value)
    }
}

fn pick(segments: &[Segment], value: &Value) -> Option<Value> {
    let Some((first, rest)) = segments.split_first() else { return Some(value.clone()) };
    match first {
        Segment::Key(key) => pick(rest, value.get(key)?),
        Segment::Index(index) => {
            let list = value.as_array()?;
            let at = usize::try_from(index.unsigned_abs()).ok()?;
            let at = if *index < 0 { list.len().checked_sub(at)? } else { at };
            pick(rest, list.get(at)?)
        }
        Segment::Every => {
            Some(Value::Array(value.as_array()?.iter().filter_map(|each| pick(rest, each)).collect()))
        }
    }
}

impl FromStr for Path {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let bad = || BadPath(text.to_owned());
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let (inside, after) = bracketed(after).ok_or_else(bad)?;
                segments.push(inside);
                rest = after;
                continue;
            }
            let key = match rest.strip_prefix('.') {
                Some(key) if !segments.is_empty() => key,
                Some(_) => return Err(bad()),
                None if segments.is_empty() => rest,
                None => return Err(bad()),
            };
            let end = key.find(['.', '[']).unwrap_or(key.len());
            if end == 0 || !key[..end].chars().all(is_plain) {
                return Err(bad());
            }
            segments.push(Segment::Key(key[..end].to_owned()));
            rest = &key[end..];
        }
        Ok(Self(segments))
    }
}

/// Reads what is inside brackets: a number, `*`, or a key in quotes as JSON writes it.
fn bracketed(text: &str) -> Option<(Segment, &str)> {
    if text.starts_with('"') {
        let mut keys = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let key = keys.next()?.ok()?;
        let after = text[keys.byte_offset()..].strip_prefix(']')?;
        return Some((Segment::Key(key), after));
    }
    let (inside, after) = text.split_once(']')?;
    let segment = if inside == "*" { Segment::Every } else { Segment::Index(inside.parse().ok()?) };
    Some((segment, after))
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@')
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if !key.is_empty() && key.chars().all(is_plain) => {
                    let dot = if at == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                Segment::Key(key) => write!(f, "[{}]", Value::from(key.as_str()))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Every => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.to_string()
    }
}

impl TryFrom<String> for Path {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_into_objects_and_lists() {
        let value = json!({"a": [{"b": 1}, {"c": 2}, {"b": 3}], "x y": true});
        let picked = |path: &str| path.parse::<Path>().unwrap().pick(&value);
        assert_eq!(picked("a[0].b"), Some(json!(1)));
        assert_eq!(picked("a[-1].b"), Some(json!(3)));
        assert_eq!(picked("a[*].b"), Some(json!([1, 3])));
        assert_eq!(picked(r#"["x y"]"#), Some(json!(true)));
        assert_eq!(picked(""), Some(value.clone()));
        assert_eq!(picked("a[3]"), None);
        assert_eq!(picked("a[-4]"), None);
        assert_eq!(picked("a.b"), None);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [".a", "a.", "a..b", "a[", "a[x]", "a[1", "a[1]b", "a b", "[\"a]", "a[1.5]"] {
            assert!(text.parse::<Path>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_path_is_read_as_it_is_written(keys in proptest::collection::vec(
            prop_oneof![
                ".{0,6}".prop_map(Segment::Key),
                (-9_i64..9).prop_map(Segment::Index),
                Just(Segment::Every),
            ], 0..6)) {
            let path = Path(keys);
            prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path.clone()), "{}", path);
        }
    }
}
