//! What the folders of a path are called is no part of what a request asks for.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard_core::arguments::{Form, Now, Sources, fill};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::index::{Index, asked};
use toolyard_core::metadata::{Knowledge, Library};
use toolyard_core::plan::{Splitting, choose, settle, spoken};
use toolyard_core::rank::{Decision, Intent, Method, Reasons, Request, Rules, Scope, Weights, decide};
use toolyard_core::task::clauses;

const NOW: Now = Now { at: jiff::civil::date(2026, 11, 17).at(9, 0, 0, 0), offset: 0 };

/// Tasks on files, with `FOLDER` where the name of a folder is.
const TASKS: [&str; 10] = [
    "Read the file /tmp/FOLDER/files/notes.md and turn it into /tmp/FOLDER/files/report.docx",
    "Convert /tmp/FOLDER/notes.md to /tmp/FOLDER/second.docx, then get the whole text of the document \
     /tmp/FOLDER/second.docx",
    "Search for files matching \"*.md\" in /tmp/FOLDER, then convert each file to docx",
    "list everything in ~/FOLDER",
    "show the commit log of /home/ana/FOLDER",
    "write hello to ./FOLDER/out.txt",
    "Create the workbook /srv/FOLDER/sales.xlsx with a sheet Q1 and write 12 into the cell A1",
    "lies bitte die Datei /tmp/FOLDER/plan.md vor",
    "读取 /tmp/FOLDER/plan.md 文件",
    "open src/FOLDER/main.rs",
];

struct Desk {
    catalog: Catalog,
    index: Index,
}

fn desk() -> Desk {
    let tool = |name: &str, description: &str, parameters: &[&str]| {
        let properties: Map<String, Value> =
            parameters.iter().map(|it| ((*it).to_owned(), json!({"type": "string"}))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": parameters});
        let definition = json!({"name": name, "description": description, "inputSchema": schema});
        serde_json::value::to_raw_value(&definition).expect("JSON")
    };
    let servers = [
        (
            "filesystem",
            vec![
                tool("read_file", "Read the contents of a file", &["path"]),
                tool("write_file", "Write text to a file", &["path", "content"]),
                tool("list_directory", "List the files of a directory", &["path"]),
                tool("search_files", "Search for files by a pattern", &["path", "pattern"]),
                tool("delete_file", "Delete a file", &["path"]),
            ],
        ),
        ("pandoc", vec![tool("convert", "Convert a document to another format", &["input", "output"])]),
        (
            "word",
            vec![
                tool("get_document_text", "Get the text of a Word document", &["filename"]),
                tool("create_document", "Create a Word document", &["filename"]),
            ],
        ),
        (
            "excel",
            vec![
                tool("create_workbook", "Create an Excel workbook", &["path"]),
                tool("write_range", "Write values into cells of a sheet", &["path", "sheet", "values"]),
            ],
        ),
        (
            "git",
            vec![
                tool("log", "Show the commit log of a repository", &["repo_path"]),
                tool("status", "Show the status of the working tree", &["repo_path"]),
            ],
        ),
        (
            "notes",
            vec![
                tool("read_note", "Read a note", &["path"]),
                tool("delete_note", "Delete a note", &["path"]),
            ],
        ),
    ];
    let bounds = Bounds { tools: 99, name_chars: 99, description_chars: 999, nesting: 20 };
    let servers = servers.map(|(server, tools)| (Advertised { server: Arc::from(server), tools }, bounds));
    let (catalog, _) = Catalog::gather(servers);
    let knowledge = Knowledge::gather(&catalog, Some(Library::builtin()), &[], |_| None);
    let index = Index::new(&catalog, knowledge);
    Desk { catalog, index }
}

impl Desk {
    fn decide(&self, task: &str) -> Decision {
        let method = Method::Fitted(Weights::builtin());
        let rules = Rules { method, confidence: 0.7, candidates: 8, reasons: Reasons::Given };
        decide(Scope::plain(&self.catalog, &self.index), Request::in_words(task), rules)
    }

    /// Tells all that is decided about a task, to the last digit: what the encoder sees, the whole task, the steps,
    /// their tools and their arguments.
    fn tell(&self, task: &str) -> String {
        let whole = self.decide(task);
        let cut = clauses(task);
        let alone: Vec<Decision> = (0..cut.len()).map(|at| self.decide(&spoken(&cut, at))).collect();
        let settled = settle(task, cut, (&alone.iter().collect::<Vec<_>>(), &whole), Splitting::Careful);
        let steps: Vec<Decision> = (0..settled.len()).map(|at| self.decide(&spoken(&settled, at))).collect();
        let choices = choose(&self.catalog, &steps.iter().collect::<Vec<_>>(), &whole);
        let shown = |decision: &Decision| {
            let candidates = decision.candidates.iter();
            let candidates: Vec<String> = candidates
                .map(|it| {
                    format!("{} {} {:?}", self.catalog.tools()[it.position].id.as_str(), it.score, it.reasons)
                })
                .collect();
            format!("{:?} {} {candidates:?} {:?}", decision.verdict, decision.confidence, decision.intent)
        };
        let filled: Vec<String> = settled
            .iter()
            .zip(&choices)
            .filter_map(|(clause, choice)| {
                let form = Form::of(&self.catalog.tools()[(*choice)?.position]);
                let sources = Sources {
                    task: &clause.words,
                    given: &Map::new(),
                    named: None,
                    reading: None,
                    earlier: &[],
                    now: NOW,
                };
                let filling = fill(&form, &sources);
                let arguments = filling.arguments.iter().map(|it| format!("{}={}", it.name, it.value));
                Some(format!("{} {:?}", clause.words, arguments.collect::<Vec<_>>()))
            })
            .collect();
        format!(
            "{:?} {} {choices:?} {:?} {filled:?} {:?}",
            asked(task),
            shown(&whole),
            steps.iter().map(shown).collect::<Vec<_>>(),
            Intent::of(task),
        )
    }
}

/// Tells what is decided about each task with this folder, written as if it had another name.
fn told(desk: &Desk, folder: &str) -> Vec<String> {
    TASKS.iter().map(|task| desk.tell(&task.replace("FOLDER", folder)).replace(folder, "zqj7kxv")).collect()
}

#[test]
fn r13_folders_that_are_called_like_tools_change_nothing() {
    let desk = desk();
    let expected = told(&desk, "zqj7kxv");
    for folder in [
        ".tmpX1b2C3",
        "tmp.Ab12Cd34Ef",
        "git-repo-x",
        "myNotes42",
        "excel2024",
        "delete_everything",
        "20241117",
        "Word-Documents",
        "löschen",
        "und-dann",
        "commit_log_2",
        "GitHub-API",
        "a.io-b@c",
        "x--y__z",
    ] {
        for ((task, seen), expected) in TASKS.iter().zip(told(&desk, folder)).zip(&expected) {
            assert_eq!(seen, *expected, "{task} in {folder}");
        }
    }
    // Words that stand in the tasks as well cannot be put back, so that only what is decided is compared.
    let decided = |folder: &str| -> Vec<(Vec<usize>, f64)> {
        let decide = |task: &&str| desk.decide(&task.replace("FOLDER", folder));
        let decisions = TASKS.iter().map(decide);
        decisions.map(|it| (it.candidates.iter().map(|it| it.position).collect(), it.confidence)).collect()
    };
    let unparted = |folder: &str| {
        let decision = desk.decide(&format!("读取/tmp/{folder}/plan.md文件"));
        (decision.candidates[0].position, decision.confidence)
    };
    for folder in
        ["git", "notes", "excel", "delete", "then", "it", "word", "the", "and", "1", "read/write/notes"]
    {
        assert_eq!(decided(folder), decided("zqj7kxv"), "{folder}");
        assert_eq!(unparted(folder), unparted("zqj7kxv"), "{folder}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn r13_a_folder_of_any_name_changes_nothing(folder in "[._]?[a-zA-Z0-9]{6,12}([_-][a-z0-9]{2,6})?") {
        let desk = desk();
        prop_assert_eq!(told(&desk, &folder), told(&desk, "zqj7kxv"));
    }
}
