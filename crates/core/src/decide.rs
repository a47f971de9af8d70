//! From words to a call: the one flow that every caller takes.
//!
//! [`Decide`] waits for nothing and calls nothing. Its driver asks what comes next ([`Decide::advance`]), does that, and
//! hands the answer back: who ranks tools keeps a cache, who asks a language model keeps an eye on the time. After every
//! answer the flow is replayed from what is known. So it reads from top to bottom, and the same answers always lead to
//! the same conclusion.

mod message; // which tools a message needs
mod several; // tasks of several steps
mod told; //    what more than words says of which tool is meant

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_encoder::RequestReading;

use crate::arguments::{
    Advice, Argument, Consultation, Filling, Missing, Named, Nearness, Now, Remark, Settled, Source, Sources,
    equivalent, field_names, fill, spoken, value_names,
};
use crate::catalog::Catalog;
use crate::index::Index;
use crate::plan::{Choice, Plan, Splitting};
use crate::rank::{Decision, Intent, Verdict};
use crate::task::{Clause, clauses, refers_back};
use crate::thresholds::thresholds;
use crate::tool::{Effect, Tool, clean};

pub use message::{MOST_RANKED, Needs, needs, parts};

/// Says whether a call must be confirmed, as far as its arguments are known.
pub type Confirms<'a> = dyn Fn(&Tool, &Map<String, Value>, &Intent) -> bool + Sync + 'a;

/// What a decision may use besides the request.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Every tool.
    pub catalog: &'a Catalog,
    /// What is known of the tools.
    pub index: &'a Index,
    /// Whether the caller may use a tool.
    pub shows: &'a (dyn Fn(&Tool) -> bool + Sync),
    /// Whether a call must be confirmed, as far as its arguments are known.
    pub confirms: &'a Confirms<'a>,
    /// How long a call of a tool takes.
    pub estimate_ms: &'a (dyn Fn(&Tool) -> u64 + Sync),
    /// The time where the person is.
    pub now: Now,
    /// The least confidence of a plan.
    pub confidence: f64,
    /// Whether tasks of several steps are planned at all.
    pub plans: bool,
    /// Whether a language model can be asked for arguments.
    pub advises: bool,
    /// Whether meanings can be compared and arguments read.
    pub compares: bool,
}

/// What somebody wants.
#[derive(Clone, Copy, Debug)]
pub struct Goal<'a> {
    /// The task, in plain words.
    pub task: &'a str,
    /// The tool, where the caller chose one.
    pub tool: Option<usize>,
    /// Values that the caller knows; they always win.
    pub given: &'a Map<String, Value>,
    /// Values under names of the caller's own, where it says that these are all.
    pub values: Option<&'a Map<String, Value>>,
    /// The words of the person whom the caller speaks for; arguments are read from them where no values are named.
    pub message: Option<&'a str>,
    /// A result that the caller had before.
    pub previous: Option<&'a Value>,
    /// How readily the task is taken apart; `None` where it is one step, however it reads.
    pub splitting: Option<Splitting>,
}

impl<'a> Goal<'a> {
    /// A task in words alone, which may have several steps.
    pub fn in_words(task: &'a str, given: &'a Map<String, Value>) -> Self {
        Self {
            task,
            tool: None,
            given,
            values: None,
            message: None,
            previous: None,
            splitting: Some(Splitting::Careful),
        }
    }

    /// Returns the words to rank: with the beginning of an earlier result where the task refers to it.
    pub fn words(&self) -> String {
        let task = self.task;
        match self.previous.filter(|_| refers_back(task, MOST_WORDS)) {
            Some(previous) => {
                let text = previous.as_str().map_or_else(|| previous.to_string(), str::to_owned);
                format!("{task} {}", text.chars().take(PREVIOUS_CHARS).collect::<String>())
            }
            None => task.to_owned(),
        }
    }
}

/// What a decision needs next.
#[derive(Debug)]
pub enum Next {
    /// The tools, ranked for these words: answer with [`Decide::ranked`].
    Rank(String),
    /// How alike the names of values and the fields of a tool are: answer with [`Decide::compared`].
    Compare(Comparison),
    /// What the argument reader says of a text beside a tool: answer with [`Decide::read`].
    Read(ToRead),
    /// The opinion of a language model: answer with [`Decide::advised`].
    Consult(Box<Consult>),
    /// Nothing: this is it.
    Done(Box<Conclusion>),
}

/// Names of values and the fields of a tool, as an encoder reads them.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The tool, by its position in the catalog.
    pub position: usize,
    /// The names of the values.
    pub names: Vec<String>,
    /// The fields: each by its name, and by its name and description.
    pub fields: Vec<[String; 2]>,
}

/// A text that is to be read beside a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToRead {
    /// The tool, by its position in the catalog.
    pub position: usize,
    /// The text.
    pub text: String,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Conclusion {
    /// One call that is surely what was asked.
    Call(Draft),
    /// One call that lacks values, or is not sure to be exact.
    Draft(Draft),
    /// Several calls with everything they need.
    Plan(Prospect),
    /// Several calls, one of which lacks values.
    Incomplete(Lack),
    /// Which tool is meant is not sure.
    Ask(Ambiguity),
    /// No tool fits.
    Decline(Arc<Decision>),
}

/// A call of one tool.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The tool, by its position in the catalog.
    pub position: usize,
    /// The probability that it is right.
    pub confidence: f64,
    /// The probability that its arguments are exactly what was asked, if it is.
    pub exactness: f64,
    /// What was found for it beside the given values, and what is missing.
    pub settled: Settled,
    /// What else may be meant, likeliest first.
    pub others: Vec<usize>,
    /// What of the task it does not do, in the words of the task.
    pub not_done: Vec<String>,
    /// How its tool was chosen; nothing where the caller chose it.
    pub decision: Option<Arc<Decision>>,
}

/// A plan, and how sure it is.
#[derive(Clone, Debug)]
pub struct Prospect {
    /// The plan.
    pub plan: Plan,
    /// How likely its steps are right, as their geometric mean.
    pub confidence: f64,
    /// The tools of its steps, in the order in which they were asked for.
    pub tools: Vec<usize>,
    /// The steps of whose results one thing is meant.
    pub single: Vec<String>,
    /// The values that were found for it, named after step and parameter.
    pub found: Vec<Argument>,
}

/// Values that one step of a task lacks.
#[derive(Clone, Debug)]
pub struct Lack {
    /// The words of the step.
    pub words: String,
    /// Its tool, by its position in the catalog.
    pub position: usize,
    /// The values.
    pub missing: Vec<Missing>,
    /// How sure the plan is otherwise.
    pub confidence: f64,
    /// The tools of all steps.
    pub tools: Vec<usize>,
}

/// The question which tool is meant.
#[derive(Clone, Debug)]
pub struct Ambiguity {
    /// The question, for a person.
    pub text: String,
    /// The words of the step it is about, where the task has several.
    pub step: Option<String>,
    /// What may be meant.
    pub decision: Arc<Decision>,
    /// How sure the likeliest tool is.
    pub confidence: f64,
    /// The tools that were chosen for the steps, as far as any fits.
    pub tools: Vec<usize>,
}

/// A question to a language model about the arguments of one call.
#[derive(Clone, Debug)]
pub struct Consult {
    /// The tool, by its position in the catalog.
    pub position: usize,
    /// What words filled in.
    pub filling: Filling,
    step: usize,
    task: String,
    given: Map<String, Value>,
    now: Now,
}

impl Consult {
    /// Returns what the arguments are made from.
    pub fn sources(&self) -> Sources<'_> {
        Sources {
            task: &self.task,
            given: &self.given,
            named: None,
            reading: None,
            earlier: &[],
            now: self.now,
        }
    }
}

impl Conclusion {
    /// Returns the tools that would be called, by their positions: one for each step, as far as any fits.
    pub fn tools(&self) -> Vec<usize> {
        match self {
            Self::Call(draft) | Self::Draft(draft) => vec![draft.position],
            Self::Plan(prospect) => prospect.tools.clone(),
            Self::Incomplete(lack) => lack.tools.clone(),
            Self::Ask(question) => question.tools.clone(),
            Self::Decline(_) => Vec::new(),
        }
    }

    /// Returns how its one tool was ranked.
    pub fn decision(&self) -> Option<&Arc<Decision>> {
        match self {
            Self::Call(draft) | Self::Draft(draft) => draft.decision.as_ref(),
            Self::Ask(Ambiguity { decision, .. }) | Self::Decline(decision) => Some(decision),
            Self::Plan(_) | Self::Incomplete(_) => None,
        }
    }
}

/// A request on its way from words to a call.
pub struct Decide<'a> {
    world: World<'a>,
    goal: Goal<'a>,
    /// The task, cut into its requests.
    clauses: Vec<Clause>,
    /// What was ranked, by its words.
    known: HashMap<String, Arc<Decision>>,
    /// How alike the names of values and the fields of tools are, by the tool.
    compared: HashMap<usize, Nearness>,
    /// What the argument reader said.
    read: HashMap<ToRead, Option<RequestReading>>,
    /// What a language model said about each step.
    advice: BTreeMap<usize, Advice>,
}

/// Words of a task that are looked at one by one.
const MOST_WORDS: usize = 1000;
/// Characters of an earlier result that may say what a word such as `it` stands for.
const PREVIOUS_CHARS: usize = 200;

impl<'a> Decide<'a> {
    /// Takes a request in.
    pub fn new(world: World<'a>, goal: Goal<'a>) -> Self {
        // Who names values says one action.
        let is_cut = goal.tool.is_none() && goal.values.is_none();
        let clauses = if is_cut { clauses(goal.task) } else { Vec::new() };
        Self {
            world,
            goal,
            clauses,
            known: HashMap::new(),
            compared: HashMap::new(),
            read: HashMap::new(),
            advice: BTreeMap::new(),
        }
    }

    /// Says what comes next.
    pub fn advance(&self) -> Next {
        self.flow().unwrap_or_else(|need| need)
    }

    /// Takes in how tools rank for some words.
    pub fn ranked(&mut self, words: String, decision: Arc<Decision>) {
        self.known.insert(words, decision);
    }

    /// Takes in how alike the names of values and the fields of a tool are.
    pub fn compared(&mut self, position: usize, nearness: Nearness) {
        self.compared.insert(position, nearness);
    }

    /// Takes in what the argument reader said; nothing where there is none.
    pub fn read(&mut self, wanted: ToRead, reading: Option<RequestReading>) {
        self.read.insert(wanted, reading);
    }

    /// Takes in what a language model said.
    pub fn advised(&mut self, consult: &Consult, advice: Advice) {
        self.advice.insert(consult.step, advice);
    }

    /// Goes as far as what is known leads; an error is what is needed to go on.
    fn flow(&self) -> Result<Next, Next> {
        let conclusion = match self.goal.tool.or_else(|| self.named()) {
            Some(position) => self.draft(Choice { position, confidence: 1.0 }, None)?,
            None => match self.several()? {
                Some(conclusion) => conclusion,
                None => self.single()?,
            },
        };
        Ok(Next::Done(Box::new(conclusion)))
    }

    /// Returns how readily the task is taken apart; nothing where it is to be one call.
    fn splitting(&self) -> Option<Splitting> {
        self.goal.splitting.filter(|_| self.world.plans)
    }

    /// Returns the tool whose name is all that is said.
    fn named(&self) -> Option<usize> {
        let position = self.world.catalog.position(self.goal.task.trim())?;
        (self.world.shows)(&self.world.catalog.tools()[position]).then_some(position)
    }

    /// Decides about a task that is one request.
    fn single(&self) -> Result<Conclusion, Next> {
        let decision = self.decision(&self.goal.words())?;
        let decision = self.told_by_values(decision);
        let ranked = decision.confidence;
        let decision = self.told_by_reading(decision)?;
        let ask = |text: &str| {
            let tools = decision.candidates.first().map(|first| first.position).into_iter().collect();
            let (confidence, decision) = (decision.confidence, Arc::clone(&decision));
            Conclusion::Ask(Ambiguity { text: text.to_owned(), step: None, decision, confidence, tools })
        };
        let first = decision.candidates.first();
        // Reading can clear up which tool is meant, so that a draft is enough; it makes no call surer than it was.
        let confidence = decision.confidence.min(ranked.max(self.world.confidence));
        let choice = first.map(|it| Choice { position: it.position, confidence });
        match (&decision.verdict, choice) {
            (Verdict::Act, Some(choice)) => self.draft(choice, Some(&decision)),
            (Verdict::Ask(_), Some(choice)) if self.is_told_by_arguments(&decision) => {
                self.draft(choice, Some(&decision))
            }
            (Verdict::Ask(inquiry), _) => {
                Ok(self.told_by_details(&decision)?.unwrap_or_else(|| ask(&inquiry.text)))
            }
            // With nothing to compare it with, a request that says nothing is still a reason to ask.
            (Verdict::Abstain, None) if decision.intent.confidence < thresholds().decision.unclear_intent => {
                Ok(ask("What would you like to do?"))
            }
            (Verdict::Act | Verdict::Abstain, _) => Ok(Conclusion::Decline(Arc::clone(&decision))),
        }
    }

    /// Returns the words that arguments are found in.
    fn said(&self) -> &str {
        self.goal.message.filter(|_| self.goal.values.is_none()).unwrap_or(self.goal.task)
    }

    /// Returns what the argument reader is shown of the request.
    fn read_text<'t>(&self, said: &'t str) -> Cow<'t, str> {
        self.goal.values.map_or(Cow::Borrowed(said), |values| Cow::Owned(spoken(said, values)))
    }

    /// Fills in the arguments of a chosen tool.
    fn draft(&self, choice: Choice, decision: Option<&Arc<Decision>>) -> Result<Conclusion, Next> {
        let Choice { position, confidence } = choice;
        let form = self.world.catalog.form(position);
        // A name says which tool is meant, and nothing about its arguments.
        let is_name = self.named().is_some() && self.said() == self.goal.task;
        let task = if is_name { "" } else { self.said() };
        let earlier: &[Value] = self.goal.previous.map_or(&[], std::slice::from_ref);
        let named = self.named_values(position)?;
        let reading = self.reading(position, &self.read_text(task))?;
        let sources = Sources { task, given: self.goal.given, named, reading, earlier, now: self.world.now };
        let filling = self.completed(0, position, (&sources, fill(form, &sources)))?;
        let exactness = filling.exactness(form, &sources);
        let knowledge = self.world.index.knowledge.of(position);
        // What reads and needs nothing runs as it is, unless a number or a quoted text would get lost.
        let is_bare = filling.arguments.is_empty()
            && knowledge.effect == Effect::Read
            && !decision.is_some_and(|it| it.intent.action.changes())
            && [Remark::Number, Remark::Quoted].iter().all(|it| filling.leftover.count(*it) == 0);
        let is_advised = filling.arguments.iter().any(|it| it.source == Source::Model);
        // Before something is changed, no word of the request is passed over that is more than an ordinary one.
        let is_read = named.is_some() || knowledge.effect == Effect::Read;
        let lost: Vec<String> = match is_read {
            true => Vec::new(),
            false => filling.leftover.content().map(str::to_owned).collect(),
        };
        let is_ordered = is_read || !filling.leftover.is_no_order;
        let mut settled = filling.settle(form, &sources, knowledge.effect, knowledge.action);
        let is_told = settled.found.iter().all(|it| it.source == Source::Default);
        let others = decision.iter().flat_map(|it| &it.candidates).map(|it| it.position);
        let others = others.filter(|other| *other != position).collect();
        let limits = &thresholds().call;
        let least = match (named, knowledge.effect) {
            (Some(_), Effect::Read) => limits.named_read,
            (Some(_), Effect::Write | Effect::Destroy) => limits.named_write,
            (None, Effect::Read) => limits.read,
            (None, Effect::Write | Effect::Destroy) => limits.write,
        };
        // Who gave arguments under their own names, or chose the tool, knows what is sent; so does a model that read all.
        let is_callers = is_told && (!self.goal.given.is_empty() || decision.is_none() && named.is_none());
        // A request that was clear enough to act on is not held back for what it leaves open: the arguments tell that.
        let ranked = decision.filter(|it| it.verdict == Verdict::Act && it.confidence <= confidence);
        let tool = ranked.map_or(confidence, |it| it.judgement.right.max(confidence));
        // Who lowers the confidence that a tool needs has chosen it.
        let tool = if tool < thresholds().decision.confidence { 1.0 } else { tool };
        let is_chosen = self.named().or(self.goal.tool) == Some(position);
        let is_exact = is_chosen && self.is_under_own_names(&settled.found);
        let is_sure = is_callers || is_exact || is_advised || is_bare || tool * exactness >= least;
        let undone = self.undone(position, &settled.found)?;
        // What comes later can still be done; what comes first cannot be passed over.
        if !is_callers {
            settled.unused.extend(lost);
        }
        let is_whole = settled.missing.is_empty()
            && settled.unused.is_empty()
            && undone.is_first_done
            && (is_ordered || is_callers);
        let (not_done, decision) = (undone.words, decision.cloned());
        let draft = Draft { position, confidence, exactness, settled, others, not_done, decision };
        Ok(if is_whole && is_sure { Conclusion::Call(draft) } else { Conclusion::Draft(draft) })
    }

    /// Whether each argument that a value became has the name and the value that the caller gave.
    fn is_under_own_names(&self, found: &[Argument]) -> bool {
        let Some(values) = self.goal.values.filter(|values| !values.is_empty()) else { return false };
        found.iter().all(|it| match it.source {
            Source::Given | Source::Default => true,
            Source::Named => values.get(&it.name).is_some_and(|given| equivalent(given, &it.value)),
            Source::Text | Source::Implied | Source::Earlier | Source::Model => false,
        })
    }

    /// Returns what the argument reader says of a text beside a tool, or asks for it.
    fn reading(&self, position: usize, text: &str) -> Result<Option<&RequestReading>, Next> {
        if !self.world.compares || text.trim().is_empty() {
            return Ok(None);
        }
        let wanted = ToRead { position, text: text.to_owned() };
        match self.read.get(&wanted) {
            Some(reading) => Ok(reading.as_ref()),
            None => Err(Next::Read(wanted)),
        }
    }

    /// Returns the values of the caller with how alike their names and the fields of a tool are, or asks for that.
    fn named_values(&self, position: usize) -> Result<Option<Named<'_>>, Next> {
        let Some(values) = self.goal.values else { return Ok(None) };
        let form = self.world.catalog.form(position);
        let nearness = self.compared.get(&position);
        let is_compared = nearness.is_some() || !self.world.compares;
        if !is_compared && !values.is_empty() && !form.fields().is_empty() {
            let (names, fields) = (value_names(form, values), field_names(form));
            return Err(Next::Compare(Comparison { position, names, fields }));
        }
        Ok(Some(Named { values, nearness }))
    }

    /// Returns what was ranked for some words, or asks for it.
    fn decision(&self, words: &str) -> Result<Arc<Decision>, Next> {
        self.known.get(words).cloned().ok_or_else(|| Next::Rank(words.to_owned()))
    }

    /// Adds to a filling what a language model says about it, where one can be asked and something is open.
    fn completed(
        &self,
        step: usize,
        position: usize,
        (sources, filling): (&Sources<'_>, Filling),
    ) -> Result<Filling, Next> {
        let form = self.world.catalog.form(position);
        let is_open = sources.named.is_none() && Consultation::about(form, sources, &filling).is_some();
        if !self.world.advises || !is_open {
            return Ok(filling);
        }
        match self.advice.get(&step) {
            Some(advice) => Ok(filling.advised(form, advice)),
            None => Err(Next::Consult(Box::new(Consult {
                position,
                filling,
                step,
                task: sources.task.to_owned(),
                given: sources.given.clone(),
                now: sources.now,
            }))),
        }
    }
}

/// Characters of a request that are looked at; what follows is content, not a request.
const MAX_TASK_CHARS: usize = 10_000;

/// Returns a request as it is compared: without what cannot be seen, with single spaces, and not too long.
pub fn normalised(task: &str) -> String {
    let end = task.char_indices().nth(MAX_TASK_CHARS).map_or(task.len(), |(at, _)| at);
    clean(&task[..end]).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
