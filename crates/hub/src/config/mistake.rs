//! What is wrong with a settings file, and where.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toolyard_core::thresholds::thresholds;

/// One mistake in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file as the caller named it.
    pub path: PathBuf,
    /// The line, counted from 1; 0 when the mistake is about the file as a whole.
    pub line: usize,
    /// The column in characters, counted from 1; 0 when the mistake is about the file as a whole.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Mistake {
    /// Says that the file as a whole cannot be used.
    pub(crate) fn whole_file(path: &Path, message: String, hint: Option<String>) -> Self {
        Self { path: path.to_owned(), line: 0, column: 0, message, hint }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Mistake {}

/// Gathers the mistakes of one file.
pub(super) struct Report<'a> {
    path: &'a Path,
    text: &'a str,
    line_starts: Vec<usize>,
    /// Where mistakes were found, so that what depends on a wrong part is not complained about as well.
    places: BTreeSet<usize>,
    mistakes: Vec<Mistake>,
    /// Variables that are not set, by the place that names them, where that puts only one server off.
    unset: BTreeMap<usize, (String, Mistake)>,
    left_out: usize,
}

impl<'a> Report<'a> {
    /// Beyond this many, a file is not a settings file with mistakes but something else.
    const MOST: usize = 100;

    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1)).collect();
        Self {
            path,
            text,
            line_starts,
            places: BTreeSet::new(),
            mistakes: Vec::new(),
            unset: BTreeMap::new(),
            left_out: 0,
        }
    }

    pub(super) fn add(&mut self, at: usize, message: impl Into<String>, hint: Option<String>) {
        self.places.insert(at);
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let mistake = self.mistake(at, message.into(), hint);
        self.mistakes.push(mistake);
    }

    /// Notes a variable that is not set. It is a mistake of one server only, which is off without it.
    pub(super) fn add_unset(&mut self, at: usize, variable: String, message: String, hint: String) {
        let mistake = self.mistake(at, message, Some(hint));
        self.unset.insert(at, (variable, mistake));
    }

    /// Returns the variables that are not set in this part of the text.
    pub(super) fn unset(&self, part: &Range<usize>) -> impl Iterator<Item = &(String, Mistake)> {
        self.unset.range(part.clone()).map(|(_, unset)| unset)
    }

    fn mistake(&self, at: usize, message: String, hint: Option<String>) -> Mistake {
        let (line, column) = self.position(at);
        Mistake { path: self.path.to_owned(), line, column, message, hint }
    }

    /// Phrases the nearest known word as a hint.
    pub(super) fn did_you_mean<'k>(
        &self,
        written: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<String> {
        // Comparing words costs more than all the rest, and this hint would not be shown.
        if self.is_full() {
            return None;
        }
        nearest(written, known).map(|word| format!("did you mean `{word}`?"))
    }

    /// Returns whether something inside this part of the text is already known to be wrong.
    pub(super) fn touches(&self, part: &Range<usize>) -> bool {
        self.places.range(part.clone()).next().is_some()
    }

    /// Returns a part as it is written, in which references are not replaced by what may be secret.
    pub(super) fn written(&self, part: &Range<usize>) -> &'a str {
        self.text.get(part.clone()).unwrap_or_default()
    }

    pub(super) fn finish(mut self) -> Vec<Mistake> {
        self.mistakes.sort_by_key(|it| (it.line, it.column));
        if self.left_out > 0 {
            let message = format!("and {} more mistakes", self.left_out);
            self.mistakes.push(Mistake::whole_file(self.path, message, None));
        }
        self.mistakes
    }

    fn is_full(&self) -> bool {
        self.mistakes.len() == Self::MOST
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= at);
        let start = self.line_starts[line - 1];
        let column = self.text.get(start..at).map_or(0, |before| before.chars().count()) + 1;
        (line, column)
    }
}

/// Returns the word of `known` that `written` was probably meant to be.
pub(crate) fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A longer word is not a typing mistake, and the comparison costs the product of both lengths.
    if written.len() > 64 {
        return None;
    }
    let folded = written.to_lowercase();
    known
        .into_iter()
        .filter(|word| word.len() <= 64)
        .map(|word| (likeness(&folded, &word.to_lowercase()), word))
        .filter(|(likeness, _)| *likeness >= thresholds().spelling.setting)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, word)| word)
}

/// Says how alike two words are, between 0 and 1.
fn likeness(written: &str, word: &str) -> f64 {
    // Swapped letters in a short word are one slip of the fingers, but unlike by the other measure.
    let one_slip = word.chars().count() > 2 && strsim::osa_distance(written, word) == 1;
    strsim::jaro_winkler(written, word).max(if one_slip { thresholds().spelling.slip } else { 0.0 })
}
