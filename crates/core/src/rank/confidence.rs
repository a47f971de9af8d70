//! How sure a decision is. A confidence of 0.8 is meant to be right in 80 of 100 cases.

use serde::Serialize;

use super::Candidate;
use super::signals::{Comparison, Signal};
use crate::lexicon::Action;
use crate::thresholds::thresholds;

/// What was judged about a request, as probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Judgement {
    /// The first candidate is right.
    pub right: f64,
    /// No tool can do it.
    pub none: f64,
    /// It does not say enough.
    pub vague: f64,
}

impl Judgement {
    /// Whether a message says so little, or is so far from every tool, that a model does better without tools.
    pub fn needs_no_tools(&self) -> bool {
        let limits = &thresholds().decision;
        let is_hopeless = self.none >= limits.no_tool && self.right < limits.maybe_right;
        is_hopeless || self.is_vague()
    }

    /// Whether a message says too little by itself: `yes`, `mark it as done`.
    pub fn is_vague(&self) -> bool {
        self.vague >= thresholds().toolset.vague
    }

    /// Whether probably no tool does what is wanted.
    pub fn fits_nothing(&self) -> bool {
        self.none >= thresholds().values.no_tool && self.right < thresholds().decision.maybe_right
    }
}

/// Defines every trait once: its variant, and its name in the file of weights.
macro_rules! traits {
    ($($variant:ident => $name:literal;)*) => {
        /// What a confidence is judged by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names say it; `traits` shows how each is made")]
        pub enum Trait { $($variant),* }

        impl Trait {
            /// Every trait, in the order of [`Traits`].
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns its name in the file of weights.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

traits! {
    Bias => "bias";
    Belief => "belief";
    Margin => "margin";
    Rival => "rival";
    Score => "score";
    Words => "words";
    Gloss => "gloss";
    Related => "related";
    Phrase => "phrase";
    Name => "name";
    Sense => "sense";
    PhraseSense => "phrase-sense";
    Reading => "reading";
    ReadingShare => "reading-share";
    Named => "named";
    OtherNamed => "other-named";
    Action => "action";
    NoAction => "no-action";
    Coverage => "coverage";
    Length => "length";
    Details => "details";
    Target => "target";
    StandIns => "stand-ins";
    Clarity => "clarity";
    Foreign => "foreign";
    Missing => "missing";
}

/// The value of every trait for one request.
pub type Traits = [f32; Trait::ALL.len()];

pub(super) fn traits(comparison: &Comparison, ranked: &[Candidate]) -> Traits {
    let mut traits = [0.0; Trait::ALL.len()];
    let units = &thresholds().ranking;
    let mut set = |it: Trait, value: f32| traits[it as usize] = value;
    let (intent, query) = (&comparison.intent, &comparison.query);
    set(Trait::Bias, 1.0);
    if let Some(first) = ranked.first() {
        let second = ranked.get(1);
        let of = |signal: Signal| first.signals[signal as usize];
        let likely = first.probability.clamp(units.least_belief as f32, 1.0 - units.least_belief as f32);
        set(Trait::Belief, (likely / (1.0 - likely)).ln());
        let nothing = units.nothing as f32;
        let next = second.map_or(nothing, |second| second.score.max(nothing));
        set(Trait::Margin, (first.score - next).min(units.most_margin as f32));
        set(Trait::Rival, second.map_or(0.0, |second| second.probability));
        set(Trait::Score, first.score / units.score_unit as f32);
        let copied = [
            (Trait::Words, Signal::Words),
            (Trait::Gloss, Signal::Gloss),
            (Trait::Related, Signal::Related),
            (Trait::Phrase, Signal::Phrase),
            (Trait::Name, Signal::Name),
            (Trait::Sense, Signal::Sense),
            (Trait::PhraseSense, Signal::PhraseSense),
            (Trait::Reading, Signal::Reading),
            (Trait::ReadingShare, Signal::ReadingShare),
            (Trait::Named, Signal::Named),
            (Trait::OtherNamed, Signal::OtherNamed),
            (Trait::Action, Signal::Action),
            (Trait::Missing, Signal::Missing),
        ];
        for (it, signal) in copied {
            set(it, of(signal));
        }
    }
    set(Trait::NoAction, f32::from(intent.action == Action::Unknown));
    set(Trait::Coverage, query.coverage);
    set(Trait::Length, query.length());
    set(Trait::Details, (intent.clues.details as f32 / units.detail_unit as f32).min(1.0));
    set(Trait::Target, f32::from(intent.clues.has_target || intent.clues.names_product));
    set(Trait::StandIns, f32::from(intent.clues.stand_ins > 0));
    set(Trait::Clarity, intent.confidence as f32);
    set(Trait::Foreign, query.is_foreign);
    traits
}
