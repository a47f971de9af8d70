//! How much each feature counts: data, fitted on requests whose arguments are known.

mod table;

use std::borrow::Cow;

pub(super) use table::feature_id;

/// How much each feature of a value counts.
#[derive(Clone, Debug)]
pub struct FeatureWeights {
    table: Cow<'static, [u8]>,
}

impl FeatureWeights {
    /// Returns the weights of values that stand in a text. The build script made their table of `data/arguments.tsv`.
    pub fn of_texts() -> &'static Self {
        static BUILTIN: FeatureWeights = FeatureWeights {
            table: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/arguments.table"))),
        };
        &BUILTIN
    }

    /// Returns the weights of values under names of the caller's own. Their table is made of `data/values.tsv`.
    pub fn of_values() -> &'static Self {
        static BUILTIN: FeatureWeights = FeatureWeights {
            table: Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/values.table"))),
        };
        &BUILTIN
    }

    /// Reads lines of a feature, a tab and its weight. What makes no sense is left out.
    pub fn parse(text: &str) -> Self {
        Self { table: Cow::Owned(table::table(text)) }
    }

    pub(super) fn sum(&self, features: &[u64]) -> f32 {
        features.iter().filter_map(|id| table::find(&self.table, *id)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_features_have_the_weights_of_their_lines() {
        let lines = "a|b\t0.25\nno tab\nc\tno number\nc\t-1.5\na|b\t0.75\n";
        let weights = FeatureWeights::parse(lines);
        assert_eq!(weights.sum(&[feature_id(&["a", "b"])]), 0.75, "the last of two lines counts");
        assert_eq!(weights.sum(&[feature_id(&["c"]), feature_id(&["a|b"])]), -0.75);
        assert_eq!(weights.sum(&[feature_id(&["d"])]), 0.0);
        assert_eq!(FeatureWeights::parse("").sum(&[feature_id(&["a"])]), 0.0);
    }

    #[test]
    fn r1_the_tables_that_come_with_the_product_are_what_their_lines_say() {
        for (weights, lines) in [
            (FeatureWeights::of_texts(), include_str!("../../data/arguments.tsv")),
            (FeatureWeights::of_values(), include_str!("../../data/values.tsv")),
        ] {
            for line in lines.lines() {
                let (name, weight) = line.split_once('\t').expect("every line has a weight");
                assert_eq!(weights.sum(&[feature_id(&[name])]), weight.parse::<f32>().unwrap(), "{line}");
            }
        }
    }
}
