//! Runs a tool.

pub(crate) mod arguments; // from words to what the tool's schema wants
mod content; //              from the answer to what a person sees
mod readable; //             data as a person reads it

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use toolyard_core::alias::Alias;
use toolyard_core::tool::{Tool, clean};
use toolyard_hub::caller::{Answer, Caller, Client};
use toolyard_hub::config::Stance;
use toolyard_hub::hub::{Deprecated, Hub, Migrated, migrate};
use toolyard_hub::jsonrpc::{Fields, raw};
use toolyard_hub::live::Snapshot;

use crate::common::Common;
use crate::failure::Failure;
use crate::learn::Waiting;
use crate::route::person::Person;
use crate::tools::Named;
use crate::{output, setup, tools};

pub(crate) use content::Save;
pub(crate) use readable::readable;

/// Run a tool and print what it answers
///
/// Arguments are written KEY=VALUE and take the type that the tool's schema names: `limit=5` is a number
/// where a number is wanted. A list is written as JSON or by repeating the key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard call time__current_time zone=Tokyo
  toolyard call notes__search_notes query=garden limit=3
  toolyard call notes__create_note title=Plan tags=home tags=garden content='Dig.'
  toolyard call notes__search_notes --args '{\"query\": \"garden\"}'
  echo '{\"zone\": \"UTC\"}' | toolyard call time__current_time -
  toolyard call camera__take_picture --save pictures

What cannot be taken back runs with --yes, or after a yes on a terminal; otherwise the exit code is 3.
A tool that answers with an error is exit code 1.
With --json: the tool's whole result: {\"content\", \"structuredContent\", \"isError\"}")]
pub(crate) struct Call {
    /// The tool as server__tool; its own name will do when only one server has it
    tool: String,
    /// Arguments as KEY=VALUE; a single - reads all of them from stdin as JSON
    #[arg(value_name = "KEY=VALUE", conflicts_with = "args")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    args: Option<String>,
    /// Write pictures, sounds and files that the tool answers with into this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Run also what cannot be taken back
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(common: &Common, asked: &Call) -> Result<(), Failure> {
    let whole = whole_arguments(asked)?;
    setup::with_hub(common, async |hub| {
        let Named { snapshot, tool, alias } = tools::find_named(hub, &asked.tool).await?;
        let (arguments, deprecated) = match (&alias, whole) {
            (None, Some(arguments)) => (arguments, None),
            (None, None) => (raw(&arguments::read(&tool, &asked.pairs)?), None),
            (Some(alias), whole) => {
                let migrated = migrated(asked, (&snapshot, &tool), alias, whole)?;
                (migrated.arguments, Some(migrated.deprecated))
            }
        };
        if let Some(Deprecated { name, usage }) = deprecated.as_ref().filter(|_| !common.json) {
            tools::note_old(name, usage);
        }
        if !asked.yes {
            confirm(common, hub, (&snapshot, &tool), &arguments)?;
        }
        let answer = ask(hub, &snapshot, &tool, arguments).await;
        let mut result = answer.map_err(|error| Failure::new(error.message))?;
        if let Some(deprecated) = deprecated {
            result = deprecated.noted(result);
        }
        show(common, asked.save.as_deref(), &tool, &result)
    })
    .await
}

/// Turns the arguments for an old name into those for the tool that is called instead.
fn migrated(
    asked: &Call,
    (snapshot, tool): (&Snapshot, &Tool),
    alias: &Alias,
    whole: Option<Box<RawValue>>,
) -> Result<Migrated, Failure> {
    let turned = |alias: &Alias, given: &RawValue| {
        migrate(snapshot, &asked.tool, alias, Some(given)).map_err(Failure::usage)
    };
    if let Some(whole) = whole {
        return turned(alias, &whole);
    }
    let key = |pair: &str| pair.split_once('=').map_or(pair, |(key, _)| key).to_owned();
    let given: Vec<String> = asked.pairs.iter().map(|pair| key(pair)).collect();
    for (old, new) in &alias.renamed {
        // Said twice, a list has more elements; said by two names, nobody knows what is meant.
        if given.contains(old) && given.contains(new) && !alias.renamed.contains_key(new) {
            return Err(Failure::usage(format!("`{old}` is an old name of `{new}`; give one of them")));
        }
    }
    let renamed = asked.pairs.iter().map(|pair| match pair.split_once('=') {
        Some((key, value)) => format!("{}={value}", alias.argument(key)),
        None => pair.clone(),
    });
    let read = arguments::given(tool, &renamed.collect::<Vec<_>>())?;
    let migrated = turned(&Alias { renamed: BTreeMap::new(), ..alias.clone() }, &raw(&read))?;
    let all = arguments::read_object(migrated.arguments.get())?;
    let missing: Vec<String> = arguments::missing(tool, &all).map(arguments::described).collect();
    match missing.is_empty() {
        true => Ok(migrated),
        false => Err(Failure::usage(format!("`{}` needs {}", tool.id, missing.join(", ")))
            .hint(format!("call {}", migrated.deprecated.usage))),
    }
}

/// Returns the arguments that were given as one object, if they were.
fn whole_arguments(asked: &Call) -> Result<Option<Box<RawValue>>, Failure> {
    let text = match (&asked.args, asked.pairs.as_slice()) {
        (Some(text), _) => text.clone(),
        (None, [dash]) if dash == "-" => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text)?;
            text
        }
        (None, _) => return Ok(None),
    };
    // Read once to be sure that it is an object; sent as it was written.
    arguments::read_object(&text)?;
    Ok(Some(RawValue::from_string(text).expect("it was read")))
}

/// Has a call confirmed where the configuration asks for that.
fn confirm(
    common: &Common,
    hub: &Hub,
    (snapshot, tool): (&Snapshot, &Tool),
    arguments: &RawValue,
) -> Result<(), Failure> {
    let ruling = hub.judge(snapshot, tool, Some(arguments), None);
    if ruling.stance != Stance::Ask {
        return Ok(());
    }
    let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let given = arguments::read_object(arguments.get()).unwrap_or_default();
    if is_there && !common.json && Person::here().agrees(tool, &given, true)? {
        return Ok(());
    }
    Err(Failure::open(format!("nothing was run: {}", ruling.reason(tool)))
        .hint("say the same again with --yes if it is meant"))
}

/// Calls the tool and shows its progress meanwhile.
pub(crate) async fn ask(hub: &Hub, snapshot: &Snapshot, tool: &Tool, arguments: Box<RawValue>) -> Answer {
    let client = Client {
        info: Some(raw(&json!({ "name": "toolyard-cli", "version": env!("CARGO_PKG_VERSION") }))),
        capabilities: Fields::default(),
        principal: "cli".into(),
        log_level: None,
    };
    let (lines, mut said) = mpsc::channel(64);
    let caller = Arc::new(Caller::session(&client, lines, Arc::default()));
    let mut params = Fields::default();
    params.set("arguments", arguments);
    params.set("_meta", raw(&json!({ "progressToken": 1 })));
    let waiting = Waiting::begin(format!("calling {}", tool.id));
    let mut call = std::pin::pin!(hub.call_confirmed(snapshot, tool, params, &caller));
    loop {
        tokio::select! {
            answer = &mut call => return answer,
            Some(line) = said.recv() => {
                if let Some(progress) = progress(&line) {
                    waiting.say(&format!("{}: {progress}", tool.id));
                }
            }
        }
    }
}

/// Reads a progress notification.
fn progress(line: &str) -> Option<String> {
    let said: Value = serde_json::from_str(line).ok()?;
    if said["method"] != "notifications/progress" {
        return None;
    }
    let params = &said["params"];
    let total = params["total"].as_f64().map(|total| format!(" of {total}")).unwrap_or_default();
    let message = params["message"].as_str().map(|message| format!(" {message}")).unwrap_or_default();
    Some(format!("{}{total}{message}", params["progress"].as_f64()?))
}

/// Returns what a tool answered, in words; what is no text is saved in a folder. They are not clean yet.
pub(crate) fn words(tool: &str, result: &RawValue, save: Save<'_>) -> Result<String, Failure> {
    let fields = Fields::parse(Some(result)).unwrap_or_default();
    Ok(content::show(tool, &fields, save)?.text)
}

/// Writes a call as it would be typed.
pub(crate) fn typed(tool: &str, arguments: &Map<String, Value>) -> String {
    let given = arguments.iter().map(|(key, value)| {
        let plain = value.as_str().filter(|text| !text.contains(|c: char| c.is_whitespace() || c == '"'));
        format!(" {key}={}", plain.map_or_else(|| value.to_string(), str::to_owned))
    });
    clean(&format!("{tool}{}", given.collect::<String>())).into_owned()
}

/// Shows what a tool answered, as it came with `--json`; what is no text is saved in a folder.
pub(crate) fn show(
    common: &Common,
    save: Option<&Path>,
    tool: &Tool,
    result: &RawValue,
) -> Result<(), Failure> {
    let fields = Fields::parse(Some(result)).unwrap_or_default();
    let failed = fields.read::<bool>("isError").unwrap_or_default();
    let shown = content::show(tool.id.as_str(), &fields, Save::asked(save))?;
    if common.json {
        for saved in shown.saved {
            anstream::eprintln!("saved {}", saved.display());
        }
        output::raw_json(result.get())?;
        return if failed { Err(Failure::silent(1)) } else { Ok(()) };
    }
    let text = clean(shown.text.trim_end());
    match (failed, text.is_empty()) {
        (true, true) => Err(Failure::new(format!("`{}` failed and did not say why", tool.id))),
        (true, false) => Err(Failure::new(text)),
        (false, true) => {
            anstream::eprintln!("(`{}` answered with nothing)", tool.id);
            Ok(())
        }
        (false, false) => Ok(output::text(&text)?),
    }
}
