//! Servers with the tools that a test lists, which write down the calls they get.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::Client;

use crate::scripted::{GREETING, program};
use crate::yard::Yard;

/// Gives a tool with a description and required texts.
pub(crate) fn tool(name: &str, description: &str, required: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({
        "name": name, "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": required}
    })
}

/// Gives the configuration of a server that has these tools and answers every call with its own name.
pub(crate) fn server(folder: &Path, name: &str, tools: &[Value]) -> Value {
    let answer = format!(r#""result":{{"content":[{{"type":"text","text":"from {name}"}}]}}"#);
    answering(folder, name, tools, &[("", &answer)])
}

/// Gives the configuration of a server that has these tools and answers a call by the first of the texts that stand
/// in it.
pub(crate) fn answering(folder: &Path, name: &str, tools: &[Value], answers: &[(&str, &str)]) -> Value {
    let answers: String =
        answers.iter().map(|(said, answer)| format!("*'{said}'*) say '{answer}' ;;\n")).collect();
    acting(folder, name, tools, &format!("case \"$line\" in\n{answers}esac"))
}

/// Gives the configuration of a server that has these tools and runs a piece of shell for each call: `$line` is the
/// call, `say` answers it.
pub(crate) fn acting(folder: &Path, name: &str, tools: &[Value], act: &str) -> Value {
    let home = folder.join(name);
    std::fs::create_dir_all(&home).unwrap();
    let calls = calls_of(folder, name).display().to_string();
    let list = json!({"tools": tools}).to_string().replace('\'', "");
    let script = format!(
        r#"while IFS= read -r line; do
id=${{line#*'"id":'}}
id=${{id%%,*}}
say() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
case "$line" in
*'"method":"initialize"'*) say '{GREETING}' ;;
*'"method":"tools/list"'*) say '"result":{list}' ;;
*'"method":"tools/call"'*) printf '%s\n' "$line" >> '{calls}'
{act} ;;
*'"id":'*) say '"error":{{"code":-32601,"message":"no"}}' ;;
esac
done"#
    );
    program(&home, &script)
}

fn calls_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).join("calls")
}

/// Gives the calls that a server got: the name and the arguments of each.
pub(crate) fn heard(folder: &Path, name: &str) -> Vec<Value> {
    let lines = std::fs::read_to_string(calls_of(folder, name)).unwrap_or_default();
    let call = |line: &str| {
        let call: Value = serde_json::from_str(line).unwrap();
        json!({"name": call["params"]["name"], "arguments": call["params"]["arguments"]})
    };
    lines.lines().map(call).collect()
}

/// Counts the calls that a server got.
pub(crate) fn calls(folder: &Path, name: &str) -> usize {
    std::fs::read_to_string(calls_of(folder, name)).unwrap_or_default().lines().count()
}

/// Two servers whose tools need nothing, so that whatever is chosen runs.
pub(crate) async fn two() -> Yard {
    let folder = tempfile::tempdir().unwrap();
    let servers = json!({
        "notes": server(folder.path(), "notes", &[
            tool("list_notes", "Lists every note of the vault", &[]),
            tool("search_notes", "Searches notes by their content", &["query"]),
            tool("delete_note", "Deletes a note for good", &["path"]),
        ]),
        "wiki": server(folder.path(), "wiki", &[
            tool("list_pages", "Lists every page of the wiki", &[]),
        ]),
    });
    Yard::of(servers).keep(folder).learnt().await
}

/// Calls `smart_route` and gives the structured answer.
pub(crate) async fn route(client: &Client, arguments: Value) -> Value {
    whole(client, arguments).await["structuredContent"].clone()
}

/// Calls `smart_route` and gives the whole result.
pub(crate) async fn whole(client: &Client, arguments: Value) -> Value {
    client.call("smart_route", arguments).await.unwrap()
}
