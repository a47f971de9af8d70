//! Files, drafts, and what a model is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use testkit::{Oracle, Saying};
use toolyard_core::enrich::Screening;
use toolyard_core::metadata::{Note, Sidecar};

use super::*;
use crate::config::LanguageModel;
use crate::web;

fn note(request: &str) -> Note {
    let screening = Screening { requests: vec![request.to_owned()], ..Screening::default() };
    let sifted = Sifted { tool: "t".to_owned(), definition: "d".to_owned(), screening };
    sifted.note("m", UNIX_EPOCH).unwrap()
}

fn notes(tools: &[&str]) -> BTreeMap<String, Note> {
    tools.iter().map(|tool| ((*tool).to_owned(), note(&format!("do {tool}")))).collect()
}

fn names(tools: &[&str]) -> BTreeSet<String> {
    tools.iter().map(|tool| (*tool).to_owned()).collect()
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn r2_a_draft_counts_when_it_was_seen_and_says_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = EnrichFile::of(folder.path(), "Wiki").unwrap();
    file.keep(notes(&["a"])).unwrap();
    file.keep(notes(&["b", "c"])).unwrap();
    assert_eq!(files(folder.path()), ["enriched-wiki.json.draft"]);
    assert_eq!(crate::sidecars::read(&[folder.path().to_owned()]).0, [], "a draft does not count");
    assert_eq!(file.take_over(&names(&["a", "b"])).unwrap(), 2);
    let (counting, problems) = crate::sidecars::read(&[folder.path().to_owned()]);
    assert_eq!((counting.len(), problems.len()), (1, 0));
    assert_eq!(counting[0].tools.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(file.drafts().unwrap().keys().collect::<Vec<_>>(), ["c"], "nobody has seen it");
    let text = fs::read_to_string(&file.path).unwrap();
    let source = r#""source": {
        "by": "enrich",
        "model": "m",
        "at": "1970-01-01T00:00:00Z",
        "definition": "d"
      }"#;
    assert!(text.contains(source), "{text}");
}

#[test]
fn r2_undoing_takes_back_what_a_model_wrote_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = EnrichFile::of(folder.path(), "wiki").unwrap();
    assert_eq!(file.undo().unwrap(), 0);
    file.keep(notes(&["a", "b"])).unwrap();
    file.take_over(&names(&["a", "b"])).unwrap();
    file.keep(notes(&["b", "c"])).unwrap();
    let mut sidecar = Sidecar::parse(&fs::read_to_string(&file.path).unwrap()).unwrap();
    sidecar.tools.insert("own".to_owned(), Note { examples: vec!["mine".to_owned()], ..Note::default() });
    fs::write(&file.path, serde_json::to_string(&sidecar).unwrap()).unwrap();
    assert_eq!(file.undo().unwrap(), 3);
    assert_eq!(file.notes().unwrap().into_keys().collect::<Vec<_>>(), ["own"]);
    fs::write(&file.path, r#"{"server": "wiki", "tools": {}}"#).unwrap();
    assert_eq!(file.undo().unwrap(), 0);
    assert_eq!(files(folder.path()), [""; 0]);
}

#[test]
fn r2_servers_with_like_names_have_files_of_their_own_and_a_broken_file_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    EnrichFile::of(folder.path(), "wiki").unwrap().keep(notes(&["a"])).unwrap();
    let other = EnrichFile::of(folder.path(), "Wiki").unwrap();
    other.keep(notes(&["b"])).unwrap();
    assert_eq!(files(folder.path()), ["enriched-wiki-2.json.draft", "enriched-wiki.json.draft"]);
    assert_eq!(EnrichFile::of(folder.path(), "Wiki").unwrap(), other);
    fs::write(folder.path().join("enriched-wiki.json"), "{ \"server\": ").unwrap();
    let refused = EnrichFile::of(folder.path(), "wiki").unwrap_err().to_string();
    assert!(refused.contains("is not metadata") && refused.ends_with("correct or delete it"), "{refused}");
}

fn batch() -> Batch {
    Batch {
        server: "wiki".into(),
        tools: BTreeMap::from([("a".to_owned(), "hash".to_owned())]),
        rules: "rules".to_owned(),
        data: "data".to_owned(),
        schema: json!({ "type": "object" }),
    }
}

async fn asked(sayings: Vec<Saying>) -> (Result<BatchAnswer, Error>, Oracle) {
    let oracle = Oracle::start(sayings);
    let model = LanguageModel::parse(&oracle.ollama(), None, Duration::from_secs(60)).unwrap();
    (ask(&web::client(), &model, &batch()).await, oracle)
}

#[tokio::test]
async fn r2_a_model_that_answers_badly_is_told_once_what_is_wrong() {
    let good = json!({ "tools": [{ "name": "a", "requests": ["do it"], "notFor": [] }] });
    let (answered, oracle) =
        asked(vec![Saying::Text("Sure, here it is!".to_owned()), Saying::Json(good)]).await;
    let answered = answered.unwrap();
    assert_eq!(answered.tools["a"].requests, ["do it"]);
    assert!(answered.tokens > 10, "{answered:?}");
    let pleas = oracle.pleas();
    assert_eq!(pleas.len(), 2);
    assert!(pleas[1].last().contains("the answer is not JSON"), "{}", pleas[1].last());
}

#[tokio::test]
async fn r2_a_model_that_answers_badly_twice_is_given_up() {
    for bad in [
        Saying::Text("no".to_owned()),
        Saying::Json(json!({ "tools": [{ "name": "rm", "requests": ["x"] }] })),
    ] {
        let (answered, oracle) = asked(vec![bad]).await;
        let why = answered.unwrap_err().to_string();
        assert!(why.starts_with("`small` answered twice with what cannot be used"), "{why}");
        assert_eq!(oracle.pleas().len(), 2);
    }
    for away in [Saying::Status(503), Saying::Senseless, Saying::Long(1_000_000)] {
        let (answered, oracle) = asked(vec![away]).await;
        assert!(matches!(answered, Err(Error::Model(_))), "{answered:?}");
        assert_eq!(oracle.pleas().len(), 1);
    }
}

#[test]
fn r2_a_question_becomes_an_answer_by_one_more_member() {
    let mut line = prompt(&batch());
    line["answer"] = json!({ "a": ["do it"] });
    let text = format!("{line}\n\n{{\"server\": \"wiki\", \"answer\": \"text\", \"model\": \"m\"}}\n");
    let read = answers(&text).unwrap();
    assert_eq!((read[0].said().as_str(), read[1].said().as_str()), (r#"{"a":["do it"]}"#, "text"));
    assert_eq!(read[0].definitions, batch().tools);
    assert_eq!(read[1].model.as_deref(), Some("m"));
    let wrong = answers("{\"server\": \"wiki\"}").unwrap_err().to_string();
    assert!(wrong.starts_with("line 1: is no answer: missing field `answer`"), "{wrong}");
}
