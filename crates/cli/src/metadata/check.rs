//! What is wrong with files of metadata.

use std::path::{Path, PathBuf};

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::metadata::{Error, Sidecar};
use toolyard_core::thresholds::thresholds;
use toolyard_core::tool::clean;
use toolyard_hub::hub::Hub;
use toolyard_hub::jsonrpc::Fields;
use toolyard_hub::live::Snapshot;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, count};
use crate::setup::Source;
use crate::{learn, setup};

/// Say what is wrong with files of metadata
///
/// Checks the form, what can have no effect, and whether the servers really have these tools. Servers that were
/// never reached are started once to learn their tools.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard metadata check
  toolyard metadata check drafts/git.json
  toolyard metadata check --json | jq '.files[] | select(.ok | not)'

Exit code 1 when something is wrong.
With --json: {\"ok\", \"files\": [{\"file\", \"ok\", \"server\", \"tools\", \"findings\": [{\"level\": \"bad\" |
\"note\", \"line\", \"column\", \"message\"}]}]}")]
pub(crate) struct Check {
    /// Files, or folders of files; by default those that the configuration names
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What was found in one file.
struct Checked {
    path: PathBuf,
    sidecar: Option<Sidecar>,
    findings: Vec<Remark>,
}

/// One thing that was noticed.
struct Remark {
    is_bad: bool,
    /// Line and column, where they are known.
    place: Option<(usize, usize)>,
    message: String,
}

impl Remark {
    fn bad(message: impl Into<String>) -> Self {
        Self { is_bad: true, place: None, message: message.into() }
    }

    fn note(message: impl Into<String>) -> Self {
        Self { is_bad: false, ..Self::bad(message) }
    }
}

pub(super) async fn run(common: &Common, asked: &Check) -> Result<(), Failure> {
    let source = Source::find(common)?;
    let config = source.load()?;
    let paths = if asked.files.is_empty() { &config.metadata } else { &asked.files };
    let mut checked = Vec::new();
    for path in paths {
        checked.extend(files(path)?.into_iter().map(|path| read(&path)));
    }
    if checked.is_empty() {
        return nothing(common, paths);
    }
    setup::with_config(config, async |hub| {
        for server in checked.iter().filter_map(|it| Some(it.sidecar.as_ref()?.server.clone())) {
            learn::learn(hub, Some(&server)).await;
        }
        let snapshot = hub.snapshot();
        for it in &mut checked {
            if let Some(sidecar) = &it.sidecar {
                it.findings.extend(compare(hub, &snapshot, sidecar));
            }
        }
        Ok(())
    })
    .await?;
    show(common, &checked)
}

fn nothing(common: &Common, paths: &[PathBuf]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::json(&json!({ "ok": true, "files": [] }))?);
    }
    let place = match paths {
        [] => "there is no folder `metadata` beside the configuration".to_owned(),
        some => format!("{} holds no .json file", some[0].display()),
    };
    Ok(output::text(&format!(
        "Nothing to check: {place}. `toolyard metadata export` writes files to begin with."
    ))?)
}

/// Returns a file, or the `.json` files of a folder in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path)
        .map_err(|err| Failure::usage(format!("`{}` cannot be read: {err}", path.display())))?;
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end == "json") && file.is_file();
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_json).collect();
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Checked {
    let path = path.to_owned();
    let text = match toolyard_hub::config::read_text(&path) {
        Ok(text) => text,
        Err(err) => {
            let findings = vec![Remark::bad(format!("it cannot be read: {err}"))];
            return Checked { path, sidecar: None, findings };
        }
    };
    match Sidecar::parse(text.trim_start_matches('\u{feff}')) {
        Ok(sidecar) => {
            let findings = sidecar.problems().into_iter().map(Remark::bad).collect();
            Checked { path, sidecar: Some(sidecar), findings }
        }
        Err(error) => Checked { path, sidecar: None, findings: vec![broken(&error)] },
    }
}

fn broken(error: &Error) -> Remark {
    let message = error.to_string();
    match error {
        Error::Form(form) => {
            // The place is told apart from the message.
            let end = message.rfind(" at line ").unwrap_or(message.len());
            let place = Some((form.line(), form.column())).filter(|(line, _)| *line > 0);
            Remark { is_bad: true, place, message: message[..end].to_owned() }
        }
        Error::Versions(_) => Remark::bad(message),
    }
}

/// Compares a file with the servers that are there.
fn compare(hub: &Hub, snapshot: &Snapshot, sidecar: &Sidecar) -> Vec<Remark> {
    let server = &sidecar.server;
    let config = hub.config();
    if let Some(off) = config.off.get(server) {
        let why = off.sentence(server);
        return vec![Remark::note(format!("its tools were not compared: {why}"))];
    }
    if !config.servers.contains_key(server) {
        let message = format!("there is no server `{server}` in the configuration");
        return vec![match nearest(server, config.servers.keys().map(String::as_str)) {
            Some(near) => Remark::bad(format!("{message}; did you mean `{near}`?")),
            None => Remark::note(format!("{message}, so its tools were not compared")),
        }];
    }
    let Some(listing) = snapshot.listings.get(server.as_str()) else {
        return vec![Remark::note(format!(
            "server `{server}` cannot be reached, so its tools were not compared; `toolyard doctor {server}` tells more"
        ))];
    };
    let mut found = Vec::new();
    let version = Fields::parse(listing.info.as_deref()).ok().and_then(|info| info.text("version"));
    if !sidecar.holds_for(version.as_deref()) {
        let (versions, version) =
            (sidecar.versions.as_deref().unwrap_or_default(), version.unwrap_or_default());
        found.push(Remark::note(format!(
            "it holds for `{versions}` and `{server}` is version {version}, so it is not used now"
        )));
    }
    let tools = snapshot.catalog.of_server(server);
    for name in sidecar.tools.keys().filter(|name| !tools.iter().any(|tool| tool.name == **name)) {
        let near = nearest(name, tools.iter().map(|tool| tool.name.as_str()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        found.push(Remark::bad(format!("tools.{name}: `{server}` has no such tool{near}")));
    }
    for tool in tools {
        let written = sidecar.tools.get(&tool.name).and_then(|note| note.example_call.as_ref());
        let Some((call, at)) = written.zip(snapshot.catalog.position(tool.id.as_str())) else { continue };
        let form = snapshot.catalog.form(at);
        if form.is_judged() && !form.admits(call) {
            let message = "does not fit the schema of the tool, so another is made";
            found.push(Remark::bad(format!("tools.{}.exampleCall: {message}", tool.name)));
        }
    }
    found
}

fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.map(|known| (strsim::jaro_winkler(name, known), known));
    alike
        .filter(|(likeness, _)| *likeness > thresholds().spelling.setting)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

fn show(common: &Common, checked: &[Checked]) -> Result<(), Failure> {
    let is_ok = |it: &Checked| it.findings.iter().all(|finding| !finding.is_bad);
    let good = checked.iter().filter(|it| is_ok(it)).count();
    if common.json {
        let file = |it: &Checked| {
            json!({
                "file": it.path,
                "ok": is_ok(it),
                "server": it.sidecar.as_ref().map(|sidecar| &sidecar.server),
                "tools": it.sidecar.as_ref().map(|sidecar| sidecar.tools.len()),
                "findings": it.findings.iter().map(remark_json).collect::<Vec<_>>(),
            })
        };
        let files: Vec<Value> = checked.iter().map(file).collect();
        output::json(&json!({ "ok": good == checked.len(), "files": files }))?;
    } else {
        let blocks: Vec<String> = checked.iter().map(block).collect();
        let summary = format!("{good} of {} in order", count(checked.len(), "file"));
        output::text(&format!("{}{summary}", blocks.concat()))?;
    }
    if good == checked.len() { Ok(()) } else { Err(Failure::silent(1)) }
}

fn block(checked: &Checked) -> String {
    let mut text = format!("{}\n", clean(&checked.path.display().to_string()).bold());
    if let (Some(sidecar), true) = (&checked.sidecar, checked.findings.is_empty()) {
        let tools = count(sidecar.tools.len(), "tool");
        text += &format!("  {}  {tools} of `{}`\n", "ok".green(), clean(&sidecar.server));
    }
    for Remark { is_bad, place, message } in &checked.findings {
        let mark = if *is_bad { "bad".red().bold().to_string() } else { "note".yellow().to_string() };
        let place = place.map(|(line, column)| format!("{line}:{column}: ")).unwrap_or_default();
        text += &format!("  {mark}  {place}{}\n", clean(message));
    }
    text
}

fn remark_json(remark: &Remark) -> Value {
    let (line, column) = remark.place.unzip();
    let level = if remark.is_bad { "bad" } else { "note" };
    json!({ "level": level, "line": line, "column": column, "message": remark.message })
}
