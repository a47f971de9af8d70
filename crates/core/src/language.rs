//! The words of human languages: one file per language in `language/data`, read once.
//!
//! This is the only place where such words are kept. Every key of a file is required, so that a list that a language
//! lacks is written down as empty. Modules below take the lists they need and bring them into the form in which they
//! compare words.

mod action;
mod fold;
mod set;
mod words;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use action::Action;
pub(crate) use fold::{fold, folded};
pub(crate) use set::WordSet;
pub(crate) use words::{Calendar, Unit, VerbPlace, Words};

static YES: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.answers.yes));
static NONE: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.answers.none));
/// Words that turn a meaning around.
pub(crate) static NEGATIONS: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.negations));

/// Reads a word for yes or no, or what switches are called by.
pub(crate) fn yes_or_no(text: &str) -> Option<bool> {
    let word = folded(text.trim());
    match word.as_str() {
        "true" | "on" => Some(true),
        "false" | "off" => Some(false),
        word if YES.has(word) => Some(true),
        word => (NONE.has(word) && NEGATIONS.has(word)).then_some(false),
    }
}

macro_rules! languages {
    ($($name:ident $code:literal),+ $(,)?) => {
        /// A language with a file of words, by its ISO 639-1 code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[expect(missing_docs, reason = "the codes are the documentation")]
        pub enum Language {
            $($name),+
        }

        impl Language {
            /// Every language, English first.
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$name),+];

            /// Returns the code.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code),+
                }
            }

            /// The text of its file; without the file, this does not compile.
            fn file(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("language/data/", $code, ".json"))),+
                }
            }
        }
    };
}

// Where two languages fit a text equally well, the one that stands first is taken.
languages! {
    En "en",
    Es "es",
    Fr "fr",
    De "de",
    Pt "pt",
    It "it",
    Zh "zh",
    Ja "ja",
    Ru "ru",
    Ko "ko",
    Nl "nl",
    Tr "tr",
    Pl "pl",
    Ar "ar",
    Hi "hi",
}

/// The files of all languages, in the order of [`Language::ALL`].
static FILES: LazyLock<[Words; Language::ALL.len()]> = LazyLock::new(|| {
    Language::ALL.map(|language| {
        let words: Words = serde_json::from_str(language.file())
            .unwrap_or_else(|err| panic!("a test reads every file; {}: {err}", language.code()));
        assert_eq!(words.language, language, "a file is named after its language");
        words
    })
});

/// Returns the words of every language, English first.
pub(crate) fn all() -> &'static [Words] {
    &*FILES
}

impl Language {
    /// Returns its words.
    pub(crate) fn words(self) -> &'static Words {
        &FILES[self as usize]
    }

    /// Returns the language that the script alone gives away.
    ///
    /// A few foreign characters in a Latin text are a quotation, not its language.
    pub(crate) fn of_script(text: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests;
