//! The domains that tools belong to: what somebody said, or what the tools of a server act on.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::catalog::Catalog;
use crate::metadata::{Knowledge, targets};
use crate::tool::Tool;

/// What a tag begins with that says of which domain a tool is.
pub const DOMAIN: &str = "domain:";

/// A server with at most so many tools is one domain.
const FEW: usize = 6;
/// Fewer tools do not make a domain of their own.
const LEAST: usize = 2;

/// Returns the tag of each tool's domain, by position. `own` is what a person says; then come tags of metadata
/// and of servers; then what the tools of a server act on: one with many kinds of things gives several domains.
pub fn infer(
    catalog: &Catalog,
    knowledge: &Knowledge,
    own: impl Fn(&Tool) -> Option<String>,
) -> Vec<Arc<str>> {
    let mut domains: Vec<Arc<str>> = Vec::with_capacity(catalog.len());
    for (server, _) in catalog.servers() {
        let tools = catalog.of_server(server);
        let start = domains.len();
        let nouns: Vec<Vec<String>> =
            tools.iter().enumerate().map(|(at, tool)| targets(tool, knowledge.of(start + at))).collect();
        let entities = entities(&nouns);
        let whole: Arc<str> = format!("{DOMAIN}{}", plain(server)).into();
        for (at, tool) in tools.iter().enumerate() {
            let noted = knowledge.of(start + at).note.as_ref();
            let noted = noted.and_then(|note| note.tags.iter().find(|tag| tag.starts_with(DOMAIN)).cloned());
            let said = own(tool).map(|name| format!("{DOMAIN}{}", name.trim_start_matches(DOMAIN)));
            let said = said.or(noted).or_else(|| tagged(tool));
            domains.push(match (said, &entities[at]) {
                (Some(said), _) => said.into(),
                (None, Some(entity)) if *plain(server) != **entity => format!("{whole}/{entity}").into(),
                (None, _) => Arc::clone(&whole),
            });
        }
    }
    domains
}

/// Chooses for each tool of a server the one thing it is about, or none where the server is small or it shares
/// the thing with no other tool.
fn entities(nouns: &[Vec<String>]) -> Vec<Option<String>> {
    if nouns.len() <= FEW {
        return vec![None; nouns.len()];
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for noun in nouns.iter().flatten() {
        *counts.entry(noun).or_default() += 1;
    }
    // What nearly all tools of a server are about tells none of them apart.
    counts.retain(|_, count| *count >= LEAST && 5 * *count <= 3 * nouns.len());
    let choose = |own: &Vec<String>| {
        let known = own.iter().filter_map(|noun| Some((*counts.get(noun.as_str())?, noun)));
        // The last of several that are as common: of `issue comments` the comments.
        known.max_by_key(|(count, _)| *count).map(|(_, noun)| noun.clone())
    };
    let chosen: Vec<Option<String>> = nouns.iter().map(choose).collect();
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    for entity in chosen.iter().flatten() {
        *shared.entry(entity).or_default() += 1;
    }
    let is_shared = |entity: &&String| shared[entity.as_str()] >= LEAST;
    chosen.iter().map(|entity| entity.as_ref().filter(is_shared).cloned()).collect()
}

/// Reads the domain that a server itself gives a tool: a tag in `_meta`, as several frameworks write it.
fn tagged(tool: &Tool) -> Option<String> {
    #[derive(Deserialize)]
    struct Definition {
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default, alias = "_fastmcp")]
        fastmcp: Option<Tags>,
    }
    #[derive(Deserialize)]
    struct Tags {
        #[serde(default)]
        tags: Vec<String>,
    }
    if !tool.definition.get().contains(DOMAIN) {
        return None;
    }
    let meta = serde_json::from_str::<Definition>(tool.definition.get()).ok()?.meta?;
    let mut tags = meta.tags.into_iter().chain(meta.fastmcp.into_iter().flat_map(|it| it.tags));
    tags.find(|tag| tag.starts_with(DOMAIN) && tag.len() > DOMAIN.len())
}

/// A server's name as part of a tag.
fn plain(server: &str) -> String {
    server.to_lowercase().replace(|c: char| c.is_whitespace() || c == '/' || c == ':', "-")
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::{Advertised, Bounds};

    fn domains(server: &str, tools: &[&str], own: impl Fn(&Tool) -> Option<String>) -> String {
        let define = |text: &&str| {
            let text =
                if text.starts_with('{') { (*text).to_owned() } else { format!(r#"{{"name": "{text}"}}"#) };
            RawValue::from_string(text).expect("JSON")
        };
        let bounds = Bounds { tools: 100, name_chars: 100, description_chars: 1000, nesting: 20 };
        let advertised = Advertised { server: Arc::from(server), tools: tools.iter().map(define).collect() };
        let (catalog, _) = Catalog::gather([(advertised, bounds)]);
        let knowledge = Knowledge::gather(&catalog, None, &[], |_| None);
        let domains = infer(&catalog, &knowledge, own);
        let lines =
            catalog.tools().iter().zip(domains).map(|(tool, domain)| format!("{} {domain}", tool.name));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn d1_a_server_with_many_things_gives_several_domains() {
        let tools = [
            "list_issues",
            "create_issue",
            "add_issue_comment",
            "list_branches",
            "create_branch",
            "get_repository",
            "search_repositories",
            "whoami",
        ];
        insta::assert_snapshot!(domains("github", &tools, |_| None), @"
        list_issues domain:github/issues
        create_issue domain:github/issues
        add_issue_comment domain:github/issues
        list_branches domain:github/branches
        create_branch domain:github/branches
        get_repository domain:github/repositories
        search_repositories domain:github/repositories
        whoami domain:github
        ");
    }

    #[test]
    fn d1_a_small_server_is_one_domain_and_a_tag_wins() {
        let tagged = r#"{"name": "query_tasks", "_meta": {"tags": ["query", "domain:tasks"]}}"#;
        let fast = r#"{"name": "get_task", "_meta": {"_fastmcp": {"tags": ["domain:tasks"]}}}"#;
        let own = |tool: &Tool| (tool.name == "list_lists").then(|| "mine".to_owned());
        insta::assert_snapshot!(domains("My Life", &["whoami", tagged, fast, "list_lists"], own), @"
        whoami domain:my-life
        query_tasks domain:tasks
        get_task domain:tasks
        list_lists domain:mine
        ");
    }
}
