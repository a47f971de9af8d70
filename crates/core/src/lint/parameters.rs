//! What is said about the parameters of a tool.

use serde_json::Value;

use crate::form::{Field, Kind};
use crate::text::terms;
use crate::tool::Parameter;
use crate::tool::vocabulary::vocabulary;
use crate::tool::words::words;

use super::description::{has_example, shows_example};
use super::prose::{begins_word, entry, length};
use super::rule::RuleId;
use super::subject::{Subject, property};
use super::words::lint_words;

/// Points of one parameter: that it is described, that it has a type, that its values are bounded or shown.
const DESCRIBED: u32 = 60;
const TYPED: u32 = 20;
const BOUNDED: u32 = 20;
/// What a required parameter counts beside an optional one.
const REQUIRED_WEIGHT: u32 = 2;
/// Terms of a description that are compared with a name.
const MAX_TERMS: usize = 32;
/// Members without a description that are named.
const MAX_NAMED: usize = 4;
/// Values so short do not explain themselves.
const CRYPTIC_CHARS: usize = 2;

/// How well a parameter is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// In words of its own.
    Well,
    /// The description of the tool mentions it.
    Aside,
    /// Only its name is repeated.
    Again,
    Nothing,
}

impl Said {
    fn points(self) -> u32 {
        match self {
            Self::Well => DESCRIBED,
            Self::Aside => DESCRIBED * 2 / 3,
            Self::Again => DESCRIBED / 3,
            Self::Nothing => 0,
        }
    }
}

/// Judges the parameters; returns how well they are documented, in percent. Without parameters there is nothing.
pub(super) fn judge(subject: &mut Subject<'_>) -> Option<u8> {
    required_unknown(subject);
    let parameters = &subject.tool.parameters;
    let (mut points, mut weights) = (0, 0);
    for parameter in parameters {
        let weight = if parameter.required { REQUIRED_WEIGHT } else { 1 };
        points += weight * judge_one(subject, parameter);
        weights += weight;
    }
    let percent = points.checked_div(weights)?;
    Some(u8::try_from(percent.min(100)).expect("it is at most 100"))
}

/// Whether it is said where the identifiers come from that a call needs, in percent.
pub(super) fn prerequisite(subject: &Subject<'_>) -> Option<u8> {
    let is_needed = subject.tool.parameters.iter().any(|it| it.required && is_identifier(&it.name));
    let is_missing = subject.diagnostics.iter().any(|it| it.rule == RuleId::IdWithoutSource);
    is_needed.then_some(if is_missing { 0 } else { 100 })
}

fn required_unknown(subject: &mut Subject<'_>) {
    if subject.is_composed {
        return;
    }
    let unknown: Vec<String> =
        subject.form.required().filter(|name| !subject.form.has(name)).map(str::to_owned).collect();
    for name in unknown {
        let message =
            format!("`{name}` is required, and `properties` does not have it; add it or correct the name");
        subject.report(RuleId::RequiredUnknown, "/inputSchema/required", message);
    }
}

/// Judges one parameter and returns its points.
fn judge_one(subject: &mut Subject<'_>, parameter: &Parameter) -> u32 {
    let form = subject.form;
    let name = parameter.name.as_str();
    let schema = form.schema_of(name).unwrap_or(&Value::Null);
    let fields: Vec<&Field> = form.of_parameter(name).collect();
    let leaf = fields.first().copied().filter(|field| field.path.len() == 1);
    let is_typed = is_typed(schema);
    if !is_typed {
        let message = format!("`{name}` has no type; give it one");
        subject.report(RuleId::ParameterUntyped, property(name), message);
    }
    let description =
        leaf.map_or_else(|| schema["description"].as_str().unwrap_or_default(), |it| &it.description);
    let said = said(subject, name, description);
    let members: Vec<&Field> = fields.iter().copied().filter(|field| field.path.len() > 1).collect();
    let described = match members.as_slice() {
        [] => {
            report_said(subject, parameter, (said, leaf));
            said.points()
        }
        members => described_members(subject, parameter, (said, members)),
    };
    let typed = if is_typed { TYPED } else { 0 };
    described + typed + bounded(subject, parameter, leaf)
}

fn is_typed(schema: &Value) -> bool {
    ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items"]
        .iter()
        .any(|key| schema.get(key).is_some())
}

fn said(subject: &Subject<'_>, name: &str, description: &str) -> Said {
    if length(description) > 0 {
        let named = terms(name, MAX_TERMS);
        let is_more = terms(description, MAX_TERMS).iter().any(|term| !named.contains(term));
        return if is_more { Said::Well } else { Said::Again };
    }
    if listed(subject, name).is_some() {
        return Said::Well;
    }
    let text = &subject.tool.description;
    let is_quoted = ['`', '\'', '"'].iter().any(|mark| text.contains(&format!("{mark}{name}{mark}")));
    // A name of several words is not said by accident.
    let is_mentioned = words(name).count() > 1 && begins_word(text, name);
    if is_quoted || is_mentioned { Said::Aside } else { Said::Nothing }
}

/// Returns what the description of the tool says about a parameter, where it lists them.
fn listed<'a>(subject: &'a Subject<'_>, name: &str) -> Option<&'a str> {
    let mut entries = subject.prose.paragraphs.iter().filter_map(|it| entry(it));
    entries.find(|(named, text)| named.eq_ignore_ascii_case(name) && !text.is_empty()).map(|(_, text)| text)
}

fn report_said(subject: &mut Subject<'_>, parameter: &Parameter, (said, leaf): (Said, Option<&Field>)) {
    let name = parameter.name.as_str();
    let has_choices = leaf.is_some_and(|field| field.choices.len() > 1);
    match said {
        Said::Well | Said::Aside => report_cryptic(subject, name, leaf),
        Said::Nothing if is_unclear(name) => {
            let message = format!("`{name}` says nothing and has no description; rename it or describe it");
            subject.report(RuleId::UnclearParameterName, property(name), message);
        }
        Said::Nothing | Said::Again if has_choices => {
            let message = format!("nothing says what the values of `{name}` mean, or which one is usual");
            subject.report(RuleId::EnumUndocumented, property(name), message);
        }
        Said::Nothing => {
            let message = format!("`{name}` has no description; say what it is and which form it has");
            subject.report(RuleId::ParameterUndescribed, property(name), message);
        }
        Said::Again => {
            let message = format!("the description of `{name}` only repeats its name; say which form it has");
            subject.report(RuleId::ParameterUndescribed, property(name), message);
        }
    }
}

/// Reports choices that are too short to explain themselves and that the description does not name.
fn report_cryptic(subject: &mut Subject<'_>, name: &str, leaf: Option<&Field>) {
    let Some(field) = leaf.filter(|field| field.choices.len() > 1) else { return };
    let is_cryptic = |choice: &Value| choice.as_str().is_none_or(|it| it.chars().count() <= CRYPTIC_CHARS);
    let is_named = |choice: &Value| {
        let text = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
        field.description.split(|it: char| !it.is_alphanumeric()).any(|word| word == text)
    };
    if field.choices.iter().all(is_cryptic) && !field.choices.iter().any(is_named) {
        let message = format!("the values of `{name}` are codes that its description does not explain");
        subject.report(RuleId::EnumUndocumented, property(name), message);
    }
}

fn described_members(
    subject: &mut Subject<'_>,
    parameter: &Parameter,
    (said, members): (Said, &[&Field]),
) -> u32 {
    let name = parameter.name.as_str();
    let bare: Vec<&str> =
        members.iter().filter(|it| it.description.trim().is_empty()).map(|it| it.name()).collect();
    if bare.len() * 2 > members.len() {
        let shown = bare.iter().take(MAX_NAMED).map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
        let more = if bare.len() > MAX_NAMED { ", …" } else { "" };
        let count = match bare.len() == members.len() {
            true => format!("no member of `{name}` has a description"),
            false => {
                format!("{} of the {} members of `{name}` have no description", bare.len(), members.len())
            }
        };
        let message = format!("{count}: {shown}{more}");
        subject.report(RuleId::ParameterUndescribed, property(name), message);
    } else {
        report_said(subject, parameter, (said, None));
    }
    let described = u32::try_from(members.len() - bare.len()).unwrap_or(u32::MAX);
    let all = u32::try_from(members.len()).unwrap_or(u32::MAX);
    (said.points() + (DESCRIBED * described).div_ceil(all)) / 2
}

/// Points for values that are bounded or shown; a required text must be shown.
fn bounded(subject: &mut Subject<'_>, parameter: &Parameter, leaf: Option<&Field>) -> u32 {
    let Some(field) = leaf else { return BOUNDED };
    let limits = ["pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "const"];
    let has_limit = limits.iter().any(|key| field.schema.get(key).is_some());
    let has_default = field.default.as_ref().is_some_and(|it| !it.is_null());
    let is_closed = field.is_flag() || !field.choices.is_empty() || field.format.is_some() || has_default;
    if field.kind != Kind::Text || field.is_list || is_closed {
        return if is_closed || has_limit || has_example(field) { BOUNDED } else { BOUNDED / 2 };
    }
    if has_example(field) || listed(subject, &parameter.name).is_some_and(shows_example) {
        return BOUNDED;
    }
    if is_identifier(&parameter.name) && parameter.required {
        id_without_source(subject, field);
        return BOUNDED / 2;
    }
    if parameter.required {
        let name = parameter.name.as_str();
        let message = format!("`{name}` takes any text and no example shows one; add `Example: …`");
        subject.report(RuleId::ParameterWithoutExample, property(name), message);
        return if has_limit { BOUNDED / 2 } else { 0 };
    }
    BOUNDED / 2
}

/// Reports an identifier that only another call can give, where nothing names that call.
fn id_without_source(subject: &mut Subject<'_>, field: &Field) {
    let said = field.description.to_lowercase();
    let has_source = lint_words().markers.sources.iter().any(|it| begins_word(&said, it));
    if has_source || !subject.is_english || !subject.named.is_empty() {
        return;
    }
    let name = field.parameter();
    let message = format!("nothing says where `{name}` comes from; name the tool that returns it");
    subject.report(RuleId::IdWithoutSource, property(name), message);
}

fn is_identifier(name: &str) -> bool {
    let last = words(name).last().map(str::to_lowercase);
    last.is_some_and(|last| vocabulary().parameters.ids.contains(&last))
}

/// Whether a name fits every parameter: one letter, or one of the words that do.
fn is_unclear(name: &str) -> bool {
    let bare = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '_').to_lowercase();
    bare.chars().count() <= 1 || lint_words().parameters.unclear.contains(&bare)
}
