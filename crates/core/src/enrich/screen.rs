//! What of a model's texts may count for a tool.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use super::{LeftOut, MOST_REQUESTS, Objection, Screening, Suggested};
use crate::catalog::Catalog;
use crate::index::Names;
use crate::lint::advertising;
use crate::text::{each_term, fold, terms};
use crate::tool::{Tool, clean};

/// A request has at least so many characters, and at most so many.
const CHARS: std::ops::RangeInclusive<usize> = 4..=160;
/// Characters of a text that are shown where it was left out.
const SHOWN_CHARS: usize = 80;
/// Confusions that are kept.
const MOST_CONFUSIONS: usize = 2;
/// Terms of a request that are compared.
const MOST_TERMS: usize = 48;
/// Nobody says a word more often in one request.
const MOST_TIMES: usize = 2;
/// So many short items with nothing else are a list of keywords.
const LEAST_KEYWORDS: usize = 4;
const MOST_KEYWORD_WORDS: usize = 2;
/// So many capitals in a row are shouted.
const LEAST_CAPITALS: usize = 12;

/// Words that no request of a person needs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnrichWords {
    /// What is said to models.
    commands: Vec<String>,
    /// What praises.
    claims: Vec<String>,
    /// Who speaks, where a conversation is written down.
    roles: BTreeSet<String>,
    /// Ends of domains.
    domains: BTreeSet<String>,
}

/// Screens what was suggested for a tool of a catalog; `names` are those of the catalog's servers.
pub fn screen(suggested: &Suggested, tool: &Tool, catalog: &Catalog, names: &Names) -> Screening {
    let mut screening = Screening::default();
    let position = catalog.position(tool.id.as_str());
    let own_server = position.map(|at| names.server_of(at));
    let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
    for request in &suggested.requests {
        let request = tidied(request);
        let objection = objection(&request)
            .or_else(|| other_server(&request, catalog, (names, own_server)))
            .or_else(|| is_name(&request, tool).then_some(Objection::Name))
            .or_else(|| (!seen.insert(sorted_terms(&request))).then_some(Objection::Repeated))
            .or_else(|| (screening.requests.len() >= MOST_REQUESTS).then_some(Objection::TooMany));
        match objection {
            None => screening.requests.push(request),
            Some(why) => screening.left_out.push(left_out(&request, why)),
        }
    }
    if suggested.unread > 0 {
        screening.left_out.push(left_out("…", Objection::Unread(suggested.unread)));
    }
    for (other, when) in &suggested.not_for {
        let when = tidied(when);
        let is_tool =
            *other != tool.name && catalog.of_server(&tool.server).iter().any(|it| it.name == *other);
        let objection = (!is_tool)
            .then(|| Objection::NoTool(shortened(other)))
            .or_else(|| objection(&when))
            .or_else(|| other_server(&when, catalog, (names, own_server)))
            .or_else(|| (screening.not_for.len() >= MOST_CONFUSIONS).then_some(Objection::TooMany));
        match objection {
            None => drop(screening.not_for.insert(other.clone(), when)),
            Some(why) => screening.left_out.push(left_out(&when, why)),
        }
    }
    screening
}

fn words() -> &'static EnrichWords {
    static WORDS: LazyLock<EnrichWords> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../data/enrich.json")).expect("a test reads the words")
    });
    &WORDS
}

/// Returns a text on one line, without hidden characters and without what lists put around their items.
fn tidied(text: &str) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let is_wrapping = |c: char| matches!(c, '"' | '“' | '”' | '«' | '»' | '-' | '*' | '•' | ' ');
    line.trim_matches(is_wrapping).to_owned()
}

/// Says what speaks against a text, whatever tool it is for.
fn objection(text: &str) -> Option<Objection> {
    let lower = fold(text).to_lowercase();
    let said: Vec<&str> = lower.split(is_gap).filter(|it| !it.is_empty()).collect();
    let folded = format!(" {} ", said.join(" "));
    let says = |phrase: &String| folded.contains(&format!(" {phrase} "));
    let checks = [
        (!CHARS.contains(&text.chars().count()), Objection::Length),
        (has_address(text), Objection::Address),
        (has_markup(text), Objection::Markup),
        (words().commands.iter().any(says), Objection::Command),
        (words().claims.iter().any(says) || advertising(text).is_some(), Objection::Claim),
        (is_stuffed(text), Objection::Stuffed),
    ];
    checks.into_iter().find_map(|(is_so, objection)| is_so.then_some(objection))
}

/// What stands between words; a point or a hyphen inside one does not.
fn is_gap(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '\'' | '-' | '.'))
}

/// Whether a text holds an address of the web or of a person.
fn has_address(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_host = |word: &str| {
        let host = word.split(['/', '?', '#', ':']).next().unwrap_or_default();
        let host = host.trim_matches(|c: char| !c.is_alphanumeric());
        host.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && words().domains.contains(end))
    };
    lower.contains("://")
        || lower.contains("www.")
        || lower.split_whitespace().any(|word| word.contains('@') || is_host(word))
}

/// Whether a text has signs of a program, a prompt or an identifier.
fn has_markup(text: &str) -> bool {
    let is_sign = |c: char| matches!(c, '<' | '>' | '{' | '}' | '[' | ']' | '|' | '`' | '\\' | '_' | '=');
    let is_role = |(role, _): (&str, &str)| words().roles.contains(&role.trim().to_lowercase());
    text.contains(is_sign) || text.split_once(':').is_some_and(is_role)
}

/// Whether a text repeats words, lists them or shouts.
fn is_stuffed(text: &str) -> bool {
    let mut times: HashMap<String, usize> = HashMap::new();
    each_term(text, &mut |term| *times.entry(term.to_owned()).or_default() += 1);
    // Pairs of characters of a script without spaces repeat without being words.
    let repeats = times.iter().any(|(term, times)| *times > MOST_TIMES && term.chars().count() > 2);
    let items: Vec<&str> = text.split([',', ';', '、']).map(str::trim).collect();
    let is_short = |item: &&str| item.split_whitespace().count() <= MOST_KEYWORD_WORDS;
    let is_list = items.len() >= LEAST_KEYWORDS && items.iter().all(is_short);
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    let is_shouted = letters().count() >= LEAST_CAPITALS && letters().all(char::is_uppercase);
    repeats || is_list || is_shouted
}

/// Says which other server a text names for sure, unless it names its own as well.
fn other_server(text: &str, catalog: &Catalog, (names, own): (&Names, Option<usize>)) -> Option<Objection> {
    let named = names.named(&terms(text, MOST_TERMS));
    if own.is_some_and(|own| named.get(own).is_some_and(|sureness| *sureness >= 1.0)) {
        return None;
    }
    let at = named.iter().position(|sureness| *sureness >= 1.0)?;
    let server = catalog.servers().nth(at).map(|(server, _)| server.to_string());
    server.map(Objection::OtherServer)
}

/// Whether a text is the name of the tool in other letters, which counts anyhow.
fn is_name(text: &str, tool: &Tool) -> bool {
    sorted_terms(text) == sorted_terms(&tool.name)
}

fn sorted_terms(text: &str) -> Vec<String> {
    let mut terms = terms(text, MOST_TERMS);
    if terms.is_empty() {
        terms = vec![fold(text).to_lowercase()];
    }
    terms.sort_unstable();
    terms
}

fn left_out(text: &str, why: Objection) -> LeftOut {
    LeftOut { text: shortened(text), why }
}

fn shortened(text: &str) -> String {
    let text = clean(text);
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    if text.chars().count() > SHOWN_CHARS { short + "…" } else { short }
}
