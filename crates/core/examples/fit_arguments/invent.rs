//! Requests that are made up for the forms of real tools, so that every kind of value and way of saying it
//! occurs often enough to be learnt.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Field, Form};

use crate::data::{Case, text};
use crate::learn::Dice;

/// Texts that were said for fields, by the last word of the field's name.
pub(crate) struct Pool {
    by_name: BTreeMap<String, Vec<String>>,
    all: Vec<String>,
}

/// Requests that are made up.
const MOST: usize = 3500;

impl Pool {
    pub(crate) fn of<'a>(cases: impl Iterator<Item = &'a Case>) -> Self {
        let mut pool = Self { by_name: BTreeMap::new(), all: Vec::new() };
        for case in cases {
            for (name, value) in &case.gold {
                let Some(value) =
                    value.as_str().filter(|it| it.len() > 1 && it.split_whitespace().count() <= 6)
                else {
                    continue;
                };
                if case.text.contains(value) && value.parse::<f64>().is_err() {
                    pool.by_name.entry(last_word(name)).or_default().push(value.to_owned());
                    pool.all.push(value.to_owned());
                }
            }
        }
        pool
    }

    fn draw(&self, name: &str, dice: &mut Dice) -> Option<String> {
        let own = self.by_name.get(&last_word(name)).filter(|it| it.len() > 2);
        let from = match own {
            Some(own) => own,
            None if dice.below(3) > 0 => &self.all,
            None => return None,
        };
        from.get(dice.below(from.len())).cloned()
    }
}

fn last_word(name: &str) -> String {
    words(name).split(' ').next_back().unwrap_or_default().to_owned()
}

/// A name as it would be said: `maxResults` is `max results`.
fn words(name: &str) -> String {
    let mut said = String::new();
    let mut was_small = false;
    for c in name.chars() {
        if c == '_' || c == '-' || c == '.' {
            said.push(' ');
        } else {
            if c.is_uppercase() && was_small {
                said.push(' ');
            }
            said.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    said
}

pub(crate) fn requests<'a>(pool: &Pool, tools: impl Iterator<Item = &'a Value>) -> Vec<Case> {
    let mut dice = Dice::new(7);
    let tools: Vec<&Value> = tools.collect();
    let mut made = Vec::new();
    for _ in 0..MOST * 3 {
        if made.len() >= MOST {
            break;
        }
        let tool = tools[dice.below(tools.len())];
        made.extend(request(pool, tool, &mut dice));
    }
    made
}

fn request(pool: &Pool, tool: &Value, dice: &mut Dice) -> Option<Case> {
    let description = text(&tool["description"]);
    let form = Form::new((text(&tool["name"]), description), tool["input_schema"].clone());
    let mut gold = Map::new();
    let mut phrases: Vec<String> = Vec::new();
    let has_one = form.fields().iter().filter(|it| it.is_required).count() == 1;
    for field in form.fields() {
        let is_told = if field.is_required { dice.below(12) > 0 } else { dice.below(4) == 0 };
        if !is_told || phrases.len() >= 5 || field.path.len() > 1 {
            continue;
        }
        if let Some((value, said)) = value(pool, field, dice) {
            phrases.push(phrase(field, &said, (has_one, value.is_number()), dice));
            gold.insert(field.path[0].clone(), value);
        }
    }
    if phrases.is_empty() {
        return None;
    }
    if dice.below(3) == 0 {
        let other = dice.below(phrases.len());
        phrases.swap(0, other);
    }
    let name = text(&tool["name"]).to_owned();
    let text = sentence(&lead(tool, dice), &phrases, dice);
    Some(Case {
        text,
        id: String::new(),
        name,
        about: description.to_owned(),
        form,
        gold,
        source: "invented",
        is_held_out: false,
    })
}

fn lead(tool: &Value, dice: &mut Dice) -> String {
    let first =
        text(&tool["description"]).split(['.', '\n', ';', ':', '(']).next().unwrap_or_default().trim();
    let is_short = (2..=12).contains(&first.split_whitespace().count());
    let said = match dice.below(4) {
        0 | 1 if is_short => first.to_owned(),
        2 => String::new(),
        _ => words(text(&tool["name"])),
    };
    let polite =
        ["", "", "", "Can you ", "Please ", "I need to ", "I want to ", "Could you help me ", "hey, "];
    format!("{}{said}", polite[dice.below(polite.len())])
}

fn sentence(lead: &str, phrases: &[String], dice: &mut Dice) -> String {
    let mut said = lead.trim().to_owned();
    for (at, phrase) in phrases.iter().enumerate() {
        let joint = match (at, dice.below(6)) {
            (0, 0) => ": ",
            (0, 1) => ", ",
            (0, _) => " ",
            (_, 0 | 1) => " and ",
            (_, 2 | 3) => ", ",
            (_, 4) => " ",
            (_, _) => ". ",
        };
        said.push_str(joint);
        said.push_str(phrase);
    }
    said.push_str(["", ".", "?", " please", "!"][dice.below(5)]);
    said.trim().to_owned()
}

/// Draws a value and how it is said.
fn value(pool: &Pool, field: &Field, dice: &mut Dice) -> Option<(Value, String)> {
    let name = &field.path[0];
    if !field.choices.is_empty() {
        let choice = field.choices[dice.below(field.choices.len())].clone();
        let said = choice.as_str().map_or_else(|| choice.to_string(), words);
        return Some((if field.is_list { json!([choice]) } else { choice }, said));
    }
    match (field.type_name(), field.is_list) {
        ("integer", false) => {
            let number = [
                dice.below(10),
                dice.below(100),
                dice.below(1000),
                10 * dice.below(500),
                1900 + dice.below(140),
            ][dice.below(5)];
            Some((json!(number), number.to_string()))
        }
        ("number", false) => {
            let number = dice.below(10_000) as f64 / [1.0, 10.0, 100.0][dice.below(3)];
            Some((json!(number), number.to_string()))
        }
        ("integer" | "number", true) => {
            let numbers: Vec<usize> = (0..2 + dice.below(4)).map(|_| dice.below(100)).collect();
            let said: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            let said = if dice.below(2) == 0 { format!("[{}]", said.join(", ")) } else { listed(&said) };
            Some((json!(numbers), said))
        }
        ("string", true) => {
            let texts: Vec<String> = (0..1 + dice.below(3))
                .filter_map(|_| pool.draw(name, dice))
                .filter(|it| !it.contains(',') && !it.contains(" and "))
                .collect();
            (!texts.is_empty()).then(|| (json!(texts), listed(&texts)))
        }
        ("string", false) => {
            let drawn = pool.draw(name, dice)?;
            Some((json!(drawn), drawn))
        }
        _ => None,
    }
}

fn listed(items: &[String]) -> String {
    match items {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => items.concat(),
    }
}

/// Says a value with what it is for.
fn phrase(field: &Field, said: &str, (is_only, is_number): (bool, bool), dice: &mut Dice) -> String {
    let name = words(&field.path[0]);
    let head = last_word(&field.path[0]);
    let quoted = match dice.below(6) {
        0 if !is_number => format!("'{said}'"),
        1 if !is_number => format!("\"{said}\""),
        _ => said.to_owned(),
    };
    if is_number {
        let unit = ["", "", "", " units", " meters", " kg", "%", " dollars", " percent"][dice.below(9)];
        return match dice.below(10) {
            0 | 1 => format!("with a {name} of {said}{unit}"),
            2 => format!("{name} of {said}{unit}"),
            3 => format!("{name} {said}"),
            4 => format!("{said} {head}"),
            5 => format!("{name}={said}"),
            6 => format!("where the {name} is {said}{unit}"),
            7 => format!("with {said} {head}"),
            8 => format!("the {name} is {said}{unit}"),
            _ => format!("{name}: {said}"),
        };
    }
    let bare = match head.as_str() {
        "city" | "location" | "country" | "region" | "place" | "area" | "state" => "in",
        "name" | "title" => "called",
        "query" | "topic" | "subject" | "keyword" => "about",
        "to" | "recipient" | "destination" => "to",
        "from" | "origin" | "source" => "from",
        "date" | "day" => "on",
        "by" | "author" | "user" => "by",
        "path" | "file" | "directory" => "at",
        _ => "for",
    };
    match dice.below(if is_only { 16 } else { 12 }) {
        0 => format!("with {name} {quoted}"),
        1 => format!("the {name} is {quoted}"),
        2 => format!("{name}: {quoted}"),
        3 => format!("with the {name} {quoted}"),
        4 => format!("{name} {quoted}"),
        5 => format!("using {quoted} as the {name}"),
        6 => format!("{name} = {quoted}"),
        7 => format!("for the {head} {quoted}"),
        12 | 13 => format!("of {quoted}"),
        14 => format!("for {quoted}"),
        _ => format!("{bare} {quoted}"),
    }
}
