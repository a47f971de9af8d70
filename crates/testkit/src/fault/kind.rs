//! The faults by name.

use std::str::FromStr;

/// One way in which a server can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Reads everything and answers nothing.
    Silent,
    /// Writes lines that are no JSON, or no JSON-RPC, before each message.
    Garbage,
    /// Writes each message in two parts with a pause between; still valid.
    HalfLine,
    /// Ends no reply with a newline.
    NoNewline,
    /// Never reads its stdin.
    Deaf,
    /// Answers `tools/list` with 50 MB.
    HugeReply,
    /// Has one tool with an input schema 3,000 levels deep.
    DeepSchema,
    /// Has 20,000 tools.
    ManyTools,
    /// Gives the same cursor with every page.
    RepeatingCursor,
    /// Gives a new cursor with every page, for ever.
    EndlessCursor,
    /// Starts a grandchild at once that keeps stdout open and ignores SIGTERM.
    Forks,
    /// Exits in the middle of any tool call.
    DiesMidCall,
    /// Writes a reason to stderr and exits with 3.
    DiesAtStart,
    /// Never answers a tool call.
    HangsOnCall,
    /// Waits before it reads anything.
    SlowStart,
    /// Says `list_changed` a thousand times a second.
    Storm,
    /// Lists two tools of one name.
    DuplicateNames,
    /// Writes bytes that are no UTF-8 in a tool's description and in results.
    BadUtf8,
    /// Has ANSI escapes and invisible characters in names and descriptions.
    AnsiNames,
    /// Lists other tools from the second listing on, without notice.
    ChangesTools,
    /// Writes megabytes a second to stderr.
    StderrFlood,
    /// Writes notifications without end.
    StdoutFlood,
    /// Sends replies that nobody asked for, and only those to a tool call.
    WrongId,
    /// Speaks a protocol version that nobody knows.
    BadVersion,
    /// Answers everything after the handshake with `"result": null`.
    NullResult,
    /// Answers a tool call only once it was cancelled.
    Late,
}

/// Says that a fault of this name does not exist.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a fault; see --list-faults")]
pub struct UnknownFault(String);

impl Fault {
    /// Every fault there is.
    pub const ALL: [Self; 26] = [
        Self::Silent,
        Self::Garbage,
        Self::HalfLine,
        Self::NoNewline,
        Self::Deaf,
        Self::HugeReply,
        Self::DeepSchema,
        Self::ManyTools,
        Self::RepeatingCursor,
        Self::EndlessCursor,
        Self::Forks,
        Self::DiesMidCall,
        Self::DiesAtStart,
        Self::HangsOnCall,
        Self::SlowStart,
        Self::Storm,
        Self::DuplicateNames,
        Self::BadUtf8,
        Self::AnsiNames,
        Self::ChangesTools,
        Self::StderrFlood,
        Self::StdoutFlood,
        Self::WrongId,
        Self::BadVersion,
        Self::NullResult,
        Self::Late,
    ];

    /// Gives the name that `--fault` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Garbage => "garbage",
            Self::HalfLine => "half-line",
            Self::NoNewline => "no-newline",
            Self::Deaf => "deaf",
            Self::HugeReply => "huge-reply",
            Self::DeepSchema => "deep-schema",
            Self::ManyTools => "many-tools",
            Self::RepeatingCursor => "repeating-cursor",
            Self::EndlessCursor => "endless-cursor",
            Self::Forks => "forks",
            Self::DiesMidCall => "dies-mid-call",
            Self::DiesAtStart => "dies-at-start",
            Self::HangsOnCall => "hangs-on-call",
            Self::SlowStart => "slow-start",
            Self::Storm => "storm",
            Self::DuplicateNames => "duplicate-names",
            Self::BadUtf8 => "bad-utf8",
            Self::AnsiNames => "ansi-names",
            Self::ChangesTools => "changes-tools",
            Self::StderrFlood => "stderr-flood",
            Self::StdoutFlood => "stdout-flood",
            Self::WrongId => "wrong-id",
            Self::BadVersion => "bad-version",
            Self::NullResult => "null-result",
            Self::Late => "late",
        }
    }
}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        let found = Self::ALL.into_iter().find(|fault| fault.name() == text);
        found.ok_or_else(|| UnknownFault(text.to_owned()))
    }
}
