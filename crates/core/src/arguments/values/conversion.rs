//! How a value had to be changed to fit a field, and what that says.

use super::super::argument::Evidence;
use super::super::candidate::Similarity;

/// How a value had to be changed to fit a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Not at all.
    Same,
    /// A number or a yes became a text.
    Written,
    /// A text became a number.
    Number,
    /// A text became yes or no.
    Flag,
    /// A text became one of the choices: in other letters, or in other words.
    Choice(Similarity),
    /// A date or a time was written in another form.
    Moment,
    /// One value became a list, a list became one, items of a list changed.
    Wrapped,
    Split,
    Joined,
    Items,
    /// Objects and lists became the text of them.
    Json,
    /// A number was counted in another unit.
    Unit,
    /// Nobody says whether a number is meant in the unit that the field wants, or a text in one piece.
    Bare,
    /// A known name of something became its code.
    Known,
    /// `owner/name` became two values.
    Halves,
    /// A list of objects got other names.
    Table,
}

impl Conversion {
    /// Says how plainly a value that was changed so is what the caller said.
    pub(super) fn evidence(self) -> Evidence {
        match self {
            Self::Same
            | Self::Written
            | Self::Number
            | Self::Flag
            | Self::Wrapped
            | Self::Items
            | Self::Halves
            | Self::Choice(Similarity::Exact) => Evidence::Marked,
            Self::Moment
            | Self::Split
            | Self::Joined
            | Self::Json
            | Self::Unit
            | Self::Known
            | Self::Table
            | Self::Choice(Similarity::Stem | Similarity::Translated) => Evidence::Shape,
            Self::Bare | Self::Choice(Similarity::Partial | Similarity::Related) => Evidence::Prose,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Same | Self::Bare => "same",
            Self::Written => "written",
            Self::Number => "number",
            Self::Flag => "flag",
            Self::Choice(Similarity::Exact) => "choice-exact",
            Self::Choice(Similarity::Stem) => "choice-stem",
            Self::Choice(Similarity::Translated) => "choice-translated",
            Self::Choice(Similarity::Partial) => "choice-partial",
            Self::Choice(Similarity::Related) => "choice-related",
            Self::Moment => "moment",
            Self::Wrapped => "wrapped",
            Self::Split => "split",
            Self::Joined => "joined",
            Self::Items => "items",
            Self::Json => "json",
            Self::Unit => "unit",
            Self::Known => "known",
            Self::Halves => "halves",
            Self::Table => "table",
        }
    }
}
