//! Workflows that run by themselves, at the times that the settings say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;
use toolyard_core::plan::Plan;
use toolyard_core::run::Ending;

use super::execute::blocking;
use super::{Hub, NotTaken};
use crate::access::Grant;
use crate::caller::Caller;
use crate::config::{Schedule, nearest};
use crate::journal::Kept;

/// How often the clock is looked at when nothing is due: timers stand still while a machine sleeps, and settings change.
const GLANCE: SignedDuration = SignedDuration::from_secs(5);
/// How long it is remembered at least that something was done at its time.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Servers that have just been started are given so long.
const SETTLING: Duration = Duration::from_secs(10);

impl Hub {
    /// Runs workflows at their times; does not end. Times at which no hub serves are missed, and of several hubs over one
    /// store one runs each.
    pub async fn keep_schedules(self: &Arc<Self>) {
        let (mut runs, mut under_way) = (JoinSet::new(), BTreeMap::new());
        let (mut seen, mut told) = (Timestamp::now(), Told::default());
        loop {
            tokio::time::sleep(self.until_next(seen)).await;
            while let Some(over) = runs.try_join_next_with_id() {
                let (id, said) =
                    over.map_or_else(|panicked| (panicked.id(), None), |(id, it)| (id, Some(it)));
                under_way.retain(|_, it| *it != id);
                if let Some((name, outcome)) = said {
                    told.tell(name, outcome);
                }
            }
            let now = Timestamp::now();
            for (name, schedule) in &self.config().schedules {
                let Some(at) = schedule.times.last_within(seen, now) else { continue };
                if under_way.contains_key(name) {
                    told.tell(name.clone(), Err("its last run is still under way".to_owned()));
                    continue;
                }
                let (hub, due) =
                    (Arc::clone(self), Due { name: name.clone(), schedule: schedule.clone(), at });
                let run = runs.spawn(async move {
                    let outcome = hub.run_scheduled(&due).await;
                    (due.name, outcome)
                });
                under_way.insert(name.clone(), run.id());
            }
            seen = now;
        }
    }

    /// Says what keeps schedules from running, by their names.
    pub async fn schedule_problems(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        for (name, schedule) in &self.config().schedules {
            if let Err(why) = self.scheduled_plan(schedule).await {
                problems.push((name.clone(), why));
            }
        }
        problems
    }

    async fn scheduled_plan(&self, schedule: &Schedule) -> Result<Plan, String> {
        let templates = self.templates();
        let template = templates.iter().find(|template| template.name == schedule.workflow);
        let template = template.ok_or_else(|| {
            let missing = format!("there is no workflow `{}` for the configured servers", schedule.workflow);
            let meant = nearest(&schedule.workflow, templates.iter().map(|it| it.name.as_str()));
            match meant {
                Some(meant) => format!("{missing}; is it `{meant}`?"),
                None if self.workflow_mistakes().is_empty() => missing,
                None => format!("{missing}; some files have mistakes: `toolyard run` lists them"),
            }
        })?;
        let plan = self.plan_of(template, &schedule.values).await.map_err(|problems| problems.join("; "))?;
        match self.forbidden(&plan) {
            Some(refusal) => Err(refusal.to_string()),
            None => Ok(self.judged(plan)),
        }
    }

    /// Runs a workflow whose time has come; why it is not run otherwise.
    async fn run_scheduled(&self, due: &Due) -> Result<(), String> {
        let Due { name, schedule, at } = due;
        let number = number(name, schedule, *at);
        let mut plan = self.scheduled_plan(schedule).await;
        if plan.is_err() && self.configured_for() < SETTLING {
            tokio::time::sleep(SETTLING).await;
            plan = self.scheduled_plan(schedule).await;
        }
        let plan = plan?;
        if self.store.is_spent(number) {
            // Another hub was quicker.
            return Ok(());
        }
        let (journal, wanted) = (Arc::clone(self.journal()), plan.clone());
        let last = blocking(move || journal.last_like(&wanted)).await.map_err(|err| err.to_string())?;
        if let Some(last) = last {
            match last.ending() {
                Ending::Open => return self.go_on(&last).await,
                Ending::Unknown => {
                    let id = last.id;
                    return Err(format!(
                        "what run {id} did is not known; look, and see `toolyard runs show {id}`"
                    ));
                }
                Ending::Completed | Ending::Undone | Ending::Failed | Ending::Cancelled => {}
            }
        }
        // Only now, so that a hub that cannot run it leaves it to another.
        let remembered = schedule.times.period().saturating_mul(2).max(REMEMBERED);
        if !self.spend(number, remembered) {
            return Ok(());
        }
        let execution = self.begin(plan).await.map_err(|err| err.to_string())?;
        tracing::info!("`{name}` begins: the workflow `{}`, run {}", schedule.workflow, execution.id);
        self.drive_alone(execution, &Arc::new(Caller::nobody())).await;
        Ok(())
    }

    /// Goes on with a run that nobody drives any more, in place of a new one.
    async fn go_on(&self, last: &Kept) -> Result<(), String> {
        let id = &last.id;
        if last.run.asked().is_some() || last.grant.is_some() {
            return Err(format!("run {id} waits for a person: `toolyard runs resume {id}`"));
        }
        match self.take_over(last, Grant::owner()).await {
            Ok(()) => Ok(()),
            Err(NotTaken::Driven(_)) => Err("its last run is still under way".to_owned()),
            Err(NotTaken::Missing(_)) => Ok(()),
            Err(NotTaken::Journal(err)) => Err(err.to_string()),
        }
    }

    /// Returns how long nothing is due, as far as is known now.
    fn until_next(&self, seen: Timestamp) -> Duration {
        let config = self.config();
        let next = config.schedules.values().filter_map(|schedule| schedule.times.next(seen)).min();
        let wait = next.map_or(GLANCE, |next| next.duration_since(Timestamp::now()).min(GLANCE));
        // A little later than its time, not a little earlier.
        Duration::try_from(wait).unwrap_or_default() + Duration::from_millis(1)
    }
}

/// A schedule whose time has come.
struct Due {
    name: String,
    schedule: Schedule,
    at: Timestamp,
}

/// Why schedules were not run the last time, by their names. Nothing is said twice in a row.
#[derive(Default)]
struct Told(BTreeMap<String, String>);

impl Told {
    fn tell(&mut self, name: String, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => drop(self.0.remove(&name)),
            Err(why) => {
                if self.0.get(&name) != Some(&why) {
                    tracing::warn!("`{name}` is not run: {why}");
                }
                self.0.insert(name, why);
            }
        }
    }
}

/// Stands for one time of a schedule, in every hub that has it.
fn number(name: &str, schedule: &Schedule, at: Timestamp) -> u64 {
    let Schedule { workflow, values, .. } = schedule;
    let values = Value::Object(values.clone());
    let hash = Sha256::digest(format!("{name}\n{workflow}\n{values}\n{}", at.as_millisecond()));
    u64::from_le_bytes(*hash.first_chunk().expect("a hash is longer"))
}
