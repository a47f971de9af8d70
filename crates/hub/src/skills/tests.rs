//! Files of skills, right and wrong.

use std::sync::Arc;

use toolyard_core::catalog::{Advertised, Bounds};

use super::*;
use crate::config::{self, Folders};

fn of(text: &str) -> String {
    match parse(text, Path::new("skills/it.md")) {
        Ok((name, Skill { when, instructions, tools, place, .. })) => {
            let lines = place.map(|place| place.lines).unwrap_or_default();
            format!("{name} | {when} | {instructions} | {tools:?} at {lines:?}")
        }
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn s1_a_skill_is_markdown_with_front_matter() {
    let whole = "---\nname: release\nwhen: \"cutting: a release\" # often\ntools:\n  - git__tag\n  - notes__write\n---\n# How\n\nTag first.\n";
    insta::assert_snapshot!(of(whole), @r#"
    release | cutting: a release | # How

    Tag first. | ["git__tag", "notes__write"] at [5, 6]
    "#);
    let short = "---\ndescription: >\n  Makes\n  pictures.\ntools: [img__draw, 'img__show']\n---\nDraw.";
    insta::assert_snapshot!(of(short), @r#"it | Makes pictures. | Draw. | ["img__draw", "img__show"] at [5, 5]"#);
}

#[test]
fn s1_the_form_that_other_programs_have_is_read() {
    let foreign = "---\nname: pdf-forms\ndescription: Fills in PDF forms.\nlicense: MIT\nmetadata:\n  author: somebody\n  \
                   version: \"1.0\"\nallowed-tools: Read, Bash(git:*), mcp__files__read_file\n---\nSteps.";
    insta::assert_snapshot!(of(foreign), @r#"pdf-forms | Fills in PDF forms. | Steps. | ["files__read_file"] at [8]"#);
}

#[test]
fn s8_every_mistake_is_said_with_its_line() {
    insta::assert_snapshot!(of("# No front matter"), @"
    skills/it.md:1:1: the file has no front matter
      hint: begin with ---, name: NAME, description: …, ---
    ");
    insta::assert_snapshot!(of("---\nname: x\n"), @"
    skills/it.md:1:1: the front matter does not end; it ends with ---
      hint: begin with ---, name: NAME, description: …, ---
    ");
    insta::assert_snapshot!(of("---\nname: a b\ntoolz: [x__y]\ntools: [nothing]\n---\n"), @"
    skills/it.md:1:1: neither `when` nor `description` says what the skill is for
      hint: say in a sentence when the skill is needed
    skills/it.md:2:1: the name `a b` of a skill has letters, digits, `-` and `_`
    skills/it.md:3:1: unknown key `toolz`
      hint: did you mean `tools`?
    skills/it.md:4:1: `nothing` is not the name of a tool; expected `server__tool`
    ");
    insta::assert_snapshot!(of("---\n- x\n---\n"), @"
    skills/it.md:2:1: `- x` belongs to no key
      hint: begin with ---, name: NAME, description: …, ---
    ");
    insta::assert_snapshot!(of("---\nname: x\nname: y\n---\n"), @"
    skills/it.md:3:1: the key `name` is written twice
      hint: begin with ---, name: NAME, description: …, ---
    ");
    insta::assert_snapshot!(of("---\njust words\n---\n"), @"
    skills/it.md:2:1: `just words` is no key with a value
      hint: begin with ---, name: NAME, description: …, ---
    ");
}

fn config_of(servers: &[&str]) -> Config {
    let folders = Folders { home: "/h".into(), config: "/h/none".into(), data: "/d".into() };
    let mut config = config::default(&folders);
    let builtin = config.servers["time"].clone();
    config.servers = servers.iter().map(|name| ((*name).to_owned(), builtin.clone())).collect();
    config
}

fn catalog(server: &str, tools: &[&str]) -> Catalog {
    let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 99, nesting: 9 };
    let tools = tools.iter().map(|name| crate::jsonrpc::raw(&serde_json::json!({"name": name}))).collect();
    Catalog::gather([(Advertised { server: Arc::from(server), tools }, bounds)]).0
}

#[test]
fn s8_a_tool_that_does_not_exist_is_an_error_with_the_nearest_name() {
    let text = "---\nname: release\nwhen: x\ntools:\n  - git__tga\n  - gti__tag\n  - far__anything\n---\n";
    let (name, skill) = parse(text, Path::new("skills/release.md")).unwrap();
    let inline = Skill { tools: vec!["git__nothing_like_it".to_owned()], place: None, ..skill.clone() };
    let fine = Skill { tools: vec!["git__tag".to_owned(), "far__later".to_owned()], ..skill.clone() };
    let skills = Skills::from([(name, skill), ("inline".into(), inline), ("fine".into(), fine)]);
    let (sound, mistakes) = check(skills, &catalog("git", &["tag", "push"]), &config_of(&["git", "far"]));
    assert_eq!(sound.into_keys().collect::<Vec<_>>(), ["fine"]);
    let said: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"), @"
    toolyard.json: the skill `inline` names the tool `git__nothing_like_it`, which server `git` does not have
      hint: did you mean `git__tag`?
    skills/release.md:5:1: the skill `release` names the tool `git__tga`, which server `git` does not have
      hint: did you mean `git__tag`?
    skills/release.md:6:1: the skill `release` names the tool `gti__tag`, and no server is called so
      hint: did you mean `git__tag`?
    ");
}

#[test]
fn s1_folders_hold_files_and_folders_of_skills() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("a.md", "---\nwhen: a\n---\nA");
    write("b/SKILL.md", "---\ndescription: b\n---\nB");
    write("b/reference.md", "not a skill");
    write("c.md", "---\nname: a\nwhen: c\n---\nC");
    write("readme.txt", "not a skill");
    let mut config = config_of(&[]);
    config.skill_files = vec![folder.path().to_owned()];
    let (skills, mistakes) = read(&config);
    assert_eq!(skills.into_keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].message, "there is another skill `a` already");
}

#[test]
fn s7_the_prompt_that_says_when_to_activate_what_is_generated() {
    let skill = |when: &str| Skill {
        when: when.to_owned(),
        instructions: String::new(),
        tools: Vec::new(),
        place: None,
        is_shipped: false,
    };
    let skills = Skills::from([
        ("image-composer".to_owned(), skill("Generate images")),
        ("product-management".to_owned(), skill("Create | edit\nproducts")),
    ]);
    insta::assert_snapshot!(prompt(&skills, 3), @r#"
    ## Skill-Based Tools

    You have access to specialized skills. To use domain-specific tools, first activate the skill:

    | User Intent | Activate Skill |
    |-------------|----------------|
    | Generate images | `activate_skill("image-composer")` |
    | Create / edit products | `activate_skill("product-management")` |

    **Workflow:**
    1. Identify user intent
    2. Call `activate_skill(skill_name)` to load tools
    3. Use the newly-available tools to complete the task

    You can have up to 3 skills active at once. Skills persist across turns.
    "#);
    assert_eq!(prompt(&Skills::new(), 3), "");
    assert_eq!(fitting(&skills, "please create a product for me"), Some("product-management"));
    assert_eq!(fitting(&skills, "generate an image of a cup"), Some("image-composer"));
    assert_eq!(fitting(&skills, "what time is it"), None);
}

#[test]
fn s8_texts_are_bounded_and_hide_nothing() {
    let long = format!("---\nwhen: {}\n---\n{}", "w".repeat(1025), "x".repeat(64 * 1024 + 1));
    insta::assert_snapshot!(of(&long), @"
    skills/it.md: what the skill is for has more than 1024 characters
    skills/it.md: the instructions of the skill have more than 64 KiB
    ");
    let just = format!("---\nwhen: {}\n---\n{}", "ü".repeat(1024), "x".repeat(64 * 1024));
    assert!(parse(&just, Path::new("skills/it.md")).is_ok());
    let hidden = "---\nwhen: clean\u{202e}ing\u{7}\n---\n\u{1b}[31mRed\u{200b}.\n";
    insta::assert_snapshot!(of(hidden), @"it | cleaning | Red. | [] at []");
}

#[test]
fn s1_a_tool_that_is_listed_twice_is_there_once() {
    let twice =
        "---\nwhen: x\ntools:\n  - git__tag\n  - git__log\n  - git__tag\nallowed-tools: mcp__git__log\n---\n";
    insta::assert_snapshot!(of(twice), @r#"it | x |  | ["git__tag", "git__log"] at [4, 5]"#);
}

#[test]
fn s7_no_name_breaks_the_prompt() {
    let skill = Skill {
        when: "x".to_owned(),
        instructions: String::new(),
        tools: Vec::new(),
        place: None,
        is_shipped: false,
    };
    let told = prompt(&Skills::from([("a\"} |\n\n# b".to_owned(), skill)]), 3);
    let row = told.lines().find(|line| line.starts_with("| x"));
    assert_eq!(row, Some(r##"| x | `activate_skill("a\"} /\n\n# b")` |"##));
}

#[test]
fn t27_a_pipe_in_the_place_of_a_skill_is_named_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mistakes = load(&pipe).unwrap_err();
    assert_eq!(mistakes[0].message, "cannot be read: it is a pipe, not a file");
}
