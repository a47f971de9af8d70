//! Values that stand beside the one that a field got: `Tokyo and London`, for a tool that takes one place.

use std::ops::Range;
use std::sync::LazyLock;

use serde_json::Value;

use super::argument::{Argument, Filling, Source};
use super::candidate::{Candidate, Origin, candidates};
use super::request::{self, ParsedRequest, Role};
use super::sources::Sources;
use crate::form::{Field, Form};
use crate::language::WordSet;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;

/// Every value that a request lists for a parameter that takes one.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedValues {
    /// The parameter.
    pub parameter: String,
    /// Its values in the order in which they are said; one of them is what was filled in.
    pub values: Vec<Value>,
}

/// Words before the last of several things that are all meant.
static AND: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.lists.and));
/// Words before the two ends of a range.
static BETWEEN: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.lists.range_starts));
/// Tokens of a name at most.
const MAX_NAME: usize = 3;

/// Whether a request may list several values for a parameter.
pub fn may_list(task: &str) -> bool {
    request::may_list(task)
}

/// Finds the values that a request lists beside one that was filled in.
pub fn listed_values(form: &Form, sources: &Sources<'_>, filling: &Filling) -> Option<ListedValues> {
    // What is missing may be the other thing that is named.
    if !filling.missing.is_empty() {
        return None;
    }
    let request = ParsedRequest::parse(sources.task, sources.now);
    let lists: Vec<Vec<Range<usize>>> =
        request.lists().iter().filter_map(|list| bare(&request, list)).collect();
    let is_twin = |it: &Argument| form.of_parameter(&it.name).any(|it| form.repeated_by(it).is_some());
    let from_text = filling.arguments.iter().filter(|it| it.source == Source::Text && !lists.is_empty());
    let found = from_text.filter_map(|argument| {
        let field = form.of_parameter(&argument.name).next().filter(|field| takes_one(form, field))?;
        let options = candidates(form, field, &request).into_iter();
        let options: Vec<(Candidate, Shape)> =
            options.filter_map(|it| shape(&request, &it).map(|shape| (it, shape))).collect();
        let is_other = |it: &Argument| it.name != argument.name && !is_twin(it);
        let is_free = |value: &Value| !filling.arguments.iter().any(|it| is_other(it) && it.value == *value);
        let values = lists.iter().filter_map(|list| values(&argument.value, list, &options));
        let values = values.filter(|values| values.iter().all(is_free)).max_by_key(Vec::len)?;
        Some(ListedValues { parameter: argument.name.clone(), values })
    });
    found.max_by_key(|it| it.values.len())
}

/// Whether a field is for one value, as far as its schema and its words say.
fn takes_one(form: &Form, field: &Field) -> bool {
    let is_plain = field.path.len() == 1 && !field.is_list && !field.is_flag() && field.choices.is_empty();
    let name = words(field.parameter()).last().unwrap_or_default().to_lowercase();
    let is_plural = name.ends_with('s') && !name.ends_with("ss") && !name.ends_with("us");
    let says_several =
        words(&field.description).any(|it| vocabulary().descriptions.several.contains(&it.to_lowercase()));
    // One of a pair has its own of two values: `url1` and `url2`, `start_date` and `end_date`.
    let kind = |it: &Field| it.head().trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let is_other = |it: &&Field| it.path != field.path && form.repeated_by(it).is_none();
    let has_pair = form.fields().iter().filter(is_other).any(|it| kind(it) == kind(field));
    is_plain && !is_plural && !says_several && !has_pair
}

/// Reads each item of a list as a value like the one that was filled in.
fn values(own: &Value, list: &[Range<usize>], options: &[(Candidate, Shape)]) -> Option<Vec<Value>> {
    let is_own = |it: &Candidate| it.value == *own && list.contains(&it.tokens);
    let (own, own_shape) = options.iter().find(|(it, _)| is_own(it))?;
    let value = |item: &Range<usize>| {
        let is_alike = |(it, shape): &&(Candidate, Shape)| {
            it.tokens == *item && it.origin == own.origin && shape == own_shape
        };
        options.iter().find(is_alike).map(|(it, _)| it.value.clone())
    };
    let values: Vec<Value> = list.iter().map(value).collect::<Option<_>>()?;
    let is_new = |at: usize| !values[..at].contains(&values[at]);
    (0..values.len()).all(is_new).then_some(values)
}

/// What a value looks like: things in a list look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Number,
    Known,
    Quoted,
    Path,
    Name,
}

fn shape(request: &ParsedRequest<'_>, candidate: &Candidate) -> Option<Shape> {
    let tokens = &request.tokens[candidate.tokens.clone()];
    let is_known = candidate.origin == Origin::Known;
    let is_quoted = candidate.origin == Origin::Quoted;
    let is_word = matches!(candidate.origin, Origin::Words | Origin::Part);
    let is_counted = is_word || candidate.origin == Origin::Number;
    let only = tokens.first().filter(|_| tokens.len() == 1).map_or("", |it| it.lower.as_str());
    let is_digits = !only.is_empty() && only.trim_start_matches('#').chars().all(|c| c.is_ascii_digit());
    let is_name =
        tokens.len() <= MAX_NAME && tokens.iter().all(|it| it.is_capital && !it.lower.contains(['\'', '’']));
    let shapes = [
        (is_known, Shape::Known),
        (is_quoted, Shape::Quoted),
        (is_counted && is_digits, Shape::Number),
        (is_word && only.contains(['/', '.', '_', '#', '@']), Shape::Path),
        (is_word && is_name, Shape::Name),
    ];
    shapes.into_iter().find_map(|(is_it, shape)| is_it.then_some(shape))
}

/// The items of a list whose things are all meant, without a small word that is said before each: `in Tokyo and in
/// London`.
fn bare(request: &ParsedRequest<'_>, list: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
    let small = |item: &Range<usize>| item.clone().take_while(|at| request.roles[*at] == Role::Small).count();
    let items: Vec<Range<usize>> = list.iter().map(|item| item.start + small(item)..item.end).collect();
    let word = |at: Option<usize>| at.map(|at| request.tokens[at].lower.as_str());
    let before = word(items.first()?.start.checked_sub(1));
    let is_repeated = |(item, bare): (&Range<usize>, &Range<usize>)| match bare.start - item.start {
        0 => true,
        1 => word(Some(item.start)) == before,
        _ => false,
    };
    let is_joined = list.iter().zip(&items).skip(1).all(is_repeated);
    let last = list.last().and_then(|item| word(item.start.checked_sub(1)))?;
    let is_and = matches!(last, "&" | "+" | "、" | "，") || AND.has(last);
    // `between blocks 7 and 9`
    let is_range =
        (1..=2).any(|back| word(items[0].start.checked_sub(back)).is_some_and(|word| BETWEEN.has(word)));
    (is_joined && is_and && !is_range).then_some(items)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::{Now, fill};
    use super::*;

    fn values(name: &str, schema: &Value, task: &str) -> Option<ListedValues> {
        let form = Form::new((name, ""), schema.clone());
        let now = Now { at: jiff::civil::datetime(2026, 11, 17, 9, 0, 0, 0), offset: 0 };
        let given = Map::new();
        let sources = Sources { task, given: &given, named: None, reading: None, earlier: &[], now };
        listed_values(&form, &sources, &fill(&form, &sources))
    }

    fn text(parameter: &str, description: &str) -> Value {
        json!({"type": "object", "required": [parameter],
            "properties": {parameter: {"type": "string", "description": description}}})
    }

    #[test]
    fn r9_values_that_a_request_lists_are_found_together() {
        let zone = text("timezone", "IANA timezone name");
        let path = text("path", "Path of the file");
        let city = text("city", "Name of the city");
        let number = json!({"type": "object", "required": ["issue_number"],
            "properties": {"issue_number": {"type": "integer", "description": "Number of the issue"}}});
        for (name, schema, task, parameter, expected) in [
            (
                "get_current_time",
                &zone,
                "what time is it in Tokyo and in London",
                "timezone",
                json!(["Asia/Tokyo", "Europe/London"]),
            ),
            (
                "read_file",
                &path,
                "read notes/a.md and notes/b.md",
                "path",
                json!(["notes/a.md", "notes/b.md"]),
            ),
            (
                "get_weather",
                &city,
                "weather in Paris, Rome and Oslo",
                "city",
                json!(["Paris", "Rome", "Oslo"]),
            ),
            ("get_issue", &number, "show me issues 12 and 15", "issue_number", json!([12, 15])),
        ] {
            let found = values(name, schema, task);
            let Value::Array(values) = expected else { panic!() };
            assert_eq!(found, Some(ListedValues { parameter: parameter.into(), values }), "{task}");
        }
    }

    #[test]
    fn r9_what_is_one_value_or_an_alternative_is_no_series() {
        let city = text("city", "Name of the city");
        let number =
            json!({"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}});
        let route = json!({"type": "object", "required": ["origin", "destination"], "properties": {
            "origin": {"type": "string", "description": "City to leave from"},
            "destination": {"type": "string", "description": "City to go to"}}});
        for (name, schema, task) in [
            ("get_weather", &city, "weather in Paris"),
            ("get_weather", &city, "weather in Paris or Rome"),
            ("get_weather", &text("cities", "Names"), "weather in Paris and Rome"),
            ("get_weather", &text("place", "Places, comma separated"), "weather in Paris and Rome"),
            ("get_weather", &city, "weather in Asheville, Ohio"),
            ("get_weather", &city, "weather between Paris and Rome"),
            ("get_block", &number, "the blocks between number 7 and 9"),
            ("get_weather", &city, "weather in Paris and I'll tell Anna"),
            ("get_distance", &route, "how far apart are Paris and Rome"),
            ("search", &text("query", "What to look for"), "look for old cats and dogs"),
        ] {
            assert_eq!(values(name, schema, task), None, "{task}");
        }
    }
}
