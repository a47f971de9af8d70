//! What time it is where the hub runs. Decisions take it as an argument.
//!
//! What was over once stays over, whatever becomes of the clock on the wall.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, Zoned};
use parking_lot::Mutex;
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

/// How often the latest time is written down.
const WRITTEN: Duration = Duration::from_secs(5);

/// A clock that is never set back, not even by a restart: the latest time seen is kept in a folder.
#[derive(Debug)]
pub(crate) struct ForwardClock {
    path: PathBuf,
    latest: Mutex<Latest>,
}

#[derive(Debug)]
struct Latest {
    /// In seconds since 1970, and when that was.
    seconds: u64,
    at: Instant,
    written: Option<u64>,
}

impl ForwardClock {
    /// Takes up what was kept in a folder.
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join("clock");
        let seconds = kept(&path).unwrap_or_default();
        Self { path, latest: Mutex::new(Latest { seconds, at: Instant::now(), written: None }) }
    }

    /// Returns the seconds since 1970: what the clock on the wall says, or the latest time seen and what has passed
    /// since, whichever is later.
    pub(crate) fn seconds(&self, wall: SystemTime) -> u64 {
        let wall = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut latest = self.latest.lock();
        let passed = latest.seconds.saturating_add(latest.at.elapsed().as_secs());
        if wall > passed {
            (latest.seconds, latest.at) = (wall, Instant::now());
        }
        let now = wall.max(passed);
        if latest.written.is_none_or(|written| written + WRITTEN.as_secs() <= now) {
            latest.written = Some(now);
            // Without a folder that can be written the time is remembered by this process alone.
            if kept(&self.path).is_none_or(|kept| kept < now)
                && let Err(err) = keep(&self.path, now)
            {
                tracing::debug!("the time could not be kept at `{}`: {err}", self.path.display());
            }
        }
        now
    }
}

fn kept(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn keep(path: &Path, seconds: u64) -> std::io::Result<()> {
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    writeln!(file, "{seconds}")?;
    std::fs::rename(fresh, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t27_a_clock_that_is_set_back_goes_on_from_the_latest_time_even_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let clock = ForwardClock::open(folder.path());
        assert_eq!(clock.seconds(at(1_000_000)), 1_000_000);
        assert_eq!(clock.seconds(at(2_000_000)), 2_000_000);
        assert!((2_000_000..2_000_060).contains(&clock.seconds(at(5))));
        let clock = ForwardClock::open(folder.path());
        assert!((2_000_000..2_000_060).contains(&clock.seconds(at(5))));
        std::fs::write(folder.path().join("clock"), "no number").unwrap();
        assert_eq!(
            ForwardClock::open(folder.path()).seconds(at(5)),
            5,
            "what cannot be read is not believed"
        );
    }
}
