//! `toolset`, `skills`, `tiers` and `domains` on the built-in servers.

use crate::place::Place;

fn place() -> Place {
    let place = Place::new();
    place.write(
        "config/toolyard/toolyard.json",
        r#"{
  "mcpServers": { "notes": { "builtin": "notes", "folder": "~/Notes" }, "time": { "builtin": "time" } },
  "tiers": { "time__current_time": 0, "time__convert_time": 2 },
  "domains": { "notes__*_note": "single-notes" }
}"#,
    );
    place.write("Notes/Hive.md", "# Hive\n\nBees live here.\n");
    place
}

#[test]
fn t3_tools_are_shown_by_tier() {
    let place = place();
    insta::assert_snapshot!(place.run(&["tiers", "0"]), @"
    0 essential  1 tool
      time__current_time
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["tiers", "2"]), @"
    2 fallback  1 tool
      time__convert_time
    [exit 0]
    ");
    let (told, _) = place.json(&["tiers", "--up-to", "1", "--json"]);
    let counts: Vec<usize> = told["tiers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tier| tier["tools"].as_array().unwrap().len())
        .collect();
    assert_eq!((counts.len(), counts[0]), (2, 1));
    insta::assert_snapshot!(place.run(&["tiers", "7"]), @"
    [stderr]
    error: invalid value '7' for '[TIER]': 7 is not in 0..=2

    For more information, try '--help'.
    [exit 2]
    ");
}

#[test]
fn d2_tools_are_shown_by_domain() {
    let place = place();
    insta::assert_snapshot!(place.run(&["domains"]), @"
    domain        tools
    notes         2      notes__search_notes, notes__list_notes
    single-notes  4      notes__read_note, notes__create_note, notes__update_note, notes__tag_note
    time          4      time__current_time, time__convert_time, time__time_difference, time__add_time
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["domains", "cooking"]), @"
    [stderr]
    error: there is no domain `cooking`
      hint: domains: notes, single-notes, time
    [exit 2]
    ");
}

#[test]
fn s8_skills_are_shown_with_what_is_wrong_with_them() {
    let place = place();
    insta::assert_snapshot!(place.run(&["skills"]), @"
    There are no skills. A file `skills/NAME.md` beside the configuration is one.
    [exit 0]
    ");
    place.write(
        "config/toolyard/skills/review.md",
        "---\nwhen: reviewing the week\ntools: [notes__search_notes]\n---\nBegin with the oldest.\n",
    );
    insta::assert_snapshot!(place.run(&["skills"]), @"
    skill   when                tools
    review  reviewing the week  notes__search_notes
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["skills", "--prompt"]), @r#"
    ## Skill-Based Tools

    You have access to specialized skills. To use domain-specific tools, first activate the skill:

    | User Intent | Activate Skill |
    |-------------|----------------|
    | reviewing the week | `activate_skill("review")` |

    **Workflow:**
    1. Identify user intent
    2. Call `activate_skill(skill_name)` to load tools
    3. Use the newly-available tools to complete the task

    You can have up to 3 skills active at once. Skills persist across turns.
    [exit 0]
    "#);
    place.write(
        "config/toolyard/skills/broken/SKILL.md",
        "---\nname: broken\nwhen: x\ntools:\n  - notes__serch_notes\n---\n",
    );
    insta::assert_snapshot!(place.run(&["skills"]), @"
    skill   when                tools
    review  reviewing the week  notes__search_notes

    1 mistake; what has one is not used:
    [HOME]/config/toolyard/skills/broken/SKILL.md:5:1: the skill `broken` names the tool `notes__serch_notes`, which server `notes` does not have
      hint: did you mean `notes__search_notes`?
    [exit 1]
    ");
    let told = place.run(&["doctor"]);
    insta::assert_snapshot!(told.split_once("skills\n").unwrap().1, @"
      bad  [HOME]/config/toolyard/skills/broken/SKILL.md:5:1: the skill `broken` names the tool `notes__serch_notes`, which server `notes` does not have
          fix: did you mean `notes__search_notes`?
    2 of 2 servers in order
    [exit 1]
    ");
    insta::assert_snapshot!(place.run(&["toolset", "--skill", "cooking", "hello"]), @"
    [stderr]
    error: there is no skill `cooking`; skills: review
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["toolset", "--profile", "small", "hello"]), @"
    [stderr]
    error: there is no profile `small`
      hint: profiles stand in `serve.profiles`; there is none
    [exit 2]
    ");
}

#[test]
fn d5_a_conversation_is_played_turn_by_turn() {
    let place = place();
    let (told, code) =
        place.json(&["toolset", "--json", "what time is it in Tokyo?", "search my notes for bees"]);
    assert_eq!(code, 0);
    let turns = told["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    for (turn, tool) in turns.iter().zip(["time__current_time", "notes__search_notes"]) {
        let tools = turn["tools"].as_array().unwrap();
        assert!(tools.iter().any(|it| it == tool), "{turn}");
        assert!(tools.len() <= 11 && turn["tokens"].as_u64() < told["all"]["tokens"].as_u64(), "{turn}");
        assert!(!turn["why"].as_str().unwrap().is_empty());
    }
    let shown = place.run(&["toolset", "what time is it in Tokyo?"]);
    assert!(shown.starts_with("1. what time is it in Tokyo?\n  skills   none\n"), "{shown}");
}

#[test]
fn d3_a_conversation_goes_on_from_the_tools_that_it_has() {
    let place = Place::with(r#"{ "mcpServers": { "desk": { "builtin": "desk", "folder": "~/Desk" } } }"#);
    let ask = |current: &str| {
        let (told, code) = place.json(&["toolset", "--json", "--current", current, "what are my goals?"]);
        assert_eq!(code, 0);
        let names = |key: &str| -> Vec<String> {
            let names = told["turns"][0][key].as_array().unwrap().iter();
            names.map(|it| it.as_str().unwrap().to_owned()).collect()
        };
        (names("domains"), names("tools"))
    };
    let (domains, tools) = ask("desk__query_tasks,desk__get_task");
    assert_eq!(domains, ["tasks", "goals"]);
    assert!(tools.iter().any(|it| it == "desk__update_task"), "a domain is complete: {tools:?}");
    let (domains, _) = ask("desk__query_goals");
    assert_eq!(domains, ["goals"]);
    insta::assert_snapshot!(place.run(&["toolset", "--current", "desk__nothing", "hello"]), @"
    [stderr]
    error: there is no tool `desk__nothing`
      hint: `toolyard list` shows the tools by their names, such as server__tool
    [exit 2]
    ");
}
