//! The flow over a small desk, driven as the hub and `toolyard eval` drive it.

use serde_json::json;

use super::*;
use crate::catalog::{Advertised, Bounds};
use crate::metadata::Knowledge;
use crate::rank::{self, Method, Reasons, Request, Scope, Weights};

#[test]
fn r17_a_request_is_bounded_and_shows_what_it_holds() {
    assert_eq!(normalised("  find\u{0}\tmy \u{200b}notes\r\n"), "find my notes");
    assert_eq!(normalised(&"é".repeat(100_000)).chars().count(), MAX_TASK_CHARS);
    assert_eq!(normalised(" \n\t "), "");
}

#[test]
fn r7_one_request_is_ranked_once_and_becomes_a_call() {
    insta::assert_snapshot!(traced("search notes for garden", &json!({}), None), @r#"
    rank "search notes for garden"
    call vault__search_notes {"query":"garden"}
    "#);
}

#[test]
fn r7_a_tool_that_is_called_by_its_name_is_not_ranked() {
    insta::assert_snapshot!(traced("vault__search_notes", &json!({"query": "x"}), None), @"call vault__search_notes {}");
    insta::assert_snapshot!(traced("vault__search_notes", &json!({}), None), @"draft vault__search_notes lacks query");
}

#[test]
fn r9_steps_are_ranked_alone_and_together_and_become_a_plan() {
    let task = "Search notes about cats and then add the tag pet to the first one";
    insta::assert_snapshot!(traced(task, &json!({}), None), @r#"
    rank "Search notes about cats and then add the tag pet to the first one"
    rank "Search notes about cats"
    rank "add the tag pet to the first one"
    Search notes about cats and then add the tag pet to the…: 2 steps, about 200 ms
     1 ─ notes: vault__search_notes (reads)
           query = "cats"
           tried again up to 2 times
     2 ─ tag: vault__add_tag (changes), after notes
           path = first path in notes
           tag = "pet"
    "#);
}

#[test]
fn v4_what_one_call_leaves_undone_is_named() {
    // The first part is what the call does; the second is another tool's.
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let (given, task) = (Map::new(), "search notes about cats. add the tag pet");
    let mut decide = Decide::new(world(&catalog, &index, false), Goal::in_words(task, &given));
    while let Next::Rank(words) = decide.advance() {
        let decision = ranked(&catalog, &index, &words);
        decide.ranked(words, Arc::new(decision));
    }
    let (search, tag) = (catalog.position("vault__search_notes"), catalog.position("vault__add_tag"));
    let undone = decide.undone(search.unwrap(), &[]).ok().unwrap();
    assert_eq!((undone.words, undone.is_first_done), (vec!["add the tag pet".to_owned()], true));
    assert!(!decide.undone(tag.unwrap(), &[]).ok().unwrap().is_first_done);
}

#[test]
fn r14_where_there_is_to_be_one_call_the_other_steps_are_named() {
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let given = Map::new();
    let left = |task: &str| {
        let world = World { plans: false, ..world(&catalog, &index, false) };
        let mut decide = Decide::new(world, Goal::in_words(task, &given));
        loop {
            match decide.advance() {
                Next::Rank(words) => {
                    let decision = ranked(&catalog, &index, &words);
                    decide.ranked(words, Arc::new(decision));
                }
                Next::Done(conclusion) => {
                    let draft = match *conclusion {
                        Conclusion::Call(draft) | Conclusion::Draft(draft) => draft,
                        other @ (Conclusion::Plan(_)
                        | Conclusion::Incomplete(_)
                        | Conclusion::Ask(_)
                        | Conclusion::Decline(_)) => panic!("{task}: {other:?}"),
                    };
                    break (catalog.tools()[draft.position].id.as_str().to_owned(), draft.not_done);
                }
                other @ (Next::Compare(_) | Next::Read(_) | Next::Consult(_)) => panic!("{task}: {other:?}"),
            }
        }
    };
    let is = |tool: &str, not_done: &[&str]| {
        (tool.to_owned(), not_done.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    };
    let both = "Search notes about cats and then add the tag pet to the first one";
    assert_eq!(left(both), is("vault__search_notes", &["add the tag pet to the first one"]));
    let twice = "Search notes about cats. Then search notes about dogs";
    assert_eq!(left(twice), is("vault__search_notes", &["search notes about dogs"]));
    assert_eq!(left("Search notes about cats and dogs"), is("vault__search_notes", &[]));
}

#[test]
fn v6_a_tool_that_a_reader_finds_unfit_is_not_called() {
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let given = Map::new();
    // What is concluded where ranking leaves it open, and the reader says this of every tool.
    let concluded = |task: &str, fits: f32| {
        let world = World { compares: true, ..world(&catalog, &index, false) };
        let mut decide = Decide::new(world, Goal::in_words(task, &given));
        loop {
            match decide.advance() {
                Next::Rank(words) => {
                    let decision = ranked_by(&catalog, &index, &words, 1.0);
                    assert!(matches!(decision.verdict, Verdict::Ask(_)), "{decision:?}");
                    decide.ranked(words, Arc::new(decision));
                }
                Next::Read(wanted) => decide.read(wanted, Some(RequestReading { fits, fields: Vec::new() })),
                Next::Done(conclusion) => break *conclusion,
                other @ (Next::Compare(_) | Next::Consult(_)) => panic!("{task}: {other:?}"),
            }
        }
    };
    let fitting = concluded("search notes for garden", 4.0);
    assert!(matches!(fitting, Conclusion::Call(_) | Conclusion::Draft(_)), "{fitting:?}");
    let unfit = concluded("search notes for garden", -12.0);
    assert!(matches!(unfit, Conclusion::Decline(_)), "{unfit:?}");
}

#[test]
fn v6_nothing_is_declined_that_a_reader_does_not_find_unfit() {
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let (given, task) = (Map::new(), "search notes for garden");
    // Ranking finds it likely that no tool fits, and leaves it open.
    let mut open = ranked_by(&catalog, &index, task, 1.0);
    open.judgement.none = 0.7;
    let is_declined = |fits: f32| {
        let world = World { compares: true, ..world(&catalog, &index, false) };
        let mut decide = Decide::new(world, Goal::in_words(task, &given));
        decide.ranked(decide.goal.words(), Arc::new(open.clone()));
        loop {
            match decide.advance() {
                Next::Read(wanted) => decide.read(wanted, Some(RequestReading { fits, fields: Vec::new() })),
                Next::Done(conclusion) => break matches!(*conclusion, Conclusion::Decline(_)),
                other @ (Next::Rank(_) | Next::Compare(_) | Next::Consult(_)) => panic!("{other:?}"),
            }
        }
    };
    assert!(!is_declined(-1.0), "a quarter fits");
    assert!(is_declined(-3.0), "one in twenty fits");
}

#[test]
fn r7_a_request_that_seems_vague_is_clear_where_one_tool_takes_all_it_says() {
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let (given, task) = (Map::new(), "search notes for garden");
    let mut open = ranked_by(&catalog, &index, task, 1.0);
    (open.candidates[0].probability, open.judgement.none) = (0.98, 0.0);
    let is_called = |vague: f64, confidence: f64| {
        let mut decision = open.clone();
        decision.judgement.vague = vague;
        let world = World { confidence, ..world(&catalog, &index, false) };
        let mut decide = Decide::new(world, Goal::in_words(task, &given));
        decide.ranked(decide.goal.words(), Arc::new(decision));
        let Next::Done(conclusion) = decide.advance() else { panic!("everything is known") };
        matches!(*conclusion, Conclusion::Call(_))
    };
    assert!(is_called(0.4, 0.7));
    assert!(!is_called(0.6, 0.7), "it is rather vague than clear");
    assert!(!is_called(0.4, 0.99), "whoever wants to be asked is asked");
}

#[test]
fn v1_values_do_not_choose_a_tool_of_another_server_than_the_named_one() {
    let text = json!({"type": "string"});
    let tool = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        let about = "Read a file of a repository";
        let definition = json!({"name": "read_file", "description": about, "inputSchema": schema});
        vec![serde_json::value::to_raw_value(&definition).unwrap()]
    };
    // The server that is named lists no parameters at all.
    let bounds = Bounds { tools: 99, name_chars: 99, description_chars: 999, nesting: 20 };
    let named = Advertised { server: "gitlab".into(), tools: tool(json!({})) };
    let other = Advertised {
        server: "github".into(),
        tools: tool(json!({"owner": text, "path": text, "branch": text})),
    };
    let catalog = Catalog::gather([(named, bounds), (other, bounds)]).0;
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let first = |task: &str| {
        let given = Map::new();
        let values = json!({"owner": "group", "path": "a.md", "branch": "develop"});
        let values = values.as_object().unwrap();
        let mut goal = Goal::in_words(task, &given);
        goal.values = Some(values);
        let decide = Decide::new(world(&catalog, &index, false), goal);
        let told = decide.told_by_values(Arc::new(ranked(&catalog, &index, task)));
        catalog.tools()[told.candidates[0].position].id.as_str().to_owned()
    };
    assert_eq!(first("Read a file of a repository"), "github__read_file");
    assert_eq!(first("Read a file of a gitlab repository"), "gitlab__read_file");
}

#[test]
fn v1_a_tool_that_the_caller_chose_runs_with_values_under_its_own_names() {
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let given = Map::new();
    let becomes = |task: &str, values: Value, message: Option<&str>| {
        let values = values.as_object().unwrap();
        let tool = (task == "tag it").then(|| catalog.position("vault__add_tag").unwrap());
        let goal = Goal { tool, values: Some(values), message, ..Goal::in_words(task, &given) };
        let Next::Done(conclusion) = Decide::new(world(&catalog, &index, false), goal).advance() else {
            unreachable!("a tool that was chosen is not ranked");
        };
        told(&catalog, &conclusion)
    };
    let tag = json!({"path": "a.md", "tag": "pet"});
    let runs = r#"call vault__add_tag {"path":"a.md","tag":"pet"}"#;
    assert_eq!(becomes("vault__add_tag", tag.clone(), None), runs);
    // The message has been read by whoever names the tool, or chose it when asked.
    assert_eq!(becomes("vault__add_tag", tag.clone(), Some("tag b.md with dog")), runs);
    assert_eq!(becomes("tag it", tag, None), runs);
    // A name of the caller's own is only nearly as sure, and a value that is left over is shown.
    let left_over = json!({"path": "a.md", "tag": "pet", "colour": "red"});
    assert_eq!(becomes("vault__add_tag", left_over, None), "draft vault__add_tag lacks ");
}

#[test]
fn r9_a_language_model_is_asked_once_for_what_words_leave_open() {
    let advice =
        Advice { values: [("query".to_owned(), json!("cats"))].into_iter().collect(), ..Advice::default() };
    insta::assert_snapshot!(traced("search my notes", &json!({}), Some(&advice)), @r#"
    rank "search my notes"
    consult vault__search_notes
    call vault__search_notes {"query":"cats"}
    "#);
    insta::assert_snapshot!(traced("search my notes", &json!({}), Some(&Advice::default())), @r#"
    rank "search my notes"
    consult vault__search_notes
    draft vault__search_notes lacks query
    "#);
}

fn desk() -> Catalog {
    let bounds = Bounds { tools: 99, name_chars: 99, description_chars: 999, nesting: 20 };
    let text = json!({"type": "string"});
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let definition = json!({"name": name, "description": description, "inputSchema": schema});
        serde_json::value::to_raw_value(&definition).unwrap()
    };
    let vault = vec![
        tool("search_notes", "Search notes by their content", json!({"query": text}), &["query"]),
        tool("add_tag", "Add a tag to a note", json!({"path": text, "tag": text}), &["path", "tag"]),
    ];
    Catalog::gather([(Advertised { server: "vault".into(), tools: vault }, bounds)]).0
}

fn world<'a>(catalog: &'a Catalog, index: &'a Index, advises: bool) -> World<'a> {
    World {
        catalog,
        index,
        shows: &|_| true,
        confirms: &|_, _, _| false,
        estimate_ms: &|_| 100,
        now: Now { at: jiff::civil::date(2026, 11, 17).at(9, 0, 0, 0), offset: 0 },
        confidence: 0.5,
        plans: true,
        advises,
        compares: false,
    }
}

fn ranked(catalog: &Catalog, index: &Index, words: &str) -> Decision {
    ranked_by(catalog, index, words, 0.3)
}

fn ranked_by(catalog: &Catalog, index: &Index, words: &str, confidence: f64) -> Decision {
    let method = Method::Fitted(Weights::builtin());
    let rules = rank::Rules { method, confidence, candidates: 5, reasons: Reasons::LeftOut };
    rank::decide(Scope::plain(catalog, index), Request::in_words(words), rules)
}

/// Drives a request to its end, and tells every step of the way.
fn traced(task: &str, given: &Value, advice: Option<&Advice>) -> String {
    let catalog = desk();
    let index = Index::new(&catalog, Knowledge::gather(&catalog, None, &[], |_| None));
    let given = given.as_object().cloned().unwrap();
    let mut decide = Decide::new(world(&catalog, &index, advice.is_some()), Goal::in_words(task, &given));
    let mut trace = String::new();
    loop {
        let line = match decide.advance() {
            Next::Rank(words) => {
                let decision = ranked(&catalog, &index, &words);
                let line = format!("rank {words:?}");
                decide.ranked(words, Arc::new(decision));
                line
            }
            Next::Compare(_) | Next::Read(_) => unreachable!("nothing compares meanings here"),
            Next::Consult(consult) => {
                decide.advised(&consult, advice.cloned().unwrap());
                format!("consult {}", catalog.tools()[consult.position].id)
            }
            Next::Done(conclusion) => return trace + &told(&catalog, &conclusion),
        };
        trace += &format!("{line}\n");
    }
}

fn told(catalog: &Catalog, conclusion: &Conclusion) -> String {
    let id = |position: usize| catalog.tools()[position].id.as_str();
    match conclusion {
        Conclusion::Call(Draft { position, settled, .. }) => {
            let found: Map<String, Value> =
                settled.found.iter().map(|it| (it.name.clone(), it.value.clone())).collect();
            format!("call {} {}", id(*position), Value::Object(found))
        }
        Conclusion::Draft(Draft { position, settled, .. }) => {
            let missing: Vec<&str> = settled.missing.iter().map(|it| it.name.as_str()).collect();
            format!("draft {} lacks {}", id(*position), missing.join(", "))
        }
        Conclusion::Plan(prospect) => prospect.plan.render(),
        Conclusion::Incomplete(lack) => {
            format!("{} lacks {:?} for {:?}", id(lack.position), lack.missing, lack.words)
        }
        Conclusion::Ask(question) => format!("ask {}", question.text),
        Conclusion::Decline(_) => "decline".to_owned(),
    }
}
