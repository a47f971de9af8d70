//! What may be typed. Each command's own words stand beside what it does.

use clap::{Parser, Subcommand};

use crate::common::Common;
use crate::{
    add, approve, audit, audit_names, call, chat, client, completions, connect, consolidate, dashboard,
    describe, diff, doctor, domains, enrich, eval, feedback, find, import, learnt, lint, list, login, logs,
    man, metadata, packs, proxy, recorded, remove, replay, route, routes, run, runs, serve, skills, status,
    tiers, toolset,
};

/// One plug for every tool: connects to all your MCP servers and serves them as one.
#[derive(Debug, Parser)]
#[command(
    name = "toolyard",
    version,
    after_help = "Examples:
  toolyard list                                      every tool of every server
  toolyard find \"what time is it\"                    the tools that fit these words
  toolyard route \"what time is it in Tokyo\"          the tool that is meant, run at once
  toolyard call time__current_time zone=Tokyo        run one
  toolyard serve                                     serve them all to an MCP client
  toolyard chat --model ollama:qwen3:0.6b            talk to a model that has them

Without a configuration the built-in servers `time` and `notes` are there.
Exit codes: 0 it worked, 1 it did not, 2 it was asked wrongly or the configuration has a mistake,
3 a question is open."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Say more on stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    Route(route::Route),
    List(list::List),
    Find(find::Find),
    Describe(describe::Describe),
    Call(call::Call),
    Chat(chat::Chat),
    ProxyLlm(proxy::ProxyLlm),
    Run(run::RunWorkflow),
    Runs(runs::Runs),
    Toolset(toolset::Toolset),
    Skills(skills::Skills),
    Tiers(tiers::Tiers),
    Domains(domains::Domains),
    Consolidate(consolidate::Consolidate),
    Packs(packs::Packs),
    Add(add::Add),
    Remove(remove::Remove),
    Import(import::Import),
    Connect(connect::Connect),
    Client(client::ManageClients),
    Login(login::Login),
    Logs(logs::Logs),
    Dashboard(dashboard::ShowDashboard),
    Routes(routes::Routes),
    Feedback(feedback::GiveFeedback),
    Learnt(learnt::Learnt),
    Replay(replay::Replay),
    Audit(audit::Audit),
    AuditNames(audit_names::AuditNames),
    Status(status::Show),
    Doctor(doctor::Doctor),
    Diff(diff::Diff),
    Approve(approve::Approve),
    Metadata(metadata::Metadata),
    Enrich(enrich::Enrich),
    Lint(lint::Lint),
    Eval(eval::Eval),
    Completions(completions::Completions),
    Man(man::Man),
    #[command(hide = true)]
    Recorded(recorded::Recorded),
}
