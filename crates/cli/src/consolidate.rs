//! Families of tools as few tools, shown before anybody switches that on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use owo_colors::OwoColorize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use toolyard_core::catalog::consolidate::{Consolidated, Consolidation, consolidate, lost, tokens};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::form::Form;
use toolyard_core::tool::{Effect, Tool};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::{learn, setup};

/// Show how families of tools become few: create_x, update_x and delete_x as manage_x
///
/// Nothing is changed. Every tool stays reachable, which is checked with made-up calls; reading, changing and
/// analysing stay apart; what removes something is still confirmed. `"consolidate": true` in a server's settings
/// switches it on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard consolidate --preview
  toolyard consolidate --preview github
  toolyard consolidate --preview --catalog listing.json
  toolyard consolidate --preview --json | jq .total

A catalog is what `tools/list` answered, a list of {\"server\", \"tools\"}, or lines of JSON with one tool each.
With --json: {\"servers\": [{\"server\", \"before\": {\"tools\", \"tokens\"}, \"after\", \"consolidated\": [{\"name\",
\"effect\", \"actions\": [{\"name\", \"tool\", \"effect\", \"usage\"}], \"before\", \"after\", \"definition\"}],
\"kept\"}], \"total\": {\"before\", \"after\"}, \"reachable\": {\"mapped\", \"of\", \"lost\"}}")]
pub(crate) struct Consolidate {
    /// Only show what would be; the command does nothing else
    #[arg(long)]
    preview: bool,
    /// Only these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Read the tools from a file and ask no server
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
}

/// What is taken from a file; it is read for showing alone.
const BOUNDS: Bounds = Bounds { tools: 100_000, name_chars: 256, description_chars: 100_000, nesting: 100 };
/// The first bytes of a compressed file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(crate) async fn run(common: &Common, asked: &Consolidate) -> Result<(), Failure> {
    if !asked.preview {
        return Err(Failure::usage(
            "say `--preview`: this command only shows what would become of the tools",
        )
        .hint("`\"consolidate\": true` in a server's settings switches it on"));
    }
    if let Some(path) = &asked.catalog {
        return show(common, &of_file(path, &asked.servers)?);
    }
    setup::with_hub(common, async |hub| {
        for name in &asked.servers {
            setup::server(hub, name)?;
        }
        match asked.servers.as_slice() {
            [only] => learn::learn(hub, Some(only)).await,
            _ => learn::learn(hub, None).await,
        }
        let snapshot = hub.snapshot();
        show(common, &previews(&snapshot.catalog, &asked.servers))
    })
    .await
}

/// What would become of one server.
struct Preview {
    server: String,
    tools: Vec<Tool>,
    made: Consolidation,
}

/// How much a client is shown.
#[derive(Clone, Copy, Default)]
struct Size {
    tools: usize,
    tokens: usize,
}

impl Size {
    fn to_json(self) -> Value {
        json!({ "tools": self.tools, "tokens": self.tokens })
    }

    fn plus(self, other: Self) -> Self {
        Self { tools: self.tools + other.tools, tokens: self.tokens + other.tokens }
    }
}

impl Preview {
    fn before(&self) -> Size {
        size(self.tools.iter())
    }

    fn after(&self) -> Size {
        let new = self.made.tools.iter().map(|tool| tokens(tool.definition())).sum();
        let kept = size(self.tools.iter().filter(|tool| self.made.kept.contains(&tool.name)));
        kept.plus(Size { tools: self.made.tools.len(), tokens: new })
    }

    /// Measures the original tools of a new one.
    fn replaced(&self, made: &Consolidated) -> Size {
        let is_part = |tool: &&Tool| made.actions().iter().any(|action| action.tool == tool.name);
        size(self.tools.iter().filter(is_part))
    }
}

fn size<'a>(tools: impl Iterator<Item = &'a Tool>) -> Size {
    tools.fold(Size::default(), |sum, tool| sum.plus(Size { tools: 1, tokens: tokens(&tool.definition) }))
}

fn previews(catalog: &Catalog, only: &[String]) -> Vec<Preview> {
    let servers =
        catalog.servers().filter(|(name, _)| only.is_empty() || only.iter().any(|it| **it == ***name));
    let preview = |(name, _): (&std::sync::Arc<str>, usize)| {
        let tools = catalog.of_server(name).to_vec();
        Preview { server: name.to_string(), made: consolidate(name, &tools, &[]), tools }
    };
    servers.map(preview).collect()
}

fn of_file(path: &Path, only: &[String]) -> Result<Vec<Preview>, Failure> {
    let shown = path.display();
    let bytes = fs::read(path).map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    if bytes.starts_with(&GZIP) {
        return Err(
            Failure::usage(format!("{shown} is compressed")).hint(format!("`gunzip -k {shown}` first"))
        );
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{shown} is no text")))?;
    let stem = path.file_stem().map_or_else(|| "catalog".to_owned(), |it| it.to_string_lossy().into_owned());
    let mut listings: BTreeMap<String, Vec<Box<RawValue>>> = BTreeMap::new();
    let documents: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
    let documents = documents.map_err(|error| Failure::usage(format!("{shown} is no JSON: {error}")))?;
    documents.into_iter().for_each(|document| gather(document, &stem, &mut listings));
    if listings.is_empty() {
        return Err(Failure::usage(format!("{shown} holds no tools"))
            .hint("expected what `tools/list` answers, or a list of {\"server\", \"tools\"}"));
    }
    if let Some(unknown) = only.iter().find(|name| !listings.contains_key(*name)) {
        let names: Vec<&str> = listings.keys().map(String::as_str).take(20).collect();
        return Err(Failure::usage(format!("{shown} has no server `{unknown}`"))
            .hint(format!("it has {}", names.join(", "))));
    }
    let advertised =
        listings.into_iter().map(|(server, tools)| (Advertised { server: server.into(), tools }, BOUNDS));
    let (catalog, problems) = Catalog::gather(advertised);
    for problem in problems.iter().filter(|it| it.severity == toolyard_core::catalog::Severity::Rejected) {
        anstream::eprintln!("{problem}");
    }
    Ok(previews(&catalog, only))
}

/// Takes tools from whatever holds them: a list, an answer, a server with its tools, or one tool that names its server.
fn gather(document: Value, server: &str, listings: &mut BTreeMap<String, Vec<Box<RawValue>>>) {
    match document {
        Value::Array(items) => items.into_iter().for_each(|item| gather(item, server, listings)),
        Value::Object(mut members) => {
            let named = members.get("server").and_then(Value::as_str).map(str::to_owned);
            let server = named.unwrap_or_else(|| server.to_owned());
            if let Some(inner) = members.remove("result").or_else(|| members.remove("tools")) {
                return gather(inner, &server, listings);
            }
            if let Some(schema) = members.remove("input_schema") {
                // What a registry says beside the tool is no part of a definition.
                members.remove("id");
                members.remove("source");
                members.insert("inputSchema".to_owned(), schema);
            }
            members.remove("server");
            if members.contains_key("name") {
                let definition = to_raw_value(&Value::Object(members)).expect("a value has a JSON form");
                listings.entry(server).or_default().push(definition);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn show(common: &Common, previews: &[Preview]) -> Result<(), Failure> {
    let total = |of: fn(&Preview) -> Size| previews.iter().map(of).fold(Size::default(), Size::plus);
    let (before, after) = (total(Preview::before), total(Preview::after));
    let lost: Vec<String> = previews
        .iter()
        .flat_map(|it| lost(&it.made, &it.tools).into_iter().map(|tool| tool.id.to_string()))
        .collect();
    if common.json {
        output::json(&json!({
            "servers": previews.iter().map(to_json).collect::<Vec<_>>(),
            "total": { "before": before.to_json(), "after": after.to_json() },
            "reachable": { "mapped": before.tools - lost.len(), "of": before.tools, "lost": lost },
        }))?;
    } else {
        let mut text: String = previews.iter().map(words).collect();
        text += &format!("{}  {}\n", "total".bold(), change(before, after));
        let mapped = before.tools - lost.len();
        text += &format!("every original tool stays reachable: {mapped} of {} mapped\n", before.tools);
        if !lost.is_empty() {
            text += &format!("{}: {}\n", "lost".red(), lost.join(", "));
        }
        if let Some(first) = previews.iter().find(|it| !it.made.tools.is_empty()) {
            let setting = json!({ "mcpServers": { first.server.as_str(): { "consolidate": true } } });
            text +=
                &format!("\nTo switch it on, add \"consolidate\": true to a server's settings: {setting}\n");
        }
        output::text(&text)?;
    }
    if lost.is_empty() { Ok(()) } else { Err(Failure::silent(1)) }
}

fn change(before: Size, after: Size) -> String {
    format!("{} -> {} tools, {} -> {} tokens", before.tools, after.tools, before.tokens, after.tokens)
}

fn words(preview: &Preview) -> String {
    let Preview { server, tools, made } = preview;
    if made.tools.is_empty() {
        return format!("{}  {}, no family\n\n", server.bold(), count(tools.len(), "tool"));
    }
    let mut text = format!("{}  {}\n", server.bold(), change(preview.before(), preview.after()));
    for problem in &made.problems {
        text += &format!("  {problem}\n");
    }
    for tool in &made.tools {
        let definition: Value = serde_json::from_str(tool.definition().get()).unwrap_or_default();
        let signature = Form::new((tool.name(), ""), definition["inputSchema"].clone()).signature(&[]);
        let before = preview.replaced(tool);
        let after = Size { tools: 1, tokens: tokens(tool.definition()) };
        text += &format!("\n  {}{signature}  {}\n", tool.name().bold(), change(before, after).dimmed());
        for action in tool.actions() {
            let mark = if action.effect == Effect::Destroy { "  [asks first]" } else { "" };
            text += &format!("    {}  <- {}{mark}\n", tool.usage(action), action.tool.dimmed());
        }
    }
    text + "\n"
}

fn to_json(preview: &Preview) -> Value {
    let tool = |made: &Consolidated| {
        let actions = made.actions().iter().map(|action| {
            json!({
                "name": action.name, "tool": action.tool, "effect": action.effect, "usage": made.usage(action),
            })
        });
        json!({
            "name": made.name(), "effect": made.effect(), "actions": actions.collect::<Vec<_>>(),
            "before": preview.replaced(made).to_json(),
            "after": Size { tools: 1, tokens: tokens(made.definition()) }.to_json(),
            "definition": made.definition(),
        })
    };
    json!({
        "server": preview.server, "before": preview.before().to_json(), "after": preview.after().to_json(),
        "consolidated": preview.made.tools.iter().map(tool).collect::<Vec<_>>(), "kept": preview.made.kept,
    })
}
