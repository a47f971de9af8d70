//! What people say when they need a tool: what somebody wrote down, and what the tool says of itself.
//!
//! A request is compared with each phrasing by itself: ten phrasings are ten chances to be alike, not one
//! long text that fits everything a little.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::lexicon::Lexicon;
use crate::metadata::{Knowledge, first_sentence};
use crate::text::terms;
use crate::thresholds::thresholds;
use crate::tool::words::words;

/// Phrasings of tools, by their words.
#[derive(Clone, Debug, Default)]
pub struct Phrases {
    terms: HashMap<Box<str>, u32>,
    /// For each term the phrasings that have it.
    postings: Vec<Vec<u32>>,
    rarities: Vec<f32>,
    phrases: Vec<Phrase>,
    tools: usize,
}

#[derive(Clone, Copy, Debug)]
struct Phrase {
    tool: u32,
    /// How much all of its words tell together, as the length of a vector.
    length: f32,
}

/// The words of a name, abbreviations written out.
fn spelt_out(name: &str) -> String {
    let lexicon = Lexicon::builtin();
    let words = words(name).map(str::to_lowercase);
    words.map(|word| lexicon.english(&word).unwrap_or(&word).to_owned()).collect::<Vec<_>>().join(" ")
}

/// A phrasing is short; what comes later is ballast.
const MAX_TERMS: usize = 48;

impl Phrases {
    /// Reads the phrasings of every tool of a catalog.
    pub fn new(catalog: &Catalog, knowledge: &Knowledge) -> Self {
        let mut phrases = Self { tools: catalog.len(), ..Self::default() };
        let mut read: Vec<(u32, Vec<u32>)> = Vec::new();
        for position in 0..catalog.len() {
            let tool = u32::try_from(position).expect("a catalog has fewer than four billion tools");
            let own = &catalog.tools()[position];
            // What a tool says of itself is a phrasing too, so that one without a note is not left behind by its
            // siblings that have one.
            let mut texts = vec![spelt_out(&own.name), first_sentence(&own.description).to_owned()];
            let facts = knowledge.of(position);
            texts.extend(facts.phrasings().cloned());
            texts.extend(facts.note.as_ref().map(|note| note.keywords.join(" ")));
            for text in texts.iter().filter(|text| !text.is_empty()) {
                let terms = terms(text, MAX_TERMS).iter().map(|term| phrases.intern(term)).collect();
                read.push((tool, terms));
            }
        }
        let all = read.len() as f32;
        for (at, (_, terms)) in read.iter().enumerate() {
            for term in terms {
                phrases.postings[*term as usize].push(u32::try_from(at).expect("as above"));
            }
        }
        phrases.rarities = phrases
            .postings
            .iter()
            .map(|with| (1.0 + (all - with.len() as f32 + 0.5) / (with.len() as f32 + 0.5)).ln())
            .collect();
        for (tool, terms) in read {
            let square: f32 = terms.iter().map(|term| phrases.rarities[*term as usize].powi(2)).sum();
            phrases.phrases.push(Phrase { tool, length: square.sqrt() });
        }
        phrases
    }

    fn intern(&mut self, term: &str) -> u32 {
        if let Some(known) = self.terms.get(term) {
            return *known;
        }
        let next = u32::try_from(self.postings.len()).expect("a library has fewer than four billion words");
        self.terms.insert(term.into(), next);
        self.postings.push(Vec::new());
        next
    }

    /// Returns how alike each tool's phrasings and the weighted terms are, from 0 to a little above 1;
    /// tools that share a word join `found`.
    pub(crate) fn scores(&self, query: &[(String, f32)], found: &mut Vec<u32>) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.tools];
        if self.phrases.is_empty() {
            return scores;
        }
        let known: Vec<(u32, f32)> = query
            .iter()
            .filter_map(|(term, weight)| self.terms.get(term.as_str()).map(|known| (*known, *weight)))
            .collect();
        let length: f32 = known
            .iter()
            .map(|(term, weight)| (weight * self.rarities[*term as usize]).powi(2))
            .sum::<f32>()
            .sqrt();
        let mut alike = vec![0.0_f32; self.phrases.len()];
        let mut touched = Vec::new();
        for (term, weight) in known {
            let adds = weight * self.rarities[term as usize].powi(2);
            for phrase in &self.postings[term as usize] {
                let sum = &mut alike[*phrase as usize];
                if *sum == 0.0 {
                    touched.push(*phrase);
                }
                *sum += adds;
            }
        }
        // The phrasings of a tool stand together, so its best two are found in one pass.
        touched.sort_unstable();
        let next = thresholds().index.second_phrase as f32;
        for same in touched.chunk_by(|a, b| self.tool(*a) == self.tool(*b)) {
            let (mut best, mut second) = (0.0_f32, 0.0_f32);
            for phrase in same {
                let cosine = alike[*phrase as usize] / (length * self.phrases[*phrase as usize].length);
                if cosine > best {
                    (best, second) = (cosine, best);
                } else if cosine > second {
                    second = cosine;
                }
            }
            let tool = self.tool(same[0]);
            scores[tool as usize] = (best + next * second) / (1.0 + next);
            found.push(tool);
        }
        scores
    }

    fn tool(&self, phrase: u32) -> u32 {
        self.phrases[phrase as usize].tool
    }
}
