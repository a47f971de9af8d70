//! A small network over the vector of a sentence and what can be seen of it.
//!
//! `data/screening.json` holds the weights, written by the example `fit_screening` of `toolyard-eval`. They belong to
//! the vectors of the encoder inside the program and to no other.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::feature::{FEATURES, Features};

/// What the words of a sentence say about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classifier {
    /// How the weights were found.
    pub source: String,
    /// The encoder whose vectors they are for.
    pub encoder: String,
    /// What counts by itself.
    pub direct: Plane,
    /// What counts together: how much each says, and what it looks at.
    pub hidden: Vec<(f32, Plane)>,
}

/// A weighted sum of everything that is known of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    /// What is added to everything.
    pub bias: f32,
    /// The weight of each feature, in the order of [`FEATURES`].
    pub features: Vec<f32>,
    /// The weight of each number of a vector.
    pub vector: Vec<f32>,
}

impl Plane {
    /// Returns the sum for a sentence.
    pub fn sum(&self, vector: &[f32], features: &Features) -> f32 {
        let said: f32 = self.vector.iter().zip(vector).map(|(weight, value)| weight * value).sum();
        let seen = FEATURES.iter().zip(&self.features).filter(|(feature, _)| features.has(**feature));
        self.bias + said + seen.map(|(_, weight)| weight).sum::<f32>()
    }
}

impl Classifier {
    /// Returns the classifier that comes with the product.
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Classifier> = LazyLock::new(|| {
            serde_json::from_str(include_str!("../../data/screening.json"))
                .expect("a test reads the weights of screening")
        });
        &BUILTIN
    }

    /// Returns how likely a sentence is part of an attack, as a logarithm of odds.
    pub fn score(&self, vector: &[f32], features: &Features) -> f32 {
        let hidden = self.hidden.iter().map(|(weight, plane)| weight * plane.sum(vector, features).tanh());
        self.direct.sum(vector, features) + hidden.sum::<f32>()
    }
}
