//! Copies, appends and rewrites in plain words, on two real servers: nothing that was there is lost unasked, and nothing
//! but what was said is written; skipped where `scripts/servers` was not run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::Client;

use crate::desk::understood;
use crate::fleet::{START, laid_out, real};
use crate::shelf::whole;
use crate::yard::{SESSION, Yard};

const GARDEN: &str = "Tomatoes want sun.";
const TREES: &str = "Oaks grow slowly.";
const SAID: [&str; 2] = ["all new", "one more line"];

/// Ways to say it; `{a}` and `{b}` are there, `{n}` is not.
const WAYS: [&str; 34] = [
    "read {a} and write its content to {n}",
    "read {a} and write its content to {b}",
    "read {a} and write its content to a new note called {n}",
    "read {a} and write its content to a new file named {n}",
    "copy the text of {a} into {b}",
    "take what is in {a} and save it as {n}",
    "open {a} and put its text into {b}",
    "read {a}, then write it to {n}",
    "read {a} and save the result to {b}",
    "read {a} and write its content",
    "lies {a} und schreib den Inhalt nach {n}",
    "lis {a} et écris son contenu dans {n}",
    "lee {a} y escribe su contenido en {n}",
    "read {a} and append its text to {b}",
    "append the content of {a} to {b}",
    "read {a} and add it to the end of {b}",
    "append 'one more line' to {b}",
    "add the line \"one more line\" to {b}",
    "read {a}, then append it to {b}",
    "lies {a} und häng den Text an {b} an",
    "read {a} and prepend it to {b}",
    "read {b} and append 'one more line' to it",
    "write 'all new' to {b}",
    "overwrite {b} with 'all new'",
    "replace the content of {b} with 'all new'",
    "set the text of {b} to \"all new\"",
    "rewrite {b} so that it says 'all new'",
    "read {a} and overwrite {b} with it",
    "read {a} and replace {b} with its text",
    "write all new to {b}",
    "save 'all new' in {b}",
    "update {b} with the text 'all new'",
    "read {a} and update {b}",
    "schreib \"all new\" in {b}",
];

/// A real server and a folder that it writes to.
struct Place {
    yard: Yard,
    folder: PathBuf,
    /// What a file is called when people speak of it.
    called: fn(&Path, &str) -> String,
}

impl Place {
    async fn new(server: &str, called: fn(&Path, &str) -> String) -> Option<Self> {
        let (temporary, folder) = laid_out(&[("all/Garden.md", GARDEN)])?;
        let folder = folder.join("all");
        let yard = Yard::of(json!({server: real(server, &[folder.to_str().unwrap()])}));
        let yard = yard.keep(temporary).learnt_within(START).await;
        Some(Self { yard, folder, called })
    }

    /// Says one of the ways in a folder as it was at first; agrees to everything where that is wished.
    async fn say(&self, client: &Client, way: &str, agrees: bool) -> Value {
        for file in self.files().keys() {
            std::fs::remove_file(self.folder.join(file)).unwrap();
        }
        std::fs::write(self.folder.join("Garden.md"), GARDEN).unwrap();
        std::fs::write(self.folder.join("Trees.md"), TREES).unwrap();
        let called = |name: &str| (self.called)(&self.folder, name);
        let task = way.replace("{a}", &called("Garden.md")).replace("{b}", &called("Trees.md"));
        let task = task.replace("{n}", &called("Garden copy.md"));
        let mut answer = whole(client, json!({"task": task})).await;
        for _ in 0..3 {
            let handle = answer["structuredContent"]["confirm"].clone();
            if !agrees || !handle.is_string() {
                break;
            }
            let shown = answer["content"].to_string();
            assert!(shown.contains(".md"), "what is agreed to is shown: {task}: {shown}");
            answer = whole(client, json!({"task": task, "context": {"confirm": handle}})).await;
        }
        answer
    }

    fn files(&self) -> BTreeMap<String, String> {
        let files = std::fs::read_dir(&self.folder).unwrap().map(Result::unwrap);
        let files = files.filter(|it| it.file_type().unwrap().is_file());
        files
            .map(|it| (it.file_name().into_string().unwrap(), std::fs::read_to_string(it.path()).unwrap()))
            .collect()
    }
}

/// What is in a text beside the texts of the files and what was said in quotes.
fn leftover(text: &str) -> String {
    let known = SAID.into_iter().chain([GARDEN, TREES]);
    let rest = known.fold(text.to_owned(), |rest, known| rest.replace(known, ""));
    rest.trim().to_owned()
}

async fn holds(place: &Place) -> usize {
    let client = place.yard.stdio(&[]);
    client.initialize(SESSION, json!({})).await.unwrap();
    understood(&client).await;
    let mut done = 0;
    for way in WAYS {
        let answer = place.say(&client, way, false).await;
        let files = place.files();
        for (file, was) in [("Garden.md", GARDEN), ("Trees.md", TREES)] {
            let is = files.get(file).map_or("", String::as_str);
            assert!(is.contains(was), "unasked, `{way}` left `{is}` in {file}: {answer}");
        }
        let answer = place.say(&client, way, true).await;
        let files = place.files();
        assert_eq!(files.get("Garden.md").map(String::as_str), Some(GARDEN), "{way}: {answer}");
        for (file, is) in &files {
            let known = ["Garden.md", "Trees.md", "Garden copy.md", "Garden-copy.md"];
            assert!(known.contains(&file.as_str()), "{way}: {file}");
            assert_eq!(leftover(is), "", "`{way}` wrote more than was said into {file}: {answer}");
        }
        let changed = files.len() > 2 || files["Trees.md"] != TREES;
        done += usize::from(changed);
    }
    done
}

#[tokio::test]
async fn c3_no_file_is_overwritten_unasked_and_no_leftover_words_are_written() {
    let called = |folder: &Path, name: &str| folder.join(name.replace(' ', "-")).to_str().unwrap().to_owned();
    let Some(place) = Place::new("filesystem", called).await else { return };
    let done = holds(&place).await;
    assert!(done >= 10, "{done}");
}

#[tokio::test]
async fn c3_no_note_is_overwritten_unasked_and_no_leftover_words_are_written() {
    let Some(place) = Place::new("obsidian", |_, name| name.to_owned()).await else { return };
    let done = holds(&place).await;
    assert!(done >= 5, "{done}");
}
