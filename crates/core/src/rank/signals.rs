//! How a request and a tool fit, seen from many sides, each as one number.

use std::collections::HashMap;

use super::evidence::Evidence;
use super::{Availability, Intent, Request, Scope};
use crate::catalog::Catalog;
use crate::index::{Hit, Index};
use crate::lexicon::{Action, Categories, Language, Reading};
use crate::text::{SOME_FOLDER, terms, without_folders};
use crate::thresholds::thresholds;
use crate::tool::Effect;

/// Defines every signal once: its variant, its name in the file of weights and in explanations, and what it compares.
macro_rules! signals {
    ($($signal:ident => $name:literal, $meaning:literal;)*) => {
        /// One side from which a request and a tool are compared.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "`Signal::meaning` says what each is")]
        pub enum Signal { $($signal),* }

        impl Signal {
            /// Every signal, in the order of [`Signals`].
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$signal),*];

            /// Returns its name in the file of weights and in explanations.
            pub fn name(self) -> &'static str {
                match self { $(Self::$signal => $name),* }
            }

            /// Says what it compares.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$signal => $meaning),* }
            }
        }
    };
}

signals! {
    Words => "words", "shares words with the tool's text";
    WordsShare => "words-share", "shares as many words as the best tool";
    WordsSum => "words-sum", "shares many rare words with the tool's text";
    Gloss => "gloss", "shares words after translation and synonyms";
    GlossShare => "gloss-share", "shares as many words after translation as the best tool";
    Related => "related", "uses words that go with the tool's";
    RelatedShare => "related-share", "uses as many such words as for the best tool";
    Name => "name", "says what the tool is named after";
    Phrase => "phrase", "is like what people say for this tool";
    PhraseShare => "phrase-share", "is as like what people say as for the best tool";
    Named => "named", "names the server";
    OtherNamed => "other-named", "names another server";
    Support => "support", "other tools of the server fit too";
    Action => "action", "asks for what the tool does";
    Effect => "effect", "wants to read, but the tool changes something";
    Category => "category", "is about the same field";
    Taken => "taken", "holds values that the tool takes";
    Missing => "missing", "lacks values that the tool needs";
    Inputs => "inputs", "says what the inputs are called that the tool needs";
    Choices => "choices", "says what can be chosen there";
    Numbers => "numbers", "lacks numbers that the tool needs";
    Sense => "sense", "means what the tool does";
    SenseShare => "sense-share", "means it as much as of the best tool";
    PhraseSense => "phrase-sense", "means what people say for this tool";
    PhraseSenseShare => "phrase-sense-share", "means it as much as for the best tool";
    SentenceSense => "sentence-sense", "has a sentence that means what the tool does";
    SentenceSenseShare => "sentence-sense-share", "has a sentence that means it as much as of the best tool";
    Reading => "reading", "fits when read beside the tool's text";
    ReadingShare => "reading-share", "fits better so than with the others that were read";
    Available => "available", "the server is reachable";
    Tier => "tier", "the tool is a fallback";
    Recent => "recent", "was used in this conversation";
    Liked => "liked", "is preferred for such requests";
    Preferred => "preferred", "the server is preferred";
}

/// The value of every signal for one tool.
pub type Signals = [f32; Signal::ALL.len()];

/// A request, compared with every tool that may be meant.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) intent: Intent,
    /// The tools that may be meant, by position, in no order.
    pub(super) tools: Vec<usize>,
    /// Their signals.
    pub(super) signals: Vec<Signals>,
    /// What is known of the request as a whole.
    pub(super) query: Query,
}

/// What is known of a request as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Query {
    /// Whether it is in another language than most tools.
    pub(super) is_foreign: f32,
    /// The share of its words that some tool has.
    pub(super) coverage: f32,
    /// The share of its words, by what they tell, that the best tool has.
    pub(super) shared: f32,
    /// Whether somebody wrote how people ask for some of the tools that may be meant.
    pub(super) is_phrased: bool,
    /// Whether meanings are compared.
    pub(super) has_sense: bool,
    /// Whether it was read beside the texts of the likeliest tools.
    pub(super) is_read: bool,
    /// How many different terms it has.
    pub(super) terms: usize,
}

impl Query {
    /// Returns how long the request is: 0 for none, 1 for about twenty terms.
    pub(super) fn length(&self) -> f32 {
        (1.0 + self.terms as f32).ln() / thresholds().ranking.length_unit as f32
    }
}

/// Tools taken from each way of looking.
const FROM_EACH: usize = 40;
/// Of these, tools of one server.
const FROM_SERVER: usize = 25;
/// A request is compared by its first words; the rest of a long one is content.
const MAX_TERMS: usize = 64;
/// The rest of the words that go with a request's are chance.
const MAX_RELATED: usize = 48;

/// Compares a request with the tools of a catalog.
pub(super) fn compare(scope: Scope, Request { task, sense }: Request) -> Comparison {
    let Scope { catalog, index, availability, liked, .. } = scope;
    let units = &thresholds().ranking;
    let best_word = units.best_word as f32;
    let evidence = Evidence::of(task);
    let task = &without_folders(task, SOME_FOLDER);
    let reading = Reading::of(task);
    let intent = Intent::from_reading(&reading);
    let said = terms(task, MAX_TERMS);
    let english = reading.english();
    let gloss: Vec<String> =
        terms(&english, MAX_TERMS).into_iter().filter(|term| !said.contains(term)).collect();

    let is_visible = |tool: usize| availability(&catalog.tools()[tool]).is_visible;
    let mut found = Found { index, is_visible: &is_visible, tools: Vec::new() };
    // Naming a server is a signal of its own; tools whose texts repeat the name have no more right to it.
    let spoken = without_names(index, task, &said);
    let naming: Vec<u32> =
        said.iter().filter(|term| !spoken.contains(term)).filter_map(|term| index.words.term(term)).collect();
    let mut words = index.words.query_terms(task);
    words.retain(|term| !naming.contains(term));
    let by_words = found.look(|found| index.words.scores(&whole(&words), found));
    let mut gloss_terms = index.words.query_terms(&english);
    gloss_terms.retain(|term| !naming.contains(term));
    let by_gloss = found.look(|found| index.words.scores(&whole(&gloss_terms), found));
    let related = related(index, &spoken);
    let by_related = found.look(|found| index.words.scores(&related, found));
    let weighted: Vec<(String, f32)> = spoken
        .iter()
        .map(|term| (term.clone(), 1.0))
        .chain(gloss.iter().map(|term| (term.clone(), units.gloss_word as f32)))
        .collect();
    let by_phrase = found.look(|found| index.phrases.scores(&weighted, found));
    if let Some(sense) = sense {
        found.look_at(&sense.tools);
        found.look_at(&sense.phrases);
        found.look_at(&sense.sentences);
    }

    let wanted = liked.iter().filter(|(tool, value)| *value > 0.0 && is_visible(*tool));
    found.tools.extend(wanted.map(|(tool, _)| position(*tool)));

    let named = index.names.named(&said);
    let most_named = named.iter().copied().fold(0.0, f32::max);
    let known = said.iter().filter(|term| index.words.term(term).is_some()).count();
    let (mut tools, standings): (Vec<usize>, Vec<Availability>) =
        found.tools().into_iter().map(|tool| (tool, availability(&catalog.tools()[tool]))).unzip();
    let scores = Scores {
        words: Scored::new(&by_words, mass(index, &words) * best_word),
        gloss: Scored::new(&by_gloss, mass(index, &gloss_terms) * best_word),
        related: Scored::new(&by_related, said.len() as f32 * best_word),
        phrase: Scored::new(&by_phrase, 1.0),
        sense: Scored::new(sense.map(|it| it.tools.as_slice()).unwrap_or_default(), 1.0),
        phrase_sense: Scored::new(sense.map(|it| it.phrases.as_slice()).unwrap_or_default(), 1.0),
        sentence_sense: Scored::new(sense.map(|it| it.sentences.as_slice()).unwrap_or_default(), 1.0),
        named: &named,
        most_named,
        evidence,
        terms: words.iter().chain(&gloss_terms).copied().collect(),
        category: Categories::builtin().position(&intent.category),
    };
    let query = Query {
        is_foreign: f32::from(intent.language != Language::En),
        coverage: known as f32 / said.len().max(1) as f32,
        shared: scores.words.best / scores.words.whole.max(f32::MIN_POSITIVE),
        is_phrased: tools.iter().any(|tool| index.knowledge.of(*tool).phrasings().next().is_some()),
        has_sense: sense.is_some(),
        is_read: false,
        terms: said.len(),
    };
    let mut signals: Vec<Signals> = tools
        .iter()
        .zip(&standings)
        .map(|(tool, availability)| scores.of(index, catalog, &intent, (*tool, *availability)))
        .collect();
    add_support(index, &tools, &mut signals);
    level_copies(index, &tools, &mut signals);
    add_wishes(scope, &tools, &mut signals);
    tools.shrink_to_fit();
    Comparison { intent, tools, signals, query }
}

/// Adds what people want besides what they say: tools that were right before, and the server that they prefer.
fn add_wishes(scope: Scope, tools: &[usize], signals: &mut [Signals]) {
    for (tool, value) in scope.liked {
        if let Ok(at) = tools.binary_search(tool) {
            signals[at][Signal::Liked as usize] = *value;
        }
    }
    let Some(preferred) = scope.preferred_server else { return };
    for (tool, signals) in tools.iter().zip(signals) {
        let is_preferred = *scope.catalog.tools()[*tool].server == *preferred;
        signals[Signal::Preferred as usize] = f32::from(is_preferred);
    }
}

/// The terms of a request without those of words that name a server: `GitHub` is also `git` and `hub`.
fn without_names(index: &Index, task: &str, said: &[String]) -> Vec<String> {
    let words = task.split_whitespace().take(2 * MAX_TERMS).map(|word| terms(word, 8));
    let naming = words.filter(|word| word.iter().any(|term| index.names.is_naming(term, said)));
    let naming: Vec<String> = naming.flatten().collect();
    let spoken: Vec<String> = said.iter().filter(|term| !naming.contains(term)).cloned().collect();
    if spoken.is_empty() { said.to_vec() } else { spoken }
}

fn whole(terms: &[u32]) -> Vec<(u32, f32)> {
    terms.iter().map(|term| (*term, 1.0)).collect()
}

/// The words of tools that go with those of the request, the likeliest ones.
fn related(index: &Index, said: &[String]) -> Vec<(u32, f32)> {
    let mut shares: Vec<(u32, f32)> = Vec::new();
    for (other, share) in said.iter().flat_map(|term| index.related.of(term)) {
        let Some(term) = index.words.term(other) else { continue };
        match shares.iter_mut().find(|(known, _)| *known == term) {
            Some((_, sum)) => *sum += share,
            None => shares.push((term, share)),
        }
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    shares.truncate(MAX_RELATED);
    shares
}

/// How much all words together tell.
fn mass(index: &Index, terms: &[u32]) -> f32 {
    let known: f32 = terms.iter().map(|term| index.words.rarity(*term)).sum();
    known.max(index.words.rarity_of_unknown())
}

fn position(tool: usize) -> u32 {
    u32::try_from(tool).expect("a catalog has fewer than four billion tools")
}

/// The tools that some way of looking puts first.
struct Found<'a> {
    index: &'a Index,
    is_visible: &'a dyn Fn(usize) -> bool,
    tools: Vec<u32>,
}

impl Found<'_> {
    fn look(&mut self, scores: impl FnOnce(&mut Vec<u32>) -> Vec<f32>) -> Vec<f32> {
        let mut found = Vec::new();
        let scores = scores(&mut found);
        self.take(&scores, found);
        scores
    }

    fn look_at(&mut self, scores: &[f32]) {
        let found = (0..scores.len()).filter(|at| scores[*at] > 0.0);
        self.take(scores, found.map(position).collect());
    }

    fn take(&mut self, scores: &[f32], mut found: Vec<u32>) {
        let all = found.len();
        let kept = self.keep(&self.index.words.best(scores, found.clone(), 2 * FROM_EACH));
        if kept.len() >= FROM_EACH / 2 || all <= 2 * FROM_EACH {
            self.tools.extend(kept);
            return;
        }
        // What the caller may not use, or one talkative server, must not crowd out the rest.
        found.retain(|tool| (self.is_visible)(*tool as usize));
        let kept = self.keep(&self.index.words.best(scores, found, all));
        self.tools.extend(kept);
    }

    /// Returns the first of the hits that can be used, not too many of one server.
    fn keep(&self, hits: &[Hit]) -> Vec<u32> {
        let mut of_server: Vec<(usize, usize)> = Vec::new();
        let mut kept = Vec::new();
        for hit in hits.iter().filter(|hit| (self.is_visible)(hit.position)) {
            let server = self.index.names.server_of(hit.position);
            let count = match of_server.iter_mut().find(|(known, _)| *known == server) {
                Some((_, count)) => count,
                None => {
                    of_server.push((server, 0));
                    &mut of_server.last_mut().expect("one was just added").1
                }
            };
            *count += 1;
            if *count <= FROM_SERVER && kept.len() < FROM_EACH {
                kept.push(position(hit.position));
            }
        }
        kept
    }

    fn tools(mut self) -> Vec<usize> {
        self.tools.sort_unstable();
        self.tools.dedup();
        self.tools.into_iter().map(|tool| tool as usize).collect()
    }
}

/// One way of looking: what each tool got, what it could get, and what the best got.
struct Scored<'a> {
    scores: &'a [f32],
    whole: f32,
    best: f32,
}

impl<'a> Scored<'a> {
    fn new(scores: &'a [f32], whole: f32) -> Self {
        let best = scores.iter().copied().fold(0.0, f32::max);
        Self { scores, whole, best }
    }

    fn of(&self, tool: usize) -> (f32, f32) {
        let score = self.scores.get(tool).copied().unwrap_or(0.0);
        let share = if self.best > 0.0 { score / self.best } else { 0.0 };
        (if self.whole > 0.0 { score / self.whole } else { 0.0 }, share)
    }
}

struct Scores<'a> {
    words: Scored<'a>,
    gloss: Scored<'a>,
    related: Scored<'a>,
    phrase: Scored<'a>,
    sense: Scored<'a>,
    phrase_sense: Scored<'a>,
    sentence_sense: Scored<'a>,
    named: &'a [f32],
    most_named: f32,
    evidence: Evidence,
    terms: Vec<u32>,
    category: Option<usize>,
}

impl Scores<'_> {
    fn of(
        &self,
        index: &Index,
        catalog: &Catalog,
        intent: &Intent,
        (tool, availability): (usize, Availability),
    ) -> Signals {
        let mut signals = [0.0; Signal::ALL.len()];
        let mut set = |signal: Signal, value: f32| signals[signal as usize] = value;
        let pairs = [
            (&self.words, Signal::Words, Signal::WordsShare),
            (&self.gloss, Signal::Gloss, Signal::GlossShare),
            (&self.related, Signal::Related, Signal::RelatedShare),
            (&self.phrase, Signal::Phrase, Signal::PhraseShare),
            (&self.sense, Signal::Sense, Signal::SenseShare),
            (&self.phrase_sense, Signal::PhraseSense, Signal::PhraseSenseShare),
            (&self.sentence_sense, Signal::SentenceSense, Signal::SentenceSenseShare),
        ];
        for (scored, whole, share) in pairs {
            let (of_whole, of_best) = scored.of(tool);
            set(whole, of_whole);
            set(share, of_best);
        }
        set(Signal::WordsSum, self.words.scores[tool] / thresholds().ranking.word_sum_unit as f32);
        set(Signal::Name, self.said(index, index.words.name_terms(tool)));
        set(Signal::Inputs, self.said(index, index.words.input_terms(tool)));
        set(Signal::Choices, f32::from(index.words.has_choice(tool, &self.terms)));
        let named = self.named[index.names.server_of(tool)];
        set(Signal::Named, named);
        set(Signal::OtherNamed, (self.most_named - named).max(0.0));
        let facts = index.knowledge.of(tool);
        set(Signal::Action, likeness(intent.action, facts.action));
        let changes = match facts.effect {
            Effect::Read => 0.0,
            Effect::Write => thresholds().ranking.write_effect as f32,
            Effect::Destroy => 1.0,
        };
        set(Signal::Effect, if intent.action.only_reads() { changes } else { 0.0 });
        set(Signal::Category, f32::from(self.category.is_some() && self.category == facts.category));
        let fit = self.evidence.fit(&catalog.tools()[tool]);
        set(Signal::Taken, fit.taken);
        set(Signal::Missing, fit.missing);
        set(Signal::Numbers, fit.numbers);
        set(Signal::Available, f32::from(availability.is_up));
        set(Signal::Tier, f32::from(availability.tier.saturating_sub(1)));
        set(Signal::Recent, availability.recent);
        signals
    }

    /// The share of some terms that the request says, by what they tell.
    fn said(&self, index: &Index, terms: &[u32]) -> f32 {
        let weight = |counts: &dyn Fn(u32) -> bool| -> f32 {
            terms.iter().filter(|term| counts(**term)).map(|term| index.words.rarity(*term)).sum()
        };
        let whole = weight(&|_| true);
        if whole > 0.0 { weight(&|term| self.terms.contains(&term)) / whole } else { 0.0 }
    }
}

/// What tells copies of a tool apart: whose they are, not what they say.
const OF_SERVER: [Signal; 7] = [
    Signal::Named,
    Signal::OtherNamed,
    Signal::Available,
    Signal::Tier,
    Signal::Recent,
    Signal::Liked,
    Signal::Preferred,
];

/// Gives copies of a tool the best signals of any: a copy fits no better because its server has a longer name.
fn level_copies(index: &Index, tools: &[usize], signals: &mut [Signals]) {
    let mut best: HashMap<usize, Signals> = HashMap::new();
    for (tool, own) in tools.iter().zip(&*signals) {
        if let Some(group) = index.copies.group(*tool) {
            let best = best.entry(group).or_insert(*own);
            for (best, own) in best.iter_mut().zip(own) {
                *best = best.max(*own);
            }
        }
    }
    for (tool, own) in tools.iter().zip(signals) {
        let Some(best) = index.copies.group(*tool).and_then(|group| best.get(&group)) else { continue };
        for signal in Signal::ALL.into_iter().filter(|signal| !OF_SERVER.contains(signal)) {
            own[signal as usize] = best[signal as usize];
        }
    }
}

/// How well what is asked and what a tool does go together, from -1 to 1.
fn likeness(asked: Action, does: Action) -> f32 {
    if asked == Action::Unknown || does == Action::Unknown {
        return 0.0;
    }
    if asked == does {
        return 1.0;
    }
    let near = |a: Action, b: Action| {
        let reads =
            [Action::Search, Action::List, Action::Read, Action::Monitor, Action::Compare, Action::Compute];
        let changes = [Action::Update, Action::Move, Action::Convert, Action::Execute];
        let makes = [Action::Create, Action::Send, Action::Copy, Action::Update, Action::Execute];
        [&reads[..], &changes[..], &makes[..]].iter().any(|group| group.contains(&a) && group.contains(&b))
    };
    if near(asked, does) { thresholds().ranking.near_action as f32 } else { -1.0 }
}

/// Tools of a server that several candidates point to are likelier: a request that says little about a
/// tool may still say much about its server.
fn add_support(index: &Index, tools: &[usize], signals: &mut [Signals]) {
    let mut best: Vec<[f32; 3]> = vec![[0.0; 3]; index.names.len()];
    let strength = |signals: &Signals| {
        let of = |signal: Signal| signals[signal as usize];
        of(Signal::Words)
            + of(Signal::Gloss)
            + of(Signal::Related)
            + thresholds().ranking.support_phrase as f32 * of(Signal::Phrase)
            + of(Signal::Sense)
            + of(Signal::PhraseSense)
    };
    for (tool, signals) in tools.iter().zip(&*signals) {
        let (best, mut value) = (&mut best[index.names.server_of(*tool)], strength(signals));
        for place in best.iter_mut() {
            if value > *place {
                std::mem::swap(place, &mut value);
            }
        }
    }
    let sums: Vec<f32> = best.iter().map(|best| best.iter().sum()).collect();
    let most = sums.iter().copied().fold(0.0, f32::max);
    if most > 0.0 {
        for (tool, signals) in tools.iter().zip(signals) {
            signals[Signal::Support as usize] = sums[index.names.server_of(*tool)] / most;
        }
    }
}
