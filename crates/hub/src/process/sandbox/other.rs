//! A system on which nothing can be enforced.

use super::{ConfinementSupport, Error, Walls};

const MISSING: (&str, &str) = ("this system has no Landlock and no seccomp", "run the hub on Linux");

pub(super) fn support() -> ConfinementSupport {
    ConfinementSupport { missing: Some(MISSING), signals: false }
}

pub(super) fn confine(_: &Walls) -> Result<(), Error> {
    Err(Error::Unsupported { missing: MISSING.0, fix: MISSING.1 })
}
