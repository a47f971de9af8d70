//! What became of a call, and what follows from it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BackState, CallId, Course, Direction, Run, State, Work};
use crate::tool::Effect;

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The tool answered.
    Value(Value),
    /// The tool ran and said no. Its message is for people and models to read.
    ToolFailed(String),
    /// The call was not allowed, or makes no sense; another attempt would end the same way.
    Refused(String),
    /// The call cannot have reached the tool, so another attempt is safe.
    NotSent(String),
    /// The call may have reached the tool, and no answer will come.
    Lost(String),
}

impl Run {
    /// Takes note of what became of a call. One that is not in flight, or not known, changes nothing.
    pub fn record(&mut self, id: &CallId, outcome: Outcome, now: u64) {
        let Some((at, piece)) = self.place(id) else { return };
        match id.direction {
            Direction::Forth => self.record_forth(at, piece, outcome, now),
            Direction::Back => self.record_back(at, piece, outcome, now),
        }
    }

    fn record_forth(&mut self, at: usize, piece: usize, outcome: Outcome, now: u64) {
        let step = &self.plan.steps()[at];
        let (effect, repeatable, retries, name) =
            (step.effect, step.repeatable, step.retries, step.name.clone());
        let largest = self.allowance.result_bytes.saturating_sub(self.kept_bytes);
        let Work::Begun { pieces, .. } = &mut self.works[at] else { return };
        let found = &mut pieces[piece];
        if found.state != State::InFlight {
            return;
        }
        let has_tries = found.tries <= retries && self.course == Course::Forward;
        let tries = found.tries;
        let (is_safe, why) = match outcome {
            Outcome::Value(value) => {
                let (value, bytes) = bounded(value, largest);
                found.state = State::Done { value };
                self.kept_bytes = self.kept_bytes.saturating_add(bytes);
                if effect != Effect::Read {
                    self.effects.push((at, piece));
                }
                return;
            }
            Outcome::ToolFailed(why) => (repeatable, why),
            Outcome::Refused(why) => (false, why),
            Outcome::NotSent(why) => (true, why),
            Outcome::Lost(why) => {
                found.lost = true;
                (repeatable, why)
            }
        };
        if is_safe && has_tries {
            let pause = self.pause(tries);
            self.set(at, piece, State::Ready { not_before: now.saturating_add(pause) });
        } else if found.lost && effect != Effect::Read {
            found.state = State::Unknown { why };
            if self.course == Course::Forward {
                self.course = Course::Stopping;
            }
        } else {
            found.state = State::Failed { why: why.clone() };
            self.fail(format!("step `{name}` failed: {why}"));
        }
    }

    fn record_back(&mut self, at: usize, piece: usize, outcome: Outcome, now: u64) {
        /// Taking back is worth more patience than doing.
        const TRIES: u32 = 3;
        let repeatable = self.plan.steps()[at].undo.as_ref().is_some_and(|undo| undo.repeatable);
        let Work::Begun { pieces, .. } = &mut self.works[at] else { return };
        let back = &mut pieces[piece].back;
        if back.state != BackState::InFlight {
            return;
        }
        let (has_tries, tries) = (back.tries < TRIES, back.tries);
        let (is_safe, why) = match outcome {
            Outcome::Value(_) => {
                back.state = BackState::Done;
                return;
            }
            Outcome::ToolFailed(why) => (repeatable, why),
            Outcome::Refused(why) => (false, why),
            Outcome::NotSent(why) => (true, why),
            Outcome::Lost(why) => {
                back.lost = true;
                (repeatable, why)
            }
        };
        let pause = now.saturating_add(self.pause(tries));
        let Work::Begun { pieces, .. } = &mut self.works[at] else { return };
        let back = &mut pieces[piece].back;
        back.state = match (is_safe && has_tries, back.lost) {
            (true, _) => BackState::Ready { not_before: pause },
            (false, true) => BackState::Unknown { why },
            (false, false) => BackState::Failed { why },
        };
    }
}

/// A result that is too large to be written down with the rest is dropped; the call happened all the same.
fn bounded(value: Value, largest: usize) -> (Value, usize) {
    let bytes = match &value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(_) | Value::Object(_) => value.to_string().len(),
    };
    if bytes <= largest { (value, bytes) } else { (Value::Null, 0) }
}
