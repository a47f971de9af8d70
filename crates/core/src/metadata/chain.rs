//! Which tools of a server usually follow one another, as their names and schemas say.

use std::cmp::Reverse;

use super::{Facts, Knowledge, targets};
use crate::catalog::Catalog;
use crate::lexicon::Action;
use crate::text::terms;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

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
    found.sort_by_key(|it| Reverse(it.0));
    found.iter().take(MOST).map(|(_, at)| catalog.tools()[*at].name.clone()).collect()
}

/// Returns the position of the tool of the same server that most likely tells what a parameter takes, named with those
/// above it (`parent.page_id`): it only reads, searches or lists, and is about the thing whose id the parameter wants, or
/// somebody wrote that it comes before.
pub fn giver(catalog: &Catalog, knowledge: &Knowledge, position: usize, parameter: &str) -> Option<usize> {
    let (tool, form) = (&catalog.tools()[position], catalog.form(position));
    let field = form.fields().iter().find(|field| field.path.join(".") == parameter)?;
    let nouns = identified(field.path.last()?).filter(|_| field.choices.is_empty())?;
    let own = about(tool, knowledge.of(position));
    // What is made gets an id of its own.
    let is_own = field.path.len() == 1 && nouns.iter().all(|term| own.contains(term));
    if is_own && knowledge.of(position).action == Action::Create {
        return None;
    }
    let wanted = if nouns.is_empty() { own } else { nouns };
    let fit = |at: usize| {
        let (other, facts) = (&catalog.tools()[at], knowledge.of(at));
        let finds = matches!(facts.action, Action::Search | Action::List) && facts.effect == Effect::Read;
        let needs = || other.parameters.iter().filter(|it| it.required);
        let needs_it = |name: &str| {
            let same = |terms: Vec<String>| terms.is_empty() || terms.iter().any(|it| wanted.contains(it));
            name == parameter || identified(name).is_some_and(same)
        };
        if !finds || other.id == tool.id || needs().any(|it| needs_it(&it.name)) {
            return None;
        }
        let is_about = about(other, facts).iter().any(|term| wanted.contains(term));
        let comes_before = facts.note.as_ref().is_some_and(|note| note.chains_with.contains(&tool.name));
        let fit = 2 * usize::from(is_about) + usize::from(comes_before);
        (fit > 0).then(|| (fit, Reverse(needs().count()), Reverse(at)))
    };
    let others =
        catalog.of_server(&tool.server).iter().filter_map(|other| catalog.position(other.id.as_str()));
    others.filter_map(fit).max().map(|(_, _, Reverse(at))| at)
}

/// Returns what a parameter identifies, as terms (none for a bare `id`); `None` where it identifies nothing.
fn identified(name: &str) -> Option<Vec<String>> {
    let kept = &vocabulary().parameters.kept;
    let (marks, nouns): (Vec<String>, Vec<String>) =
        words(name).map(str::to_lowercase).partition(|word| kept.contains(word));
    let is_mark = words(name).last().is_some_and(|last| marks.contains(&last.to_lowercase()));
    is_mark.then(|| terms(&nouns.join(" "), MOST_TERMS))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::catalog::{Advertised, Bounds};

    /// Which tool finds what a parameter of a tool takes, on a server of a wiki.
    fn found(tool: &str, parameter: &str) -> Option<String> {
        let text = json!({"type": "string"});
        let define = |(name, takes): &(&str, &[&str])| {
            let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
            for path in *takes {
                let (own, schema) = match path.split_once('.') {
                    Some((above, own)) => {
                        (above, json!({"type": "object", "properties": {own: text}, "required": [own]}))
                    }
                    None => (*path, text.clone()),
                };
                properties.insert(own.to_owned(), schema);
                required.push(own);
            }
            let schema = json!({"type": "object", "properties": properties, "required": required});
            to_raw_value(&json!({"name": name, "inputSchema": schema})).expect("JSON")
        };
        let tools: [(&str, &[&str]); 11] = [
            ("get_page", &["pageId"]),
            ("add_comment", &["page_id", "text"]),
            ("search_pages", &["query", "space"]),
            ("list_pages", &[]),
            ("delete_comment", &["id"]),
            ("list_comments", &["page_id"]),
            ("remove_pages", &["page_id"]),
            ("attach_file", &["file", "parent.page_id"]),
            ("create_page", &["key", "parent_page_id"]),
            ("delete_label", &["label_id"]),
            ("search_labels", &["labelId"]),
        ];
        let bounds = Bounds { tools: 19, name_chars: 99, description_chars: 999, nesting: 9 };
        let tools_of = tools.iter().map(define).collect();
        let (catalog, _) =
            Catalog::gather([(Advertised { server: Arc::from("wiki"), tools: tools_of }, bounds)]);
        let knowledge = Knowledge::gather(&catalog, None, &[], |_| None);
        let position = catalog.position(&format!("wiki__{tool}")).expect("it is there");
        giver(&catalog, &knowledge, position, parameter).map(|at| catalog.tools()[at].name.clone())
    }

    #[test]
    fn v3_what_only_a_server_knows_is_found_by_the_tool_that_lists_it_and_needs_least() {
        for (tool, parameter) in [
            ("get_page", "pageId"),
            ("add_comment", "page_id"),
            ("list_comments", "page_id"),
            ("attach_file", "parent.page_id"),
            ("create_page", "parent_page_id"),
        ] {
            assert_eq!(found(tool, parameter).as_deref(), Some("list_pages"), "{tool}: {parameter}");
        }
        let own = "an id without a noun is of what the tool is about";
        assert_eq!(found("delete_comment", "id").as_deref(), Some("list_comments"), "{own}");
    }

    #[test]
    fn v3_nothing_finds_the_id_of_what_is_only_made_nor_one_that_it_needs_itself() {
        assert_eq!(found("create_page", "key"), None);
        assert_eq!(found("delete_label", "label_id"), None);
    }

    #[test]
    fn v3_what_people_say_themselves_is_looked_up_nowhere() {
        for (tool, parameter) in
            [("add_comment", "text"), ("search_pages", "query"), ("search_pages", "space")]
        {
            assert_eq!(found(tool, parameter), None, "{tool}: {parameter}");
        }
    }
}
