//! The workflows that come with the program, run on the servers they are written for; skipped where `scripts/servers`
//! was not run. What would reach for the network is met at an address of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use testkit::servers;

use crate::fleet::{START, are_there, real};
use crate::scripted::{GREETING, OverHttp, program};
use crate::yard::Yard;

/// Servers in a folder, and what the workflows do there.
struct Shop {
    yard: Yard,
    folder: PathBuf,
}

impl Shop {
    /// Opens with the servers that `entries` gives for the folder.
    async fn open(entries: impl FnOnce(&Path) -> Value) -> Option<Self> {
        if !are_there() {
            return None;
        }
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("vault")).unwrap();
        let yard = Yard::of(entries(&folder)).keep(temporary).learnt_within(START).await;
        Some(Self { yard, folder })
    }

    /// Runs a workflow to its end and gives what its steps answered.
    async fn run(&self, workflow: &str, values: Value) -> Value {
        let mut command = self.yard.command(&["run", workflow, "--yes", "--json"]);
        command.arg("--input").arg(values.to_string());
        let output = tokio::process::Command::from(command).output().await.unwrap();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
            panic!("{workflow}: {}", String::from_utf8_lossy(&output.stderr));
        });
        assert_eq!(said["report"]["ending"], "completed", "{workflow}: {said:#}");
        said["report"]["outputs"].clone()
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.join(path)).unwrap_or_default()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let folder = self.folder.join("repo");
        let output = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn vault(folder: &Path) -> Value {
    real("obsidian", &[folder.join("vault").to_str().unwrap()])
}

#[tokio::test]
async fn r11_the_workflows_about_a_repository_run_on_real_servers() {
    let servers = |folder: &Path| json!({"git": real("git", &[]), "obsidian": vault(folder)});
    let Some(shop) = Shop::open(servers).await else { return };
    let repo = shop.folder.join("repo");
    std::fs::create_dir_all(&repo).unwrap();
    std::fs::write(repo.join("x.txt"), "x\n").unwrap();
    shop.git(&["init", "-q", "-b", "main"]);
    shop.git(&["config", "user.name", "A"]);
    shop.git(&["config", "user.email", "a@example.com"]);
    let committed =
        shop.run("commit-all", json!({"repository": repo, "message": "Begin with x"})).await.to_string();
    assert!(committed.contains("+x"), "what was staged is shown: {committed}");
    assert_eq!(shop.git(&["log", "--format=%s"]), "Begin with x\n");
    assert_eq!(shop.git(&["status", "--porcelain"]), "");

    std::fs::write(repo.join("x.txt"), "x\ny\n").unwrap();
    shop.run("standup-note", json!({"repository": repo, "note": "Daily/Today.md"})).await;
    let note = shop.read("vault/Daily/Today.md");
    assert!(note.starts_with("# Done since yesterday\n"), "{note}");
    assert!(note.contains("Begin with x") && note.contains("x.txt"), "{note}");
    let nothing = json!({"repository": repo, "since": "2090-01-01", "note": "Later.md"});
    shop.run("standup-note", nothing).await;
    let later = shop.read("vault/Later.md");
    assert!(later.contains("x.txt") && !later.contains("Begin with x"), "{later}");
}

#[tokio::test]
async fn r11_the_workflow_that_forgets_runs_on_a_real_graph() {
    let servers = |folder: &Path| {
        let entity = |name: &str, said: &str| {
            json!({"type": "entity", "name": name, "entityType": "city", "observations": [said]}).to_string()
        };
        let graph = [entity("Berlin", "has a river"), entity("Oslo", "has a fjord")].join("\n");
        std::fs::write(folder.join("memory.json"), graph + "\n").unwrap();
        let mut memory = real("memory", &[]);
        memory["env"] = json!({"MEMORY_FILE_PATH": folder.join("memory.json")});
        json!({"memory": memory})
    };
    let Some(shop) = Shop::open(servers).await else { return };
    shop.run("forget-topic", json!({"topic": "nobody ever said this"})).await;
    assert!(shop.read("memory.json").contains("Berlin"));
    shop.run("forget-topic", json!({"topic": "Berlin"})).await;
    let left = shop.read("memory.json");
    assert!(left.contains("Oslo") && !left.contains("Berlin"), "{left}");
}

#[tokio::test]
async fn r11_the_workflow_that_saves_a_page_runs_on_real_servers() {
    let page = "<html><head><title>Bees</title></head><body><article><h1>Bees</h1><p>They live in a hive, and \
                they make honey there all summer long.</p></article></body></html>";
    let web =
        OverHttp::start(move |_| (StatusCode::OK, [("content-type", "text/html")], page).into_response())
            .await;
    let servers =
        |folder: &Path| json!({"fetch": real("fetch", &["--allow-private-ips"]), "obsidian": vault(folder)});
    let Some(shop) = Shop::open(servers).await else { return };
    shop.run("save-page-as-note", json!({"url": web.url, "note": "Clippings/Bees.md"})).await;
    let note = shop.read("vault/Clippings/Bees.md");
    assert!(note.starts_with(&format!("Source: {}\n", web.url)), "{note}");
    assert!(note.contains("They live in a hive"), "{note}");
}

/// What arXiv answers to a search that finds two papers.
const FEED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom">
<opensearch:totalResults>2</opensearch:totalResults>
<entry><id>http://arxiv.org/abs/2401.00001v1</id><title>On hives</title><summary>Hives are warm.</summary>
<published>2024-01-01T00:00:00Z</published><updated>2024-01-01T00:00:00Z</updated><author><name>A. Bee</name></author>
<category term="cs.AI"/><link title="pdf" href="http://arxiv.org/pdf/2401.00001v1"/></entry>
<entry><id>http://arxiv.org/abs/2401.00002v1</id><title>On honey</title><summary>Honey is sweet.</summary>
<published>2024-01-02T00:00:00Z</published><updated>2024-01-02T00:00:00Z</updated><author><name>B. Bee</name></author>
<category term="cs.AI"/><link title="pdf" href="http://arxiv.org/pdf/2401.00002v1"/></entry>
</feed>"#;

#[tokio::test]
async fn r11_the_workflow_that_keeps_papers_runs_on_real_servers() {
    let arxiv = OverHttp::start(|_| {
        (StatusCode::OK, [("content-type", "application/atom+xml")], FEED).into_response()
    })
    .await;
    // The real server, which asks this machine instead of arXiv.
    let script = format!(
        "import arxiv_mcp_server.tools.search as search\nsearch.ARXIV_API_URL = '{}'\n\
         import arxiv_mcp_server\narxiv_mcp_server.main()",
        arxiv.url
    );
    let servers = |folder: &Path| {
        let python = servers::python("arxiv").get_program().to_string_lossy().into_owned();
        json!({"arxiv": {"command": python, "args": ["-c", script]}, "obsidian": vault(folder)})
    };
    let Some(shop) = Shop::open(servers).await else { return };
    shop.run("papers-to-notes", json!({"query": "bees", "folder": "Reading"})).await;
    let notes: Vec<String> = ["2401.00001", "2401.00002"]
        .iter()
        .map(|id| {
            shop.read(&format!("vault/Reading/{id}v1.md")) + &shop.read(&format!("vault/Reading/{id}.md"))
        })
        .collect();
    assert!(notes[0].starts_with("# On hives\n") && notes[0].contains("Hives are warm."), "{notes:?}");
    assert!(notes[1].starts_with("# On honey\n") && notes[1].contains("/2401.00002"), "{notes:?}");
}

/// What the server of GitHub lists and answers; it cannot be told another address.
fn github(folder: &Path) -> Value {
    let text = json!({"type": "string"});
    let schema = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let number = json!({"type": "number"});
    let commits = json!({"owner": text, "repo": text, "sha": text, "page": number, "perPage": number});
    let list = json!({"type": "array", "items": text});
    let issue =
        json!({"owner": text, "repo": text, "title": text, "body": text, "assignees": list, "labels": list});
    let tools = json!({"tools": [
        {"name": "list_commits", "description": "Get list of commits of a branch in a GitHub repository",
            "inputSchema": schema(commits, &["owner", "repo"])},
        {"name": "create_issue", "description": "Create a new issue in a GitHub repository",
            "inputSchema": schema(issue, &["owner", "repo", "title"])},
    ]});
    let commit = json!([{
        "sha": "8bb887b4c49b", "commit": {"message": "Mend the fence"}, "html_url": "https://example.com/8bb887b4c49b",
    }]);
    let answer =
        |value: &Value| json!({"content": [{"type": "text", "text": value.to_string()}]}).to_string();
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (tools, commits, made) = (
        write("tools", tools.to_string()),
        write("commits", answer(&commit)),
        write("made", answer(&json!({"number": 7}))),
    );
    let calls = folder.join("calls").display().to_string();
    let script = format!(
        r#"say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":' "$id"; cat "$1"; printf '}}\n'; }}
while IFS= read -r line; do
id=${{line#*'"id":'}}
id=${{id%%,*}}
case "$line" in
*'"method":"initialize"'*) printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" '{GREETING}' ;;
*'"method":"tools/list"'*) say '{tools}' ;;
*'"name":"list_commits"'*) printf '%s\n' "$line" >> '{calls}'; say '{commits}' ;;
*'"name":"create_issue"'*) printf '%s\n' "$line" >> '{calls}'; say '{made}' ;;
*'"id":'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
esac
done"#
    );
    json!({"github": program(folder, &script)})
}

#[tokio::test]
async fn r11_the_workflow_that_opens_an_issue_sends_what_the_server_takes() {
    let Some(shop) = Shop::open(github).await else { return };
    shop.run("issue-from-latest-commit", json!({"owner": "ada", "repo": "hive", "labels": ["bees"]})).await;
    let calls = shop.read("calls");
    let sent: Vec<Value> = calls
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["params"]["arguments"].clone())
        .collect();
    let issue = json!({
        "owner": "ada", "repo": "hive", "title": "About commit 8bb887b4c49b",
        "body": "Mend the fence\n\nhttps://example.com/8bb887b4c49b", "labels": ["bees"],
    });
    assert_eq!(sent, [json!({"owner": "ada", "repo": "hive", "perPage": 1}), issue]);
}
