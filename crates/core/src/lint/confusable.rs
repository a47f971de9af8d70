//! Pairs of tools that are hard to tell apart.
//!
//! Candidates come from an inverted index over the rarest words of each tool, so that the work grows with the catalog
//! and not with its square; only candidates are compared in full.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;

use crate::catalog::Catalog;
use crate::lexicon::{Action, Lexicon};
use crate::metadata::Knowledge;
use crate::text::{each_term, terms};
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

use super::words::{Numbers, lint_words};

/// Two tools that are hard to tell apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfusablePair {
    /// The ids of both.
    pub tools: [String; 2],
    /// How similar they are, from 0 to 1.
    pub similarity: f64,
    /// Whether they are the same in every word, on two servers or under two names.
    pub is_twin: bool,
    /// Words that both have, the most telling first.
    pub shared: Vec<String>,
    /// What only the first has, and what only the second has.
    pub apart: [Distinction; 2],
    /// What to do about it.
    pub advice: String,
    /// The positions of both in the catalog.
    #[serde(skip)]
    pub(super) positions: [usize; 2],
}

/// What one of two tools has and the other lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distinction {
    /// Words of its name and description, the most telling first.
    pub words: Vec<String>,
    /// Parameters.
    pub parameters: Vec<String>,
}

/// Words of each tool that look for candidates, rarest first.
const SEARCHED: usize = 12;
/// Candidates of each tool that are compared in full.
const COMPARED: usize = 12;
/// Pairs of each tool that are reported.
const REPORTED: usize = 5;
/// Terms that are read of a description, and of a name or first sentence.
const MAX_TERMS: usize = 80;
const MAX_NAME_TERMS: usize = 12;
/// Words and parameters that are shown.
const SHOWN: usize = 5;

/// Finds the pairs, most similar first. `leads` are the first sentences, `told` says whether one names the other.
pub(super) fn pairs(
    catalog: &Catalog,
    knowledge: &Knowledge,
    leads: &[&str],
    told: impl Fn(usize, usize) -> bool,
) -> Vec<ConfusablePair> {
    let twins = twins(catalog);
    let copies: HashSet<usize> = twins.iter().map(|(_, copy)| *copy).collect();
    let index = Index::new(catalog, leads, &copies);
    let least = lint_words().numbers.confusable;
    let mut found: Vec<(f64, usize, usize)> = Vec::new();
    for (a, b) in index.candidates() {
        let actions = (knowledge.of(a).action, knowledge.of(b).action);
        let tools = (&catalog.tools()[a], &catalog.tools()[b]);
        let similarity = index.similarity(a, b) * share_left(actions, tools);
        if similarity >= least && !told(a, b) {
            found.push((similarity, a, b));
        }
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| (x.1, x.2).cmp(&(y.1, y.2))));
    let mut times: HashMap<usize, usize> = HashMap::new();
    found.retain(|(_, a, b)| {
        let of = |at: &usize| times.get(at).copied().unwrap_or_default();
        let is_kept = of(a) < REPORTED || of(b) < REPORTED;
        if is_kept {
            *times.entry(*a).or_default() += 1;
            *times.entry(*b).or_default() += 1;
        }
        is_kept
    });
    let alike = twins.into_iter().map(|(first, copy)| twin(catalog, first, copy));
    alike.chain(found.into_iter().map(|it| index.pair(catalog, it))).collect()
}

/// Returns the words of a tool's name, without those of its server.
pub(super) fn bare_name(tool: &Tool) -> String {
    let server: Vec<String> = words(&tool.server).map(str::to_lowercase).collect();
    let own: Vec<String> = words(&tool.name).map(str::to_lowercase).collect();
    let bare: Vec<&str> = own.iter().filter(|word| !server.contains(word)).map(String::as_str).collect();
    if bare.is_empty() { own.join(" ") } else { bare.join(" ") }
}

/// Returns tools that are there twice word for word, on several servers or under two names: the first of them, and
/// each copy.
fn twins(catalog: &Catalog) -> Vec<(usize, usize)> {
    let mut alike: BTreeMap<(String, &str), Vec<usize>> = BTreeMap::new();
    for (at, tool) in catalog.tools().iter().enumerate() {
        alike.entry((bare_name(tool), &tool.description)).or_default().push(at);
    }
    let pairs = alike.into_values().flat_map(|group| {
        let (first, tool) = (group[0], &catalog.tools()[group[0]]);
        let is_copy = move |at: &usize| {
            let other = &catalog.tools()[*at];
            let is_named_alike = tool.name == other.name || tool.server == other.server;
            is_named_alike && tool.parameters == other.parameters
        };
        group.into_iter().skip(1).filter(is_copy).map(move |copy| (first, copy))
    });
    pairs.collect()
}

fn twin(catalog: &Catalog, first: usize, copy: usize) -> ConfusablePair {
    let id = |at: usize| catalog.tools()[at].id.as_str().to_owned();
    let advice = match catalog.tools()[first].server == catalog.tools()[copy].server {
        true => "the same tool under two names: remove one of them",
        false => "the same tool on two servers: remove one of the servers, or hide its tool",
    };
    ConfusablePair {
        tools: [id(first), id(copy)],
        similarity: 1.0,
        is_twin: true,
        shared: Vec::new(),
        apart: [Distinction::default(), Distinction::default()],
        advice: advice.to_owned(),
        positions: [first, copy],
    }
}

/// What is compared of one tool. Terms are numbers, in order.
#[derive(Default)]
struct Features {
    name: Vec<u32>,
    /// Each term of the description with its weight; the squares of the weights add up to 1.
    text: Vec<(u32, f64)>,
    parameters: Vec<u32>,
}

struct Index {
    tools: Vec<Features>,
    terms: HashMap<String, u32>,
    /// How many tools have each term.
    tools_with: Vec<u32>,
    /// Tools that stand for copies as well, and are compared.
    compared: Vec<usize>,
}

impl Index {
    fn new(catalog: &Catalog, leads: &[&str], copies: &HashSet<usize>) -> Self {
        let mut index = Self {
            tools: Vec::with_capacity(catalog.len()),
            terms: HashMap::new(),
            tools_with: Vec::new(),
            compared: (0..catalog.len()).filter(|at| !copies.contains(at)).collect(),
        };
        for (tool, lead) in catalog.tools().iter().zip(leads) {
            let features = index.features(tool, lead);
            index.tools.push(features);
        }
        let rarities: Vec<f64> = (0..index.tools_with.len()).map(|term| index.rarity(term)).collect();
        for features in &mut index.tools {
            for (term, weight) in &mut features.text {
                *weight *= rarities[*term as usize];
            }
            let length = features.text.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
            features.text.iter_mut().for_each(|(_, weight)| *weight /= length.max(f64::MIN_POSITIVE));
        }
        index
    }

    fn features(&mut self, tool: &Tool, lead: &str) -> Features {
        let server = terms(&tool.server, MAX_NAME_TERMS);
        let mut name = terms(&tool.name, MAX_NAME_TERMS);
        let telling: Vec<String> = name.iter().filter(|term| !server.contains(term)).cloned().collect();
        if !telling.is_empty() {
            name = telling;
        }
        let mut text: BTreeMap<u32, f64> = BTreeMap::new();
        for (part, weight) in [(lead, lint_words().numbers.lead_word), (&*tool.description, 1.0)] {
            for term in terms(part, MAX_TERMS) {
                text.entry(self.number(term)).or_insert(weight);
            }
        }
        let numbered = |terms: Vec<u32>| terms.into_iter().collect::<BTreeSet<u32>>().into_iter().collect();
        let name: Vec<u32> = numbered(name.into_iter().map(|term| self.number(term)).collect());
        let parameters = tool.parameters.iter().map(|it| {
            // A parameter is one word for a comparison, and none of the text.
            let joined: String = words(&it.name).map(str::to_lowercase).collect();
            self.number(format!(":{joined}"))
        });
        let parameters: Vec<u32> = numbered(parameters.collect());
        let all: BTreeSet<u32> = name.iter().chain(text.keys()).chain(&parameters).copied().collect();
        for term in all {
            self.tools_with[term as usize] += 1;
        }
        Features { name, text: text.into_iter().collect(), parameters }
    }

    fn number(&mut self, term: String) -> u32 {
        let next = u32::try_from(self.tools_with.len()).expect("fewer words than fit in memory");
        let number = *self.terms.entry(term).or_insert(next);
        if number == next {
            self.tools_with.push(0);
        }
        number
    }

    /// How much a term tells: few tools have it.
    fn rarity(&self, term: usize) -> f64 {
        (1.0 + self.tools.len() as f64 / f64::from(self.tools_with[term].max(1))).ln()
    }

    /// Returns pairs of tools that share rare words.
    fn candidates(&self) -> BTreeSet<(usize, usize)> {
        let searched = |at: usize| {
            let features = &self.tools[at];
            let mut terms: Vec<u32> = features.name.clone();
            terms.extend(features.text.iter().map(|(term, _)| *term));
            terms.sort_unstable_by_key(|term| (self.tools_with[*term as usize], *term));
            terms.dedup();
            // The name always counts: tools may have nothing else in common.
            let rest = terms.split_off(SEARCHED.min(terms.len()));
            terms.extend(rest.into_iter().filter(|term| features.name.contains(term)));
            terms
        };
        let mut holders: HashMap<u32, Vec<usize>> = HashMap::new();
        for at in &self.compared {
            let features = &self.tools[*at];
            let own: BTreeSet<u32> =
                features.name.iter().chain(features.text.iter().map(|it| &it.0)).copied().collect();
            own.into_iter().for_each(|term| holders.entry(term).or_default().push(*at));
        }
        let mut pairs = BTreeSet::new();
        let mut scores = vec![0.0_f64; self.tools.len()];
        for at in &self.compared {
            let mut touched: Vec<usize> = Vec::new();
            for term in searched(*at) {
                let rarity = self.rarity(term as usize);
                for other in holders[&term].iter().filter(|other| *other != at) {
                    if scores[*other] == 0.0 {
                        touched.push(*other);
                    }
                    scores[*other] += rarity;
                }
            }
            let best_first = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then_with(|| a.cmp(b));
            touched.sort_unstable_by(best_first);
            pairs.extend(touched.iter().take(COMPARED).map(|other| (*at.min(other), *at.max(other))));
            touched.into_iter().for_each(|other| scores[other] = 0.0);
        }
        pairs
    }

    fn similarity(&self, a: usize, b: usize) -> f64 {
        let Numbers { name_weight, text_weight, schema_weight, .. } = lint_words().numbers;
        let (left, right) = (&self.tools[a], &self.tools[b]);
        let parts = [
            (name_weight, Some(self.dice(&left.name, &right.name))),
            (text_weight, cosine(&left.text, &right.text)),
            (
                schema_weight,
                Some(self.dice(&left.parameters, &right.parameters)).filter(|_| {
                    // That neither takes anything makes no two tools alike.
                    !left.parameters.is_empty() || !right.parameters.is_empty()
                }),
            ),
        ];
        let known = parts.iter().filter_map(|(weight, part)| Some((weight, (*part)?)));
        let (sum, weights) =
            known.fold((0.0, 0.0), |(sum, all), (weight, part)| (sum + weight * part, all + weight));
        sum / weights
    }

    /// The Dice coefficient of two sets, in which rare terms count more.
    fn dice(&self, a: &[u32], b: &[u32]) -> f64 {
        let sum = |terms: &[u32]| terms.iter().map(|term| self.rarity(*term as usize)).sum::<f64>();
        let shared: Vec<u32> = a.iter().filter(|term| b.binary_search(term).is_ok()).copied().collect();
        let all = sum(a) + sum(b);
        if all > 0.0 { (sum(&shared) + sum(&shared)) / all } else { 0.0 }
    }

    /// Says what two tools share and what only one has.
    fn pair(&self, catalog: &Catalog, (similarity, a, b): (f64, usize, usize)) -> ConfusablePair {
        let (left, right) = (&catalog.tools()[a], &catalog.tools()[b]);
        let (left_words, right_words) = (surfaces(left), surfaces(right));
        let telling = |words: &HashMap<String, (String, f64)>, is_wanted: &dyn Fn(&String) -> bool| {
            let weight = |term: &String, own: f64| {
                own * self.terms.get(term).map_or(1.0, |number| self.rarity(*number as usize))
            };
            let mut chosen: Vec<(f64, &String)> = words
                .iter()
                .filter(|(term, _)| is_wanted(term))
                .map(|(term, (word, own))| (weight(term, *own), word))
                .collect();
            chosen.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(y.1)));
            let mut seen = HashSet::new();
            let different = chosen.into_iter().map(|(_, word)| word).filter(|word| seen.insert(*word));
            different.take(SHOWN).cloned().collect::<Vec<String>>()
        };
        let only = |own: &HashMap<String, (String, f64)>, other: &HashMap<String, (String, f64)>| {
            telling(own, &|term| !other.contains_key(term))
        };
        let apart = [
            Distinction { words: only(&left_words, &right_words), parameters: own_parameters(left, right) },
            Distinction { words: only(&right_words, &left_words), parameters: own_parameters(right, left) },
        ];
        let percent = f64::from(100_u8);
        ConfusablePair {
            tools: [left.id.as_str().to_owned(), right.id.as_str().to_owned()],
            similarity: (similarity * percent).round() / percent,
            is_twin: false,
            shared: telling(&left_words, &|term| right_words.contains_key(term)),
            advice: advice([left, right], &apart),
            apart,
            positions: [a, b],
        }
    }
}

/// What is left of a similarity where the names themselves say the difference.
fn share_left((a, b): (Action, Action), (left, right): (&Tool, &Tool)) -> f64 {
    let Numbers { other_action, other_thing, .. } = lint_words().numbers;
    let do_the_same = a == b || a == Action::Unknown || b == Action::Unknown || shows(a) && shows(b);
    let destroys = |tool: &Tool| tool.effect == Effect::Destroy;
    if !do_the_same || destroys(left) != destroys(right) {
        return other_action;
    }
    let (left, right) = (things(&left.name), things(&right.name));
    let has_own = |one: &BTreeSet<String>, other: &BTreeSet<String>| !one.is_subset(other);
    if has_own(&left, &right) && has_own(&right, &left) { other_thing } else { 1.0 }
}

fn shows(action: Action) -> bool {
    matches!(action, Action::Search | Action::List | Action::Read)
}

/// The words of a name that say what it is about. Verbs with which every tool shows, makes or removes something are not
/// among them: `get` and `list` do not tell tools apart.
fn things(name: &str) -> BTreeSet<String> {
    let is_thing = |word: &String| {
        let verb = Lexicon::builtin().verb(word);
        let is_plain = verb.is_some_and(|it| shows(it) || matches!(it, Action::Create | Action::Delete));
        !is_plain && !vocabulary().names.plain.contains(word) && !vocabulary().names.small.contains(word)
    };
    words(name).map(str::to_lowercase).filter(is_thing).flat_map(|word| terms(&word, 1)).collect()
}

fn cosine(a: &[(u32, f64)], b: &[(u32, f64)]) -> Option<f64> {
    if a.is_empty() && b.is_empty() {
        return None;
    }
    let of = |term: &u32| b.binary_search_by_key(term, |(term, _)| *term).ok().map(|at| b[at].1);
    Some(a.iter().filter_map(|(term, weight)| Some(weight * of(term)?)).sum())
}

/// Returns the terms of a tool, each with the word that it comes from and how much its place counts.
fn surfaces(tool: &Tool) -> HashMap<String, (String, f64)> {
    let mut found = HashMap::new();
    for (text, weight) in [(&tool.name, lint_words().numbers.name_word), (&tool.description, 1.0)] {
        for word in words(text) {
            each_term(word, &mut |term| {
                let is_part = term.chars().count() < word.chars().count() && !word.is_ascii();
                let shown = if is_part { term.to_owned() } else { word.to_lowercase() };
                found.entry(term.to_owned()).or_insert((shown, weight));
            });
        }
    }
    found
}

fn own_parameters(tool: &Tool, other: &Tool) -> Vec<String> {
    let own = tool.parameters.iter().map(|it| &it.name);
    own.filter(|name| !other.parameters.iter().any(|it| it.name == **name)).take(SHOWN).cloned().collect()
}

fn advice(tools: [&Tool; 2], apart: &[Distinction; 2]) -> String {
    let quoted = |list: &[String]| list.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let is_one_server = tools[0].server == tools[1].server;
    let said: Vec<String> = tools
        .iter()
        .zip(apart)
        .filter_map(|(tool, Distinction { words, parameters })| {
            let parts = [("says", words), ("takes", parameters)];
            let parts = parts.iter().filter(|(_, list)| !list.is_empty());
            let parts: Vec<String> = parts.map(|(verb, list)| format!("{verb} {}", quoted(list))).collect();
            let name = if is_one_server { tool.name.as_str() } else { tool.id.as_str() };
            (!parts.is_empty()).then(|| format!("only `{name}` {}", parts.join(" and ")))
        })
        .collect();
    match said.is_empty() {
        true => "nothing tells them apart: say in each description when to use it".to_owned(),
        false => format!("{}; say in each description which one is meant when", said.join("; ")),
    }
}
