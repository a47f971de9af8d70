//! Skills: what there is, and what is wrong with the others.

use owo_colors::OwoColorize;
use serde_json::{Value, json};
use toolyard_core::tool::clean;
use toolyard_hub::hub::Supply;
use toolyard_hub::live::{GatheredSkill, Snapshot};
use toolyard_hub::skills::prompt;

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout, count};
use crate::{learn, setup};

/// List skills: instructions with the tools they need
///
/// A skill is a file `skills/NAME.md` or `skills/NAME/SKILL.md` beside the configuration. Servers that were never
/// reached are started once, so that the tools of skills can be checked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  toolyard skills
  toolyard skills --prompt             what a model is told about when to activate what
  toolyard skills --json | jq -r '.skills[].name'

Exit code 1 when a skill has a mistake.
With --json: {\"skills\": [{\"name\", \"when\", \"tools\", \"file\"}], \"ofServers\": [{\"server\", \"uri\",
\"description\", \"withheld\"}], \"mistakes\": [text], \"prompt\"}")]
pub(crate) struct Skills {
    /// Print what a model is told about them
    #[arg(long)]
    prompt: bool,
}

pub(crate) async fn run(common: &Common, asked: &Skills) -> Result<(), Failure> {
    setup::with_hub(common, async |hub| {
        learn::learn_all(hub).await;
        let (snapshot, config) = (hub.snapshot(), hub.config());
        let supply = hub.supply(&snapshot, &[], &config.toolset).await;
        let mistakes: Vec<String> = hub.skill_mistakes(&supply).iter().map(ToString::to_string).collect();
        let told = prompt(&supply.skills, config.toolset.caps.max_skills);
        if common.json {
            let skill = |(name, skill): (&String, &toolyard_hub::config::Skill)| -> Value {
                let file = skill.place.as_ref().map(|place| &place.path);
                json!({ "name": name, "when": skill.when, "tools": skill.tools, "file": file })
            };
            let skills: Vec<Value> = supply.skills.iter().map(skill).collect();
            let of_servers: Vec<Value> = gathered(&snapshot)
                .map(|(server, it)| {
                    let (uri, description) = (&it.entry.uri, &it.entry.description);
                    json!({ "server": server, "uri": uri, "description": description, "withheld": it.waits })
                })
                .collect();
            let told = json!({
                "skills": skills, "ofServers": of_servers, "mistakes": mistakes, "prompt": told,
            });
            output::json(&told)?;
        } else if asked.prompt {
            output::text(&told)?;
        } else {
            output::text(&(words(&supply, &mistakes) + &of_servers(&snapshot)))?;
        }
        if mistakes.is_empty() { Ok(()) } else { Err(Failure::silent(1)) }
    })
    .await
}

/// Returns the skills of servers with their servers.
fn gathered(snapshot: &Snapshot) -> impl Iterator<Item = (&str, &GatheredSkill)> {
    snapshot.skills.iter().flat_map(|(server, skills)| skills.iter().map(|it| (&**server, it)))
}

/// Shows the skills that clients read over MCP and that are used by no conversation of the hub's own.
fn of_servers(snapshot: &Snapshot) -> String {
    let rows: Vec<Vec<Cell>> = gathered(snapshot)
        .map(|(server, it)| {
            let state = match it.waits {
                true => format!("withheld: `toolyard diff {server}`"),
                false => "served".to_owned(),
            };
            let cells = [server, &it.entry.uri, &it.entry.description, &state];
            cells.iter().map(|text| Cell::new(clean(text))).collect()
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let header = Layout { header: &["server", "skill", "when", "state"], ..Layout::default() };
    format!("\n\nSkills of servers, for clients that read them over MCP:\n{}", output::grid(header, rows))
}

fn words(supply: &Supply, mistakes: &[String]) -> String {
    let rows: Vec<Vec<Cell>> = supply
        .skills
        .iter()
        .map(|(name, skill)| {
            let tools = if skill.tools.is_empty() { "no tools".to_owned() } else { skill.tools.join(", ") };
            vec![Cell::new(clean(name)), Cell::new(clean(&skill.when)), Cell::new(clean(&tools))]
        })
        .collect();
    let mut text = match rows.is_empty() && mistakes.is_empty() {
        true => "There are no skills. A file `skills/NAME.md` beside the configuration is one.".to_owned(),
        false => output::grid(Layout { header: &["skill", "when", "tools"], ..Layout::default() }, rows),
    };
    if !mistakes.is_empty() {
        text += &format!("\n\n{}; what has one is not used:", count(mistakes.len(), "mistake").red());
        mistakes.iter().for_each(|mistake| text += &format!("\n{}", clean(mistake)));
    }
    text
}
