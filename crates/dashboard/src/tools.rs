//! Every tool: what it does, how well it is documented, and how its calls go.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::domain::DOMAIN;
use toolyard_core::tool::Tool;
use toolyard_hub::hub::{Hub, Supply};
use toolyard_hub::jsonrpc::Fields;
use toolyard_hub::live::Snapshot;

use crate::failure::{ApiError, Reply, blocking};
use crate::scores::ToolScores;
use crate::{Shared, body, show};

/// Tools of one page.
const PAGE: usize = 100;
/// Tools of the longest page.
const MOST: usize = 500;

#[derive(Debug, Deserialize)]
pub(crate) struct Sought {
    text: Option<String>,
    server: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
}

/// What is known of tools at one moment, beside the catalog.
struct Known {
    hub: Arc<Hub>,
    snapshot: Arc<Snapshot>,
    supply: Arc<Supply>,
    scores: Option<Arc<ToolScores>>,
    /// How many lessons name a tool.
    lessons: HashMap<String, usize>,
}

/// Lists tools.
pub(crate) async fn list(State(shared): State<Arc<Shared>>, Query(sought): Query<Sought>) -> Reply {
    let known = Known::now(&shared).await?;
    let server = body::filled(sought.server);
    let words: Vec<String> =
        sought.text.unwrap_or_default().to_lowercase().split_whitespace().map(str::to_owned).collect();
    let is_meant = |tool: &&Tool| {
        let is_there = server.as_ref().is_none_or(|server| **server == *tool.server);
        is_there && known.hub.permits(&known.snapshot, tool) && has_all(tool, &words)
    };
    let tools: Vec<&Tool> = known.snapshot.catalog.tools().iter().filter(is_meant).collect();
    let limit = sought.limit.unwrap_or(PAGE).clamp(1, MOST);
    let page = tools.iter().skip(sought.offset.unwrap_or_default()).take(limit);
    let items: Vec<Value> = page.map(|tool| known.show(tool)).collect();
    Ok(Json(json!({ "total": tools.len(), "items": items, "scored": known.scores.is_some() })))
}

/// Shows one tool with everything that is known of it.
pub(crate) async fn show(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Reply {
    let known = Known::now(&shared).await?;
    let found = known.snapshot.catalog.get(&id).filter(|tool| known.hub.permits(&known.snapshot, tool));
    let Some(tool) = found else {
        let unknown = known.hub.unknown_tool(&known.snapshot, &id);
        return Err(ApiError::not_found(unknown.message, "the list of tools shows every tool"));
    };
    let facts = known.snapshot.facts(tool);
    let definition = Fields::parse(Some(&tool.definition)).unwrap_or_default();
    let part = |name: &str| definition.read::<Value>(name);
    let mut shown = known.show(tool);
    shown["name"] = json!(tool.name);
    shown["description"] = json!(tool.description);
    shown["schema"] = part("inputSchema").unwrap_or_default();
    shown["outputSchema"] = part("outputSchema").unwrap_or_default();
    shown["examples"] = json!(facts.iter().flat_map(|it| it.phrasings()).collect::<Vec<_>>());
    shown["diagnostics"] =
        known.scores.as_ref().and_then(|it| it.diagnostics(&id).cloned()).unwrap_or_else(|| json!([]));
    Ok(Json(shown))
}

/// Whether all words stand in what a person sees of a tool.
fn has_all(tool: &Tool, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let title = tool.title.as_deref().unwrap_or_default();
    let text = format!("{} {title} {}", tool.id, tool.description).to_lowercase();
    words.iter().all(|word| text.contains(word))
}

impl Known {
    async fn now(shared: &Arc<Shared>) -> Result<Self, ApiError> {
        let (hub, snapshot, history) =
            (Arc::clone(&shared.hub), shared.hub.snapshot(), shared.history.clone());
        let supply = hub.supply(&snapshot, &[], &hub.config().toolset).await;
        let scores = shared.scores.of(&snapshot).await;
        let mut lessons: HashMap<String, usize> = HashMap::new();
        for lesson in blocking(move || history.lessons()).await? {
            for tool in [lesson.right, lesson.wrong].into_iter().flatten() {
                *lessons.entry(tool).or_default() += 1;
            }
        }
        Ok(Self { hub, snapshot, supply, scores, lessons })
    }

    fn show(&self, tool: &Tool) -> Value {
        let (id, registry) = (tool.id.as_str(), &self.supply.registry);
        let domain = registry.get(id).and_then(|it| it.tags.iter().find_map(|tag| tag.strip_prefix(DOMAIN)));
        let seen = self.hub.measured(id).filter(|seen| seen.calls > 0);
        let success = seen.map(|seen| 1.0 - f64::from(seen.failures) / f64::from(seen.calls));
        json!({
            "id": id,
            "title": tool.title,
            "summary": show::summary(tool),
            "server": &*tool.server,
            "domain": domain,
            "tier": registry.tier(id),
            "effect": show::effect(&self.snapshot, tool),
            "lint": self.scores.as_ref().and_then(|it| it.score(id)),
            "calls": seen.map_or(0, |seen| seen.calls),
            "latencyMs": seen.map(|seen| show::round(seen.latency_ms)),
            "success": success.map(show::round),
            "confusableWith": self.scores.as_ref().map(|it| it.confusable(id)).unwrap_or_default(),
            "lessons": self.lessons.get(id).copied().unwrap_or_default(),
        })
    }
}
