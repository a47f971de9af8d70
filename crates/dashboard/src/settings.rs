//! What the configuration says about decisions and calls, without anything that is to be kept secret.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use toolyard_core::thresholds::explained;
use toolyard_hub::config::{Model, Policy, Ranking, Routing, Stance};

use crate::Shared;

/// Shows every number that decides, and the settings.
pub(crate) async fn show(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let config = shared.hub.config();
    Json(json!({
        "thresholds": explained(),
        "routing": routing(&config.routing),
        "policy": policy(&config.policy),
        "history": { "words": config.events.words, "arguments": config.events.values },
    }))
}

/// Writes `routing` as the settings file has it. Keys travel in addresses, so models are shown by their names.
fn routing(routing: &Routing) -> Value {
    let model = match &routing.semantic_search.model {
        Model::Builtin => "builtin",
        Model::Folder(_) => "a folder",
        Model::Endpoint { name, .. } => name,
    };
    json!({
        "profile": match routing.profile {
            Ranking::Fitted => "fitted",
            Ranking::Seed => "seed",
        },
        "confidenceThreshold": routing.confidence_threshold,
        "maxCandidates": routing.max_candidates,
        "enableMultiTool": routing.enable_multi_tool,
        "enableCaching": routing.enable_caching,
        "cacheSize": routing.cache_size,
        "cacheTTL": routing.cache_ttl.as_secs(),
        "semanticSearch": {
            "enabled": routing.semantic_search.enabled,
            "model": model,
            "similarityThreshold": routing.semantic_search.similarity_threshold,
        },
        "arguments": routing.adviser.as_ref().map(|it| json!({ "model": it.name })),
        "clarification": {
            "enabled": routing.clarification.enabled,
            "showAlternatives": routing.clarification.show_alternatives,
            "explainReasoning": routing.clarification.explain_reasoning,
        },
        "performance": {
            "maxRoutingTime": millis(routing.performance.max_routing_time),
            "timeout": routing.performance.timeout.map(millis),
            "enableMetrics": routing.performance.enable_metrics,
        },
    })
}

fn policy(policy: &Policy) -> Value {
    let limits: Map<String, Value> =
        policy.rate_limits.iter().map(|(glob, limit)| (glob.clone(), json!(limit))).collect();
    let rules = policy.rules.iter().map(|rule| {
        let then = match rule.then {
            Stance::Allow => "allow",
            Stance::Ask => "ask",
            Stance::Deny => "deny",
        };
        json!({ "tools": rule.tools, "servers": rule.servers, "effects": rule.effects, "then": then })
    });
    json!({
        "deny": policy.deny,
        "allow": policy.allow,
        "readOnly": policy.read_only,
        "rateLimits": limits,
        "rules": rules.collect::<Vec<_>>(),
    })
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
