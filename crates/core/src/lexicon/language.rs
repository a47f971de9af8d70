//! Which language a text is in, as far as a few words tell.

use serde::{Deserialize, Serialize};

/// A language that the lexicon knows, by its ISO 639-1 code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the codes are the documentation")]
pub enum Language {
    En,
    Es,
    Fr,
    De,
    Pt,
    It,
    Zh,
    Ja,
    Ru,
    Ko,
    Nl,
    Tr,
    Pl,
    Ar,
    Hi,
}

impl Language {
    /// Every language, English first.
    pub const ALL: [Self; 15] = [
        Self::En,
        Self::Es,
        Self::Fr,
        Self::De,
        Self::Pt,
        Self::It,
        Self::Zh,
        Self::Ja,
        Self::Ru,
        Self::Ko,
        Self::Nl,
        Self::Tr,
        Self::Pl,
        Self::Ar,
        Self::Hi,
    ];

    /// Returns the code.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Es => "es",
            Self::Fr => "fr",
            Self::De => "de",
            Self::Pt => "pt",
            Self::It => "it",
            Self::Zh => "zh",
            Self::Ja => "ja",
            Self::Ru => "ru",
            Self::Ko => "ko",
            Self::Nl => "nl",
            Self::Tr => "tr",
            Self::Pl => "pl",
            Self::Ar => "ar",
            Self::Hi => "hi",
        }
    }

    /// Returns the language that the script alone gives away.
    ///
    /// A few foreign characters in a Latin text are a quotation, not its language.
    pub(super) fn of_script(text: &str) -> Option<Self> {
        let [mut kana, mut han, mut hangul, mut cyrillic, mut arabic, mut devanagari, mut latin] =
            [0_usize; 7];
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            match c {
                '\u{3040}'..='\u{30ff}' => kana += 2,
                '\u{3400}'..='\u{9fff}' => han += 2,
                '\u{ac00}'..='\u{d7af}' => hangul += 2,
                '\u{400}'..='\u{4ff}' => cyrillic += 1,
                '\u{600}'..='\u{6ff}' => arabic += 1,
                '\u{900}'..='\u{97f}' => devanagari += 1,
                _ => latin += 1,
            }
        }
        let east = kana + han + hangul;
        let scripts = [
            (
                east,
                if hangul > kana + han {
                    Self::Ko
                } else if kana > 0 {
                    Self::Ja
                } else {
                    Self::Zh
                },
            ),
            (cyrillic, Self::Ru),
            (arabic, Self::Ar),
            (devanagari, Self::Hi),
        ];
        let (most, language) = scripts.into_iter().max_by_key(|(count, _)| *count)?;
        (most > 0 && 2 * most >= latin).then_some(language)
    }
}
