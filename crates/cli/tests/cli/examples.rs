//! The examples of `--help` and of the README do what they say, in a home with the built-in servers.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::place::Place;

/// One line that a person may type.
#[derive(Debug)]
struct Example {
    /// As a shell takes it, without what only shapes the output for a reader.
    line: String,
    /// What the reader's program picks out of JSON.
    filter: Option<String>,
    /// What is said beside it.
    comment: String,
}

#[test]
fn the_examples_of_the_help_do_what_they_say() {
    for command in ["", "route", "find", "call"] {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = Place::new().output(&words);
        let help = String::from_utf8(output.stdout).unwrap();
        let examples = help.split_once("Examples:\n").unwrap().1.lines().take_while(|line| !line.is_empty());
        let examples: Vec<Example> = examples.map(|line| Example::read(line, "  ")).collect();
        assert!(examples.len() >= 3, "{command}: {examples:?}");
        examples.iter().filter(|it| it.is_for_this_machine()).for_each(Example::try_out);
    }
}

#[test]
fn the_shell_lines_of_the_readme_do_what_they_say() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let mut examples = Vec::new();
    let mut language = None;
    for line in readme.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(named), None) => language = Some(named),
            (Some(_), Some(_)) => language = None,
            (None, Some("sh")) => examples.push(Example::read(line, "#")),
            (None, Some("text")) => {
                examples.extend(line.strip_prefix("$ ").map(|line| Example::read(line, "#")))
            }
            (None, Some(_)) => {}
            // Within a sentence, what is quoted is a whole command; a name in capitals stands for something.
            (None, None) => {
                let spans = line.split('`').skip(1).step_by(2);
                let whole = spans.filter(|span| span.starts_with("toolyard route \""));
                examples.extend(whole.map(|span| Example::read(span, "#")));
            }
        }
    }
    let tried: Vec<&Example> = examples.iter().filter(|it| it.is_for_this_machine()).collect();
    assert!(tried.len() >= 5, "{tried:?}");
    tried.into_iter().for_each(Example::try_out);
}

impl Example {
    /// Reads a line; `mark` is what stands before the comment.
    fn read(line: &str, mark: &str) -> Self {
        let line = line.trim();
        let (line, comment) = line.split_once(mark).unwrap_or((line, ""));
        let (line, filter) = match line.split_once(" | jq ") {
            Some((line, filter)) => (line, Some(filter.trim().to_owned())),
            None => (line, None),
        };
        let line = match line.split_once("cargo run --release -p toolyard -- ") {
            Some((_, words)) => format!("toolyard {words}"),
            None => line.to_owned(),
        };
        Self { line: line.trim().to_owned(), filter, comment: comment.trim().to_owned() }
    }

    /// Whether it needs neither a network nor a server of somebody else, and ends by itself.
    fn is_for_this_machine(&self) -> bool {
        let words: Vec<&str> = self.line.split_whitespace().collect();
        let own = ["time__", "notes__"];
        let is_foreign = |word: &&str| word.contains("__") && !own.iter().any(|own| word.starts_with(own));
        let needs_network = ["serve", "login", "chat", "proxy-llm"];
        words.contains(&"toolyard")
            && !words.iter().any(is_foreign)
            && !words.iter().any(|word| needs_network.contains(word))
    }

    /// A question is promised where the reader looks at the question; everything else works.
    fn promised(&self) -> i32 {
        if self.filter.as_ref().is_some_and(|filter| filter.contains("question")) { 3 } else { 0 }
    }

    fn try_out(&self) {
        let place = Place::new();
        let output = self.run(&place);
        let seen = place.seen(&output);
        assert_eq!(output.status.code(), Some(self.promised()), "{self:?}\n{seen}");
        assert!(!output.stdout.is_empty(), "{self:?}\n{seen}");
        if let Some(filter) = &self.filter {
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let path = filter.trim_start_matches("-r ").trim_matches('\'').replace(['.', '['], "/");
            let picked = said.pointer(&path.replace("]", "").replace("//", "/"));
            assert!(picked.is_some_and(serde_json::Value::is_string), "{self:?}\n{said:#}");
        }
        if self.comment.contains("run at once") {
            assert!(seen.contains("Running "), "{self:?}\n{seen}");
        }
    }

    fn run(&self, place: &Place) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_toolyard"));
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &self.line]).stdin(Stdio::null()).current_dir(place.path("desk")).env_clear();
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        for (name, folder) in [("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data")] {
            command.env(name, place.path(folder));
        }
        command.output().unwrap()
    }
}
