//! Fields of use, known by their nouns and products.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;

use crate::text::each_term;
use crate::thresholds::thresholds;

/// The fields of use that tools and requests belong to.
#[derive(Debug)]
pub struct Categories {
    names: Vec<String>,
    /// Nouns and products by their terms, joined by a space.
    nouns: HashMap<Box<str>, Noun>,
}

/// A noun that points to a field of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noun {
    /// The first field that lists it, by position.
    pub category: usize,
    /// Whether it is the name of a product and not a thing one acts on.
    pub is_product: bool,
    /// How many fields list it.
    pub shared_by: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    products: Vec<String>,
    nouns: Vec<String>,
}

impl Categories {
    /// Returns the fields that come with the product, read on first use.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Categories> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let words: BTreeMap<String, Words> =
                serde_json::from_str(include_str!("../../data/categories.json"))
                    .expect("a test reads the categories");
            let mut categories = Self { names: Vec::new(), nouns: HashMap::new() };
            for (category, (name, words)) in words.into_iter().enumerate() {
                categories.names.push(name);
                for product in words.products {
                    categories.add(&product, category, true);
                }
                for noun in words.nouns {
                    categories.add(&noun, category, false);
                }
            }
            categories
        })
    }

    fn add(&mut self, noun: &str, category: usize, is_product: bool) {
        let added = Noun { category, is_product, shared_by: 1 };
        self.nouns
            .entry(key(noun).into())
            .and_modify(|known| known.shared_by += usize::from(known.category != category))
            .or_insert(added);
    }

    /// Returns the name of a field.
    pub fn name(&self, category: usize) -> &str {
        &self.names[category]
    }

    /// Returns the field of that name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Returns the names of all fields.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns what a word or phrase points to.
    pub fn noun(&self, words: &str) -> Option<Noun> {
        self.nouns.get(key(words).as_str()).copied()
    }

    /// Returns the field that a text is most likely about.
    pub fn vote(&self, text: &str) -> Option<usize> {
        let mut votes = vec![0.0_f32; self.names.len()];
        let mut before = String::new();
        each_term(text, &mut |term| {
            let pair = self.nouns.get(format!("{before} {term}").as_str());
            for noun in pair.into_iter().chain(self.nouns.get(term)) {
                votes[noun.category] +=
                    if noun.is_product { thresholds().language.product as f32 } else { 1.0 }
                        / noun.shared_by as f32;
            }
            before.clear();
            before.push_str(term);
        });
        let best = (0..votes.len()).max_by(|a, b| votes[*a].total_cmp(&votes[*b]).then_with(|| b.cmp(a)))?;
        (votes[best] > 0.0).then_some(best)
    }
}

fn key(words: &str) -> String {
    let mut key = String::new();
    each_term(words, &mut |term| {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(term);
    });
    key
}
