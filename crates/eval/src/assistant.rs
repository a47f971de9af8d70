//! How an assistant in the loop is judged: by the calls that reached the servers, whatever it said about them.
//!
//! A call whose required arguments are missing reached a server, but nothing ran.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_core::arguments::equivalent;

use crate::sets::{Collection, RightStep, Sort};

/// A request and the calls that are right for it, by the full names of their tools.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it is called.
    pub id: String,
    /// The words of the request.
    pub text: String,
    /// What sort of request it is.
    pub kind: Sort,
    /// The steps that are right, in their order; none where nothing should run.
    pub steps: Vec<TaskStep>,
}

/// A step that is right: the tools that are, and what the request says of its arguments.
#[derive(Clone, Debug)]
pub struct TaskStep {
    /// The tools, as `server__tool`.
    pub tools: Vec<String>,
    /// What the request determines.
    pub arguments: Map<String, Value>,
}

/// One call that reached a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Landed {
    /// The tool, as `server__tool`.
    pub tool: String,
    /// With what it was called.
    pub arguments: Map<String, Value>,
    /// The required arguments that were absent.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// What one task came to with an assistant in the loop.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// The calls that reached servers.
    pub landed: Vec<Landed>,
    /// How many calls the assistant made to the hub.
    pub calls: usize,
    /// Tokens that the model read.
    pub prompt_tokens: u64,
    /// Tokens that the model wrote.
    pub answer_tokens: u64,
    /// How long it took.
    pub millis: u64,
    /// The final answer.
    pub answer: String,
}

/// How one task is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Whether the right tools ran; for a task that nothing should run for, whether nothing did.
    pub tools: bool,
    /// Whether they ran with every argument that the request determines.
    pub exact: bool,
    /// Whether something ran that should not have.
    pub wrong: bool,
}

/// What several tasks came to, as sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlayTally {
    /// How many tasks there are.
    pub n: usize,
    /// Tasks whose right tools ran.
    pub tools: usize,
    /// Tasks whose right tools ran with exact arguments.
    pub exact: usize,
    /// Tasks for which something ran that should not have.
    pub wrong: usize,
    /// Calls that the assistant made to the hub.
    pub calls: usize,
    /// Tokens that the model read.
    pub prompt_tokens: u64,
    /// Tokens that the model wrote.
    pub answer_tokens: u64,
    /// How long it took, one task after the other.
    pub millis: u64,
}

/// What came of a task on average: shares of the tasks, and means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PerTask {
    /// The share whose right tools ran.
    pub tools: f64,
    /// The share whose right tools ran with exact arguments.
    pub exact: f64,
    /// The share for which something ran that should not have.
    pub wrong: f64,
    /// Calls to the hub.
    pub calls: f64,
    /// Tokens that the model read.
    pub prompt_tokens: f64,
    /// Tokens that the model wrote.
    pub answer_tokens: f64,
    /// Milliseconds.
    pub millis: f64,
}

/// What the tasks of each kind came to, and all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tallies {
    /// For one tool.
    pub single: PlayTally,
    /// For several tools.
    pub multi: PlayTally,
    /// To destroy something.
    pub destructive: PlayTally,
    /// They say too little.
    pub vague: PlayTally,
    /// No tool can serve them.
    pub unanswerable: PlayTally,
    /// All of them.
    pub all: PlayTally,
}

/// Returns the requests of a fleet as tasks for an assistant.
pub fn tasks(fleet: &Collection) -> Vec<Task> {
    let name = |tool: &usize| format!("{}__{}", fleet.tools[*tool].server, fleet.tools[*tool].name);
    let step = |step: &RightStep| TaskStep {
        tools: step.tools.iter().map(name).collect(),
        arguments: step.arguments.clone(),
    };
    let tasks = fleet.cases.iter().map(|case| Task {
        id: case.id.clone(),
        text: case.task.clone(),
        kind: case.kind,
        steps: case.steps.iter().map(step).collect(),
    });
    tasks.collect()
}

/// Keeps the tasks that can be played with these servers alone.
///
/// Each step needs a right tool of one of them; a task for which nothing should run needs none.
pub fn servable(mut tasks: Vec<Task>, servers: &[String]) -> Vec<Task> {
    let is_there = |tool: &String| {
        servers.iter().any(|it| tool.strip_prefix(it.as_str()).is_some_and(|rest| rest.starts_with("__")))
    };
    tasks.retain(|task| match task.kind {
        Sort::Single | Sort::Multi | Sort::Destructive => {
            !task.steps.is_empty() && task.steps.iter().all(|step| step.tools.iter().any(is_there))
        }
        Sort::Vague | Sort::Unanswerable => true,
    });
    tasks
}

/// Judges a task by the calls that reached the servers.
pub fn mark(task: &Task, landed: &[Landed]) -> Mark {
    let ran: Vec<&Landed> = landed.iter().filter(|call| call.missing.is_empty()).collect();
    let wrong = ran.iter().any(|call| !task.steps.iter().any(|step| step.tools.contains(&call.tool)));
    let needed = match task.kind {
        Sort::Single | Sort::Destructive => &task.steps[..task.steps.len().min(1)],
        Sort::Multi => &task.steps[..],
        Sort::Vague | Sort::Unanswerable => {
            return Mark { tools: ran.is_empty(), exact: ran.is_empty(), wrong };
        }
    };
    let has_run = |step: &TaskStep| ran.iter().any(|call| step.tools.contains(&call.tool));
    let has_run_exactly = |step: &TaskStep| ran.iter().any(|call| step.is_met_by(call));
    Mark { tools: needed.iter().all(has_run), exact: needed.iter().all(has_run_exactly), wrong }
}

/// Sums up what tasks came to.
pub fn tally<'a>(played: impl IntoIterator<Item = (&'a Task, &'a Played)>) -> Tallies {
    let mut tallies = Tallies::default();
    for (task, played) in played {
        let mark = mark(task, &played.landed);
        tallies.of_kind(task.kind).add(mark, played);
        tallies.all.add(mark, played);
    }
    tallies
}

impl TaskStep {
    /// Whether a call is this step, with everything that the request determines.
    fn is_met_by(&self, call: &Landed) -> bool {
        let has = |(name, value): (&String, &Value)| {
            call.arguments.get(name).is_some_and(|sent| equivalent(value, sent))
        };
        self.tools.contains(&call.tool) && self.arguments.iter().all(has)
    }
}

impl Tallies {
    fn of_kind(&mut self, kind: Sort) -> &mut PlayTally {
        match kind {
            Sort::Single => &mut self.single,
            Sort::Multi => &mut self.multi,
            Sort::Destructive => &mut self.destructive,
            Sort::Vague => &mut self.vague,
            Sort::Unanswerable => &mut self.unanswerable,
        }
    }

    /// Returns the sums with their names, all tasks last.
    pub fn named(&self) -> [(&'static str, PlayTally); 6] {
        [
            ("single", self.single),
            ("multi", self.multi),
            ("destructive", self.destructive),
            ("vague", self.vague),
            ("unanswerable", self.unanswerable),
            ("all", self.all),
        ]
    }
}

impl PlayTally {
    fn add(&mut self, mark: Mark, played: &Played) {
        self.n += 1;
        self.tools += usize::from(mark.tools);
        self.exact += usize::from(mark.exact);
        self.wrong += usize::from(mark.wrong);
        self.calls += played.calls;
        self.prompt_tokens += played.prompt_tokens;
        self.answer_tokens += played.answer_tokens;
        self.millis += played.millis;
    }

    /// Returns shares and means; `None` without any task.
    pub fn per_task(&self) -> Option<PerTask> {
        let mean = |sum: u64| sum as f64 / self.n as f64;
        (self.n > 0).then(|| PerTask {
            tools: mean(self.tools as u64),
            exact: mean(self.exact as u64),
            wrong: mean(self.wrong as u64),
            calls: mean(self.calls as u64),
            prompt_tokens: mean(self.prompt_tokens),
            answer_tokens: mean(self.answer_tokens),
            millis: mean(self.millis),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const RIGHT: Mark = Mark { tools: true, exact: true, wrong: false };
    const NOTHING: Mark = Mark { tools: false, exact: false, wrong: false };

    #[test]
    fn a_single_task_needs_one_of_its_tools_with_the_arguments_that_it_says() {
        let read =
            task(Sort::Single, json!([[["fs__read", "fs__cat"], { "path": "Notes.txt", "lines": 5 }]]));
        let right = json!({ "path": "notes.txt", "lines": "5", "encoding": "utf-8" });
        assert_eq!(marked(&read, &[("fs__read", right.clone())]), RIGHT);
        assert_eq!(marked(&read, &[("fs__cat", right.clone())]), RIGHT);
        let inexact = Mark { exact: false, ..RIGHT };
        assert_eq!(marked(&read, &[("fs__read", json!({ "path": "notes.txt" }))]), inexact);
        assert_eq!(marked(&read, &[("fs__read", json!({ "path": "b.txt", "lines": 5 }))]), inexact);
        assert_eq!(marked(&read, &[]), NOTHING);
        assert_eq!(marked(&read, &[("fs__write", right.clone())]), Mark { wrong: true, ..NOTHING });
        // Whoever mends a first attempt has done what was asked, and whatever else ran beside it counts against them.
        assert_eq!(marked(&read, &[("fs__read", json!({})), ("fs__read", right.clone())]), RIGHT);
        let and_more = [("fs__read", right), ("git__log", json!({}))];
        assert_eq!(marked(&read, &and_more), Mark { wrong: true, ..RIGHT });
    }

    #[test]
    fn a_call_without_what_its_tool_requires_has_not_run() {
        let read = task(Sort::Single, json!([[["fs__read"], {}]]));
        let mut call = landed("fs__read", &json!({}));
        call.missing = vec!["path".to_owned()];
        assert_eq!(mark(&read, &[call.clone()]), NOTHING);
        call.tool = "fs__write".to_owned();
        assert_eq!(mark(&read, &[call.clone()]), NOTHING);
        assert_eq!(mark(&task(Sort::Vague, json!([])), &[call]), RIGHT);
    }

    #[test]
    fn a_destructive_task_needs_its_first_step() {
        let remove = task(
            Sort::Destructive,
            json!([[["fs__delete"], { "path": "a" }], [["fs__list"], { "path": "b" }]]),
        );
        assert_eq!(marked(&remove, &[("fs__delete", json!({ "path": "a" }))]), RIGHT);
        assert_eq!(marked(&remove, &[("fs__list", json!({ "path": "b" }))]), NOTHING);
    }

    #[test]
    fn a_task_of_several_steps_needs_each_of_them() {
        let both = task(
            Sort::Multi,
            json!([[["git__log"], { "max_count": 3 }], [["fs__write"], { "path": "log.txt" }]]),
        );
        let (log, write) =
            (("git__log", json!({ "max_count": 3 })), ("fs__write", json!({ "path": "log.txt" })));
        assert_eq!(marked(&both, &[write.clone(), log.clone()]), RIGHT);
        assert_eq!(marked(&both, std::slice::from_ref(&log)), NOTHING);
        let astray = ("fs__write", json!({ "path": "other.txt" }));
        assert_eq!(marked(&both, &[log, astray]), Mark { exact: false, ..RIGHT });
    }

    #[test]
    fn what_is_vague_or_impossible_is_right_when_nothing_ran() {
        for kind in [Sort::Vague, Sort::Unanswerable] {
            let task = task(kind, json!([]));
            assert_eq!(marked(&task, &[]), RIGHT);
            assert_eq!(marked(&task, &[("fs__list", json!({}))]), Mark { wrong: true, ..NOTHING });
        }
    }

    #[test]
    fn a_line_of_the_ledger_is_a_call() {
        let line =
            r#"{"at": 1794909600.25, "tool": "fs__read", "arguments": {"lines": 5}, "missing": ["path"]}"#;
        let call: Landed = serde_json::from_str(line).unwrap();
        assert_eq!(
            serde_json::to_value(&call).unwrap(),
            json!({ "tool": "fs__read", "arguments": { "lines": 5 }, "missing": ["path"] })
        );
        assert!(
            serde_json::from_str::<Landed>(r#"{"tool": "fs__read", "arguments": {}}"#)
                .unwrap()
                .missing
                .is_empty()
        );
    }

    #[test]
    fn sums_are_told_for_each_kind_and_for_all() {
        let read = task(Sort::Single, json!([[["fs__read"], { "path": "a" }]]));
        let vague = task(Sort::Vague, json!([]));
        let played = |landed: Vec<Landed>| Played {
            landed,
            calls: 2,
            prompt_tokens: 300,
            answer_tokens: 20,
            millis: 1500,
            answer: "Done.".to_owned(),
        };
        let exact = played(vec![landed("fs__read", &json!({ "path": "a" }))]);
        let inexact = played(vec![landed("fs__read", &json!({ "path": "b" }))]);
        let tallies = tally([(&read, &exact), (&read, &inexact), (&vague, &inexact)]);
        let tokens = |tasks: u64| PlayTally {
            n: tasks as usize,
            calls: tasks as usize * 2,
            prompt_tokens: tasks * 300,
            answer_tokens: tasks * 20,
            millis: tasks * 1500,
            ..PlayTally::default()
        };
        assert_eq!(
            tallies,
            Tallies {
                single: PlayTally { tools: 2, exact: 1, ..tokens(2) },
                vague: PlayTally { wrong: 1, ..tokens(1) },
                all: PlayTally { tools: 2, exact: 1, wrong: 1, ..tokens(3) },
                ..Tallies::default()
            }
        );
        assert_eq!(tallies.multi.per_task(), None);
        assert_eq!(
            tallies.single.per_task(),
            Some(PerTask {
                tools: 1.0,
                exact: 0.5,
                wrong: 0.0,
                calls: 2.0,
                prompt_tokens: 300.0,
                answer_tokens: 20.0,
                millis: 1500.0,
            })
        );
    }

    #[test]
    fn tasks_are_servable_when_each_step_has_a_tool_there() {
        let tasks = vec![
            task(Sort::Single, json!([[["github__log", "git__log"], {}]])),
            task(Sort::Single, json!([[["github__log"], {}]])),
            task(Sort::Multi, json!([[["git__log"], {}], [["slack__post"], {}]])),
            task(Sort::Multi, json!([[["git__log"], {}], [["fs__write"], {}]])),
            task(Sort::Destructive, json!([[["gitlab__delete"], {}]])),
            task(Sort::Vague, json!([])),
            task(Sort::Unanswerable, json!([])),
        ];
        let kept = servable(tasks, &["git".to_owned(), "fs".to_owned()]);
        let kinds: Vec<(Sort, usize)> = kept.iter().map(|it| (it.kind, it.steps.len())).collect();
        assert_eq!(kinds, [(Sort::Single, 1), (Sort::Multi, 2), (Sort::Vague, 0), (Sort::Unanswerable, 0)]);
    }

    /// A task whose steps are pairs of tools and arguments.
    fn task(kind: Sort, steps: Value) -> Task {
        let steps: Vec<(Vec<String>, Map<String, Value>)> = serde_json::from_value(steps).unwrap();
        let steps = steps.into_iter().map(|(tools, arguments)| TaskStep { tools, arguments }).collect();
        Task { id: "t1".to_owned(), text: "do it".to_owned(), kind, steps }
    }

    fn landed(tool: &str, arguments: &Value) -> Landed {
        serde_json::from_value(json!({ "tool": tool, "arguments": arguments })).unwrap()
    }

    fn marked(task: &Task, calls: &[(&str, Value)]) -> Mark {
        let landed: Vec<Landed> = calls.iter().map(|(tool, it)| landed(tool, it)).collect();
        mark(task, &landed)
    }
}
