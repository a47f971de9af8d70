//! Which domains a message is about, as a small language model says it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_core::catalog::Catalog;
use toolyard_core::domain::DOMAIN;
use toolyard_core::metadata::{Library, gist};
use toolyard_core::session::{Meant, Registered, Registry};

use super::Hub;
use crate::chat::{self, Turn};
use crate::config::LanguageModel;

/// Domains that are described to the model.
const MOST_DOMAINS: usize = 200;
/// Tools that are named for each domain.
const NAMED_TOOLS: usize = 6;
/// Tools whose purpose describes a domain, and characters of one of them.
const DESCRIBED_TOOLS: usize = 4;
const DESCRIBED_CHARS: usize = 80;

impl Hub {
    /// Asks the configured model; an error says why it did not help.
    pub(super) async fn chosen(
        &self,
        chooser: &LanguageModel,
        (catalog, registry): (&Catalog, &Registry),
        message: &str,
    ) -> Result<Vec<Meant>, String> {
        let turns = [Turn::Rules(prompt(catalog, registry)), Turn::Question(message.to_owned())];
        let schema = schema(registry);
        let asked = chat::ask(&self.around.http, chooser, &turns, (&schema, chooser.timeout));
        let said = asked.await.map_err(|err| err.to_string())?;
        read(registry, &said).ok_or_else(|| format!("`{}` named no domain that exists", chooser.name))
    }
}

/// The form of an answer.
fn schema(registry: &Registry) -> Value {
    let names: Vec<&str> = names(registry).collect();
    json!({
        "type": "object",
        "properties": { "domains": { "type": "array", "items": { "type": "string", "enum": names } } },
        "required": ["domains"],
        "additionalProperties": false,
    })
}

fn names(registry: &Registry) -> impl Iterator<Item = &str> {
    registry.domains().into_iter().take(MOST_DOMAINS).map(|domain| domain.trim_start_matches(DOMAIN))
}

fn prompt(catalog: &Catalog, registry: &Registry) -> String {
    let mut text =
        "Which domains is the message of the user about? Answer with JSON: {\"domains\": […]}, their names in the \
                    order in which the message mentions them; an empty list when it is about none. The domains:\n"
            .to_owned();
    for domain in registry.domains().into_iter().take(MOST_DOMAINS) {
        let tools = registry.tools_by_domain(domain);
        let named: Vec<&str> = tools.iter().take(NAMED_TOOLS).map(|tool| &*tool.name).collect();
        let (name, named) = (domain.trim_start_matches(DOMAIN), named.join(", "));
        text += &match description(catalog, &tools) {
            about if about.is_empty() => format!("- {name} (tools: {named})\n"),
            about => format!("- {name}: {about} (tools: {named})\n"),
        };
    }
    text
}

/// Says what a domain is for: what the library says about its server, where it is all of it, or what its tools do.
fn description(catalog: &Catalog, tools: &[&Registered]) -> String {
    let all = tools.first().map(|first| catalog.of_server(&first.group)).unwrap_or_default();
    let is_whole = all.iter().all(|tool| tools.iter().any(|it| *it.name == *tool.id.as_str()));
    let about = Library::builtin().about(all).map(|it| it.about.clone());
    if let Some(about) = about.filter(|about| is_whole && !about.is_empty()) {
        return about;
    }
    let said = tools.iter().filter_map(|tool| catalog.get(&tool.name)).map(|tool| {
        let gist = gist(tool);
        let cut: String = gist.chars().take(DESCRIBED_CHARS).collect();
        let end = if cut.len() < gist.len() { "…" } else { "" };
        cut.trim_end_matches('.').to_owned() + end
    });
    said.filter(|said| !said.is_empty()).take(DESCRIBED_TOOLS).collect::<Vec<_>>().join("; ")
}

/// Reads the names out of an answer, in which models like to say more than was asked.
fn read(registry: &Registry, said: &str) -> Option<Vec<Meant>> {
    let (start, end) = (said.find('[')?, said.rfind(']')?);
    let names: Vec<String> = serde_json::from_str(said.get(start..=end)?).ok()?;
    let known = registry.domains();
    let tag = |name: &String| format!("{DOMAIN}{}", name.trim().trim_start_matches(DOMAIN));
    let tags: Vec<String> = names.iter().map(tag).filter(|tag| known.contains(tag.as_str())).collect();
    if tags.is_empty() && !names.is_empty() {
        return None;
    }
    let weigh =
        |(at, tag): (usize, String)| Meant { domain: Arc::from(tag), weight: 1.0 / (1.0 + at as f32) };
    Some(tags.into_iter().enumerate().map(weigh).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use toolyard_core::catalog::{Advertised, Bounds};
    use toolyard_core::lexicon::Action;

    use super::*;

    fn catalog(tools: &[(&str, &str)]) -> Catalog {
        let define = |(name, description): &(&str, &str)| {
            to_raw_value(&json!({ "name": name, "description": description })).unwrap()
        };
        let tools = tools.iter().map(define).collect();
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 9 };
        Catalog::gather([(Advertised { server: "l".into(), tools }, bounds)]).0
    }

    #[test]
    fn d7_the_prompt_says_what_each_domain_is_for() {
        let said = [
            ("query_tasks", "Lists what is to be done. Takes filters."),
            ("get_task", "Shows one task."),
            ("get_goal", ""),
        ];
        let mut registry = Registry::default();
        for (name, domain) in
            [("l__query_tasks", "tasks"), ("l__get_task", "tasks"), ("l__get_goal", "goals")]
        {
            let (name, tags) = (name.into(), vec![format!("{DOMAIN}{domain}").into()]);
            registry.add_tool(Registered { name, group: "l".into(), action: Action::Read, tags }, None);
        }
        let prompt = prompt(&catalog(&said), &registry);
        let listed = prompt.split_once("The domains:\n").unwrap().1;
        insta::assert_snapshot!(listed, @"
        - goals (tools: l__get_goal)
        - tasks: Lists what is to be done; Shows one task (tools: l__query_tasks, l__get_task)
        ");
    }

    #[test]
    fn d7_the_prompt_has_the_domains_and_answers_are_read_leniently() {
        let mut registry = Registry::default();
        for (name, domain) in [("query_tasks", "tasks"), ("get_goal", "goals")] {
            let tags = vec![format!("{DOMAIN}{domain}").into()];
            registry.add_tool(
                Registered { name: name.into(), group: "l".into(), action: Action::Read, tags },
                None,
            );
        }
        assert!(
            prompt(&Catalog::default(), &registry)
                .ends_with("- goals (tools: get_goal)\n- tasks (tools: query_tasks)\n")
        );
        let read = |said: &str| {
            read(&registry, said)
                .map(|found| found.iter().map(|it| it.domain.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(read(r#"Sure: ["tasks", "domain:goals"]."#).unwrap(), ["domain:tasks", "domain:goals"]);
        assert_eq!(read(r#"{"domains": ["goals"]}"#).unwrap(), ["domain:goals"]);
        assert_eq!(schema(&registry)["properties"]["domains"]["items"]["enum"], json!(["goals", "tasks"]));
        assert_eq!(read("[]").unwrap(), [""; 0]);
        assert_eq!(read(r#"["cooking"]"#), None);
        assert_eq!(read("tasks"), None);
    }
}
