//! What the words of one request of several say about its tool's arguments.

use crate::arguments::{Argument, Evidence, Filling, Form, Source, Sources, fill};
use crate::task::{Clause, stand_ins};
use crate::tool::purpose::is_content;
use crate::tool::{Effect, Tool};

/// Fills in what a request says.
///
/// A request that speaks of an earlier result and is to write something means that result: in `write its content to
/// Copy.md` there is a path, and no text.
pub fn read(tool: &Tool, form: &Form, clause: &Clause, sources: &Sources<'_>) -> Filling {
    let filling = fill(form, sources);
    if tool.effect == Effect::Read || stand_ins(&clause.words, clause.language).is_empty() {
        return filling;
    }
    let is_leftover =
        |it: &&Argument| it.source == Source::Text && is_content(&it.name) && it.evidence < Evidence::Marked;
    let leftover: Vec<&str> =
        filling.arguments.iter().filter(is_leftover).map(|it| it.name.as_str()).collect();
    if leftover.is_empty() { filling } else { fill(&form.without(&leftover), sources) }
}
