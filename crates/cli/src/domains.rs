//! Tools by domain.

use serde_json::{Value, json};
use toolyard_core::domain::DOMAIN;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::{learn, setup};

/// List domains: tools that are given out together
///
/// A domain comes from `domains` in the configuration, from a tag `domain:NAME` of a tool, or is inferred from what
/// the tools of a server act on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard domains
  toolyard domains notes               the tools of one
  toolyard domains --json | jq '.domains[] | select(.tools | length > 10)'

With --json: {\"domains\": [{\"domain\", \"tools\"}]}")]
pub(crate) struct Domains {
    /// Only this domain
    domain: Option<String>,
}

pub(crate) async fn run(common: &Common, asked: &Domains) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        learn::learn_all(hub).await;
        let (snapshot, config) = (hub.snapshot(), hub.config());
        let supply = hub.supply(&snapshot, &[], &config.toolset).await;
        let name = |domain: &str| domain.trim_start_matches(DOMAIN).to_owned();
        let only = asked.domain.as_deref().map(name);
        let known = supply.registry.domains();
        let shown = known.iter().filter(|domain| only.as_ref().is_none_or(|only| *only == name(domain)));
        let found: Vec<(String, Vec<String>)> = shown
            .map(|domain| {
                let tools = supply.registry.tools_by_domain(domain);
                (name(domain), tools.iter().map(|tool| tool.name.to_string()).collect())
            })
            .collect();
        if let (Some(only), true) = (&only, found.is_empty()) {
            let known: Vec<String> = known.iter().map(|domain| name(domain)).collect();
            return Err(Failure::usage(format!("there is no domain `{only}`"))
                .hint(format!("domains: {}", known.join(", "))));
        }
        if common.json {
            let domain = |(domain, tools): &(String, Vec<String>)| -> Value {
                json!({ "domain": domain, "tools": tools })
            };
            return Ok(output::json(&json!({ "domains": found.iter().map(domain).collect::<Vec<_>>() }))?);
        }
        let row = |(domain, tools): &(String, Vec<String>)| {
            vec![Cell::new(domain), Cell::new(tools.len()), Cell::new(tools.join(", "))]
        };
        let header = &["domain", "tools", ""];
        Ok(output::text(&output::grid(
            Layout { header, cut: only.is_none(), ..Layout::default() },
            found.iter().map(row).collect(),
        ))?)
    })
    .await
}
