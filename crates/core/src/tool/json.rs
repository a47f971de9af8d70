//! JSON read one level at a time, so that nothing a server sends is deeper than our stack.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in their order, each value unread.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads one level of an object; `None` for anything else.
    pub(crate) fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// Returns a member; of several with one name the last, as most readers do. `null` counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().rev().find(|(name, _)| name == key)?;
        (!is_null(value)).then_some(*value)
    }
}

/// Reads the first `limit` items of an array and skips the rest; `None` for anything else.
pub(crate) fn items(value: &RawValue, limit: usize) -> Option<Vec<&RawValue>> {
    let mut deserializer = serde_json::Deserializer::from_str(value.get());
    deserializer.deserialize_seq(Items { limit }).ok()
}

/// Reads a string; `None` for anything else.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

pub(crate) fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// Returns how many objects and arrays are open at the deepest point.
pub(crate) fn nesting(value: &RawValue) -> usize {
    let (mut depth, mut deepest, mut in_string) = (0_usize, 0, false);
    let mut bytes = value.get().bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => {
                bytes.next();
            }
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Reads everything down to the last escape and digit, as a strict client will.
///
/// JSON that is only skipped may hold half a surrogate pair or a number beyond any type.
pub(crate) fn read_through(value: &RawValue) -> Result<(), serde_json::Error> {
    serde_json::from_str::<Sound>(value.get()).map(|Sound| ())
}

struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while let Some(Self) = seq.next_element()? {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while let Some((Self, Self)) = map.next_entry()? {}
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

struct Items {
    limit: usize,
}

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<&RawValue>()? {
            if items.len() < self.limit {
                items.push(item);
            }
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_counts_open_brackets_outside_strings() {
        let depth = |json: &str| nesting(&RawValue::from_string(json.to_owned()).unwrap());
        assert_eq!(depth("1"), 0);
        assert_eq!(depth(r#"{"a":[{}],"b":{}}"#), 3);
        assert_eq!(depth(r#"{"[[[[":"\"[[[["}"#), 1);
        assert_eq!(depth(&format!("{}{}", "[".repeat(5000), "]".repeat(5000))), 5000);
    }

    #[test]
    fn what_a_strict_client_cannot_read_is_noticed() {
        let reads = |json: &str| read_through(&RawValue::from_string(json.to_owned()).unwrap()).is_ok();
        assert!(reads(r#"{"a":[1,-2,3.5,true,null,"\ud83d\ude00"]}"#));
        assert!(!reads(r#"{"a":["\ud83d"]}"#));
        assert!(!reads(r#"{"\ude00":1}"#));
        assert!(!reads("[1e999]"));
    }
}
