//! What is wrong, and what helps.

mod check; // one server
mod find_command; // a program on PATH
mod system; // what the machine offers

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolyard_core::tool::clean;
use toolyard_hub::chat;
use toolyard_hub::config::{Config, Mistake};
use toolyard_hub::enrich::{self, EnrichSelection};
use toolyard_hub::hub::{Hub, alike};
use toolyard_hub::store::MeaningStatus;

use crate::common::Common;
use crate::failure::{Failure, mistake_json};
use crate::learn::Waiting;
use crate::output::{self, count};
use crate::setup::{self, Source};

/// Check the configuration and start every server, and say what helps
///
/// Checks the file, the commands on PATH, and whether each server starts, how fast it answers, what is wrong
/// with its tools and whether it needs a login. All servers are checked at the same time. Language models that the
/// settings name are asked whether they answer. Says whether things can be kept, and what `sandbox` can enforce here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard doctor
  toolyard doctor git
  toolyard doctor --json | jq '.servers[] | select(.ok | not)'

Exit code 1 when something is wrong.
With --json: {\"ok\", \"config\": {\"file\", \"ok\", \"mistakes\", \"findings\"}, \"servers\": [{\"name\",
\"ok\", \"tools\", \"startMs\", \"listMs\", \"findings\": [{\"level\": \"good\" | \"note\" | \"bad\",
\"message\", \"fix\"}]}], \"system\": [findings], \"meaning\": [findings], \"models\": [findings]}")]
pub(crate) struct Doctor {
    /// Only this server
    server: Option<String>,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    level: Level,
    message: String,
    fix: Option<String>,
}

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// In order.
    Good,
    /// Worth knowing; things work.
    Note,
    /// Something does not work.
    Bad,
}

impl Finding {
    fn good(message: impl Into<String>) -> Self {
        Self { level: Level::Good, message: message.into(), fix: None }
    }

    fn note(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Note, message: message.into(), fix: Some(fix.into()) }
    }

    fn bad(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Bad, message: message.into(), fix: Some(fix.into()) }
    }
}

pub(crate) async fn run(common: &Common, asked: &Doctor) -> Result<(), Failure> {
    let source = Source::find(common)?;
    let config = match source.load() {
        Ok(config) => config,
        Err(failure) if failure.mistakes().is_empty() => return Err(failure),
        Err(failure) => return mistaken(common, &source, &failure),
    };
    if let Some(name) = &asked.server
        && !config.servers.contains_key(name)
        && !config.off.contains_key(name)
    {
        return Err(setup::no_server(&config, name));
    }
    let mut about_file = file(&source, &config);
    let about_system = if asked.server.is_none() { system::findings(&config) } else { Vec::new() };
    for (title, findings) in [("configuration", &about_file), ("system", &about_system)] {
        if !findings.is_empty() && !common.json {
            output::text(&block(title, findings))?;
        }
    }
    let is_asked = |name: &str| asked.server.as_ref().is_none_or(|only| name == *only);
    let off = config.off.iter().filter(|(name, _)| is_asked(name)).map(|(name, off)| check::off(name, off));
    let off: Vec<check::Checked> = off.collect();
    let (checked, about_meaning, about_models, found) = setup::with_config(config, async |hub| {
        let mut checks = JoinSet::new();
        for upstream in hub.upstreams() {
            if is_asked(&upstream.name) {
                checks.spawn(check::check(Arc::clone(hub), upstream));
            }
        }
        let waiting = Waiting::begin(format!("checking {}", count(checks.len(), "server")));
        let mut checked = Vec::new();
        for done in off {
            if !common.json {
                waiting.suspend(|| output::text(&block(&done.name, &done.findings)))?;
            }
            checked.push(done);
        }
        while let Some(done) = checks.join_next().await {
            let done = done.map_err(|err| Failure::new(err.to_string()))?;
            if !common.json {
                // Each is told as soon as it is done: the slowest keeps nobody waiting.
                waiting.suspend(|| output::text(&block(&done.name, &done.findings)))?;
            }
            checked.push(done);
        }
        let mut about_meaning = Vec::new();
        if asked.server.is_none() && !checked.is_empty() {
            waiting.say("reading what tools mean");
            hub.understand(&hub.snapshot(), UNDERSTANDING).await;
            about_meaning.push(meaning(&hub.config(), &hub.meaning_progress()));
            if !common.json {
                waiting.suspend(|| output::text(&block("meaning", &about_meaning)))?;
            }
        }
        screen(hub, asked, common, &waiting, &mut checked).await?;
        let mut about_models = Vec::new();
        if asked.server.is_none() {
            about_models = models(hub, &waiting).await;
        }
        if !about_models.is_empty() && !common.json {
            waiting.suspend(|| output::text(&block("language models", &about_models)))?;
        }
        Ok((checked, about_meaning, about_models, settings(hub, common, &waiting).await?))
    })
    .await?;
    about_file.extend(found);
    conclude(common, &source, [&about_file, &about_system, &about_meaning, &about_models], checked)
}

/// Says what is wrong with settings that only tools can show to be wrong.
async fn settings(hub: &Hub, common: &Common, waiting: &Waiting) -> Result<Vec<Finding>, Failure> {
    let found = [
        ("skills", skills(hub).await),
        ("old names", old_names(hub)),
        ("approvals", approvals(hub)),
        ("phrasings", drafts(hub)),
        ("schedules", schedules(hub).await),
        ("ranker", ranker(hub).await),
    ];
    for (title, findings) in &found {
        if !findings.is_empty() && !common.json {
            waiting.suspend(|| output::text(&block(title, findings)))?;
        }
    }
    Ok(found.into_iter().flat_map(|(_, findings)| findings).collect())
}

/// Says what is wrong with the settings, and with what they name.
fn file(source: &Source, config: &Config) -> Vec<Finding> {
    let mut about_file = vec![match &source.path {
        Some(path) => Finding::good(format!("{} has no mistakes", path.display())),
        None => Finding::good("there is no file; the built-in servers are used"),
    }];
    for problem in toolyard_hub::sidecars::read(&config.metadata).1 {
        about_file.push(Finding::bad(problem, "correct the file, or delete it"));
    }
    if config.servers.is_empty() && config.off.is_empty() {
        about_file.push(Finding::note("no server is configured", "add one with `toolyard add`"));
    }
    about_file
}

fn conclude(
    common: &Common,
    source: &Source,
    [about_file, about_system, about_meaning, about_models]: [&[Finding]; 4],
    mut checked: Vec<check::Checked>,
) -> Result<(), Failure> {
    checked.sort_by(|a, b| a.name.cmp(&b.name));
    let file_ok = is_ok(about_file);
    let working = checked.iter().filter(|server| is_ok(&server.findings)).count();
    let ok = file_ok && is_ok(about_system) && working == checked.len();
    if common.json {
        output::json(&json!({
            "ok": ok,
            "config": { "file": source.path, "ok": file_ok, "mistakes": [], "findings": findings_json(about_file) },
            "system": findings_json(about_system),
            "meaning": findings_json(about_meaning),
            "models": findings_json(about_models),
            "servers": checked.iter().map(|server| json!({
                "name": server.name,
                "ok": is_ok(&server.findings),
                "tools": server.tools,
                "startMs": server.start_ms,
                "listMs": server.list_ms,
                "findings": findings_json(&server.findings),
            })).collect::<Vec<_>>(),
        }))?;
    } else {
        output::text(&format!("{working} of {} in order", count(checked.len(), "server")))?;
    }
    if ok { Ok(()) } else { Err(Failure::silent(1)) }
}

/// Says what is wrong with skills and core tools, as far as the tools of servers are known.
async fn skills(hub: &Hub) -> Vec<Finding> {
    let supply = hub.supply(&hub.snapshot(), &[], &hub.config().toolset).await;
    let bad = |mistake: &Mistake| {
        let what = Mistake { hint: None, ..mistake.clone() }.to_string();
        let fix = mistake.hint.clone().unwrap_or_else(|| "correct it, or delete it".to_owned());
        Finding::bad(what, fix)
    };
    hub.skill_mistakes(&supply).iter().map(bad).collect()
}

/// Tells which tools look like attacks, beside what was found out about their servers.
async fn screen(
    hub: &Arc<Hub>,
    asked: &Doctor,
    common: &Common,
    waiting: &Waiting,
    checked: &mut [check::Checked],
) -> Result<(), Failure> {
    if checked.is_empty() {
        return Ok(());
    }
    waiting.say("screening the texts of tools");
    for (server, suspects) in suspects(hub, asked.server.as_deref()).await {
        if !common.json {
            waiting.suspend(|| output::text(&block(&format!("screening of {server}"), &suspects)))?;
        }
        let checked = checked.iter_mut().find(|it| it.name == server);
        checked.into_iter().for_each(|it| it.findings.extend(suspects.iter().cloned()));
    }
    Ok(())
}

/// Says which tools of which server look like attacks. Every sentence is read for that, because somebody wants to know.
async fn suspects(hub: &Arc<Hub>, server: Option<&str>) -> BTreeMap<String, Vec<Finding>> {
    hub.screen_all().await;
    let mut found: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    let mut suspects = hub.suspects(&hub.snapshot());
    suspects.retain(|it| server.is_none_or(|only| *it.server == *only));
    for suspects in alike(&suspects) {
        let fix = format!(
            "read it with `toolyard describe {}`, and remove the server if you do not trust it",
            suspects.first.tool
        );
        let note = Finding::note(suspects.sentence(), fix);
        found.entry(suspects.first.server.to_string()).or_default().push(note);
    }
    found
}

/// Says that it is not known what was approved, where that is so.
fn approvals(hub: &Hub) -> Vec<Finding> {
    let fix = "`toolyard diff` shows every tool that waits, `toolyard approve --all` accepts them";
    hub.lost_approvals().map(|it| Finding::note(it.what, fix)).into_iter().collect()
}

/// Says which workflows cannot run at their times.
async fn schedules(hub: &Hub) -> Vec<Finding> {
    let problems = hub.schedule_problems().await.into_iter();
    let bad = |(name, why)| {
        Finding::bad(
            format!("`{name}` cannot run: {why}"),
            format!("correct it under `schedules.{name}`; `toolyard run` lists the workflows"),
        )
    };
    problems.map(bad).collect()
}

/// Says whether the ranker of the settings answers as it should.
async fn ranker(hub: &Hub) -> Vec<Finding> {
    let found = hub.probe_ranker().await.map(|answer| match answer {
        Ok(()) => Finding::good("the tool of `routing.ranker` answers"),
        Err(why) => Finding::note(
            format!("the tool of `routing.ranker` has no say: {why}"),
            "correct `routing.ranker`, or raise its `timeoutMs`",
        ),
    });
    found.into_iter().collect()
}

/// Says about which servers a model wrote what nobody has seen yet.
fn drafts(hub: &Hub) -> Vec<Finding> {
    let config = hub.config();
    let Some(folder) = &config.enrich.folder else { return Vec::new() };
    let selection = EnrichSelection::default();
    let Ok(survey) = enrich::survey(&hub.snapshot(), &config, folder, &selection) else { return Vec::new() };
    let of_server = |(server, drafts): (&Arc<str>, &BTreeMap<String, _>)| {
        let tools = count(drafts.len(), "tool");
        Finding::note(
            format!("a model wrote what people say for {tools}; it does not count yet"),
            format!("read it with `toolyard enrich {server}`, and say yes or no"),
        )
    };
    survey.drafts.iter().map(of_server).collect()
}

/// Says which old names of tools lead nowhere, as far as the tools of servers are known.
fn old_names(hub: &Hub) -> Vec<Finding> {
    let bad = |what| Finding::bad(what, "correct it under `aliases`, or delete it");
    hub.alias_problems().into_iter().map(bad).collect()
}

/// Says whether the language models of the settings answer. Everything works without them.
async fn models(hub: &Hub, waiting: &Waiting) -> Vec<Finding> {
    let config = hub.config();
    let named = [("routing.arguments", &config.routing.adviser), ("toolset", &config.toolset.chooser)];
    let mut findings = Vec::new();
    for (setting, model) in named.into_iter().filter_map(|(setting, model)| Some((setting, model.as_ref()?)))
    {
        let name = &model.name;
        waiting.say(&format!("asking `{name}`"));
        findings.push(match hub.probe(model).await {
            Ok(()) => Finding::good(format!("`{name}` of `{setting}.model` answers")),
            Err(err @ chat::Error::Late { .. }) => Finding::note(
                format!("{err}; meanwhile words decide alone"),
                format!("raise `{setting}.timeoutMs`, or see whether its service is busy"),
            ),
            Err(err @ chat::Error::Useless { .. }) => Finding::note(
                format!("{err}; meanwhile words decide alone"),
                format!(
                    "see whether its service runs and has the model, or correct `model` and `apiKey` in `{setting}`"
                ),
            ),
        });
    }
    findings
}

/// How long understanding tools is waited for; what is missing then is computed later.
const UNDERSTANDING: Duration = Duration::from_secs(3);

/// Says what compares meanings, and how far it is.
fn meaning(config: &Config, status: &MeaningStatus) -> Finding {
    let MeaningStatus { model, known, all, trouble } = status;
    match (model, trouble) {
        (Some(model), Some(trouble)) => Finding::note(
            format!("`{model}` compares meanings, because {trouble}"),
            "correct `routing.semanticSearch.model`, or delete it",
        ),
        (Some(model), None) if known < all => {
            Finding::good(format!("`{model}` compares meanings; it has read {known} of {all} texts so far"))
        }
        (Some(model), None) => Finding::good(format!("`{model}` compares meanings")),
        (None, _) if config.routing.semantic_search.enabled => Finding::note(
            "nothing compares meanings: this build has no model inside",
            "build with `models/encoder.tyenc`, or set `routing.semanticSearch.model`",
        ),
        (None, _) => Finding::good("meanings are not compared: `routing.semanticSearch.enabled` is false"),
    }
}

/// Tells the mistakes of a file; no server can be checked with it.
fn mistaken(common: &Common, source: &Source, failure: &Failure) -> Result<(), Failure> {
    let mistakes = failure.mistakes();
    if common.json {
        let mistakes: Vec<Value> = mistakes.iter().map(mistake_json).collect();
        output::json(&json!({
            "ok": false,
            "config": { "file": source.path, "ok": false, "mistakes": mistakes, "findings": [] },
            "servers": [],
        }))?;
    } else {
        let findings: Vec<Finding> = mistakes
            .iter()
            .map(|mistake| {
                let place = match mistake.line {
                    0 => mistake.path.display().to_string(),
                    line => format!("{}:{line}:{}", mistake.path.display(), mistake.column),
                };
                Finding {
                    level: Level::Bad,
                    message: format!("{place}: {}", mistake.message),
                    fix: mistake.hint.clone(),
                }
            })
            .collect();
        output::text(&block("configuration", &findings))?;
        output::text("No server was checked: first the file must be right.")?;
    }
    Err(Failure::silent(1))
}

fn is_ok(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.level != Level::Bad)
}

fn block(title: &str, findings: &[Finding]) -> String {
    let mut text = format!("{}\n", clean(title).bold());
    for Finding { level, message, fix } in findings {
        let mark = match level {
            Level::Good => "ok".green().to_string(),
            Level::Note => "note".yellow().to_string(),
            Level::Bad => "bad".red().bold().to_string(),
        };
        text += &format!("  {mark}  {}\n", clean(message).replace('\n', "\n      "));
        if let Some(fix) = fix {
            text += &format!("      {} {}\n", "fix:".bold(), clean(fix));
        }
    }
    text
}

fn findings_json(findings: &[Finding]) -> Vec<Value> {
    let one = |Finding { level, message, fix }: &Finding| {
        let level = match level {
            Level::Good => "good",
            Level::Note => "note",
            Level::Bad => "bad",
        };
        json!({ "level": level, "message": message, "fix": fix })
    };
    findings.iter().map(one).collect()
}
