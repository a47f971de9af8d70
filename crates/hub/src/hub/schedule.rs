//! Workflows that run by themselves, at the times that the settings say.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;
use toolyard_core::plan::Plan;

use super::Hub;
use crate::caller::Caller;
use crate::config::Schedule;

/// How often the clock is looked at when nothing is due: timers stand still while a machine sleeps, and settings change.
const GLANCE: SignedDuration = SignedDuration::from_secs(5);
/// How long it is remembered that something was done at its time.
const REMEMBERED: Duration = Duration::from_secs(2 * 24 * 60 * 60);

impl Hub {
    /// Runs workflows at their times; does not end. Times at which no hub serves are missed, and of several hubs over one
    /// store one runs each.
    pub async fn keep_schedules(self: &Arc<Self>) {
        let (mut runs, mut under_way) = (JoinSet::new(), BTreeSet::new());
        let mut seen = Timestamp::now();
        loop {
            tokio::time::sleep(self.until_next(seen)).await;
            while let Some(over) = runs.try_join_next() {
                if let Ok(name) = over {
                    under_way.remove(&name);
                }
            }
            let now = Timestamp::now();
            for (name, schedule) in &self.config().schedules {
                let Some(at) = schedule.times.last_within(seen, now) else { continue };
                if !self.spend(number(name, schedule, at), REMEMBERED) {
                    continue;
                }
                if !under_way.insert(name.clone()) {
                    tracing::warn!("`{name}` is not run: its last run is still under way");
                    continue;
                }
                let (hub, name, schedule) = (Arc::clone(self), name.clone(), schedule.clone());
                runs.spawn(async move {
                    hub.run_scheduled(&name, &schedule).await;
                    name
                });
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
            format!("there is no workflow `{}` for the configured servers", schedule.workflow)
        })?;
        let plan = self.plan_of(template, &schedule.values).await.map_err(|problems| problems.join("; "))?;
        Ok(self.judged(plan))
    }

    async fn run_scheduled(&self, name: &str, schedule: &Schedule) {
        let plan = match self.scheduled_plan(schedule).await {
            Ok(plan) => plan,
            Err(why) => return tracing::error!("`{name}` is not run: {why}"),
        };
        // What waits for a person, or is driven by another hub, is not begun a second time.
        let journal = Arc::clone(self.journal());
        let unfinished = tokio::task::spawn_blocking(move || journal.unfinished()).await;
        let unfinished = unfinished.expect("reading does not panic").unwrap_or_default();
        if let Some(open) = unfinished.iter().find(|open| open.run.plan() == &plan) {
            return tracing::warn!("`{name}` is not run: run {} is not over", open.id);
        }
        match self.begin(plan).await {
            Ok(execution) => {
                tracing::info!("`{name}` begins: the workflow `{}`, run {}", schedule.workflow, execution.id);
                self.drive_alone(execution, &Arc::new(Caller::nobody())).await;
            }
            Err(err) => tracing::error!("`{name}` is not run: {err}"),
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

/// Stands for one time of a schedule, in every hub that has it.
fn number(name: &str, schedule: &Schedule, at: Timestamp) -> u64 {
    let Schedule { workflow, values, .. } = schedule;
    let values = Value::Object(values.clone());
    let hash = Sha256::digest(format!("{name}\n{workflow}\n{values}\n{}", at.as_millisecond()));
    u64::from_le_bytes(*hash.first_chunk().expect("a hash is longer"))
}
