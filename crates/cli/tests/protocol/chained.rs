//! Tasks of several steps on real servers, with data that flows between the steps; skipped where
//! `scripts/servers` was not run.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::client::Client;

use crate::desk::understood;
use crate::fleet::{START, laid_out, real};
use crate::shelf::route;
use crate::yard::{SESSION, Yard};

/// A vault, a folder, a repository and a graph, and the servers on them.
struct Bench {
    yard: Yard,
    folder: PathBuf,
}

impl Bench {
    async fn new() -> Option<Self> {
        let (temporary, folder) = laid_out(&[
            ("vault/AI/ChatGPT.md", "# ChatGPT\nAI that talks.\n"),
            ("vault/AI/LocalLLMs.md", "# Local models\nAI without a network.\n"),
            ("vault/Bread.md", "Flour, water, salt.\n"),
            ("vault/Archive/Old.md", "Nobody needs this.\n"),
            ("files/a.txt", "hello from a"),
            ("files/docs/one.txt", "the first document"),
            ("files/docs/two.txt", "the second document"),
            ("files/out/kept.txt", "stays"),
            ("repo/x.txt", "x\n"),
        ])?;
        let ada = json!({
            "type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes engines"],
        });
        std::fs::write(folder.join("memory.json"), format!("{ada}\n")).unwrap();
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["add", "."],
            &["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "Begin with x"],
            &["config", "user.name", "A"],
            &["config", "user.email", "a@example.com"],
        ] {
            let done = Command::new("git").args(arguments).current_dir(folder.join("repo")).status();
            assert!(done.unwrap().success(), "{arguments:?}");
        }
        std::fs::write(folder.join("repo/x.txt"), "x\ny\n").unwrap();
        let place = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let mut memory = real("memory", &[]);
        memory["env"] = json!({"MEMORY_FILE_PATH": place("memory.json")});
        let yard = Yard::of(json!({
            "obsidian": real("obsidian", &[&place("vault")]),
            "filesystem": real("filesystem", &[&place("files")]),
            "memory": memory,
            "git": real("git", &[]),
            "clock": real("time", &[]),
            "calculator": real("calculator", &[]),
            "everything": real("everything", &[]),
        }));
        let yard = yard.keep(temporary).learnt_within(START).await;
        // A single command waits for what compares meanings, where a serving hub answers without.
        assert!(
            yard.command(&["route", "--dry-run", "Search my notes for AI"])
                .output()
                .unwrap()
                .status
                .code()
                .is_some()
        );
        Some(Self { yard, folder })
    }

    async fn client(&self) -> Client {
        let client = self.yard.stdio(&[]);
        client.initialize(SESSION, json!({})).await.unwrap();
        understood(&client).await;
        client
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.join(path)).unwrap_or_default()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output =
            Command::new("git").args(arguments).current_dir(self.folder.join("repo")).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Says a task; where something is destroyed or overwritten on the way, agrees to exactly that. Of tools that do the
/// same, written `a|b`, either may run.
pub(crate) async fn say(client: &Client, task: &str, tools: &[&str]) -> Value {
    let asked = json!({"task": task, "options": {"allowMultiTool": true}});
    let mut answer = route(client, asked).await;
    while let Some(handle) = answer.get("confirm").filter(|_| answer["needsClarification"] == true) {
        answer = route(client, json!({"task": task, "context": {"confirm": handle}})).await;
    }
    let executed: Vec<&str> =
        answer["executedTools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let is_right = |(ran, meant): (&&str, &&str)| meant.split('|').any(|it| it == *ran);
    let are_right = executed.len() == tools.len() && executed.iter().zip(tools).all(is_right);
    assert!(are_right, "{task}: {answer}");
    assert!(answer.get("error").is_none(), "{task}: {answer}");
    answer
}

/// Either of the tools that read a file.
pub(crate) const READ: &str = "filesystem__read_file|filesystem__read_text_file";

#[tokio::test]
async fn r9_notes_are_found_tagged_read_moved_and_deleted_in_several_steps() {
    let Some(bench) = Bench::new().await else { return };
    let client = bench.client().await;
    let tools = ["obsidian__search_notes", "obsidian__manage_tags"];
    say(&client, "Find my note about ChatGPT and add the tag robots", &tools).await;
    assert!(bench.read("vault/AI/ChatGPT.md").contains("robots"));
    say(&client, "Search my notes for \"network\" and for each note add the tag offline", &tools).await;
    assert!(bench.read("vault/AI/LocalLLMs.md").contains("offline"));
    let tools = ["obsidian__search_notes", "obsidian__read_note|obsidian__read_multiple_notes"];
    let read = say(&client, "Search my notes for \"AI\", then read each note", &tools).await;
    let read = read["result"].to_string();
    assert!(read.contains("AI that talks.") && read.contains("AI without a network."), "{read}");
    let task = "Search my notes for \"talks\" and move the first note to \"Archive/Talks.md\"";
    say(&client, task, &["obsidian__search_notes", "obsidian__move_note"]).await;
    assert!(bench.read("vault/Archive/Talks.md").contains("AI that talks."));
    let tools = ["obsidian__get_frontmatter", "obsidian__read_note"];
    let read =
        say(&client, "Get the frontmatter of the note \"Bread.md\" and then read the note", &tools).await;
    assert!(read["result"].to_string().contains("Flour"), "{read}");
    let tools = ["obsidian__read_note", "obsidian__delete_note"];
    let gone = say(&client, "Read the note Bread.md, then delete it", &tools).await;
    assert!(gone["result"].to_string().contains("Flour"), "{gone}");
    assert!(!bench.folder.join("vault/Bread.md").exists());
}

#[tokio::test]
async fn r9_what_one_tool_finds_another_reads_and_writes() {
    let Some(bench) = Bench::new().await else { return };
    let client = bench.client().await;
    let file = |name: &str| bench.folder.join(name).display().to_string();
    let (from, to, docs, new) =
        (file("files/a.txt"), file("files/out/b.txt"), file("files/docs"), file("files/new"));
    say(&client, &format!("Read the file {from} and write it to {to}"), &[READ, "filesystem__write_file"])
        .await;
    assert_eq!(bench.read("files/out/b.txt"), "hello from a");
    let task = format!("Search for files matching \"*.txt\" in {docs}, then read each file");
    let tools = [
        "filesystem__search_files",
        "filesystem__read_file|filesystem__read_text_file|filesystem__read_multiple_files",
    ];
    let read = say(&client, &task, &tools).await;
    let read = read["result"].to_string();
    assert!(read.contains("the first document") && read.contains("the second document"), "{read}");
    let task = format!("Search for files matching \"one*\" in {docs} and read the first file");
    let read = say(&client, &task, &["filesystem__search_files", READ]).await;
    let read = read["result"].to_string();
    assert!(read.contains("the first document") && !read.contains("the second document"), "{read}");
    let task = format!("Create the directory {new} and then list the directory {new}");
    let tools =
        ["filesystem__create_directory", "filesystem__list_directory|filesystem__list_directory_with_sizes"];
    say(&client, &task, &tools).await;
    assert!(bench.folder.join("files/new").is_dir());
}

#[tokio::test]
async fn r9_repositories_clocks_and_graphs_are_used_step_by_step() {
    let Some(bench) = Bench::new().await else { return };
    let client = bench.client().await;
    let repo = bench.folder.join("repo").display().to_string();
    let task = format!("Show the git status of {repo}, then show the unstaged changes");
    let seen = say(&client, &task, &["git__git_status", "git__git_diff_unstaged"]).await;
    assert!(seen["result"].to_string().contains("+y"), "{seen}");
    let task = format!("Show the git status of {repo} and then add the file x.txt");
    say(&client, &task, &["git__git_status", "git__git_add"]).await;
    assert!(bench.git(&["diff", "--staged"]).contains("+y"));
    std::fs::write(bench.folder.join("repo/z.txt"), "z\n").unwrap();
    let task =
        format!("Stage z.txt in the git repository {repo} and commit it with the message \"Add y and z\"");
    say(&client, &task, &["git__git_add", "git__git_commit"]).await;
    assert!(bench.git(&["log", "--oneline"]).contains("Add y and z"));
    for task in [
        "For each of Asia/Tokyo, Europe/Paris and Africa/Cairo, get the current time",
        "What is the current time in Asia/Tokyo, in Europe/Paris and in Africa/Cairo?",
    ] {
        let times = say(&client, task, &["clock__get_current_time"]).await;
        for zone in ["Asia/Tokyo", "Europe/Paris", "Africa/Cairo"] {
            assert_eq!(times["result"]["time"][zone]["timezone"], zone, "{task}: {times}");
        }
    }
    let tools = ["memory__search_nodes", "memory__open_nodes"];
    let opened = say(&client, "Search the knowledge graph for Ada, then open the nodes", &tools).await;
    assert!(opened["result"]["nodes2"].to_string().contains("likes engines"), "{opened}");
}
