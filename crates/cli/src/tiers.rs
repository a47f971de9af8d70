//! Tools by tier.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::session::{FALLBACK, Registered};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::{learn, setup};

/// List tools by tier: essential, utility, fallback
///
/// Tiers are set in `tiers` of the configuration; a tool without one is in tier 1. Tools of tier 0 are always listed
/// on the surface `toolset`, those of tier 2 only for the one request that needs them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard tiers
  toolyard tiers 2                     only the fallback tools
  toolyard tiers --up-to 1             what is not a fallback
  toolyard tiers --json | jq '.tiers[0].tools'

With --json: {\"tiers\": [{\"tier\", \"name\", \"tools\"}]}")]
pub(crate) struct Tiers {
    /// Only this tier
    #[arg(value_name = "TIER", value_parser = clap::value_parser!(u8).range(0..=2))]
    tier: Option<u8>,
    /// All tiers up to this one
    #[arg(long, value_name = "TIER", conflicts_with = "tier", value_parser = clap::value_parser!(u8).range(0..=2))]
    up_to: Option<u8>,
}

/// What the tiers are called.
const NAMES: [&str; 3] = ["essential", "utility", "fallback"];

pub(crate) async fn run(common: &Common, asked: &Tiers) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        learn::learn_all(hub).await;
        let (snapshot, config) = (hub.snapshot(), hub.config());
        let supply = hub.supply(&snapshot, &[], &config.toolset).await;
        let most = asked.up_to.unwrap_or(FALLBACK);
        let shown = (0..=most).filter(|tier| asked.tier.is_none_or(|only| only == *tier));
        let tiers: Vec<(u8, Vec<&Registered>)> =
            shown.map(|tier| (tier, supply.registry.tools_by_tier(tier))).collect();
        let names =
            |tools: &[&Registered]| tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
        if common.json {
            let tier = |(tier, tools): &(u8, Vec<&Registered>)| -> Value {
                json!({ "tier": tier, "name": NAMES[usize::from(*tier)], "tools": names(tools) })
            };
            return Ok(output::json(&json!({ "tiers": tiers.iter().map(tier).collect::<Vec<_>>() }))?);
        }
        let mut text = String::new();
        for (tier, tools) in &tiers {
            let name = NAMES[usize::from(*tier)];
            text += &format!("{}  {}\n", format!("{tier} {name}").bold(), count(tools.len(), "tool"));
            names(tools).iter().for_each(|name| text += &format!("  {name}\n"));
        }
        Ok(output::text(text.trim_end())?)
    })
    .await
}
