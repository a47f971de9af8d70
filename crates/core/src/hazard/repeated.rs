//! Keys that an object has twice. Readers differ in which of the two counts, so what is judged here may not be what
//! a server gets.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Returns a key that some object of a JSON text has twice, however it is escaped; `None` for what is not JSON.
///
/// ```
/// use toolyard_core::hazard::repeated_key;
///
/// assert_eq!(repeated_key(r#"{"a": [{"b": 1, "\u0062": 2}]}"#).as_deref(), Some("b"));
/// assert_eq!(repeated_key(r#"{"a": {"b": 1}, "b": 2}"#), None);
/// ```
pub fn repeated_key(json: &str) -> Option<String> {
    let found = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(json);
    // The first one ends the reading with an error.
    let _ = Keys(&found).deserialize(&mut deserializer);
    found.into_inner()
}

#[derive(Clone, Copy)]
struct Keys<'f>(&'f RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut keys: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(key) = members.next_key::<Cow<'de, str>>()? {
            if keys.contains(&key) {
                *self.0.borrow_mut() = Some(key.into_owned());
                return Err(A::Error::custom("a key is there twice"));
            }
            keys.insert(key);
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}
