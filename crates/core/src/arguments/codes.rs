//! What everybody knows and schemas ask for: codes of languages, currencies and countries, where cities lie, and
//! which time they keep.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;

use super::request::ParsedRequest;
use super::token::Token;
use crate::form::Field;
use crate::text::with_terms;
use crate::tool::vocabulary::vocabulary;

/// Names of the world, folded, with what they are written as.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct World {
    states: HashMap<String, String>,
    american: HashMap<String, String>,
    cities: HashMap<String, String>,
    languages: HashMap<String, String>,
    currencies: HashMap<String, String>,
    countries: HashMap<String, String>,
    zones: HashMap<String, String>,
}

/// Tokens of the longest name.
const MAX_NAME: usize = 3;

impl World {
    fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<World> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            serde_json::from_str(include_str!("../../data/world.json"))
                .expect("a test reads the names of the world")
        })
    }
}

/// A value that a name stands for, and the tokens of the name.
type Known = (String, Range<usize>);

/// Words in the names of fields that take codes of languages, as terms.
static LANGUAGES: LazyLock<HashSet<String>> =
    LazyLock::new(|| with_terms(&vocabulary().parameters.languages));
/// Words in the names of fields that take codes of currencies, as terms.
static CURRENCIES: LazyLock<HashSet<String>> =
    LazyLock::new(|| with_terms(&vocabulary().parameters.currencies));
/// Words in the names of fields that take codes of countries, as terms.
static COUNTRIES: LazyLock<HashSet<String>> =
    LazyLock::new(|| with_terms(&vocabulary().parameters.countries));

/// Finds names in a request that a field wants in another form: as codes, or with their state or country.
pub(super) fn known(field: &Field, request: &ParsedRequest<'_>) -> impl Iterator<Item = Known> {
    codes(field, &request.tokens).into_iter().chain(places(field, request))
}

fn codes(field: &Field, tokens: &[Token]) -> Vec<Known> {
    let world = World::builtin();
    let is_named = |names: &HashSet<String>| field.name_terms.iter().any(|name| names.contains(name));
    let table = if is_named(&LANGUAGES) {
        &world.languages
    } else if is_named(&CURRENCIES) {
        &world.currencies
    } else if is_named(&COUNTRIES) {
        &world.countries
    } else {
        return Vec::new();
    };
    names(tokens).filter_map(|(name, at)| Some((table.get(&name)?.clone(), at))).collect()
}

/// Whether tokens name a city or a country.
pub(super) fn is_city_or_country(tokens: &[Token]) -> bool {
    let world = World::builtin();
    let name: Vec<&str> = tokens.iter().map(|it| it.lower.as_str()).collect();
    [&world.cities, &world.american, &world.countries].iter().any(|names| names.contains_key(&name.join(" ")))
}

/// Whether a folded word names a currency, or is its code.
pub(super) fn is_currency(word: &str) -> bool {
    let known = &World::builtin().currencies;
    known.contains_key(word) || known.values().any(|code| code.eq_ignore_ascii_case(word))
}

/// Whether a field takes a currency.
pub(super) fn is_for_currencies(field: &Field) -> bool {
    field.name_terms.iter().any(|name| CURRENCIES.contains(name))
}

/// Returns the time zone that a place keeps, by its IANA name.
pub(super) fn zone(place: &str) -> Option<&'static str> {
    World::builtin().zones.get(&place.to_lowercase()).map(String::as_str)
}

fn places(field: &Field, request: &ParsedRequest<'_>) -> Vec<Known> {
    let Some(style) = PlaceStyle::of(field) else { return Vec::new() };
    let (world, tokens) = (World::builtin(), &request.tokens);
    let mut known = Vec::new();
    for (name, at) in names(tokens) {
        let written = request.written(&at);
        // A state that is named behind the city is written shorter.
        let behind =
            tokens.get(at.end + 1..).filter(|_| tokens.get(at.end).is_some_and(|it| it.lower == ","));
        let state = behind.and_then(|rest| {
            names(rest)
                .filter(|(_, it)| it.start == 0)
                .find_map(|(name, it)| Some((world.states.get(&name)?, it)))
        });
        if let Some((state, it)) = state {
            known.push((format!("{written}, {state}"), at.start..at.end + 1 + it.end));
            continue;
        }
        let american = world.american.get(&name).map(|state| match style {
            PlaceStyle::State => state.as_str(),
            PlaceStyle::Country => "USA",
        });
        if let Some(region) = american.or_else(|| world.cities.get(&name).map(String::as_str)) {
            known.push((format!("{written}, {region}"), at));
        }
    }
    known
}

/// What is written behind a city.
#[derive(Clone, Copy)]
enum PlaceStyle {
    State,
    Country,
}

impl PlaceStyle {
    fn of(field: &Field) -> Option<Self> {
        let description = field.description.to_lowercase();
        let shows_state = field.description.split(", ").skip(1).any(|behind| {
            let code = behind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            code.len() == 2 && code.chars().all(|c| c.is_ascii_uppercase())
        });
        if shows_state || description.contains("city, state") || description.contains("city and state") {
            Some(Self::State)
        } else if description.contains("city, country") || description.contains("city and country") {
            Some(Self::Country)
        } else {
            None
        }
    }
}

/// Runs of words that can be names, the longest first.
fn names(tokens: &[Token]) -> impl Iterator<Item = (String, Range<usize>)> {
    let runs = (1..=MAX_NAME).rev().flat_map(move |count| (0..tokens.len()).map(move |at| at..at + count));
    runs.filter(move |run| run.end <= tokens.len()).map(move |run| {
        let name: Vec<&str> = tokens[run.clone()].iter().map(|it| it.lower.as_str()).collect();
        (name.join(" "), run)
    })
}
