//! How much each feature counts: data, fitted on requests whose arguments are known.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use super::features::feature_id;

/// How much each feature of a value counts.
#[derive(Clone, Debug, Default)]
pub struct FeatureWeights {
    by_feature: HashMap<u64, f32, BuildHasherDefault<FeatureHasher>>,
}

impl FeatureWeights {
    /// Returns the weights that come with the product, read on first use.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<FeatureWeights> = OnceLock::new();
        BUILTIN.get_or_init(|| Self::parse(include_str!("../../data/arguments.tsv")))
    }

    /// Reads lines of a feature, a tab and its weight. What makes no sense is left out.
    pub fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (name, weight) = line.split_once('\t')?;
            Some((feature_id(&[name]), weight.parse().ok()?))
        };
        Self { by_feature: text.lines().filter_map(line).collect() }
    }

    pub(super) fn sum(&self, features: &[u64]) -> f32 {
        features.iter().filter_map(|id| self.by_feature.get(id)).sum()
    }
}

/// Takes the numbers of features as they are: they are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct FeatureHasher(u64);

impl Hasher for FeatureHasher {
    fn write_u64(&mut self, id: u64) {
        self.0 = id;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("features are numbers");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
