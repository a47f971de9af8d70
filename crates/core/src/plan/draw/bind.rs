//! What a step takes from the steps before it.

use serde_json::{Value, json};

use super::super::{Input, Path, Sought, Step, Which};
use super::need::need;
use super::{Bound, ChosenStep};
use crate::arguments::{Argument, Field, Form, Source};
use crate::lexicon::Action;
use crate::task::{Each, StandIn, is_stand_in, stand_ins};
use crate::text::terms;
use crate::tool::Effect;
use crate::tool::purpose::{is_content, is_identity};
use crate::tool::words::words;

/// Gives a step everything that its request says, and the rest from the steps before it.
pub(super) fn bind(chosen: &ChosenStep<'_>, earlier: &[ChosenStep<'_>], steps: &[Step]) -> Bound {
    let mut bound = Bound::default();
    let language = chosen.clause.language;
    let refers = stand_ins(&chosen.clause.words, language);
    for argument in &chosen.filling.arguments {
        let is_empty = argument.value.as_str().is_some_and(|text| is_stand_in(text, language))
            || is_ordinal(&argument.value)
                && refers.iter().any(|it| matches!(it, StandIn::First | StandIn::Last));
        let is_certain =
            chosen.effect == Effect::Read || argument.is_certain() || is_listed(chosen, &argument.value);
        let is_meant = argument.source == Source::Given || is_said(chosen, &argument.name) && is_certain;
        if !is_empty && is_meant {
            bound.set(&argument.name, argument.value.clone());
        }
    }
    match &chosen.clause.each {
        Some(Each::Listed(items)) => list(chosen, items, (earlier, steps), &mut bound),
        Some(Each::Values { parameter, values }) => {
            bound.arguments.insert(parameter.clone(), Input::Item(Path::default()));
            bound.each = Some(Input::Literal(json!(values)));
        }
        Some(Each::Found) | None => {}
    }
    if bound.each.is_some() {
        again(chosen, &mut bound);
    }
    let source = source(chosen, &refers, earlier);
    let binder = Binder {
        chosen,
        refers: &refers,
        source: source.map(|at| (&earlier[at], &steps[at])),
        earlier,
        steps,
    };
    let mut open: Vec<&Field> = chosen.form.fields().iter().filter(|field| field.is_required).collect();
    // What repeats another value comes after it.
    open.sort_by_key(|field| field.parameter().to_lowercase().starts_with("confirm"));
    for field in open {
        let parameter = field.parameter();
        if bound.arguments.contains_key(parameter) || bound.missing.iter().any(|it| it.name == field.place())
        {
            continue;
        }
        match binder.input(field, &bound) {
            Some(input) => binder.put(parameter, input, &mut bound),
            None => bound.missing.push(field.missing()),
        }
    }
    binder.mention(&mut bound);
    unsure(chosen, &mut bound);
    need(chosen, &mut bound);
    bound
}

/// Asks for what a request seems to say for a tool that changes something, where that is not certain.
fn unsure(chosen: &ChosenStep<'_>, bound: &mut Bound) {
    let is_open = |it: &&Argument| !it.is_certain() && !it.is_doubtful() && is_said(chosen, &it.name);
    for argument in chosen.filling.arguments.iter().filter(|_| chosen.effect != Effect::Read).filter(is_open)
    {
        let field = chosen.form.of_parameter(&argument.name).next();
        let is_new = |it: &&Field| {
            let is_asked = bound.missing.iter().any(|missing| missing.name == it.place());
            !bound.arguments.contains_key(it.parameter()) && !is_asked
        };
        if let Some(missing) = field.filter(is_new).map(Field::missing) {
            bound.missing.push(missing);
        }
    }
}

/// Whether a value is the place of one of several things, as in `the first one`, and not a value itself.
fn is_ordinal(value: &Value) -> bool {
    value.as_i64() == Some(1) || value.as_str() == Some("1")
}

/// Whether a request says something about a parameter that may be left out: a flag must be spoken of by a word that its
/// tool does not have in its own name.
fn is_said(chosen: &ChosenStep<'_>, parameter: &str) -> bool {
    let is_flag = |field: &Field| field.is_flag() && !field.is_required;
    if !chosen.form.of_parameter(parameter).any(is_flag) {
        return true;
    }
    let (own, said) = (terms(&chosen.tool.name, 8), terms(&chosen.clause.words, 64));
    terms(parameter, 8).iter().any(|term| !own.contains(term) && said.contains(term))
}

/// Whether a value is one of the things that a request lists.
fn is_listed(chosen: &ChosenStep<'_>, value: &Value) -> bool {
    let Some(Each::Listed(items)) = &chosen.clause.each else { return false };
    value.as_str().is_some_and(|text| items.iter().any(|item| item.eq_ignore_ascii_case(text)))
}

/// Runs a step for each of the things that its request lists.
fn list(
    chosen: &ChosenStep<'_>,
    items: &[String],
    (earlier, steps): (&[ChosenStep<'_>], &[Step]),
    bound: &mut Bound,
) {
    let is_item = |input: &Input| matches!(input, Input::Literal(value) if is_listed(chosen, value));
    // The words were filled in with the first of the things at their end, to see where it belongs.
    let taken = bound.arguments.iter().find(|(_, input)| is_item(input)).map(|(name, _)| name.clone());
    let free = || chosen.form.required().filter(|name| !bound.arguments.contains_key(*name));
    // Who made the sheets Q1 and Q2 and then goes through them means a parameter `sheet`.
    let is_theirs = |name: &&str| {
        let is_same = |(known, input): (&String, &Input)| {
            let Input::Literal(Value::Array(values)) = input else { return false };
            terms(known, 8) == terms(name, 8) && items.iter().all(|item| values.contains(&json!(item)))
        };
        steps.iter().any(|step| step.arguments.iter().any(is_same))
    };
    let is_new = |name: &&str| carried(name, chosen, (earlier, steps)).is_none();
    let is_free = |field: &&Field| !bound.arguments.contains_key(field.parameter()) && field.path.len() == 1;
    let is_text = |field: &&Field| field.type_name() == "string" && !is_content(field.parameter());
    // What may be left out is meant where nothing else is.
    let optional = || chosen.form.fields().iter().filter(is_free).find(is_text).map(Field::parameter);
    let open = || free().find(is_theirs).or_else(|| free().find(is_new)).or_else(|| free().next());
    let open = || open().or_else(optional);
    let open = open().map(str::to_owned);
    if let Some(parameter) = taken.or(open) {
        bound.arguments.insert(parameter, Input::Item(Path::default()));
        bound.each = Some(Input::Literal(json!(items)));
    }
}

/// Returns the earlier step whose result a request is about.
fn source(chosen: &ChosenStep<'_>, refers: &[StandIn], earlier: &[ChosenStep<'_>]) -> Option<usize> {
    let said = terms(&chosen.clause.words, 64);
    let wants_many = chosen.clause.each == Some(Each::Found) || refers.contains(&StandIn::Many);
    let worth = |at: &usize| {
        let before = &earlier[*at];
        let things: Vec<String> = words(&before.tool.name).map(str::to_lowercase).collect();
        let is_named = terms(&things.join(" "), 8).iter().any(|term| term.len() > 2 && said.contains(term));
        2 * u32::from(is_listing(before) && wants_many)
            + u32::from(is_named)
            + u32::from(before.effect == Effect::Read)
            + u32::from(at + 1 == earlier.len())
    };
    (0..earlier.len()).max_by_key(|at| (worth(at), *at))
}

/// Whether a result is a list of things that were found.
fn is_listing(chosen: &ChosenStep<'_>) -> bool {
    matches!(chosen.action, Action::Search | Action::List)
}

/// Whether a step changes something and answers that it did, so that there is nothing in its answer to tell.
fn changes(chosen: &ChosenStep<'_>) -> bool {
    let only_changes =
        [Action::Create, Action::Update, Action::Delete, Action::Move, Action::Copy, Action::Send];
    chosen.effect != Effect::Read && only_changes.contains(&chosen.action)
}

/// What a step may take values from.
struct Binder<'a> {
    chosen: &'a ChosenStep<'a>,
    refers: &'a [StandIn],
    source: Option<(&'a ChosenStep<'a>, &'a Step)>,
    earlier: &'a [ChosenStep<'a>],
    steps: &'a [Step],
}

impl Binder<'_> {
    /// Finds where the value of a field comes from.
    fn input(&self, field: &Field, bound: &Bound) -> Option<Input> {
        if !field.choices.is_empty() || field.is_flag() {
            return None;
        }
        if let Some(repeated) = repeated(field, self.chosen.form, bound) {
            return Some(repeated);
        }
        let is_single = field.path.len() == 1;
        let carried = is_single.then(|| carried(field.parameter(), self.chosen, (self.earlier, self.steps)));
        let carried = carried.flatten();
        let (before, step) = self.source?;
        let is_named = is_identity(field.parameter());
        let is_told = is_content(field.parameter());
        if is_named && self.is_copy(before, bound) {
            return None;
        }
        let is_about = !self.refers.is_empty() || self.chosen.clause.each.is_some();
        // One thing of many that were found is in the result; a thing that was named is named again.
        let is_only = self.open(bound).count() < 2;
        let is_picked = is_named && is_listing(before) && is_only && !bound.arguments.values().any(is_late);
        if let Some(carried) = carried.filter(|_| !is_picked) {
            return Some(carried);
        }
        // What is told comes from a step that shows something, and not from the answer of one that only changed things.
        let shows = |(chosen, _): &(&ChosenStep<'_>, &Step)| !changes(chosen);
        let teller = || self.earlier.iter().zip(self.steps).rev().find(shows).map(|(_, step)| step);
        let step = if is_told && changes(before) { teller().unwrap_or(step) } else { step };
        if is_named || is_told || is_about {
            return self.found(field.parameter(), step);
        }
        None
    }

    /// Whether the text that a step writes is what an earlier one showed: that is then not written back where it is from.
    fn is_copy(&self, before: &ChosenStep<'_>, bound: &Bound) -> bool {
        let is_writing = self.chosen.effect != Effect::Read && before.effect == Effect::Read;
        is_writing && !is_listing(before) && self.open(bound).any(|field| is_content(field.parameter()))
    }

    /// Returns the fields that are needed and have nothing yet.
    fn open<'b>(&'b self, bound: &'b Bound) -> impl Iterator<Item = &'b Field> {
        let is_own = |field: &&Field| !field.parameter().to_lowercase().starts_with("confirm");
        let fields = self.chosen.form.fields().iter().filter(|field| field.is_required).filter(is_own);
        fields.filter(|field| !bound.arguments.contains_key(field.parameter()))
    }

    fn found(&self, parameter: &str, step: &Step) -> Option<Input> {
        let schema = self.chosen.form.schema_of(parameter)?.clone();
        let sought = Sought { parameter: parameter.to_owned(), schema };
        Some(Input::Found { step: step.name.clone(), sought, which: self.which() })
    }

    fn which(&self) -> Which {
        match self.refers {
            _ if self.is_each() => Which::All,
            refers if refers.contains(&StandIn::Last) => Which::Last,
            refers if refers.contains(&StandIn::First) => Which::First,
            refers if refers.contains(&StandIn::Many) => Which::All,
            _ => Which::First,
        }
    }

    fn is_each(&self) -> bool {
        self.chosen.clause.each == Some(Each::Found)
    }

    /// Takes a value over; several things for a parameter that takes one are gone through one by one.
    fn put(&self, parameter: &str, input: Input, bound: &mut Bound) {
        let Input::Found { step, sought, which: Which::All } = &input else {
            bound.arguments.insert(parameter.to_owned(), input);
            return;
        };
        let takes_list = is_list(&sought.schema);
        let from_list = self.source.is_some_and(|(before, _)| is_listing(before));
        if takes_list && !self.is_each() {
            bound.arguments.insert(parameter.to_owned(), input);
        } else if bound.each.is_none() && (self.is_each() || from_list) && !is_content(parameter) {
            let schema = json!({ "type": "array", "items": sought.schema });
            let sought = Sought { parameter: sought.parameter.clone(), schema };
            bound.each = Some(Input::Found { step: step.clone(), sought, which: Which::All });
            let item = Input::Item(Path::default());
            let item = if takes_list { Input::List(vec![item]) } else { item };
            bound.arguments.insert(parameter.to_owned(), item);
        } else {
            let one = Input::Found { step: step.clone(), sought: sought.clone(), which: Which::First };
            bound.arguments.insert(parameter.to_owned(), one);
        }
    }

    /// Where a request speaks of an earlier result and nothing needed takes it, a field that may hold it does.
    fn mention(&self, bound: &mut Bound) {
        // What is carried over from a step is what a request says of it.
        let is_carried = |(name, input): (&String, &Input)| {
            let carried = carried(name, self.chosen, (self.earlier, self.steps));
            is_identity(name) && carried.as_ref() == Some(input)
        };
        let is_used = bound.arguments.values().chain(&bound.each).any(is_late)
            || !self.is_each() && bound.arguments.iter().any(is_carried);
        let speaks = !self.refers.is_empty() || self.is_each();
        let Some((before, step)) = self.source.filter(|_| speaks && !is_used && bound.missing.is_empty())
        else {
            return;
        };
        let optional = || {
            let fields = self.chosen.form.fields().iter();
            fields.filter(|field| {
                field.path.len() == 1 && !field.is_required && field.choices.is_empty() && !field.is_flag()
            })
        };
        let open = |field: &&Field| !bound.arguments.contains_key(field.parameter());
        let told = || optional().filter(open).find(|field| is_content(field.parameter()));
        let is_named = |field: &&Field| is_identity(field.parameter()) && !field.is_for_results();
        let named = || optional().filter(open).find(is_named);
        // A list says which things there are, and not what is in them.
        let is_many = self.which() == Which::All && is_listing(before);
        let field = if is_many { named().or_else(told) } else { told().or_else(named) };
        if let Some(field) = field
            && let Some(input) = self.found(field.parameter(), step)
        {
            self.put(field.parameter(), input, bound);
        }
    }
}

/// Returns the value that an earlier step of the same server had for a parameter of the same name.
fn carried(
    parameter: &str,
    chosen: &ChosenStep<'_>,
    (earlier, steps): (&[ChosenStep<'_>], &[Step]),
) -> Option<Input> {
    if is_content(parameter) {
        return None;
    }
    let same = |(before, _): &(&ChosenStep<'_>, &Step)| before.tool.server == chosen.tool.server;
    let mut known = earlier.iter().zip(steps).rev().filter(same);
    known.find_map(|(_, step)| step.arguments.get(parameter).filter(|it| it.is_known()).cloned())
}

/// Returns what a field repeats, as `confirmPath` does what `path` is given.
fn repeated(field: &Field, form: &Form, bound: &Bound) -> Option<Input> {
    let own = &form.fields()[form.repeated_by(field)?];
    bound.arguments.get(own.parameter()).cloned()
}

/// Gives fields that repeat others what those are given.
fn again(chosen: &ChosenStep<'_>, bound: &mut Bound) {
    for field in chosen.form.fields() {
        if let Some(input) = repeated(field, chosen.form, bound) {
            bound.arguments.insert(field.parameter().to_owned(), input);
        }
    }
}

fn is_late(input: &Input) -> bool {
    !input.is_known()
}

fn is_list(schema: &Value) -> bool {
    let kinds = &schema["type"];
    kinds == "array" || kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
}
