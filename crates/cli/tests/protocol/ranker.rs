//! A ranker of the person's own, as a tool.

use serde_json::{Value, json};

use crate::desk::understood;
use crate::shelf::{answering, calls, tool};
use crate::yard::{SESSION, Yard};

/// The first tool for a request, with two that fit alike and this ranker.
async fn first(ranker: Option<&str>) -> (String, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let lamps = [tool("switch_on_lamp", "Switches a lamp on", &["room"])];
    let done = r#""result":{"content":[{"type":"text","text":"done"}]}"#;
    let scores = r#""result":{"content":[],"structuredContent":{"scores":{"cellar__switch_on_lamp":1.0,"attic__switch_on_lamp":-3,"judge__rank":1.0,"nobody__nothing":1.0}}}"#;
    let broken = r#""result":{"content":[{"type":"text","text":"cellar"}]}"#;
    let judges = [tool("rank", "Qwx zrt", &[]), tool("mumble", "Zrt qwx", &[])];
    let mut config = json!({ "mcpServers": {
        "attic": answering(&path, "attic", &lamps, &[("", done)]),
        "cellar": answering(&path, "cellar", &lamps, &[("", done)]),
        "judge": answering(&path, "judge", &judges, &[("rank", scores), ("mumble", broken)]),
    } });
    if let Some(ranker) = ranker {
        config["routing"] = json!({ "ranker": { "tool": ranker, "timeoutMs": 20_000 } });
    }
    let yard = Yard::new(config).keep(folder).learnt().await;
    let client = yard.stdio(&[]);
    client.initialize(SESSION, json!({})).await.unwrap();
    understood(&client).await;
    let asked = json!({ "task": "switch the lamp on", "options": { "returnCandidates": true } });
    let answer: Value = client.call("smart_route", asked).await.unwrap();
    let first = answer["structuredContent"]["candidates"][0]["tool"].as_str().unwrap().to_owned();
    (first, calls(&path, "judge"))
}

#[tokio::test]
async fn r21_a_tool_of_the_person_has_a_say_in_how_others_rank() {
    assert_eq!(first(None).await, ("attic__switch_on_lamp".to_owned(), 0));
    let (with, asked) = first(Some("judge__rank")).await;
    assert_eq!((with.as_str(), asked > 0), ("cellar__switch_on_lamp", true));
}

#[tokio::test]
async fn r21_without_an_answer_of_the_ranker_tools_rank_as_they_do_without_it() {
    for away in ["judge__mumble", "judge__missing"] {
        assert_eq!(first(Some(away)).await.0, "attic__switch_on_lamp", "{away}");
    }
}
