//! Colours as people and bulbs write them: "warm white", `#ff8800`.

use serde::{Deserialize, Serialize};

use crate::{fold::fold, reply::shown};

/// A colour, in the order of `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Color([u8; 3]);

#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no colour: send `#rrggbb`, for example `#ff8800`, or a name such as `red`, `warm white` or `blue`"
)]
pub(super) struct Error(String);

const NAMES: [(&str, [u8; 3]); 22] = [
    ("red", [255, 0, 0]),
    ("green", [0, 255, 0]),
    ("blue", [0, 0, 255]),
    ("white", [255, 255, 255]),
    ("warm white", [255, 214, 170]),
    ("cold white", [201, 226, 255]),
    ("cool white", [201, 226, 255]),
    ("daylight", [255, 255, 251]),
    ("candle", [255, 147, 41]),
    ("yellow", [255, 255, 0]),
    ("orange", [255, 136, 0]),
    ("amber", [255, 191, 0]),
    ("pink", [255, 105, 180]),
    ("magenta", [255, 0, 255]),
    ("purple", [128, 0, 128]),
    ("violet", [143, 0, 255]),
    ("indigo", [75, 0, 130]),
    ("cyan", [0, 255, 255]),
    ("turquoise", [64, 224, 208]),
    ("teal", [0, 128, 128]),
    ("lime", [191, 255, 0]),
    ("brown", [150, 75, 0]),
];

impl Color {
    /// Reads a name or `#rrggbb`, also without the sign or as `#rgb`.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let wrong = || Error(shown(text.trim()));
        let name = fold(text.trim()).replace(['_', '-'], " ");
        if let Some((_, color)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Self(*color));
        }
        let digits = name.strip_prefix('#').unwrap_or(&name);
        if !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let digits = match digits.len() {
            3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
            6 => digits.to_owned(),
            _ => return Err(wrong()),
        };
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong());
        Ok(Self([part(0)?, part(2)?, part(4)?]))
    }

    /// Returns the six digits without a sign, as Z-Wave JS wants them.
    pub(super) fn digits(self) -> String {
        let [red, green, blue] = self.0;
        format!("{red:02x}{green:02x}{blue:02x}")
    }
}

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.digits())
    }
}

impl TryFrom<String> for Color {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::read(&text)
    }
}

impl From<Color> for String {
    fn from(color: Color) -> Self {
        color.to_string()
    }
}
