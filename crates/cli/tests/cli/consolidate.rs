//! `consolidate --preview` on stored listings and on servers.

use serde_json::{Value, json};

use crate::place::Place;

fn tool(name: &str, required: &[&str], optional: &[&str]) -> Value {
    let all = required.iter().chain(optional);
    let properties: serde_json::Map<String, Value> = all
        .map(|it| ((*it).to_owned(), json!({"type": "string", "description": format!("The {it}.")})))
        .collect();
    json!({
        "name": name, "title": name, "description": format!("Does what {name} says."),
        "annotations": {"title": name, "openWorldHint": false, "idempotentHint": true},
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    })
}

fn listing() -> Value {
    json!([
        tool("create_product", &["name"], &["description"]),
        tool("update_product", &["slug"], &["name", "description"]),
        tool("delete_product", &["slug"], &[]),
        tool("get_product", &["slug"], &[]),
        tool("list_products", &[], &["offset", "limit"]),
        tool("search_products", &["query"], &[]),
    ])
}

#[test]
fn c1_a_preview_shows_what_becomes_of_each_tool_and_that_none_is_lost() {
    let place = Place::new();
    let servers = json!([{"server": "shop", "tools": listing()}, {"server": "clock", "tools": [tool("now", &[], &[])]}]);
    place.write("desk/fleet.json", &servers.to_string());
    insta::assert_snapshot!(place.run(&["consolidate", "--preview", "--catalog", "fleet.json"]), @r#"
    clock  1 tool, no family

    shop  6 -> 3 tools, 507 -> 352 tokens

      read_product(slug?, offset?, limit?)  2 -> 1 tools, 159 -> 110 tokens
        read_product(slug)  <- get_product
        read_product(offset?, limit?)  <- list_products

      manage_product(action: create|update|delete, name?, description?, slug?, confirm?: boolean)  3 -> 1 tools, 271 -> 165 tokens
        manage_product(action: "create", name, description?)  <- create_product
        manage_product(action: "update", slug, name?, description?)  <- update_product
        manage_product(action: "delete", slug)  <- delete_product  [asks first]

    total  7 -> 4 tools, 557 -> 402 tokens
    every original tool stays reachable: 7 of 7 mapped

    To switch it on, add "consolidate": true to a server's settings: {"mcpServers":{"shop":{"consolidate":true}}}
    [exit 0]
    "#);
    insta::assert_snapshot!(place.run(&["consolidate", "--preview", "--catalog", "fleet.json", "desk"]), @"
    [stderr]
    error: fleet.json has no server `desk`
      hint: it has clock, shop
    [exit 2]
    ");
    let (told, code) = place.json(&["consolidate", "--preview", "--catalog", "fleet.json", "--json", "shop"]);
    assert_eq!(code, 0);
    assert_eq!(told["reachable"], json!({"mapped": 6, "of": 6, "lost": []}));
    assert_eq!(told["total"]["after"]["tools"], 3);
    assert!(told["total"]["after"]["tokens"].as_u64() < told["total"]["before"]["tokens"].as_u64());
    assert_eq!(told["servers"][0]["kept"], json!(["search_products"]));
    let manage = told["servers"][0]["consolidated"].as_array().unwrap();
    let manage = manage.iter().find(|it| it["name"] == "manage_product").unwrap();
    assert_eq!((&manage["effect"], &manage["actions"][2]["effect"]), (&json!("destroy"), &json!("destroy")));
    assert_eq!(
        manage["definition"]["inputSchema"]["properties"]["action"]["enum"],
        json!(["create", "update", "delete"])
    );
}

#[test]
fn c1_a_listing_is_read_in_every_form_it_is_stored_in() {
    let place = Place::new();
    let lines: Vec<String> = listing()
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let mut line = it.clone();
            line["server"] = json!("shop");
            line["source"] = json!("a registry");
            line["input_schema"] = line["inputSchema"].take();
            line.as_object_mut().unwrap().remove("inputSchema");
            line.to_string()
        })
        .collect();
    let stored = [
        ("shop.json", json!({"tools": listing()}).to_string()),
        ("answer.json", json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": listing()}}).to_string()),
        ("plain.json", listing().to_string()),
        ("lines.jsonl", lines.join("\n")),
    ];
    for (name, text) in stored {
        place.write(&format!("desk/{name}"), &text);
        let (told, code) = place.json(&["consolidate", "--preview", "--catalog", name, "--json"]);
        assert_eq!(
            (code, &told["total"]["before"]["tools"], &told["total"]["after"]["tools"]),
            (0, &json!(6), &json!(3))
        );
    }
    place.write("desk/empty.json", "{}");
    insta::assert_snapshot!(place.run(&["consolidate", "--preview", "--catalog", "empty.json"]), @r#"
    [stderr]
    error: empty.json holds no tools
      hint: expected what `tools/list` answers, or a list of {"server", "tools"}
    [exit 2]
    "#);
    insta::assert_snapshot!(place.run(&["consolidate", "--preview", "--catalog", "gone.json"]), @"
    [stderr]
    error: cannot read gone.json: No such file or directory (os error 2)
    [exit 2]
    ");
    insta::assert_snapshot!(place.run(&["consolidate"]), @r#"
    [stderr]
    error: say `--preview`: this command only shows what would become of the tools
      hint: `"consolidate": true` in a server's settings switches it on
    [exit 2]
    "#);
}

#[test]
fn c1_a_preview_reads_the_servers_of_the_configuration() {
    let place = Place::new();
    let (told, code) = place.json(&["consolidate", "--preview", "--json", "notes"]);
    assert_eq!(code, 0);
    assert_eq!(told["servers"].as_array().unwrap().len(), 1);
    assert_eq!(told["reachable"]["mapped"], told["reachable"]["of"]);
    insta::assert_snapshot!(place.run(&["consolidate", "--preview", "gone"]), @"
    [stderr]
    error: there is no server `gone`
      hint: configured servers: notes, time
    [exit 2]
    ");
}
