//! What a person must agree to, bound to exactly what will be done.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{BackState, Call, Course, Direction, Leaving, Next, Run, Stop, Work};
use crate::tool::Effect;

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// What is asked.
    pub asked: Asked,
    /// Tells it from every other question; an answer must repeat it.
    pub digest: String,
}

/// What a person is asked to agree to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Asked {
    /// The plan as a whole, before anything runs: it destroys something.
    Plan,
    /// Calls that destroy something and whose arguments were not known before, or that may not be what was asked.
    Calls(Vec<Call>),
    /// Calls that take something back, of which only the names of tools say that they do.
    Undo(Vec<Call>),
}

/// Why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the question that is open; look at the run again")]
pub struct Stale;

impl Run {
    /// Agrees to what is asked.
    pub fn agree(&mut self, digest: &str) -> Result<(), Stale> {
        let asked = self.answered(digest)?;
        match asked {
            Asked::Plan => self.agreed = Some(self.plan.digest()),
            Asked::Calls(calls) | Asked::Undo(calls) => {
                for call in calls {
                    let agreed = Some(digest_of(&call));
                    let Some((at, piece)) = self.place(&call.id) else { continue };
                    let Work::Begun { pieces, .. } = &mut self.works[at] else { continue };
                    match call.id.direction {
                        Direction::Forth => pieces[piece].agreed = agreed,
                        Direction::Back => pieces[piece].back.agreed = agreed,
                    }
                }
            }
        }
        Ok(())
    }

    /// Does not agree. What was asked about is then not done, and what was done stays.
    pub fn decline(&mut self, digest: &str) -> Result<(), Stale> {
        match self.answered(digest)? {
            Asked::Plan | Asked::Calls(_) => {
                let why = "it was not agreed to".to_owned();
                self.stop = Some(Stop { why, by_person: true, leaving: Leaving::Everything });
                self.course = Course::Stopping;
            }
            Asked::Undo(calls) => {
                for call in calls {
                    let Some((at, piece)) = self.place(&call.id) else { continue };
                    let Work::Begun { pieces, .. } = &mut self.works[at] else { continue };
                    let why = "taking it back was not agreed to".to_owned();
                    pieces[piece].back.state = BackState::Failed { why };
                }
            }
        }
        Ok(())
    }

    fn answered(&mut self, digest: &str) -> Result<Asked, Stale> {
        let asked = self.asked.take_if(|asked| asked.digest == digest).ok_or(Stale)?;
        Ok(asked.asked)
    }

    pub(super) fn ask(&mut self, asked: Asked, now: u64) -> Next {
        // A person takes as long as a person takes.
        let since = self.since_ms.take().unwrap_or(now);
        self.spent_ms = self.spent_ms.saturating_add(now.saturating_sub(since));
        let digest = match &asked {
            Asked::Plan => self.plan.digest(),
            Asked::Calls(calls) | Asked::Undo(calls) => {
                let digests: Vec<String> = calls.iter().map(digest_of).collect();
                hash(format!("{}\n{}", self.plan.digest(), digests.join("\n")).as_bytes())
            }
        };
        let confirmation = Confirmation { asked, digest };
        self.asked = Some(confirmation.clone());
        Next::Confirm(confirmation)
    }

    /// Agreeing to the plan was agreeing to every call of which it told everything.
    pub(super) fn needs_agreement(&self, at: usize, piece: usize, call: &Call) -> bool {
        let step = &self.plan.steps()[at];
        let Work::Begun { pieces, .. } = &self.works[at] else { return false };
        let was_shown = step.is_known() && self.agreed.is_some();
        let is_agreed = match step.effect {
            Effect::Destroy => pieces[piece].agreed.as_ref() == Some(&digest_of(call)),
            // What the words mean is the same for every element.
            Effect::Read | Effect::Write => !step.is_unsure || pieces.iter().any(|it| it.agreed.is_some()),
        };
        !was_shown && !is_agreed
    }
}

/// Names a call with its arguments; attempts of one call have the same.
pub(super) fn digest_of(call: &Call) -> String {
    let call = Call { attempt: 0, ..call.clone() };
    hash(&serde_json::to_vec(&call).expect("own types serialise"))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
