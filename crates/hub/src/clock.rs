//! What time it is where the hub runs. Decisions take it as an argument.

use jiff::{Timestamp, Zoned};
use toolyard_core::arguments::Now;

/// Returns the time on the wall, with how far it is ahead of UTC.
pub fn now() -> Now {
    let now = Zoned::now();
    Now { at: now.datetime(), offset: now.offset().seconds() }
}

/// Returns the time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
