//! What a server offers, as it said it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use toolyard_packs::Pack;

use super::link::{Link, Peer, Wire};
use super::patience::TimeLimit;
use super::{Changes, Failure, mirror, skill};
use crate::caller::{Caller, Era};
use crate::config::Limits;
use crate::extensions::SKILLS;
use crate::jsonrpc::{ErrorObject, Fields, raw};

/// Everything that one server said about itself; remembered across restarts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listing {
    /// Which era it speaks.
    pub era: Era,
    /// The protocol version that was agreed on.
    pub version: String,
    /// Its capabilities.
    pub capabilities: Fields,
    /// Its `serverInfo`.
    pub info: Option<Box<RawValue>>,
    /// Its advice on how to use it.
    pub instructions: Option<String>,
    /// Tool definitions.
    pub tools: Vec<Box<RawValue>>,
    /// Resources.
    pub resources: Vec<Box<RawValue>>,
    /// Resource templates.
    pub templates: Vec<Box<RawValue>>,
    /// Prompts.
    pub prompts: Vec<Box<RawValue>>,
    /// Entries of skills, each of them sound.
    #[serde(default)]
    pub skills: Vec<Box<RawValue>>,
    /// What was wrong with it, for people.
    pub problems: Vec<String>,
    /// How long it stays fresh, when the server says.
    pub fresh_for: Option<Duration>,
}

impl Listing {
    /// Whether the server declared a capability.
    pub fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// Returns which lists differ from what was known before; `None` when nothing does.
    pub fn changes_since(&self, known: Option<&Self>) -> Option<Changes> {
        let Some(known) = known else { return Some(Changes::ALL) };
        let differ = |a: &[Box<RawValue>], b: &[Box<RawValue>]| {
            !a.iter().map(|x| x.get()).eq(b.iter().map(|x| x.get()))
        };
        let changes = Changes {
            tools: differ(&self.tools, &known.tools),
            prompts: differ(&self.prompts, &known.prompts),
            resources: differ(&self.resources, &known.resources)
                || differ(&self.templates, &known.templates)
                || differ(&self.skills, &known.skills),
        };
        let is_same = self.version == known.version
            && self.instructions == known.instructions
            && self.problems == known.problems
            && raw(&self.capabilities).get() == raw(&known.capabilities).get();
        let none = Changes { tools: false, prompts: false, resources: false };
        (changes != none || !is_same).then_some(changes)
    }
}

impl Listing {
    /// Returns what may have to be approved: tools, as many as are looked at, and after them skills.
    pub(crate) fn definitions(&self, most: usize) -> Cow<'_, [Box<RawValue>]> {
        let tools = &self.tools[..self.tools.len().min(most)];
        if self.skills.is_empty() {
            return Cow::Borrowed(tools);
        }
        let skills = self.skills.iter().filter_map(|entry| skill::SkillEntry::read(entry).ok());
        Cow::Owned(tools.iter().cloned().chain(skills.map(|skill| skill.definition())).collect())
    }
}

/// Asks the server for everything it offers. Only tools are essential.
pub(crate) async fn list(link: &Arc<Link>, limits: &Limits) -> Result<Listing, Failure> {
    let Peer { era, version, capabilities, info, instructions } =
        link.peer.get().expect("listing follows the handshake").clone();
    let can = |capability: &str| capabilities.get(capability).is_some();
    let mut listing = Listing {
        era,
        version,
        info,
        instructions: instructions.map(|text| shortened(text, limits.description_chars)),
        tools: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        prompts: Vec::new(),
        skills: Vec::new(),
        problems: Vec::new(),
        fresh_for: None,
        capabilities: Fields::default(),
    };
    if can("tools") {
        let pages = pages(link, limits, "tools/list", "tools").await?;
        listing.fresh_for = pages.fresh_for;
        listing.problems.extend(pages.problem);
        listing.tools = pages.items;
    }
    if can("resources") {
        for (method, key) in
            [("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")]
        {
            let items = optional(pages(link, limits, method, key).await, method, &mut listing.problems);
            *(if key == "resources" { &mut listing.resources } else { &mut listing.templates }) = items;
        }
    }
    if can("prompts") {
        let found = pages(link, limits, "prompts/list", "prompts").await;
        listing.prompts = optional(found, "prompts/list", &mut listing.problems);
    }
    if capabilities.object("extensions").get(SKILLS).is_some() {
        let found = pages(link, limits, "skills/list", "skills").await;
        let entries = optional(found, "skills/list", &mut listing.problems);
        listing.skills = skill::sound(entries, &mut listing.problems);
    }
    if let Wire::Http(http) = &link.wire
        && era == Era::Modern
    {
        http.set_mirrored(headers_of(&mut listing));
    }
    listing.capabilities = capabilities;
    Ok(listing)
}

fn optional(found: Result<Pages, Failure>, method: &str, problems: &mut Vec<String>) -> Vec<Box<RawValue>> {
    match found {
        Ok(pages) => {
            problems.extend(pages.problem);
            pages.items
        }
        // Servers that declare resources often answer only some of the methods.
        Err(Failure::Refused(error)) if error.code == ErrorObject::METHOD_NOT_FOUND => Vec::new(),
        Err(failure) => {
            problems.push(format!("`{method}` failed: {failure}"));
            Vec::new()
        }
    }
}

struct Pages {
    items: Vec<Box<RawValue>>,
    problem: Option<String>,
    fresh_for: Option<Duration>,
}

async fn pages(link: &Arc<Link>, limits: &Limits, method: &str, key: &str) -> Result<Pages, Failure> {
    let nobody = Arc::new(Caller::nobody());
    let mut found = Pages { items: Vec::new(), problem: None, fresh_for: None };
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..limits.pages {
        let mut params = Fields::default();
        if let Some(cursor) = &cursor {
            params.set("cursor", raw(cursor));
        }
        let result = link.request(method, params, &nobody, TimeLimit::fixed(limits.start)).await?;
        let senseless = |what: String| Failure::Senseless { server: Arc::clone(&link.server), what };
        let page: Fields = serde_json::from_str(result.get())
            .map_err(|_| senseless(format!("its answer to `{method}` is not an object")))?;
        let items = page
            .get(key)
            .and_then(|list| items(list, limits.tools.saturating_add(1)))
            .ok_or_else(|| senseless(format!("its answer to `{method}` has no list `{key}`")))?;
        found.items.extend(items);
        found.fresh_for = page.read("ttlMs").map(Duration::from_millis).filter(|ttl| !ttl.is_zero());
        cursor = page.text("nextCursor").filter(|next| !next.is_empty());
        match &cursor {
            None => return Ok(found),
            // One more than allowed is enough for the catalog to say that there are too many.
            Some(_) if found.items.len() > limits.tools => return Ok(found),
            Some(next) if !seen.insert(next.clone()) => {
                found.problem =
                    Some(format!("`{method}` repeats its cursor `{next}`; what came before it is kept"));
                return Ok(found);
            }
            Some(_) => {}
        }
    }
    found.problem = Some(format!(
        "`{method}` has more than {} pages; the rest is left out (`limits.pages`)",
        limits.pages
    ));
    Ok(found)
}

/// Reads the first items of a list. The rest is not kept: millions of small ones fit into one message.
fn items(list: &RawValue, most: usize) -> Option<Vec<Box<RawValue>>> {
    struct First(usize);
    impl<'de> Visitor<'de> for First {
        type Value = Vec<Box<RawValue>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while items.len() < self.0 {
                let Some(item) = list.next_element()? else { return Ok(items) };
                items.push(item);
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(items)
        }
    }
    serde_json::Deserializer::from_str(list.get()).deserialize_seq(First(most)).ok()
}

/// Takes out the tools whose header annotations no client could follow.
pub(crate) fn headers_of(listing: &mut Listing) -> HashMap<String, Vec<mirror::Mirrored>> {
    let mut headers = HashMap::new();
    let problems = &mut listing.problems;
    listing.tools.retain(|definition| {
        let Some((name, schema)) = mirror::input_schema(definition) else { return true };
        match mirror::mirrored(&schema) {
            Ok(mirrored) => {
                if !mirrored.is_empty() {
                    headers.insert(name, mirrored);
                }
                true
            }
            Err(why) => {
                problems.push(format!("tool `{name}` was rejected: {why}"));
                false
            }
        }
    });
    headers
}

fn shortened(mut text: String, chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
    text
}

/// Answers for a built-in server.
pub(crate) async fn builtin(
    pack: &Arc<Pack>,
    method: &str,
    params: &Fields,
) -> Result<Box<RawValue>, Failure> {
    match method {
        "tools/list" => Ok(raw(&json!({ "tools": pack.tools() }))),
        "tools/call" => {
            let (pack, name) = (Arc::clone(pack), params.text("name").unwrap_or_default());
            let arguments = params.read("arguments").unwrap_or_default();
            let missing = Failure::Refused(ErrorObject::invalid_params(format!("there is no tool `{name}`")));
            let called = tokio::task::spawn_blocking(move || pack.call(&name, &arguments)).await;
            called.ok().flatten().map(|result| raw(&result)).ok_or(missing)
        }
        _ => Err(Failure::Refused(ErrorObject::unknown_method(method))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_endless_list_only_the_beginning_is_kept() {
        let list = raw(&(0..100_000).collect::<Vec<u32>>());
        assert_eq!(items(&list, 3).unwrap().iter().map(|it| it.get()).collect::<Vec<_>>(), ["0", "1", "2"]);
        assert_eq!(items(&raw(&[1, 2]), 3).unwrap().len(), 2);
        assert!(items(&raw(&"no list"), 3).is_none());
    }
}
