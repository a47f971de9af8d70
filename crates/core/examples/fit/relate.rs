//! Learns which words of tools go with which words of requests: the first model of statistical translation,
//! by expectation and maximisation.

use std::collections::HashMap;

use toolyard_core::lexicon::Related;
use toolyard_core::text::terms;

/// A request and the text of the tool it is for.
pub(crate) struct Pair {
    pub(crate) request: String,
    pub(crate) tool: String,
}

const ROUNDS: usize = 5;
/// A word must occur this often before it says anything.
const MIN_TIMES: u32 = 3;
const MIN_SHARE: f32 = 0.03;
const MAX_OTHERS: usize = 10;

/// A position for the word that is not there, which explains what nearly every tool says.
const NOTHING: u32 = 0;

pub(crate) fn learn<'a>(pairs: impl Iterator<Item = &'a Pair>) -> Related {
    let mut words = Words::default();
    let pairs: Vec<(Vec<u32>, Vec<u32>)> = pairs
        .map(|pair| {
            let mut said: Vec<u32> = terms(&pair.request, 40).iter().map(|term| words.number(term)).collect();
            said.push(NOTHING);
            (said, terms(&pair.tool, 40).iter().map(|term| words.number(term)).collect())
        })
        .collect();
    let mut times: HashMap<u32, u32> = HashMap::new();
    for said in pairs.iter().flat_map(|(said, _)| said) {
        *times.entry(*said).or_default() += 1;
    }
    let mut shares: HashMap<(u32, u32), f32> = HashMap::new();
    for round in 0..ROUNDS {
        let mut counts: HashMap<(u32, u32), f32> = HashMap::new();
        for (said, tool) in &pairs {
            for other in tool {
                let of = |word: &u32| {
                    if round == 0 { 1.0 } else { shares.get(&(*word, *other)).copied().unwrap_or(1e-9) }
                };
                let total: f32 = said.iter().map(of).sum();
                for word in said {
                    *counts.entry((*word, *other)).or_default() += of(word) / total;
                }
            }
        }
        let mut totals: HashMap<u32, f32> = HashMap::new();
        for ((word, _), count) in &counts {
            *totals.entry(*word).or_default() += count;
        }
        // Pairs that hardly ever go together only cost memory.
        shares = counts
            .into_iter()
            .map(|(pair, count)| (pair, count / totals[&pair.0]))
            .filter(|it| it.1 > 1e-5)
            .collect();
    }
    let mut others: HashMap<u32, Vec<(u32, f32)>> = HashMap::new();
    for ((word, other), share) in shares {
        // The same word is found without this table.
        if word != NOTHING && word != other && share >= MIN_SHARE && times[&word] >= MIN_TIMES {
            others.entry(word).or_default().push((other, share));
        }
    }
    Related::new(others.into_iter().map(|(word, mut list)| {
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        list.truncate(MAX_OTHERS);
        (
            words.texts[word as usize].clone(),
            list.into_iter().map(|(it, share)| (words.texts[it as usize].clone(), share)).collect(),
        )
    }))
}

struct Words {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Default for Words {
    fn default() -> Self {
        Self { numbers: HashMap::new(), texts: vec![String::new()] }
    }
}

impl Words {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let next = u32::try_from(self.texts.len()).expect("few words");
        self.numbers.insert(text.to_owned(), next);
        self.texts.push(text.to_owned());
        next
    }
}
