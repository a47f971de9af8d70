//! What the screening notices of attacks, and how often honest tools give a false alarm.

use std::path::{Path, PathBuf};

use toolyard_eval::attacks::{self, AttackScores, FamilyScore, MOST_BENIGN, Specimen, Split};
use toolyard_eval::{MeaningModel, Progress};
use toolyard_hub::config::Folders;

use super::Bar;
use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Cell, Layout};
use crate::setup;

/// Where public sets of attacks and the tools of registries lie beside a checkout.
const USUAL: &str = "../shared/attacks";
const REGISTRY: &str = "../shared/catalogs/mcp_registries.jsonl.gz";

/// Measures the screening on our own attacks and those of a folder or file.
pub(super) fn run(
    common: &Common,
    given: Option<&Path>,
    benign: Option<&Path>,
    model: &str,
) -> Result<(), Failure> {
    let mut all = attacks::own();
    for path in sets(given)? {
        all.extend(attacks::read(&path)?);
    }
    let registry = benign.map_or_else(|| PathBuf::from(REGISTRY), Path::to_owned);
    let honest: Vec<Specimen> = match benign.is_some() || registry.is_file() {
        true => attacks::benign(&registry, Split::Measure, MOST_BENIGN)?,
        false => Vec::new(),
    };
    let vectors = Folders::of_user(&setup::env).map(|folders| folders.data.join("eval")).unwrap_or_default();
    let model = MeaningModel::named(model, &vectors)?;
    let bar = Bar::new();
    let begin = |part: &str, steps: usize| bar.begin(part, steps);
    let progress = Progress { begin: &begin, advance: &|steps| bar.0.inc(steps as u64) };
    let scores = attacks::measure(&model, &all, &honest, progress);
    drop(bar);
    if common.json {
        return Ok(output::json(
            &serde_json::to_value(&scores).expect("numbers and texts have a JSON form"),
        )?);
    }
    Ok(output::text(&words(&scores))?)
}

/// Returns the sets of a folder, or the one that it is.
fn sets(given: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let path = given.map_or_else(|| PathBuf::from(USUAL), Path::to_owned);
    if !path.exists() {
        return match given {
            Some(_) => Err(Failure::usage(format!("there is no `{}`", path.display()))
                .hint("a set is a folder with tools.jsonl.gz, or a file with {\"family\", \"place\", \"text\"} in each line")),
            None => Ok(Vec::new()),
        };
    }
    if path.is_file() || path.join("tools.jsonl.gz").is_file() {
        return Ok(vec![path]);
    }
    let entries =
        std::fs::read_dir(&path).map_err(|err| Failure::new(format!("`{}`: {err}", path.display())))?;
    let mut sets: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    sets.retain(|set| {
        set.join("tools.jsonl.gz").is_file() || set.extension().is_some_and(|end| end == "jsonl")
    });
    sets.sort();
    Ok(sets)
}

fn words(scores: &AttackScores) -> String {
    let mut text = String::from("Noticed of attacks, of kinds that nothing was fitted on:\n");
    text += &table(scores.families.iter().filter(|it| it.held_out));
    text += "\nNoticed of the kinds that the classifier was fitted on:\n";
    text += &table(scores.families.iter().filter(|it| !it.held_out));
    if let Some(benign) = &scores.benign {
        let share = |count: usize| count as f64 / benign.tools.max(1) as f64;
        text += &format!(
            "\nFalse alarms over {} honest tools of servers that nothing was fitted on: {} (a share of {:.4}), {} of them \
             as hostile; rules alone {:.4}, classifier alone {:.4}\n",
            benign.tools,
            benign.alarms,
            share(benign.alarms),
            benign.hostile,
            share(benign.by_rules),
            share(benign.by_classifier),
        );
    }
    text
}

fn table<'f>(families: impl Iterator<Item = &'f FamilyScore>) -> String {
    let rows = families.map(|it| {
        let share = |count: usize| format!("{:.2}", count as f64 / it.attacks.max(1) as f64);
        vec![
            Cell::new(&it.source),
            Cell::new(&it.family),
            Cell::new(it.attacks),
            Cell::new(share(it.found)),
            Cell::new(share(it.by_rules)),
            Cell::new(share(it.by_classifier)),
        ]
    });
    let header = &["set", "kind", "texts", "noticed", "rules", "classifier"];
    output::grid(Layout { header, indent: 2, ..Layout::default() }, rows.collect()) + "\n"
}
