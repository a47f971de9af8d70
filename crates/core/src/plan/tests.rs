//! Plans that are right, and everything that is wrong with those that are not.

use serde_json::json;

use super::*;

#[test]
fn r9_steps_stand_after_those_they_need() {
    let plan = plan(vec![
        step("post", Effect::Write, &[("text", output("log")), ("state", output("status"))]),
        step("log", Effect::Read, &[]),
        step("status", Effect::Read, &[]),
    ]);
    let names: Vec<&str> = plan.steps().iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["log", "status", "post"]);
    assert_eq!(plan.effect(), Effect::Write);
}

#[test]
fn r9_all_mistakes_are_reported_at_once() {
    let mut orphan =
        step("orphan", Effect::Read, &[("a", output("nobody")), ("b", Input::Item(Path::default()))]);
    orphan.after.push("nothing".to_owned());
    orphan.retries = 99;
    let own = step("own", Effect::Read, &[("a", output("own")), ("b", Input::Parameter("p".to_owned()))]);
    let flaws =
        Plan::new("wrong", vec![orphan, own.clone(), own, step("2 b", Effect::Read, &[])]).unwrap_err();
    let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    two steps are called `own`
    step `orphan` is tried again at most 10 times
    step `orphan` needs the step `nothing`, which there is not
    step `orphan` needs the step `nobody`, which there is not
    step `orphan` uses `item`, but has no `each` to take it from
    step `own` uses its own result
    step `own` uses the parameter `p`, which there is not
    step `own` uses its own result
    step `own` uses the parameter `p`, which there is not
    step `2 b` must have a name that begins with a letter and has letters, digits, `_` and `-` only
    ");
}

#[test]
fn r9_a_circle_is_named() {
    let circle = vec![
        step("first", Effect::Read, &[]),
        step("a", Effect::Read, &[("x", output("b"))]),
        step("b", Effect::Read, &[("x", output("a"))]),
    ];
    insta::assert_snapshot!(Plan::new("c", circle).unwrap_err()[0], @"these steps wait for one another: `a`, `b`");
}

#[test]
fn r9_a_plan_without_steps_or_with_too_many_is_refused() {
    assert!(Plan::new("none", vec![]).is_err());
    let many = (0..=Plan::MAX_STEPS).map(|at| step(&format!("s{at}"), Effect::Read, &[])).collect();
    assert!(Plan::new("many", many).is_err());
}

#[test]
fn r9_a_plan_is_read_back_as_it_was_written_and_checked_again() {
    let mut tag = step("tag", Effect::Write, &[("path", Input::Item("path".parse().unwrap()))]);
    tag.each = Some(Input::Output { step: "search".to_owned(), path: "results".parse().unwrap() });
    tag.when = Some(Condition::Value { of: Input::Item(Path::default()), is: Test::Present });
    let plan = plan(vec![step("search", Effect::Read, &[("q", literal("AI"))]), tag]);
    let text = serde_json::to_string(&plan).unwrap();
    let again: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(again, plan);
    assert_eq!(again.digest(), plan.digest());

    let forged = text.replace(r#""step":"search""#, r#""step":"elsewhere""#);
    let error = serde_json::from_str::<Plan>(&forged).unwrap_err().to_string();
    assert!(error.starts_with("step `tag` needs the step `elsewhere`, which there is not"), "{error}");
}

#[test]
fn r9_the_estimate_is_that_of_the_longest_chain() {
    let timed = |name: &str, ms, arguments: &[(&str, Input)]| Step {
        estimate_ms: ms,
        ..step(name, Effect::Read, arguments)
    };
    let plan = plan(vec![
        timed("a", 100, &[]),
        timed("b", 700, &[]),
        timed("c", 50, &[("x", output("a"))]),
        timed("d", 10, &[("x", output("b")), ("y", output("c"))]),
    ]);
    assert_eq!(plan.estimate_ms(), 710);
}

#[test]
fn r9_a_plan_reads_as_a_graph() {
    let mut tag = step(
        "tag",
        Effect::Write,
        &[("path", Input::Item("path".parse().unwrap())), ("tag", literal("important"))],
    );
    tag.each = Some(Input::Output { step: "search".to_owned(), path: "results[*]".parse().unwrap() });
    tag.when = Some(Condition::Value { of: output("status"), is: Test::Equals(json!("ok")) });
    tag.estimate_ms = 1500;
    tag.undo = Some(Undo {
        tool: ToolId::new("notes", "remove_tag"),
        arguments: BTreeMap::from([("path".to_owned(), Input::Item("path".parse().unwrap()))]),
        repeatable: true,
        origin: Origin::Inferred,
    });
    let search = Step { retries: 2, ..step("search", Effect::Read, &[("q", literal("AI"))]) };
    let plan = plan(vec![search, step("status", Effect::Read, &[]), tag]);
    insta::assert_snapshot!(plan.render(), @r#"
    example: 3 steps, about 1.5 s
     1 ┬ search: server__search (reads)
           q = "AI"
           tried again up to 2 times
       └ status: server__status (reads)
     2 ─ tag: server__tag (changes), after search and status
           for each of search.results[*]
           only if status is "ok"
           path = item.path
           tag = "important"
           taken back with notes__remove_tag (path = item.path), which is asked for first
    "#);
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan::new("example", steps).unwrap()
}

fn step(name: &str, effect: Effect, arguments: &[(&str, Input)]) -> Step {
    let arguments = arguments.iter().map(|(name, input)| ((*name).to_owned(), input.clone())).collect();
    Step::new(name, ToolId::new("server", name), effect, arguments)
}

fn output(step: &str) -> Input {
    Input::Output { step: step.to_owned(), path: Path::default() }
}

fn literal(value: &str) -> Input {
    Input::Literal(json!(value))
}
