//! Which domains a message is about, as a small language model says it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_core::domain::DOMAIN;
use toolyard_core::session::{Meant, Registry};

use super::Hub;
use crate::chat::{self, Turn};
use crate::config::LanguageModel;

/// Domains that are described to the model.
const MOST_DOMAINS: usize = 200;
/// Tools that are named for each domain.
const NAMED_TOOLS: usize = 6;

impl Hub {
    /// Asks the configured model; an error says why it did not help.
    pub(super) async fn chosen(
        &self,
        chooser: &LanguageModel,
        registry: &Registry,
        message: &str,
    ) -> Result<Vec<Meant>, String> {
        let turns = [Turn::Rules(prompt(registry)), Turn::Question(message.to_owned())];
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

fn prompt(registry: &Registry) -> String {
    let mut text =
        "Which domains is the message of the user about? Answer with JSON: {\"domains\": […]}, their names in the \
                    order in which the message mentions them; an empty list when it is about none. The domains:\n"
            .to_owned();
    for domain in registry.domains().into_iter().take(MOST_DOMAINS) {
        let tools: Vec<&str> =
            registry.tools_by_domain(domain).iter().take(NAMED_TOOLS).map(|tool| &*tool.name).collect();
        text += &format!("- {}: {}\n", domain.trim_start_matches(DOMAIN), tools.join(", "));
    }
    text
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
    use toolyard_core::lexicon::Action;
    use toolyard_core::session::Registered;

    use super::*;

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
        assert!(prompt(&registry).ends_with("- goals: get_goal\n- tasks: query_tasks\n"));
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
