//! Which domains a message is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::registry::Registry;
use crate::domain::DOMAIN;
use crate::thresholds::thresholds;

/// A domain that a message is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    /// Its tag.
    pub domain: Arc<str>,
    /// How much it is meant; comparable only within one message.
    pub weight: f32,
}

/// Returns the domains that a message is about, in the order in which it mentions them. `ranked` are the tools
/// that may be meant, each with its share of the belief.
pub fn meant(registry: &Registry, message: &str, ranked: &[(Arc<str>, f32)]) -> Vec<Meant> {
    let mut shares: BTreeMap<&Arc<str>, f32> = BTreeMap::new();
    for (name, share) in ranked {
        let tags = registry.get(name).map(|tool| tool.tags.as_slice()).unwrap_or_default();
        for tag in tags.iter().filter(|tag| tag.starts_with(DOMAIN)) {
            *shares.entry(tag).or_default() += share;
        }
    }
    let said: BTreeMap<&Arc<str>, usize> = registry.said(message).into_iter().collect();
    let limits = &thresholds().toolset;
    let is_meant = |(domain, share): &(&Arc<str>, f32)| {
        *share >= limits.domain as f32 || (*share >= limits.named_domain as f32 && said.contains_key(*domain))
    };
    let mut found: Vec<(&Arc<str>, f32)> = shares.into_iter().filter(is_meant).collect();
    found.sort_by(|a, b| {
        let place = |domain| said.get(domain).copied().unwrap_or(usize::MAX);
        place(a.0).cmp(&place(b.0)).then_with(|| b.1.total_cmp(&a.1)).then_with(|| a.0.cmp(b.0))
    });
    found.into_iter().map(|(domain, weight)| Meant { domain: Arc::clone(domain), weight }).collect()
}

/// Brings the tools together that may be meant by the parts of a message: each with the largest share of the
/// belief that it has in any of them, likeliest first.
pub fn merged(parts: impl IntoIterator<Item = Vec<(Arc<str>, f32)>>) -> Vec<(Arc<str>, f32)> {
    let mut all: Vec<(Arc<str>, f32)> = Vec::new();
    for (name, share) in parts.into_iter().flatten() {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, largest)) => *largest = largest.max(share),
            None => all.push((name, share)),
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// Returns the domains whose names are among the words of a message, the first one weighing most.
pub fn named(registry: &Registry, message: &str) -> Vec<Meant> {
    let mut said = registry.said(message);
    said.sort_by_key(|(domain, place)| (*place, Arc::clone(domain)));
    let weigh = |(domain, place): (&Arc<str>, usize)| Meant {
        domain: Arc::clone(domain),
        weight: 1.0 / (1.0 + place as f32),
    };
    said.into_iter().map(weigh).collect()
}

/// Returns the tools that a message needs and that no domain it is about has, most needed first. Where it is
/// about no domain in particular, these are the likeliest of all.
pub fn needed(
    registry: &Registry,
    domains: &[Meant],
    ranked: &[(Arc<str>, f32)],
    most: usize,
) -> Vec<Arc<str>> {
    let is_covered = |name: &Arc<str>| {
        let tags = registry.get(name).map(|tool| tool.tags.as_slice()).unwrap_or_default();
        domains.iter().any(|meant| tags.contains(&meant.domain))
    };
    let best = ranked.iter().map(|(_, share)| *share).fold(0.0, f32::max);
    let limits = &thresholds().toolset;
    let (tool, far) = (limits.tool as f32, limits.far_likelier as f32);
    let is_worth_it = |share: f32| domains.is_empty() || (share >= tool && share * far >= best);
    let needed = ranked.iter().filter(|(name, share)| is_worth_it(*share) && !is_covered(name));
    needed.take(most).map(|(name, _)| Arc::clone(name)).collect()
}
