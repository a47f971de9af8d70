//! One decision of the hub, and how decisions are looked for.
//!
//! What may quote a request (the question and the reasons) is kept exactly as long as the request's words are.

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds;
use crate::feedback::Rating;

/// Candidates that are kept of a route.
const CANDIDATES: usize = 8;

/// One decision of the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Names it; [`route_id`] makes one.
    pub id: String,
    /// When it was asked for, in milliseconds since 1970.
    pub at: i64,
    /// Whose it is: `local`, or a digest of the token.
    pub who: String,
    /// The client, such as `cursor 1.2`, `cli` or `dashboard`.
    pub client: String,
    /// The session, where there is one.
    pub session: Option<String>,
    /// The request. `None` where words are not kept, or were forgotten.
    pub words: Option<String>,
    /// What was decided.
    pub decision: RouteOutcome,
    /// The tool as `server__tool`.
    pub tool: Option<String>,
    /// How sure the hub was.
    pub confidence: f64,
    /// Why it was decided so. Empty where the words are not kept.
    pub reasons: Vec<String>,
    /// The tools that were compared, best first.
    pub candidates: Vec<Considered>,
    /// The names and types of the arguments.
    pub shape: Value,
    /// The arguments themselves, where the configuration says so.
    pub arguments: Option<Value>,
    /// How the call ended, where there was one: `answered`, `failed`, `refused`, `unreachable`, `denied`,
    /// `unconfirmed`, `held-back` or `abandoned`.
    pub ran: Option<String>,
    /// How long the decision took.
    pub routing_ms: f64,
    /// How long everything took, with the call.
    pub total_ms: f64,
    /// Whether the decision was remembered from an equal request.
    pub cached: bool,
    /// What was asked back. `None` where the words are not kept.
    pub question: Option<String>,
}

impl Route {
    /// Brings a route into bounds: it must not be able to fill the file by itself.
    pub(crate) fn bounded(mut self) -> Self {
        for name in [&mut self.who, &mut self.client] {
            bounds::name(name);
        }
        self.words.iter_mut().for_each(bounds::words);
        self.question.iter_mut().for_each(bounds::sentence);
        bounds::reasons(&mut self.reasons);
        self.candidates.truncate(CANDIDATES);
        for candidate in &mut self.candidates {
            candidate.probability = bounds::finite(candidate.probability);
            bounds::reasons(&mut candidate.reasons);
        }
        for number in [&mut self.confidence, &mut self.routing_ms, &mut self.total_ms] {
            *number = bounds::finite(*number);
        }
        if !bounds::fits(&self.shape) {
            self.shape = Value::Null;
        }
        self.arguments = self.arguments.filter(bounds::fits);
        self
    }
}

/// A tool that was compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Considered {
    /// The tool as `server__tool`.
    pub tool: String,
    /// How likely it was the right one.
    pub probability: f64,
    /// Why. Empty where the words are not kept.
    pub reasons: Vec<String>,
}

/// What the hub decided to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RouteOutcome {
    /// Called a tool.
    Act,
    /// Prepared a call for somebody to look at.
    Draft,
    /// Asked back.
    Ask,
    /// Said that no tool fits.
    Decline,
    /// Made a plan of several steps.
    Plan,
    /// Listed tools to choose from.
    Candidates,
    /// Could not decide at all.
    Failed,
}

impl RouteOutcome {
    /// Every outcome.
    pub const ALL: [Self; 7] =
        [Self::Act, Self::Draft, Self::Ask, Self::Decline, Self::Plan, Self::Candidates, Self::Failed];

    /// Returns its name in the file and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Act => "act",
            Self::Draft => "draft",
            Self::Ask => "ask",
            Self::Decline => "decline",
            Self::Plan => "plan",
            Self::Candidates => "candidates",
            Self::Failed => "failed",
        }
    }
}

/// Which routes are looked for. Every part that is given must fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteSearch {
    /// Stands in the request or in the tool's name, in whatever case.
    pub text: Option<String>,
    /// The tool as `server__tool`.
    pub tool: Option<String>,
    /// The server of the tool.
    pub server: Option<String>,
    /// What was decided.
    pub decision: Option<RouteOutcome>,
    /// The session.
    pub session: Option<String>,
    /// Somebody said that it was right, or that it was wrong.
    pub marked: Option<Rating>,
    /// Not before this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// The page after the one that gave this as `next`.
    pub before: Option<String>,
    /// At most so many, from 1 to 500.
    pub limit: usize,
}

/// A part of a list.
///
/// A page may hold fewer items than asked for, even none, and still have a `next`: one answer looks at a bounded
/// number of rows, so that it takes a bounded time. The list ends where `next` is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What to give as `before` to see the next page.
    pub next: Option<String>,
    /// How many there are on all pages, where that is cheap to know.
    pub total: Option<u64>,
}

/// Makes a name of 26 letters and digits. Names that are made later sort after those made before.
pub fn route_id() -> String {
    /// Crockford's base 32, as in ULIDs.
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    /// Bits behind the time.
    const RANDOM: u32 = 80;
    static LAST: Mutex<u128> = Mutex::new(0);
    let mut random = [0; 10];
    getrandom::fill(&mut random).expect("the operating system has random numbers");
    let random = random.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
    let now = u128::from(now_ms().unsigned_abs()) << RANDOM;
    let mut last = LAST.lock();
    // Within a millisecond, and after a clock was put back, names count on from the last one.
    let number = if *last >> RANDOM < now >> RANDOM { now | random } else { *last + 1 };
    *last = number;
    (0..26)
        .rev()
        .map(|at| char::from(DIGITS[usize::try_from(number >> (at * 5) & 31).unwrap_or(0)]))
        .collect()
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
