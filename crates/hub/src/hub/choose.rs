//! Which domains a message is about, as a small language model says it.

use std::sync::Arc;

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;
use toolyard_core::domain::DOMAIN;
use toolyard_core::session::{Meant, Registry};

use super::Hub;
use crate::config::Chooser;

/// Bytes of an answer that are read.
const MOST_BYTES: usize = 256 * 1024;
/// Domains that are described to the model.
const MOST_DOMAINS: usize = 200;
/// Tools that are named for each domain.
const NAMED_TOOLS: usize = 6;

/// What services answer: Ollama with `message`, others with `choices`.
#[derive(Deserialize)]
struct Answer {
    message: Option<Spoken>,
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Spoken,
}

#[derive(Deserialize)]
struct Spoken {
    #[serde(default)]
    content: String,
}

impl Hub {
    /// Asks the configured model; an error says why it did not help.
    pub(super) async fn chosen(
        &self,
        chooser: &Chooser,
        registry: &Registry,
        message: &str,
    ) -> Result<Vec<Meant>, String> {
        let said = tokio::time::timeout(chooser.timeout, self.ask_chooser(chooser, registry, message));
        let said = said
            .await
            .map_err(|_| format!("`{}` did not answer within {:?}", chooser.name, chooser.timeout))??;
        read(registry, &said).ok_or_else(|| format!("`{}` named no domain that exists", chooser.name))
    }

    async fn ask_chooser(
        &self,
        chooser: &Chooser,
        registry: &Registry,
        message: &str,
    ) -> Result<String, String> {
        let body = json!({
            "model": chooser.name,
            "messages": [
                { "role": "system", "content": prompt(registry) },
                { "role": "user", "content": message },
            ],
            "stream": false,
            "temperature": 0,
        });
        let request = self.around.http.post(&chooser.url);
        let mut request =
            request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
        if let Some(key) = &chooser.key {
            request = request.bearer_auth(key);
        }
        let failed =
            |err: reqwest::Error| format!("`{}` cannot be reached: {}", chooser.name, err.without_url());
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let (mut bytes, mut stream) = (Vec::new(), response.bytes_stream());
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(failed)?);
            if bytes.len() > MOST_BYTES {
                return Err(format!("`{}` answers without end", chooser.name));
            }
        }
        if !status.is_success() {
            return Err(format!("`{}` answers HTTP {}", chooser.name, status.as_u16()));
        }
        let answer: Answer = serde_json::from_slice(&bytes)
            .map_err(|_| format!("`{}` answers with something else than a message", chooser.name))?;
        let said = answer.message.or_else(|| answer.choices.into_iter().next().map(|it| it.message));
        Ok(said.map(|said| said.content).unwrap_or_default())
    }
}

fn prompt(registry: &Registry) -> String {
    let mut text =
        "Which domains is the message of the user about? Answer with a JSON list of their names, in the \
                    order in which the message mentions them; [] when it is about none. The domains:\n"
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
        assert_eq!(read("[]").unwrap(), [""; 0]);
        assert_eq!(read(r#"["cooking"]"#), None);
        assert_eq!(read("tasks"), None);
    }
}
