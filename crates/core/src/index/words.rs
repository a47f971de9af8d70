//! The words of tools.
//!
//! Each word of a tool weighs by the field it stands in, and saturates there: saying it ten times is
//! worth little more than saying it twice, and a long text weighs less per word than a short one.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::lexicon::Lexicon;
use crate::text::{SOME_FOLDER, each_term, without_folders};
use crate::thresholds::thresholds;
use crate::tool::words::words as identifier_words;
use crate::tool::{Tool, choices, remarks};

/// Finds tools by the words of a request.
#[derive(Clone, Debug)]
pub struct Words {
    terms: HashMap<Box<str>, u32>,
    /// Where the postings of each term begin; one more entry than there are terms.
    starts: Vec<u32>,
    /// For each term the tools that have it, with what it adds to their score.
    postings: Vec<(u32, f32)>,
    /// How much each term tells: few tools have it.
    rarities: Vec<f32>,
    /// The terms of each tool's name.
    names: Rows,
    /// The terms of the parameters that each tool requires.
    inputs: Rows,
    /// The terms of each value that parameters leave to choose from, and where those of each tool begin.
    choices: Rows,
    choice_starts: Vec<u32>,
    /// The place of each tool among those that fit equally well.
    ranks: Vec<u32>,
}

/// Lists of terms, one after the other.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// Where each list ends.
    ends: Vec<u32>,
    terms: Vec<u32>,
}

impl Rows {
    fn push(&mut self, terms: &[u32]) {
        self.terms.extend(terms);
        self.ends.push(count(self.terms.len()));
    }

    fn row(&self, at: usize) -> &[u32] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.terms[start as usize..self.ends[at] as usize]
    }
}

/// A tool that shares words with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The position of the tool in the catalog.
    pub position: usize,
    /// How well it fits; comparable only between the hits of one search.
    pub score: f32,
}

/// A part of a tool that is searched.
struct Field {
    weight: f32,
    /// How much a longer text than usual weighs down each of its words, from 0 to 1.
    length_penalty: f32,
}

/// The parts of a tool that are searched: name, server, title, parameters, description, and what parameters are for.
const FIELDS: usize = 6;

/// Returns how much each part counts.
fn fields() -> [Field; FIELDS] {
    let index = &thresholds().index;
    let field = |weight: f64, length: f64| Field { weight: weight as f32, length_penalty: length as f32 };
    [
        field(index.name, index.name_length),
        field(index.server, index.server_length),
        field(index.title, index.title_length),
        field(index.parameters, index.parameters_length),
        field(index.description, index.description_length),
        field(index.parameter_descriptions, index.parameter_descriptions_length),
    ]
}

/// The rarest words of a request decide; a request of a thousand words need not cost a thousand lists.
const MAX_QUERY_TERMS: usize = 64;

impl Words {
    /// Reads every tool of a catalog.
    pub fn new(catalog: &Catalog) -> Self {
        let mut build = Build::default();
        for tool in catalog.tools() {
            build.add(tool);
        }
        build.finish(ranks(catalog))
    }

    /// Returns the tools that share a word with `query`, best first, at most `limit`.
    ///
    /// Equal scores are ordered by name, so that the same request always gives the same list.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let mut found = Vec::new();
        let terms: Vec<(u32, f32)> = self
            .query_terms(&without_folders(query, SOME_FOLDER))
            .into_iter()
            .map(|term| (term, 1.0))
            .collect();
        let scores = self.scores(&terms, &mut found);
        self.best(&scores, found, limit)
    }

    /// Returns what the weighted terms add to the score of each tool; those that have one join `found`.
    pub(crate) fn scores(&self, terms: &[(u32, f32)], found: &mut Vec<u32>) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.ranks.len()];
        for (term, share) in terms {
            for &(tool, weight) in self.postings_of(*term) {
                let score = &mut scores[tool as usize];
                if *score == 0.0 {
                    found.push(tool);
                }
                *score += share * weight;
            }
        }
        scores
    }

    /// Returns the best of the tools that were found, best first, ties by name.
    pub(crate) fn best(&self, scores: &[f32], mut found: Vec<u32>, limit: usize) -> Vec<Hit> {
        let best_first = |a: &u32, b: &u32| {
            let (a, b) = (*a as usize, *b as usize);
            scores[b].total_cmp(&scores[a]).then_with(|| self.ranks[a].cmp(&self.ranks[b]))
        };
        if limit == 0 {
            return Vec::new();
        }
        if found.len() > limit {
            found.select_nth_unstable_by(limit - 1, best_first);
            found.truncate(limit);
        }
        found.sort_unstable_by(best_first);
        found
            .into_iter()
            .map(|tool| tool as usize)
            .map(|at| Hit { position: at, score: scores[at] })
            .collect()
    }

    /// The different known words of a query, rarest first.
    pub(crate) fn query_terms(&self, query: &str) -> Vec<u32> {
        let mut terms: Vec<u32> = Vec::new();
        each_term(query, &mut |term| terms.extend(self.terms.get(term)));
        terms.sort_unstable_by_key(|term| (self.postings_of(*term).len(), *term));
        terms.dedup();
        terms.truncate(MAX_QUERY_TERMS);
        terms
    }

    /// Returns how much a term tells.
    pub(crate) fn rarity(&self, term: u32) -> f32 {
        self.rarities[term as usize]
    }

    /// Returns how much a term that no tool has would tell.
    pub(crate) fn rarity_of_unknown(&self) -> f32 {
        rarity(self.ranks.len(), 0)
    }

    /// Returns the number of a term that some tool has.
    pub(crate) fn term(&self, term: &str) -> Option<u32> {
        self.terms.get(term).copied()
    }

    /// Whether a tool has a term in any of its fields.
    pub(crate) fn has(&self, position: usize, term: u32) -> bool {
        // Tools are read in order, so each list of postings is sorted by tool.
        self.postings_of(term).binary_search_by(|(tool, _)| (*tool as usize).cmp(&position)).is_ok()
    }

    /// Returns the terms of a tool's name.
    pub(crate) fn name_terms(&self, position: usize) -> &[u32] {
        self.names.row(position)
    }

    /// Returns the terms of the parameters that a tool requires.
    pub(crate) fn input_terms(&self, position: usize) -> &[u32] {
        self.inputs.row(position)
    }

    /// Whether one of the values that a tool leaves to choose from is among `terms`.
    pub(crate) fn has_choice(&self, position: usize, terms: &[u32]) -> bool {
        let (start, end) = (self.choice_starts[position], self.choice_starts[position + 1]);
        let is_said = |value: &[u32]| !value.is_empty() && value.iter().all(|term| terms.contains(term));
        (start..end).any(|at| is_said(self.choices.row(at as usize)))
    }

    /// Returns the place of a tool among those that fit equally well.
    pub(crate) fn rank(&self, position: usize) -> u32 {
        self.ranks[position]
    }

    fn postings_of(&self, term: u32) -> &[(u32, f32)] {
        let term = term as usize;
        &self.postings[self.starts[term] as usize..self.starts[term + 1] as usize]
    }
}

/// The place of each tool among those that fit equally well.
fn ranks(catalog: &Catalog) -> Vec<u32> {
    let mut ranks = vec![0; catalog.len()];
    for (rank, tool) in catalog.preferred().into_iter().enumerate() {
        ranks[tool] = count(rank);
    }
    ranks
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a catalog with four billion words does not fit in memory")
}

/// What one tool says about one term: how often, in each field.
struct Mention {
    term: u32,
    tool: u32,
    times: [u8; FIELDS],
}

/// An index in the making; the lengths must all be known before anything is weighed.
#[derive(Default)]
struct Build {
    terms: HashMap<Box<str>, u32>,
    mentions: Vec<Mention>,
    /// How many tools mention each term.
    tools_with: Vec<u32>,
    names: Rows,
    inputs: Rows,
    choices: Rows,
    choice_starts: Vec<u32>,
    /// The words in each field of each tool.
    lengths: Vec<[u32; FIELDS]>,
    /// The words of the tool being read, kept to spare its allocation.
    words: Vec<(u32, usize)>,
}

impl Build {
    fn add(&mut self, tool: &Tool) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let mut read = |field: usize, text: &str| {
            each_term(text, &mut |term| words.push((self.intern(term), field)));
        };
        read(0, &tool.name);
        read(1, &tool.server);
        read(2, tool.title.as_deref().unwrap_or_default());
        // Names abbreviate: `list_repos` is about repositories.
        for word in identifier_words(&tool.name) {
            read(2, Lexicon::builtin().english(&word.to_lowercase()).unwrap_or_default());
        }
        for parameter in &tool.parameters {
            read(3, &parameter.name);
        }
        read(4, &tool.description);
        for remark in remarks(&tool.definition) {
            read(5, &remark);
        }

        self.add_name(&tool.name);
        self.add_inputs(tool);
        let mut length = [0; FIELDS];
        words.sort_unstable();
        let tool = count(self.lengths.len());
        for same_term in words.chunk_by(|a, b| a.0 == b.0) {
            let term = same_term[0].0;
            let mut times = [0_u8; FIELDS];
            for &(_, field) in same_term {
                times[field] = times[field].saturating_add(1);
                length[field] += 1;
            }
            self.tools_with[term as usize] += 1;
            self.mentions.push(Mention { term, tool, times });
        }
        self.lengths.push(length);
        self.words = words;
    }

    /// Keeps what a tool is named after: without its verb, and without abbreviations.
    fn add_name(&mut self, name: &str) {
        let lexicon = Lexicon::builtin();
        let mut terms = Vec::new();
        for word in identifier_words(name).map(str::to_lowercase) {
            if lexicon.verb(&word).is_none() {
                terms.extend(self.terms_of(lexicon.english(&word).unwrap_or(&word)));
            }
        }
        if terms.is_empty() {
            terms = self.terms_of(name);
        }
        self.names.push(&terms);
    }

    /// Keeps what the parameters are called that a tool requires, and what can be chosen.
    fn add_inputs(&mut self, tool: &Tool) {
        let required = tool.parameters.iter().filter(|it| it.required);
        let mut terms: Vec<u32> = required.flat_map(|it| self.terms_of(&it.name)).collect();
        terms.sort_unstable();
        terms.dedup();
        self.inputs.push(&terms);
        self.choice_starts.push(count(self.choices.ends.len()));
        for value in choices(&tool.definition) {
            let terms = self.terms_of(&value);
            self.choices.push(&terms);
        }
    }

    fn terms_of(&mut self, text: &str) -> Vec<u32> {
        let mut terms = Vec::new();
        each_term(text, &mut |term| terms.push(self.intern(term)));
        terms
    }

    fn intern(&mut self, term: &str) -> u32 {
        if let Some(known) = self.terms.get(term) {
            return *known;
        }
        let next = count(self.terms.len());
        self.terms.insert(term.into(), next);
        self.tools_with.push(0);
        next
    }

    fn finish(mut self, ranks: Vec<u32>) -> Words {
        let mut starts = Vec::with_capacity(self.tools_with.len() + 1);
        let mut end = 0;
        starts.push(0);
        for tools in &self.tools_with {
            end += tools;
            starts.push(end);
        }
        let usual = self.usual_lengths();
        let rarities: Vec<f32> =
            self.tools_with.iter().map(|with| rarity(self.lengths.len(), *with)).collect();
        let mut next = starts.clone();
        let mut postings = vec![(0, 0.0); self.mentions.len()];
        for mention in &self.mentions {
            let length = &self.lengths[mention.tool as usize];
            let place = &mut next[mention.term as usize];
            postings[*place as usize] =
                (mention.tool, rarities[mention.term as usize] * weigh(&mention.times, length, &usual));
            *place += 1;
        }
        self.choice_starts.push(count(self.choices.ends.len()));
        let Self { terms, names, inputs, choices, choice_starts, .. } = self;
        Words { terms, starts, postings, rarities, names, inputs, choices, choice_starts, ranks }
    }

    /// The median length of each field among the tools that have it: one huge text does not move it.
    fn usual_lengths(&self) -> [f32; FIELDS] {
        std::array::from_fn(|field| {
            let mut lengths: Vec<u32> =
                self.lengths.iter().map(|lengths| lengths[field]).filter(|length| *length > 0).collect();
            let middle = lengths.len().saturating_sub(1) / 2;
            if lengths.is_empty() { 1.0 } else { *lengths.select_nth_unstable(middle).1 as f32 }
        })
    }
}

fn rarity(tools: usize, tools_with: u32) -> f32 {
    let (all, with) = (tools as f32, tools_with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

fn weigh(times: &[u8; FIELDS], length: &[u32; FIELDS], usual: &[f32; FIELDS]) -> f32 {
    let saturation = thresholds().index.saturation as f32;
    let mut weight = 0.0;
    for (at, field) in fields().iter().enumerate().filter(|(at, _)| times[*at] > 0) {
        let relative = length[at] as f32 / usual[at];
        let times = (1.0 + f32::from(times[at]).ln())
            / (1.0 - field.length_penalty + field.length_penalty * relative);
        weight += field.weight * times / (times + saturation);
    }
    weight
}

#[cfg(test)]
mod tests;
