//! Which tools of a server usually follow one another, as their names and schemas say.

use super::{Facts, Knowledge, targets};
use crate::catalog::Catalog;
use crate::lexicon::Action;
use crate::text::terms;
use crate::tool::Tool;

/// Tools that are named.
const MOST: usize = 4;
/// Words of a tool that are compared.
const MOST_TERMS: usize = 12;

/// Returns the names of the tools that take what a tool of the same server gives, the likeliest first: a search is
/// followed by what asks for one of the things that were found.
pub(super) fn followers(catalog: &Catalog, knowledge: &Knowledge, position: usize) -> Vec<String> {
    let tool = &catalog.tools()[position];
    if !gives(knowledge.of(position).action) {
        return Vec::new();
    }
    let given = about(tool, knowledge.of(position));
    let own: Vec<&str> = catalog.form(position).required().collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for other in catalog.of_server(&tool.server).iter().filter(|other| other.id != tool.id) {
        let Some(at) = catalog.position(other.id.as_str()) else { continue };
        if !takes(knowledge.of(at).action) {
            continue;
        }
        // Only what the first tool does not need itself can come from it.
        let form = catalog.form(at);
        let asked = form.fields().iter().filter(|field| field.is_required && field.path.len() == 1);
        let asked: Vec<_> = asked.filter(|field| !own.contains(&field.parameter())).collect();
        let named =
            asked.iter().filter(|field| field.name_terms.iter().any(|term| given.contains(term))).count();
        let is_about = about(other, knowledge.of(at)).iter().any(|term| given.contains(term));
        let fit = 2 * named.min(1) + usize::from(is_about && !asked.is_empty());
        if fit > 0 {
            found.push((fit, at));
        }
    }
    // Of equals the order of the server stands.
    found.sort_by_key(|it| std::cmp::Reverse(it.0));
    found.iter().take(MOST).map(|(_, at)| catalog.tools()[*at].name.clone()).collect()
}

/// The things that a tool is about, as terms.
fn about(tool: &Tool, facts: &Facts) -> Vec<String> {
    terms(&targets(tool, facts).join(" "), MOST_TERMS)
}

/// Whether what it answers names things that other tools take.
fn gives(action: Action) -> bool {
    match action {
        Action::Search | Action::List | Action::Create => true,
        Action::Read | Action::Update | Action::Delete | Action::Execute | Action::Send | Action::Move => {
            false
        }
        Action::Copy | Action::Convert | Action::Compute | Action::Compare | Action::Monitor => false,
        Action::Unknown => false,
    }
}

/// Whether it does something with one thing that is known already.
fn takes(action: Action) -> bool {
    match action {
        Action::Read | Action::Update | Action::Delete | Action::Send | Action::Move | Action::Copy => true,
        Action::Execute | Action::Convert | Action::Compare | Action::Monitor => true,
        Action::Search | Action::List | Action::Create | Action::Compute | Action::Unknown => false,
    }
}
