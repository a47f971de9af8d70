//! Runs as traces: what is called when, and what is reported in the end.

mod random; // random workflows against a model of the world

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use serde_json::json;

use super::*;
use crate::plan::{Condition, Input, Origin, Path, Step, Test, Undo};

#[test]
fn r9_independent_steps_run_at_the_same_time() {
    let post = step("post", Effect::Write, &[("log", output("log", "")), ("ci", output("status", "state"))]);
    let mut world = World::new(vec![step("log", Effect::Read, &[]), step("status", Effect::Read, &[]), post]);
    world.answers("log", json!("fixed it"));
    world.answers("status", json!({"state": "green"}));
    insta::assert_snapshot!(world.play(), @r#"
    call log {} + status {}
    call post {"ci":"green","log":"fixed it"}
    example: completed
      done                 log (s__log)
      done                 status (s__status)
      done                 post (s__post)
    "#);
}

#[test]
fn r10_only_what_is_safe_to_repeat_is_tried_again_and_later_each_time() {
    let read = Step { retries: 2, ..step("read", Effect::Read, &[]) };
    let write = Step { retries: 2, ..step("write", Effect::Write, &[("x", output("read", ""))]) };
    let mut world = World::new(vec![read, write]);
    world.script("read", vec![Outcome::ToolFailed("busy".into()), Outcome::Lost("gone".into())]);
    world.script("write", vec![Outcome::NotSent("starting".into()), Outcome::ToolFailed("no".into())]);
    insta::assert_snapshot!(world.play(), @r#"
    call read {}
    wait until 100
    call read {}
    wait until 300
    call read {}
    call write {"x":null}
    wait until 400
    call write {"x":null}
    example: failed: step `write` failed: no; no step that changes anything was completed
      done                 read (s__read)
      failed               write (s__write): no
      next: put right why `write` failed, then run it again
    "#);
}

#[test]
fn r9_each_element_is_one_call_and_their_order_is_kept() {
    let list = step("list", Effect::Read, &[]);
    let mut read = step("read", Effect::Read, &[("path", Input::Item("path".parse().unwrap()))]);
    read.each = Some(output("list", "files"));
    let mut write = step("write", Effect::Write, &[("text", Input::Item(Path::default()))]);
    write.each = Some(output("read", "[*].text"));
    write.when = Some(Condition::Value { of: Input::Item(Path::default()), is: Test::Filled });
    let mut world = World::new(vec![list, read, write]);
    world.answers("list", json!({"files": [{"path": "a"}, {"path": "b"}, {"path": "c"}]}));
    world.answers("read[0]", json!({"text": "A"}));
    world.answers("read[1]", json!({"text": ""}));
    world.answers("read[2]", json!({"text": "C"}));
    insta::assert_snapshot!(world.play(), @r#"
    call list {}
    call read[0] {"path":"a"} + read[1] {"path":"b"} + read[2] {"path":"c"}
    call write[0] {"text":"A"}
    call write[2] {"text":"C"}
    example: completed
      done                 list (s__list)
      done                 read[0] (s__read)
      done                 read[1] (s__read)
      done                 read[2] (s__read)
      done                 write[0] (s__write)
      skipped              write[1] (s__write): its condition does not hold
      done                 write[2] (s__write)
    "#);
}

#[test]
fn r9_a_step_whose_condition_does_not_hold_is_skipped_with_those_that_need_its_result() {
    let find = step("find", Effect::Read, &[]);
    let mut make = step("make", Effect::Write, &[]);
    make.when =
        Some(Condition::Not(Box::new(Condition::Value { of: output("find", "hits[0]"), is: Test::Present })));
    let tell = step("tell", Effect::Write, &[("id", output("make", "id"))]);
    let after = Step { after: vec!["make".to_owned()], ..step("after", Effect::Read, &[]) };
    let mut world = World::new(vec![find, make, tell, after]);
    world.answers("find", json!({"hits": [1]}));
    insta::assert_snapshot!(world.play(), @r"
    call find {}
    call after {}
    example: completed
      done                 find (s__find)
      skipped              make (s__make): its condition does not hold
      skipped              tell (s__tell): `make`, whose result it needs, was skipped
      done                 after (s__after)
    ");
}

#[test]
fn r10_a_failure_takes_back_what_was_done_the_last_first() {
    let folder = undoable("folder", &[]);
    let file = undoable("file", &[("in", output("folder", "id"))]);
    let fails = step("fails", Effect::Write, &[("in", output("file", "id"))]);
    let never = step("never", Effect::Read, &[("in", output("fails", ""))]);
    let mut world = World::new(vec![folder, file, fails, never]);
    world.answers("folder", json!({"id": 1}));
    world.answers("file", json!({"id": 2}));
    world.script("fails", vec![Outcome::ToolFailed("disk full".into())]);
    insta::assert_snapshot!(world.play(), @r#"
    call folder {}
    call file {"in":1}
    call fails {"in":2}
    call undo file {"id":2}
    call undo folder {"id":1}
    example: rolled back: step `fails` failed: disk full; everything that had been done was undone
      undone               folder (s__folder)
      undone               file (s__file)
      failed               fails (s__fails): disk full
      not started          never (s__never)
      next: put right why `fails` failed, then run it again
    "#);
}

#[test]
fn r10_what_cannot_be_undone_is_said_and_never_called_rolled_back() {
    let mail = step("mail", Effect::Write, &[]);
    let file = undoable("file", &[("after", output("mail", ""))]);
    let fails = step("fails", Effect::Write, &[("in", output("file", "id"))]);
    let mut world = World::new(vec![mail, file, fails]);
    world.answers("mail", json!("sent"));
    world.answers("file", json!({"id": 2}));
    world.script("fails", vec![Outcome::Refused("not allowed".into())]);
    world.script("undo file", vec![Outcome::ToolFailed("locked".into())]);
    let played = world.play();
    insta::assert_snapshot!(played, @r#"
    call mail {}
    call file {"after":"sent"}
    call fails {"in":2}
    call undo file {"id":2}
    example: failed: step `fails` failed: not allowed; not everything that was done could be undone
      could not be undone  mail (s__mail): no way to undo it is known
      could not be undone  file (s__file): locked
      failed               fails (s__fails): not allowed
      next: undo `mail` (s__mail) yourself, if it should not stay
      next: undo `file` (s__file) yourself, if it should not stay
      next: put right why `fails` failed, then run it again
    "#);
    assert!(!played.contains("rolled back"));
}

#[test]
fn r10_an_answer_that_never_came_is_unknown_and_a_person_settles_it() {
    let pay = step("pay", Effect::Write, &[]);
    let tell = step("tell", Effect::Write, &[]);
    let tell = Step { after: vec!["pay".to_owned()], ..tell };
    let mut world = World::new(vec![pay, tell]);
    world.script("pay", vec![Outcome::Lost("no answer in time".into())]);
    insta::assert_snapshot!(world.play(), @r"
    call pay {}
    example: stopped; something may or may not have happened
      unknown              pay (s__pay): no answer in time
      not started          tell (s__tell)
      next: look whether `pay` (s__pay) happened, then resume the run and say which
    ");

    let id = CallId { step: "pay".to_owned(), element: None, direction: Direction::Forth };
    let mut paid = world.clone();
    assert!(paid.run.settle(&id, Finding::Happened));
    assert!(!paid.run.settle(&id, Finding::Happened), "there is nothing left to settle");
    insta::assert_snapshot!(paid.play(), @r"
    call tell {}
    example: completed
      done                 pay (s__pay)
      done                 tell (s__tell)
    ");

    assert!(world.run.settle(&id, Finding::DidNot));
    insta::assert_snapshot!(world.play(), @r"
    call pay {}
    call tell {}
    example: completed
      done                 pay (s__pay)
      done                 tell (s__tell)
    ");
}

#[test]
fn r10_what_was_in_flight_at_a_crash_is_repeated_or_unknown() {
    let (read, write) = (step("read", Effect::Read, &[]), step("write", Effect::Write, &[]));
    let mut run = Run::new(Plan::new("crash", vec![read, write]).unwrap(), ALLOWANCE);
    assert!(matches!(run.advance(0), Next::Call(calls) if calls.len() == 2));
    let mut run: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
    run.recover();
    let mut world = World { run, now: 0, script: BTreeMap::new() };
    insta::assert_snapshot!(world.play(), @r"
    crash: stopped; something may or may not have happened
      not started          read (s__read)
      unknown              write (s__write): the program ended while the call was under way
      next: look whether `write` (s__write) happened, then resume the run and say which
    ");
}

#[test]
fn c3_a_plan_that_destroys_is_confirmed_as_a_whole_and_late_arguments_once_they_are_known() {
    let find = step("find", Effect::Read, &[]);
    let known = step("known", Effect::Destroy, &[("path", Input::Literal(json!("/tmp/a")))]);
    let late = step("late", Effect::Destroy, &[("path", output("find", ""))]);
    let mut world = World::new(vec![find, known, late]);
    world.answers("find", json!("/home"));
    insta::assert_snapshot!(world.play(), @r#"
    confirm the plan
    call find {} + known {"path":"/tmp/a"}
    confirm late {"path":"/home"}
    call late {"path":"/home"}
    example: completed
      done                 find (s__find)
      done                 known (s__known)
      done                 late (s__late)
    "#);
}

#[test]
fn r9_a_step_that_is_not_sure_is_agreed_to_before_it_is_done_and_nothing_overtakes_it() {
    let find = step("find", Effect::Read, &[]);
    let unsure = Step { is_unsure: true, ..step("unsure", Effect::Write, &[("path", output("find", ""))]) };
    let tell = Step { after: vec!["unsure".to_owned()], ..step("tell", Effect::Write, &[]) };
    let mut world = World::new(vec![find, unsure, tell]);
    world.answers("find", json!("/home"));
    insta::assert_snapshot!(world.play(), @r#"
    call find {}
    confirm unsure {"path":"/home"}
    call unsure {"path":"/home"}
    call tell {}
    example: completed
      done                 find (s__find)
      done                 unsure (s__unsure)
      done                 tell (s__tell)
    "#);
}

#[test]
fn c3_an_answer_to_another_question_does_not_count_and_declining_leaves_what_was_done() {
    let first = step("first", Effect::Write, &[]);
    let late = step("late", Effect::Destroy, &[("path", output("first", ""))]);
    let mut world = World::new(vec![first, late]);
    world.answers("first", json!("/home"));
    let Next::Confirm(whole) = world.run.advance(0) else { panic!("a plan that destroys asks") };
    assert_eq!(world.run.agree("another"), Err(Stale));
    world.run.agree(&whole.digest).unwrap();
    assert_eq!(world.run.agree(&whole.digest), Err(Stale), "an answer counts once");
    let Next::Call(calls) = world.run.advance(0) else { panic!("the first step runs") };
    world.run.record(&calls[0].id, Outcome::Value(json!("/home")), 0);
    let Next::Confirm(exact) = world.run.advance(0) else { panic!("the late argument is asked about") };
    assert_eq!(world.run.agree(&whole.digest), Err(Stale));
    world.run.decline(&exact.digest).unwrap();
    insta::assert_snapshot!(world.play(), @r"
    example: cancelled: it was not agreed to; what was done stays
      done                 first (s__first)
      not started          late (s__late)
    ");
}

#[test]
fn c3_what_only_names_say_is_undone_after_a_person_agreed() {
    let mut made = undoable("made", &[]);
    made.undo.as_mut().unwrap().origin = Origin::Inferred;
    let fails = step("fails", Effect::Write, &[("in", output("made", "id"))]);
    let mut world = World::new(vec![made, fails]);
    world.answers("made", json!({"id": 9}));
    world.script("fails", vec![Outcome::ToolFailed("no".into())]);
    insta::assert_snapshot!(world.play(), @r#"
    call made {}
    call fails {"in":9}
    confirm undo made {"id":9}
    call undo made {"id":9}
    example: rolled back: step `fails` failed: no; everything that had been done was undone
      undone               made (s__made)
      failed               fails (s__fails): no
      next: put right why `fails` failed, then run it again
    "#);
}

#[test]
fn r10_time_that_runs_out_and_lists_that_are_too_long_are_failures() {
    let slow = Step { retries: 9, ..step("slow", Effect::Read, &[]) };
    let mut world = World::new(vec![slow]);
    world.script("slow", vec![Outcome::ToolFailed("busy".into()); 9]);
    world.run.allowance.budget_ms = 300;
    insta::assert_snapshot!(world.play(), @r"
    call slow {}
    wait until 100
    call slow {}
    wait until 300
    example: failed: it took longer than the 300 ms that it had; no step that changes anything was completed
      not started          slow (s__slow)
    ");

    let mut long = step("long", Effect::Write, &[]);
    long.each = Some(Input::Literal(json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])));
    insta::assert_snapshot!(World::new(vec![long]).play(), @r"
    example: failed: step `long` could not be made out: its list has 11 elements; at most 10 are gone through; no step that changes anything was completed
      failed               long (s__long): its list has 11 elements; at most 10 are gone through
      next: put right why `long` failed, then run it again
    ");
}

#[test]
fn r10_cancelling_waits_for_what_is_in_flight_and_leaves_what_was_done() {
    let (one, two) = (undoable("one", &[]), undoable("two", &[("x", output("one", ""))]));
    for (leaving, ending) in [(Leaving::Everything, Ending::Cancelled), (Leaving::Nothing, Ending::Undone)] {
        let mut world = World::new(vec![one.clone(), two.clone()]);
        let Next::Call(calls) = world.run.advance(0) else { panic!("the first step runs") };
        world.run.cancel(leaving);
        assert_eq!(world.run.advance(0), Next::Wait { until: None });
        world.run.record(&calls[0].id, Outcome::Value(json!({"id": 1})), 0);
        world.play();
        assert_eq!(world.run.report().ending, ending);
    }
}

const ALLOWANCE: Allowance = Allowance {
    parallel: 4,
    elements: 10,
    budget_ms: 60_000,
    first_pause_ms: 100,
    longest_pause_ms: 1000,
    result_bytes: 1000,
};

/// A run with what its tools will answer.
#[derive(Clone)]
struct World {
    run: Run,
    now: u64,
    script: BTreeMap<String, VecDeque<Outcome>>,
}

impl World {
    fn new(steps: Vec<Step>) -> Self {
        let run = Run::new(Plan::new("example", steps).unwrap(), ALLOWANCE);
        Self { run, now: 0, script: BTreeMap::new() }
    }

    fn answers(&mut self, call: &str, value: Value) {
        self.script(call, vec![Outcome::Value(value)]);
    }

    fn script(&mut self, call: &str, outcomes: Vec<Outcome>) {
        self.script.insert(call.to_owned(), outcomes.into());
    }

    /// Plays until the end; agrees to everything. A call without a script answers `null`.
    fn play(&mut self) -> String {
        let mut trace = String::new();
        loop {
            match self.run.advance(self.now) {
                Next::Confirm(Confirmation { asked, digest }) => {
                    let what = match asked {
                        Asked::Plan => "the plan".to_owned(),
                        Asked::Calls(calls) | Asked::Undo(calls) => shown(&calls),
                    };
                    let _ = writeln!(trace, "confirm {what}");
                    self.run.agree(&digest).unwrap();
                }
                Next::Call(calls) => {
                    let _ = writeln!(trace, "call {}", shown(&calls));
                    for call in calls {
                        let next = self.script.get_mut(&name(&call.id)).and_then(VecDeque::pop_front);
                        let outcome = next.unwrap_or(Outcome::Value(Value::Null));
                        self.run.record(&call.id, outcome, self.now);
                    }
                }
                Next::Wait { until } => {
                    self.now = until.unwrap();
                    let _ = writeln!(trace, "wait until {}", self.now);
                }
                Next::Done(report) => return trace + &report.words(),
            }
        }
    }
}

fn shown(calls: &[Call]) -> String {
    let shown = |call: &Call| format!("{} {}", name(&call.id), Value::Object(call.arguments.clone()));
    calls.iter().map(shown).collect::<Vec<_>>().join(" + ")
}

fn name(id: &CallId) -> String {
    let element = id.element.map(|at| format!("[{at}]")).unwrap_or_default();
    let undo = if id.direction == Direction::Back { "undo " } else { "" };
    format!("{undo}{}{element}", id.step)
}

fn step(name: &str, effect: Effect, arguments: &[(&str, Input)]) -> Step {
    let arguments = arguments.iter().map(|(name, input)| ((*name).to_owned(), input.clone())).collect();
    Step::new(name, ToolId::new("s", name), effect, arguments)
}

fn undoable(name: &str, arguments: &[(&str, Input)]) -> Step {
    let undo = Undo {
        tool: ToolId::new("s", "delete"),
        arguments: BTreeMap::from([("id".to_owned(), output(name, "id"))]),
        repeatable: false,
        origin: Origin::Written,
    };
    Step { undo: Some(undo), ..step(name, Effect::Write, arguments) }
}

fn output(step: &str, path: &str) -> Input {
    Input::Output { step: step.to_owned(), path: path.parse().unwrap() }
}
