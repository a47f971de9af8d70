//! The values that a field could have: what stands in the text, in the form that the schema wants.

mod choice; // values that the schema or the description names
mod other; //  values that belong to another field

use std::ops::Range;

use serde_json::{Number, Value, json};

use super::codes;
use super::moment::Moment;
use super::quantity::{self, Notation, Quantity, Unit};
use super::request::{ParsedRequest, Role};
use super::timestamp::timestamp;
use super::token::{Span, is_within, overlap};
use crate::form::{Bound, Field, Form, Format, Kind, is_email, is_uri};
use crate::hazard;
use crate::tool::words::words;

/// A value that a field could have.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) value: Value,
    /// The tokens that say it; empty when none do.
    pub(super) tokens: Range<usize>,
    /// The bytes that it takes up.
    pub(super) bytes: Range<usize>,
    pub(super) origin: Origin,
}

/// How a text says a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// In these words.
    Words,
    Quoted,
    /// As a part of a token.
    Part,
    Number,
    /// As a number in another unit.
    Converted,
    Moment,
    /// As one of the choices.
    Choice(Similarity),
    /// As an example that the description gives.
    Example(Similarity),
    /// As a name that everybody knows another form of.
    Known,
    Flag,
    List,
    Literal,
}

/// How similar the words of a text and a choice are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Similarity {
    /// A word of it goes with a word of the text.
    Related,
    /// Some of its words are there.
    Partial,
    /// In another language.
    Translated,
    /// In another form, such as a plural.
    Stem,
    Exact,
}

/// Values of a field that are compared.
const MAX_CANDIDATES: usize = 1600;
pub(super) const HUNDRED: f64 = 100.0;

/// Returns the values that a field could have. All of them fit the schema.
pub(super) fn candidates(form: &Form, field: &Field, request: &ParsedRequest<'_>) -> Vec<Candidate> {
    let is_json = |field: &&Field| field.kind != Kind::Text || field.is_list;
    let is_taken = |value: &Value| form.fields().iter().filter(is_json).any(|it| form.takes(it, value));
    let literals = request.literals.iter().filter(|(_, value)| is_taken(value));
    let mut collector = Collector {
        form,
        field,
        request,
        bound: form.paired_bound(field),
        literals: literals.map(|(span, _)| span.bytes.clone()).collect(),
        found: Vec::new(),
    };
    match field.kind {
        _ if !field.choices.is_empty() => collector.choices(),
        Kind::Flag if !field.is_list => collector.flags(),
        Kind::Whole | Kind::Number => collector.numbers(),
        Kind::Text => {
            collector.texts();
            collector.moments();
            collector.examples();
            collector.known();
        }
        Kind::Any => {
            collector.numbers();
            collector.texts();
        }
        Kind::Flag | Kind::Object => {}
    }
    if matches!(field.format, Some(Format::Unix | Format::UnixMillis)) {
        collector.moments();
    }
    collector.literals();
    collector.found
}

/// Whether words only say which tool is meant: words of its own name, and of the field's, as in `a text`.
pub(super) fn names_tool(
    form: &Form,
    field: &Field,
    request: &ParsedRequest<'_>,
    tokens: &Range<usize>,
) -> bool {
    let is_own = |at: usize| match request.roles[at] {
        Role::Mark | Role::Small => true,
        role @ (Role::Verb | Role::Word) => {
            let token = &request.tokens[at];
            // A request begins with what is to be done, whether or not that is known as a verb.
            let own = if role == Role::Verb || at == 0 { &form.tool_terms } else { &form.tool_name_terms };
            // Of a name such as `data-platform-ci` the term is but the first part.
            let is_plain = token.lower.chars().all(char::is_alphabetic);
            let is_own = own.contains(&token.term) || field.name_terms.contains(&token.term);
            is_plain && is_own && (token.is_start || !token.is_capital)
        }
        Role::Digits => false,
    };
    tokens.clone().all(is_own)
}

/// Whether a word of a request mentions a field, and not only its tool.
pub(super) fn mentions(request: &ParsedRequest<'_>, form: &Form, field: &Field) -> bool {
    let is_there = |term: &String| request.has_term(term) && !form.tool_terms.contains(term);
    field.name_terms.iter().chain(&field.description_terms).any(is_there)
}

/// Whether a value is words that a person would say, and its field wants a statement of a language for databases.
pub(super) fn is_no_statement(field: &Field, value: &Value) -> bool {
    let name = field.path.last().map_or("", String::as_str);
    let is_none = |text: &str| hazard::is_no_statement(name, &field.description_terms, text);
    field.kind == Kind::Text && value.as_str().is_some_and(is_none)
}

/// Gathers the values of one field.
struct Collector<'a> {
    form: &'a Form,
    field: &'a Field,
    request: &'a ParsedRequest<'a>,
    /// Which bound of a range it takes where another field takes the other one.
    bound: Option<Bound>,
    /// Where JSON stands that a field takes as it is.
    literals: Vec<Range<usize>>,
    found: Vec<Candidate>,
}

impl Collector<'_> {
    /// Keeps a value if the schema takes it and it does not belong elsewhere.
    fn keep(&mut self, value: impl Into<Value>, Span { tokens, bytes }: Span, origin: Origin) {
        let value = value.into();
        if self.belongs_elsewhere(&value, &tokens, origin) || self.is_part_of_literal(&bytes) {
            return;
        }
        let zone = value.as_str().filter(|_| self.field.wants_zone_names()).and_then(codes::zone);
        let value = zone.map_or(value, Value::from);
        let value = if self.field.is_list && !value.is_array() { json!([value]) } else { value };
        if self.found.len() < MAX_CANDIDATES
            && self.form.takes(self.field, &value)
            && !is_no_statement(self.field, &value)
        {
            self.found.push(Candidate { value, tokens, bytes, origin });
        }
    }

    /// Keeps what the text says in some tokens.
    fn keep_tokens(&mut self, value: impl Into<Value>, tokens: Range<usize>, origin: Origin) {
        self.keep(value, self.request.span(tokens), origin);
    }

    fn texts(&mut self) {
        let request = self.request;
        for span in &request.quoted {
            self.keep(request.text[span.bytes.clone()].trim(), span.clone(), Origin::Quoted);
        }
        for tokens in &request.runs {
            let span = request.span(tokens.clone());
            let (written, behind) = (&request.text[span.bytes.clone()], &request.text[span.bytes.end..]);
            if self.fits_format(written)
                && !is_torn(written, behind)
                && !names_tool(self.form, self.field, request, tokens)
                && !self.is_dated(tokens)
            {
                self.keep(written, span, Origin::Words);
            }
        }
        for span in &request.parts {
            let written = &request.text[span.bytes.clone()];
            if self.fits_format(written) {
                self.keep(written, span.clone(), Origin::Part);
            }
        }
        for (at, quantity) in &request.quantities {
            let span = request.span(*at..*at + quantity.tokens);
            let written = number(quantity.value).map(|it| it.to_string());
            if let Some(written) = written.filter(|it| *it != request.text[span.bytes.clone()]) {
                self.keep(written, span, Origin::Number);
            }
        }
        if self.field.is_list {
            self.lists(|item| Some(json!(request.written(item))), Value::Array);
        } else if self.field.description.to_lowercase().contains("comma") {
            self.lists(|item| Some(request.written(item)), |items| json!(items.join(",")));
        }
    }

    /// Keeps every list of the text whose items can all be read, as the field wants lists.
    fn lists<T>(&mut self, item: impl Fn(&Range<usize>) -> Option<T>, whole: impl Fn(Vec<T>) -> Value) {
        for list in self.request.lists() {
            if let Some(items) = list.iter().map(&item).collect() {
                self.keep_tokens(whole(items), list[0].start..list[list.len() - 1].end, Origin::List);
            }
        }
    }

    /// Whether words are a moment, which is written in the form that the field wants and not as it was said.
    fn is_dated(&self, tokens: &Range<usize>) -> bool {
        let wants = matches!(self.field.format, Some(Format::Date | Format::DateTime | Format::Time));
        wants && self.request.moments.iter().any(|it| overlap(&it.tokens, tokens))
    }

    /// A field for addresses takes nothing else, whether or not its schema says so.
    fn fits_format(&self, written: &str) -> bool {
        match self.field.format {
            Some(Format::Email) => is_email(written),
            Some(Format::Uri) => is_uri(written) || (written.contains('.') && !written.contains(' ')),
            Some(Format::Date | Format::DateTime | Format::Time) => {
                written.contains(|c: char| c.is_ascii_digit())
            }
            _ => true,
        }
    }

    fn numbers(&mut self) {
        let (request, kind) = (self.request, self.field.kind);
        for (at, quantity) in &request.quantities {
            let tokens = *at..*at + quantity.tokens;
            if let Some(value) = numeric(kind, quantity.value) {
                self.keep_tokens(value, tokens.clone(), Origin::Number);
            }
            if let Some(value) = converted(self.field, quantity).and_then(|it| numeric(kind, it)) {
                self.keep_tokens(value, tokens, Origin::Converted);
            }
        }
        for span in &request.parts {
            let value = request.text[span.bytes.clone()].parse().ok();
            if let Some(value) = value.and_then(|it| numeric(kind, it)) {
                self.keep(value, span.clone(), Origin::Part);
            }
        }
        if self.field.is_list {
            let is_item = |item: &Range<usize>, at: usize, it: &Quantity| *item == (at..at + it.tokens);
            let number = |item: &Range<usize>| {
                let (_, quantity) = request.quantities.iter().find(|(at, it)| is_item(item, *at, it))?;
                numeric(kind, quantity.value)
            };
            self.lists(number, Value::Array);
        }
    }

    fn moments(&mut self) {
        let moments = &self.request.moments;
        let wants_both =
            matches!(self.field.format, Some(Format::DateTime | Format::Unix | Format::UnixMillis));
        for found in moments {
            // A date with its time is one moment.
            let is_part = |whole: &Moment| {
                whole.tokens.len() > found.tokens.len() && is_within(&found.tokens, &whole.tokens)
            };
            if wants_both && moments.iter().any(is_part) {
                continue;
            }
            let Some(written) = timestamp(found, self.field, self.request.now) else { continue };
            let value = match self.field.kind {
                Kind::Whole | Kind::Number => written.parse::<i64>().map_or(Value::Null, Value::from),
                Kind::Text | Kind::Flag | Kind::Object | Kind::Any => Value::from(written),
            };
            self.keep_tokens(value, found.tokens.clone(), Origin::Moment);
        }
    }

    fn flags(&mut self) {
        if self.field.is_required || mentions(self.request, self.form, self.field) {
            self.keep(true, Span::default(), Origin::Flag);
            self.keep(false, Span::default(), Origin::Flag);
        }
    }

    /// Codes and places that the text names.
    fn known(&mut self) {
        for (value, tokens) in codes::known(self.field, self.request) {
            self.keep_tokens(value, tokens, Origin::Known);
        }
    }

    fn literals(&mut self) {
        let request = self.request;
        let is_text = self.field.kind == Kind::Text && !self.field.is_list;
        for span in request.closed.iter().filter(|_| is_text) {
            self.keep(&request.text[span.bytes.clone()], span.clone(), Origin::Literal);
        }
        for (span, value) in &request.literals {
            if is_text {
                self.keep(&request.text[span.bytes.clone()], span.clone(), Origin::Literal);
            }
            self.keep(value.clone(), span.clone(), Origin::Literal);
        }
    }
}

/// Whether a run of words ends before a mark that closes what was opened in it: `name = 'Ana` before `'`.
fn is_torn(written: &str, behind: &str) -> bool {
    let Some(closing) = behind.chars().next() else { return false };
    // An apostrophe stands behind a letter and opens nothing.
    let is_opened = |open: char| {
        written.match_indices(open).any(|(at, _)| !written[..at].ends_with(char::is_alphanumeric))
    };
    let is_open = |open: char| written.matches(open).count() > written.matches(closing).count();
    match closing {
        '\'' | '"' | '`' => is_opened(closing) && written.matches(closing).count() % 2 == 1,
        ')' => is_open('('),
        ']' => is_open('['),
        '}' => is_open('{'),
        _ => false,
    }
}

fn number(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Some(Number::from(value as i64))
    } else {
        Number::from_f64(value)
    }
}

pub(super) fn numeric(kind: Kind, value: f64) -> Option<Value> {
    if kind == Kind::Whole && value.fract() != 0.0 {
        return None;
    }
    number(value).map(Value::Number)
}

/// The unit of time that a field counts in, as its name or description says.
pub(super) fn unit_of(field: &Field) -> Option<Unit> {
    let named = words(field.name()).chain(words(&field.description));
    named.filter(|word| word.len() > 2 || *word == "ms").find_map(|word| Unit::named(&word.to_lowercase()))
}

/// Returns what a percentage is in the numbers of a field; `None` where its schema does not say.
pub(super) fn of_percent(field: &Field, percent: f64) -> Option<f64> {
    let most = field.schema.get("maximum").and_then(Value::as_f64);
    let says_percent = || {
        let mut said = words(field.name()).chain(words(&field.description));
        field.description.contains('%') || said.any(|word| quantity::is_percent(&word.to_lowercase()))
    };
    match most {
        Some(most) if most <= 1.0 => Some(percent / HUNDRED),
        Some(_) => Some(percent),
        None => says_percent().then_some(percent),
    }
}

/// Whether a field counts money in the smaller unit.
pub(super) fn is_minor(field: &Field) -> bool {
    field.name_terms.iter().chain(&field.description_terms).any(|it| it == "cent")
}

fn converted(field: &Field, quantity: &Quantity) -> Option<f64> {
    if quantity.notation == Notation::Percent {
        return Some(of_percent(field, quantity.value).unwrap_or(quantity.value / HUNDRED));
    }
    let wanted = unit_of(field);
    let (own, wanted) = (quantity.unit?, wanted?);
    let value = quantity.value * own.seconds() / wanted.seconds();
    (own != wanted).then_some((value * 1e6).round() / 1e6)
}
