//! How often a tool may be called.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Seconds of a period that is not named.
pub const MINUTE: u64 = 60;

/// So many calls within a period, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many.
    pub calls: u32,
    /// Within how many seconds.
    pub period: u64,
}

impl RateLimit {
    /// So many calls within any minute.
    pub fn per_minute(calls: u32) -> Self {
        Self { calls, period: MINUTE }
    }
}

/// Says the period in words: `a minute`, or a number of seconds.
impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, period } = self;
        let times = if *calls == 1 { "once".to_owned() } else { format!("{calls} times") };
        match *period {
            MINUTE => write!(f, "{times} within a minute"),
            period => write!(f, "{times} within {period} s"),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    calls: u32,
    #[serde(default = "minute")]
    period: u64,
}

fn minute() -> u64 {
    MINUTE
}

impl Serialize for RateLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { calls: self.calls, period: self.period }.serialize(serializer)
    }
}

/// Takes `{"calls": 5, "period": 10}`, or a number of calls per minute.
impl<'de> Deserialize<'de> for RateLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = RateLimit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("calls per minute, or {\"calls\", \"period\"} with a period in seconds")
            }

            fn visit_u64<E: de::Error>(self, calls: u64) -> Result<RateLimit, E> {
                let calls = u32::try_from(calls);
                let calls =
                    calls.map_err(|_| E::invalid_value(de::Unexpected::Other("a larger number"), &self))?;
                Ok(RateLimit::per_minute(calls))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RateLimit, A::Error> {
                let Written { calls, period } =
                    Written::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(RateLimit { calls, period })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_rate_limit_has_calls_and_a_period_or_is_a_number_per_minute() {
        let read = |text: &str| serde_json::from_str::<RateLimit>(text).map_err(|err| err.to_string());
        assert_eq!(read("30"), Ok(RateLimit { calls: 30, period: 60 }));
        assert_eq!(read(r#"{"calls": 5, "period": 10}"#), Ok(RateLimit { calls: 5, period: 10 }));
        assert_eq!(read(r#"{"calls": 5}"#), Ok(RateLimit::per_minute(5)));
        assert!(read(r#"{"calls": 5, "per": 1}"#).unwrap_err().contains("unknown field `per`"));
        insta::assert_snapshot!(read("\"often\"").unwrap_err(), @r#"invalid type: string "often", expected calls per minute, or {"calls", "period"} with a period in seconds at line 1 column 7"#);
        let said = [(1, 60), (5, 3600)].map(|(calls, period)| RateLimit { calls, period }.to_string());
        assert_eq!(said, ["once within a minute", "5 times within 3600 s"]);
    }
}
