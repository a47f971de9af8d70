//! A path inside a sandbox, checked by its words before it touches the disk.
//!
//! Nothing is repaired: a path that could mean something else to another system, or that looks like another one to a
//! reader, is refused with the reason.

use unicode_normalization::UnicodeNormalization;

use crate::reply::{quoted, shown};

/// A relative path with `/` between its parts; no part of it is hidden, special or ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SafePath(String);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the path is empty: send one such as `{EXAMPLE}`")]
    Empty,
    #[error("`{0}` is an absolute path: send one inside the workspace, such as `{EXAMPLE}`")]
    Absolute(String),
    #[error("`{0}` leads out of the workspace, or might: send a path without `..`, such as `{EXAMPLE}`")]
    Outside(String),
    #[error("`{0}` has a backslash: write `/` between folders, as in `{EXAMPLE}`")]
    Backslash(String),
    #[error("`{0}` has a colon, which names a drive or a hidden stream on Windows: leave it out")]
    Colon(String),
    #[error("`{0}` has percent-encoded characters: send the name as it is on the disk")]
    Encoded(String),
    #[error("`{path}` has {what}, which can pass for another path: send plain letters, dots and slashes")]
    LookAlike { path: String, what: String },
    #[error("`{0}` has a control character: leave it out")]
    Control(String),
    #[error("`{0}` has an empty part: write one `/` between folders and none at the end")]
    EmptyPart(String),
    #[error("`{0}` is hidden (a part of it begins with a dot): hidden files and folders are not touched")]
    Hidden(String),
    #[error("`{path}` cannot be used on every computer: {why}")]
    NotPortable { path: String, why: String },
    #[error(
        "`{0}` is too long: a name may have {LONGEST_NAME} bytes, a path {LONGEST_PATH} and {DEEPEST} parts"
    )]
    TooLong(String),
}

const EXAMPLE: &str = "uploads/photo.png";
/// Leaves room for the name of a temporary file.
const LONGEST_NAME: usize = 200;
const LONGEST_PATH: usize = 1000;
const DEEPEST: usize = 16;

/// Names that Windows keeps for devices, whatever their ending.
const DEVICES: [&str; 31] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "com¹", "com²", "com³", "lpt¹",
    "lpt²", "lpt³", "conin$", "conout$", "clock$",
];

/// Characters that pass for a dot, a slash, a backslash, a colon or a percent sign and do not fold into one.
const LOOK_ALIKES: &str = "․‥…。｡·‧∙⋅ꓸ܁܂۔᠃᠉⁄∕╱⧸⟋〳⼃𝈺∖╲⧵⧹⟍﹨：﹕︓∶꞉ː˸։׃⁚٪‰";

impl SafePath {
    /// Takes a path exactly as it was sent.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        check_letters(text)?;
        let parts: Vec<&str> = text.split('/').collect();
        if parts.contains(&"..") {
            return Err(Error::Outside(shown(text)));
        }
        for part in &parts {
            check_part(part, text)?;
        }
        let long = parts.iter().any(|part| LONGEST_NAME < part.len());
        if long || LONGEST_PATH < text.len() || DEEPEST < parts.len() {
            return Err(Error::TooLong(shown(text)));
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the folders on the way, from the outside in, and the name at the end.
    pub(crate) fn split(&self) -> (Vec<&str>, &str) {
        let mut parts: Vec<&str> = self.0.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        (parts, name)
    }

    /// Returns the name's ending in lower case, without the dot.
    pub(crate) fn extension(&self) -> Option<String> {
        let (stem, extension) = self.split().1.rsplit_once('.')?;
        (!stem.is_empty()).then(|| extension.to_lowercase())
    }

    /// Returns the name at the end without its ending.
    pub(crate) fn stem(&self) -> &str {
        let name = self.split().1;
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// Says why a name cannot be used on every system, if so.
pub(crate) fn portable(name: &str) -> Result<(), String> {
    const FORBIDDEN: &str = "<>:\"|?*";
    let stem = name.split('.').next().unwrap_or(name).trim().to_lowercase();
    if DEVICES.contains(&stem.as_str()) {
        return Err("Windows keeps this name for a device".to_owned());
    }
    if name.contains(|letter| FORBIDDEN.contains(letter)) {
        let letters = FORBIDDEN.chars().filter(|it| name.contains(*it)).map(String::from);
        return Err(format!("leave out {}", quoted(letters)));
    }
    if name.ends_with(['.', ' ']) {
        return Err("it ends in a dot or a space".to_owned());
    }
    Ok(())
}

/// Refuses what no path may have anywhere.
fn check_letters(text: &str) -> Result<(), Error> {
    if text.chars().any(char::is_control) {
        return Err(Error::Control(shown(text)));
    }
    if text.starts_with(['/', '~']) || text.starts_with("\\\\") {
        return Err(Error::Absolute(shown(text)));
    }
    if text.contains('\\') {
        return Err(Error::Backslash(shown(text)));
    }
    if text.contains(':') {
        return Err(Error::Colon(shown(text)));
    }
    if is_encoded(text) {
        return Err(Error::Encoded(shown(text)));
    }
    match text.chars().find(|letter| is_deceptive(*letter)) {
        Some(letter) => {
            let what = format!("the character U+{:04X}", u32::from(letter));
            Err(Error::LookAlike { path: shown(text), what })
        }
        None => Ok(()),
    }
}

fn check_part(part: &str, path: &str) -> Result<(), Error> {
    let unportable = |why: &str| Error::NotPortable { path: shown(path), why: why.to_owned() };
    if part.is_empty() {
        return Err(Error::EmptyPart(shown(path)));
    }
    if part == "." {
        return Err(Error::Outside(shown(path)));
    }
    if part.trim_start() != part || part.trim_end() != part {
        return Err(unportable("a part of it begins or ends with a space"));
    }
    if part.starts_with('.') {
        return Err(Error::Hidden(shown(path)));
    }
    // Windows gives long names a short one such as `STUDIO~1.DB`, which would be a second way to the same file.
    let short = part.split_once('~').is_some_and(|(_, end)| end.starts_with(|it: char| it.is_ascii_digit()));
    if short {
        return Err(unportable("`~` and a digit stand for another name on Windows"));
    }
    portable(part).map_err(|why| unportable(&why))
}

fn is_encoded(text: &str) -> bool {
    let bytes = text.as_bytes();
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    // `%u002e` is what some programs write for a character.
    bytes.iter().enumerate().any(|(at, byte)| {
        let long = bytes.get(at + 1).is_some_and(|it| matches!(it, b'u' | b'U')) && hex(at + 2);
        *byte == b'%' && (long || (hex(at + 1) && hex(at + 2)))
    })
}

/// Whether a character is not seen, changes the order of reading, or passes for one that has a meaning in paths.
fn is_deceptive(letter: char) -> bool {
    if letter.is_ascii() {
        return false;
    }
    let unseen = matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffd}' | '\u{e0000}'..='\u{e0fff}');
    let folds_into_syntax = || letter.nfkc().any(|it| matches!(it, '.' | '/' | '\\' | ':' | '%' | '~'));
    let space = letter.is_whitespace();
    unseen || space || LOOK_ALIKES.contains(letter) || folds_into_syntax()
}
