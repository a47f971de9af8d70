//! Taking back what was done, the last first.

use super::confirm::digest_of;
use super::{Asked, BackState, Course, Direction, Next, Run, Work, value};
use crate::plan::Origin;

impl Run {
    /// Takes back one thing after the other; `None` when the course changed.
    pub(super) fn backward(&mut self, now: u64) -> Option<Next> {
        if self.in_flight() > 0 {
            return Some(Next::Wait { until: None });
        }
        let inferred = self.unconfirmed_undo();
        if !inferred.is_empty() {
            return Some(self.ask(Asked::Undo(inferred), now));
        }
        for (at, piece) in self.effects.clone().into_iter().rev() {
            let Work::Begun { pieces, .. } = &self.works[at] else { continue };
            let BackState::Ready { not_before } = pieces[piece].back.state else { continue };
            if self.plan.steps()[at].undo.is_none() {
                continue;
            }
            if not_before > now {
                // What came before it waits as well: the order is what makes it safe.
                return Some(Next::Wait { until: Some(not_before) });
            }
            let call = value::undo(self, at, piece);
            let Work::Begun { pieces, .. } = &mut self.works[at] else { continue };
            let back = &mut pieces[piece].back;
            match call {
                Ok(mut call) => {
                    back.tries += 1;
                    back.state = BackState::InFlight;
                    call.attempt = back.tries;
                    return Some(Next::Call(vec![call]));
                }
                Err(why) => back.state = BackState::Failed { why },
            }
        }
        self.course = Course::Over;
        None
    }

    fn unconfirmed_undo(&self) -> Vec<super::Call> {
        let waiting = self.effects.iter().rev().filter(|(at, piece)| {
            let is_inferred =
                self.plan.steps()[*at].undo.as_ref().is_some_and(|undo| undo.origin == Origin::Inferred);
            is_inferred
                && self.back(*at, *piece).is_some_and(|back| matches!(back.state, BackState::Ready { .. }))
        });
        let calls = waiting.filter_map(|(at, piece)| {
            let call = value::undo(self, *at, *piece).ok()?;
            let agreed = self.back(*at, *piece)?.agreed.as_ref();
            (agreed != Some(&digest_of(&call))).then_some(call)
        });
        calls.collect()
    }

    fn back(&self, at: usize, piece: usize) -> Option<&super::Back> {
        let Work::Begun { pieces, .. } = &self.works[at] else { return None };
        Some(&pieces[piece].back)
    }

    pub(super) fn undo_id(&self, at: usize, piece: usize) -> super::CallId {
        self.id(at, piece, Direction::Back)
    }
}
