//! Tools of real servers, called by their own names and through the tools that stand for several.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use testkit::client::Client;
use toolyard_core::catalog::consolidate::{Consolidation, consolidate, sample};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::tool::{Effect, Tool};

use crate::fleet::{START, are_there, real};
use crate::yard::{SESSION, Yard, named, text};

const SERVERS: [&str; 4] = ["memory", "obsidian", "excel", "git"];
const CALLS: u64 = 50;

/// Servers in a folder of their own, presented as they are or as few tools.
async fn yard(is_consolidated: bool) -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let vault = folder.path().join("vault");
    std::fs::create_dir_all(&vault).unwrap();
    std::fs::write(vault.join("string.md"), "# A note\nof some lines\n").unwrap();
    let with = |mut server: Value| {
        server["consolidate"] = json!(is_consolidated);
        server
    };
    let mut memory = real("memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": folder.path().join("memory.json")});
    let mut excel = real("excel", &["stdio"]);
    excel["cwd"] = json!(folder.path());
    let yard = Yard::of(json!({
        "memory": with(memory),
        "obsidian": with(real("obsidian", &[vault.to_str().unwrap()])),
        "excel": with(excel),
        "git": with(real("git", &[])),
    }));
    yard.keep(folder).learnt_within(START).await
}

/// Reads the tools of a server out of the list of a hub that shows them as they are.
fn tools_of(server: &str, listed: &[Value]) -> Vec<Tool> {
    let prefix = format!("{server}__");
    let own = listed.iter().filter_map(|tool| {
        let mut tool = tool.clone();
        tool["name"] = json!(named(&tool).strip_prefix(&prefix)?);
        // The hub adds its confirmation to what destroys.
        if let Some(properties) = tool["inputSchema"]["properties"].as_object_mut() {
            properties.remove("confirm");
        }
        serde_json::value::to_raw_value(&tool).ok()
    });
    let advertised = Advertised { server: Arc::from(server), tools: own.collect() };
    let bounds = Bounds { tools: 1000, name_chars: 128, description_chars: 16_384, nesting: 127 };
    Catalog::gather([(advertised, bounds)]).0.tools().to_vec()
}

/// Calls a tool, and shows what comes back without what differs between two folders.
async fn shown(client: &Client, folder: &Path, name: &str, arguments: Map<String, Value>) -> (bool, String) {
    match client.call(name, Value::Object(arguments)).await {
        Ok(result) => {
            let text = text(&result).replace(&folder.display().to_string(), "FOLDER");
            let lines = text.lines().filter(|line| !line.contains("/tmp"));
            (result["isError"] == true, lines.collect::<Vec<_>>().join("\n"))
        }
        Err(error) => (true, format!("{error:?}")),
    }
}

#[tokio::test]
async fn c1_fifty_random_calls_give_the_same_through_the_tools_that_stand_for_several() {
    if !are_there() {
        return;
    }
    let (plain, few) = (yard(false).await, yard(true).await);
    let (direct, folded) = (plain.stdio(&["--surface", "all"]), few.stdio(&["--surface", "all"]));
    for client in [&direct, &folded] {
        client.initialize(SESSION, json!({})).await.unwrap();
    }
    let listed = direct.tools().await.unwrap();
    assert!(folded.tools().await.unwrap().len() < listed.len());
    let known: Vec<(&str, Vec<Tool>, Consolidation)> = SERVERS
        .iter()
        .map(|server| {
            let tools = tools_of(server, &listed);
            let made = consolidate(server, &tools, &[]);
            (*server, tools, made)
        })
        .collect();
    let members: Vec<(&str, &Tool, &Consolidation)> = known
        .iter()
        .flat_map(|(server, tools, made)| tools.iter().map(move |tool| (*server, tool, made)))
        .filter(|(_, tool, made)| made.owner(&tool.name).is_some())
        .collect();
    assert!(members.len() >= 12, "{} tools are in families", members.len());
    let mut state: u64 = 7;
    for call in 0..CALLS {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (server, tool, made) = members[usize::try_from(state >> 33).unwrap() % members.len()];
        let mut arguments = sample(tool, 2 + call);
        let (name, mut through) = made.fold(&tool.name, &arguments).unwrap();
        if tool.effect == Effect::Destroy {
            let owner = made.owner(&tool.name).unwrap();
            through.insert(owner.confirmation().to_owned(), json!(true));
            arguments.insert("confirm".to_owned(), json!(true));
        }
        let by_name =
            shown(&direct, plain.path(), &format!("{server}__{}", tool.name), arguments.clone()).await;
        let by_few = shown(&folded, few.path(), &format!("{server}__{name}"), through.clone()).await;
        assert_eq!(by_name, by_few, "{server} {} {arguments:?} {name} {through:?}", tool.name);
    }
}
