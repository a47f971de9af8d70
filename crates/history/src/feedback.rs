//! What people said about routes, and what was learnt from it.
//!
//! Feedback is what happened; a lesson is what the router makes of it. Lessons can be undone one by one.

use serde::{Deserialize, Serialize};

use crate::bounds;

/// What somebody said, or showed by what they did next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// Names it. The same name again replaces it.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The route that it is about, where that is known.
    pub route: Option<String>,
    /// Who gave it.
    pub who: String,
    /// Where it comes from.
    pub source: FeedbackSource,
    /// Whether the route was right.
    pub verdict: Rating,
    /// The tool that was meant, as `server__tool`.
    pub meant: Option<String>,
    /// How much it counts; [`FeedbackSource::weight`] says how much its source does.
    pub weight: f64,
    /// The request. `None` where words are not kept, or were forgotten.
    pub words: Option<String>,
}

impl Feedback {
    /// Brings it into bounds.
    pub(crate) fn bounded(mut self) -> Self {
        self.words.iter_mut().for_each(bounds::words);
        self.weight = bounds::finite(self.weight);
        self
    }
}

/// What is to be learnt: for such words, this tool is right or that one is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lesson {
    /// Names it. The same name again replaces it.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Who taught it.
    pub who: String,
    /// The request. It is kept as long as the lesson is, because the lesson is about it.
    pub words: String,
    /// The tool that is right, as `server__tool`.
    pub right: Option<String>,
    /// The tool that is wrong, as `server__tool`.
    pub wrong: Option<String>,
    /// How much it counts.
    pub weight: f64,
    /// Where it comes from.
    pub source: FeedbackSource,
    /// The route that it was made from, where there is one.
    pub route: Option<String>,
}

impl Lesson {
    /// Brings it into bounds.
    pub(crate) fn bounded(mut self) -> Self {
        bounds::words(&mut self.words);
        self.weight = bounds::finite(self.weight);
        self
    }
}

/// Whether a route was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rating {
    /// It was.
    Right,
    /// It was not.
    Wrong,
}

impl Rating {
    /// Both ratings.
    pub const ALL: [Self; 2] = [Self::Right, Self::Wrong];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
        }
    }

    /// Returns its bit among the marks of a route.
    pub(crate) fn bit(self) -> i64 {
        match self {
            Self::Right => 1,
            Self::Wrong => 2,
        }
    }
}

/// Where feedback comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedbackSource {
    /// Somebody said so in the dashboard.
    Dashboard,
    /// Somebody said so with `toolyard feedback`.
    Cli,
    /// The client said so with its request.
    Client,
    /// Somebody picked one of the tools that were offered.
    Picked,
    /// Another tool was called right after.
    Followed,
    /// The same task was asked for again.
    Repeated,
    /// Somebody confirmed the call.
    Confirmed,
    /// Somebody refused the call.
    Refused,
}

impl FeedbackSource {
    /// Every source.
    pub const ALL: [Self; 8] = [
        Self::Dashboard,
        Self::Cli,
        Self::Client,
        Self::Picked,
        Self::Followed,
        Self::Repeated,
        Self::Confirmed,
        Self::Refused,
    ];

    /// Returns its name in the file and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dashboard => "dashboard",
            Self::Cli => "cli",
            Self::Client => "client",
            Self::Picked => "picked",
            Self::Followed => "followed",
            Self::Repeated => "repeated",
            Self::Confirmed => "confirmed",
            Self::Refused => "refused",
        }
    }

    /// Whether something is learnt from it. That a task comes again, or that a call is confirmed or refused, happens for
    /// too many reasons to change what is decided next time; it is only counted.
    pub fn teaches(self) -> bool {
        match self {
            Self::Dashboard | Self::Cli | Self::Client | Self::Picked | Self::Followed => true,
            Self::Repeated | Self::Confirmed | Self::Refused => false,
        }
    }

    /// Returns how much feedback of this source counts, from 0 to 1.
    ///
    /// A statement about the route counts in full. A pick is made among the tools that were offered, so it tells
    /// which one of them is best and not that it is right. Another call right after, or a refusal, often means that
    /// the tool was wrong, but also that the next step came, or that the arguments were wrong. A repeated task and
    /// a confirmation happen for many reasons: a list is read twice, and people confirm out of habit.
    pub fn weight(self) -> f64 {
        match self {
            Self::Dashboard | Self::Cli | Self::Client => 1.0,
            Self::Picked => 0.6,
            Self::Followed | Self::Refused => 0.4,
            Self::Repeated | Self::Confirmed => 0.2,
        }
    }
}
