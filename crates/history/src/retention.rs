//! How long and how much is kept.
//!
//! The bound on bytes counts the file and its write-ahead log together, because both are on the disk.

/// The least bytes that a history works with.
const LEAST_BYTES: u64 = 1 << 20;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// How long and how much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Days after which routes go, and their feedback with them.
    pub days: u32,
    /// Days after which the words of requests are forgotten, and everything that may quote them.
    pub words_days: u32,
    /// Bytes on the disk, 1 MiB at least; the oldest routes go when there are more.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { days: 30, words_days: 7, bytes: 200_000_000 }
    }
}

impl Retention {
    /// Returns the time before which routes go.
    pub(crate) fn oldest(self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(i64::from(self.days).saturating_mul(DAY_MS))
    }

    /// Returns the time before which words go.
    pub(crate) fn oldest_words(self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(i64::from(self.words_days).saturating_mul(DAY_MS))
    }

    /// Returns how long the write-ahead log may become.
    pub(crate) fn log_bytes(self) -> u64 {
        (self.bytes / 16).clamp(LEAST_BYTES / 16, 4 << 20)
    }

    /// Returns how large the file may become. The log may overshoot by a transaction, so room is left for three.
    pub(crate) fn file_bytes(self) -> u64 {
        self.bytes.max(LEAST_BYTES) - 3 * self.log_bytes()
    }

    /// Returns how large the file is after something had to go; the difference is what goes at once.
    pub(crate) fn roomy_bytes(self) -> u64 {
        self.file_bytes() / 32 * 31
    }

    /// Returns how many routes are written or removed in one transaction.
    pub(crate) fn batch(self) -> usize {
        usize::try_from(self.log_bytes() / 4096).unwrap_or(usize::MAX).clamp(16, 256)
    }
}
