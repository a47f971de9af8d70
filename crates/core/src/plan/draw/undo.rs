//! How a step is taken back, as far as names tell: what creates a thing has a counterpart that deletes it.

use super::super::{Input, Origin, Sought, Step, Undo, Which};
use super::ChosenStep;
use crate::catalog::Catalog;
use crate::lexicon::{Action, Lexicon};
use crate::metadata::Knowledge;
use crate::text::terms;
use crate::tool::words::words;

/// Returns the tool of the same server that deletes what a tool creates.
pub fn inverse(catalog: &Catalog, knowledge: &Knowledge, position: usize) -> Option<usize> {
    let tools = catalog.tools();
    let made = &tools[position];
    if knowledge.of(position).action != Action::Create {
        return None;
    }
    let thing = things(&made.name);
    let deletes = |at: &usize| {
        tools[*at].server == made.server
            && knowledge.of(*at).action == Action::Delete
            && !thing.is_empty()
            && things(&tools[*at].name) == thing
    };
    let mut found = (0..tools.len()).filter(deletes);
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// The words of a tool's name that are no verbs, as terms.
fn things(name: &str) -> Vec<String> {
    let nouns: Vec<&str> =
        words(name).filter(|word| Lexicon::builtin().verb(&word.to_lowercase()).is_none()).collect();
    terms(&nouns.join(" "), 8)
}

/// Infers the call that takes a step back; a person is asked before it is made.
pub(super) fn undo(chosen: &ChosenStep<'_>, step: &Step) -> Option<Undo> {
    let (tool, form) = chosen.inverse?;
    let given = |parameter: &str| {
        let known =
            step.arguments.get(parameter).filter(|input| matches!(input, Input::Literal(_) | Input::Item(_)));
        let schema = form.schema_of(parameter)?.clone();
        let sought = Sought { parameter: parameter.to_owned(), schema };
        let found = Input::Found { step: step.name.clone(), sought, which: Which::First };
        Some((parameter.to_owned(), known.cloned().unwrap_or(found)))
    };
    let arguments = form.required().map(given).collect::<Option<_>>()?;
    Some(Undo { tool: tool.id.clone(), arguments, repeatable: false, origin: Origin::Inferred })
}
