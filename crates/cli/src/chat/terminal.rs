//! A conversation at a terminal.

use std::borrow::Cow;

use owo_colors::OwoColorize;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Editor, Helper};
use serde_json::{Map, Value};
use toolyard_agent::host::{Consent, Elicitation, Ended, Event, Host, Why};
use toolyard_agent::session::Session;
use toolyard_core::tool::clean;
use toolyard_core::turn::LimitChoice;

use super::command::{self, Effect};
use super::transcript::Transcript;
use super::typed;
use crate::failure::Failure;
use crate::learn::Waiting;
use crate::output;

/// What stands around a text of many lines.
const FENCE: &str = "\"\"\"";
/// Lines of a result that are shown.
const SHOWN_LINES: usize = 3;
/// Characters of one of these lines.
const SHOWN_CHARS: usize = 160;

/// Reads what a person types: with history, over several lines.
type Lines = Editor<Multiline, FileHistory>;

/// The person at the terminal.
struct Terminal {
    lines: Lines,
    kept: Transcript,
    waiting: Option<Waiting>,
    offered: Vec<String>,
    /// Whether a piece of the answer stands on the last line.
    is_open: bool,
    is_thinking: bool,
    /// Whether the person wants the turn to end.
    wants_stop: bool,
}

pub(super) async fn run(mut session: Session, kept: Transcript) -> Result<(), Failure> {
    let mut lines: Lines =
        Editor::new().map_err(|error| Failure::new(format!("this terminal cannot be used: {error}")))?;
    lines.set_helper(Some(Multiline));
    let history = kept.path().and_then(|path| Some(path.parent()?.join("history")));
    if let Some(history) = &history {
        let _ = lines.load_history(history);
    }
    let mut terminal = Terminal {
        lines,
        kept,
        waiting: None,
        offered: Vec::new(),
        is_open: false,
        is_thinking: false,
        wants_stop: false,
    };
    let model = session.model().name.clone();
    anstream::eprintln!("{} /help tells what else can be typed.", format!("Talking to {model}.").bold());
    loop {
        let line = tokio::task::block_in_place(|| terminal.lines.readline("> "));
        let line = match line {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::new(error.to_string())),
        };
        let text = message(&line);
        if text.is_empty() {
            continue;
        }
        let _ = terminal.lines.add_history_entry(line.as_str());
        if let Some(history) = &history {
            let _ = terminal.lines.append_history(history);
        }
        if !text.starts_with('/') {
            say(&mut session, &mut terminal, &text).await;
            continue;
        }
        match command::carry_out(&mut session, &text, &terminal.offered).await {
            Effect::Show(text) => anstream::eprintln!("{text}"),
            Effect::Begin => {
                session.forget();
                let folder = terminal.kept.path().and_then(|path| Some(path.parent()?.to_owned()));
                terminal.kept = folder
                    .map_or_else(Transcript::none, |folder| Transcript::new(&folder, &session.model().name));
                anstream::eprintln!("A new conversation.");
            }
            Effect::Transcript => match terminal.kept.path() {
                Some(path) => anstream::eprintln!("{}", path.display()),
                None => anstream::eprintln!("This conversation is not kept."),
            },
            Effect::Quit => break,
        }
    }
    Ok(())
}

/// Says something and follows the turn; Ctrl-C ends it.
async fn say(session: &mut Session, terminal: &mut Terminal, text: &str) {
    terminal.wants_stop = false;
    terminal.wait("thinking");
    let outcome = tokio::select! {
        outcome = session.say(text, terminal) => Some(outcome),
        _ = tokio::signal::ctrl_c() => None,
    };
    terminal.waiting = None;
    terminal.close();
    match outcome {
        Some(Ok(ended)) => terminal.conclude(&ended),
        Some(Err(error)) => {
            anstream::eprintln!("{} {}", "error:".red().bold(), clean(&error.to_string()));
        }
        None => {
            session.stop(terminal);
            anstream::eprintln!("{}", "stopped".dimmed());
        }
    }
}

impl Terminal {
    fn wait(&mut self, what: &str) {
        self.waiting = Some(Waiting::begin(what));
    }

    /// Ends the line of the answer that is being written.
    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = output::text("");
        }
        if std::mem::take(&mut self.is_thinking) {
            anstream::eprintln!();
        }
    }

    fn note(&mut self, text: &str) {
        self.waiting = None;
        self.close();
        anstream::eprintln!("{}", clean(text).dimmed());
    }

    fn conclude(&mut self, ended: &Ended) {
        if let Some(draft) = &ended.draft {
            let unsaid = draft.unsaid.join(", ");
            let typed = typed(&draft.tool, &draft.arguments);
            self.note(&format!("not called, because nobody said {unsaid}: {typed}"));
        }
        if let Some(interaction) = &ended.pending.interaction {
            self.note(&format!("waits for your answer: {interaction}"));
        }
        if let Some(memory) = &ended.pending.memory_update {
            self.note(&format!("would be remembered: {memory}"));
        }
        if let Some(research) = &ended.pending.research {
            self.note(&format!("still under way: {research}"));
        }
    }

    /// Asks for a line; nothing where the person leaves.
    fn ask(&mut self, prompt: &str) -> Option<String> {
        self.waiting = None;
        self.close();
        let said = tokio::task::block_in_place(|| self.lines.readline(prompt));
        match said {
            Ok(said) => Some(said.trim().to_owned()),
            Err(_) => {
                self.wants_stop = true;
                None
            }
        }
    }

    fn is_yes(&mut self, prompt: &str) -> bool {
        self.ask(prompt).is_some_and(|said| matches!(said.to_lowercase().as_str(), "y" | "yes"))
    }
}

impl Host for Terminal {
    fn hear(&mut self, event: Event) {
        match event {
            Event::Message { message } => self.kept.add(&message),
            Event::Bound { tools, .. } => self.offered = tools,
            Event::Text { text } => {
                self.waiting = None;
                if std::mem::take(&mut self.is_thinking) {
                    anstream::eprintln!();
                }
                let text = if self.is_open { text.as_str() } else { text.trim_start() };
                if !text.is_empty() {
                    self.is_open = output::piece(&clean(text)).is_ok();
                }
            }
            Event::Reasoning { text } => {
                self.waiting = None;
                self.is_thinking = true;
                anstream::eprint!("{}", clean(&text).dimmed());
            }
            Event::Call { tool, arguments, .. } => {
                self.note(&format!("→ {}", typed(&tool, &arguments)));
                self.wait(&format!("calling {tool}"));
            }
            Event::Result { tool, text, is_error, ms, .. } => {
                let how = if is_error { "failed" } else { "answered" };
                self.note(&format!("← {tool} {how} in {ms} ms\n{}", excerpt(&text)));
                self.wait("thinking");
            }
            Event::NotCalled { why } => self.note(&why),
            Event::Repaired { what } => self.note(&what),
            Event::Refinement { iteration, tool } => {
                self.note(&format!("searching again ({iteration}) with {tool}"))
            }
            Event::Refreshed { tools, why } => {
                self.note(&format!("{why}: {} tools", tools.len()));
                self.offered = tools;
            }
            Event::Answer(_) => {}
        }
    }

    async fn agree(&mut self, consent: Consent) -> bool {
        let call = typed(&consent.tool, &consent.arguments);
        self.waiting = None;
        self.close();
        match consent.why {
            Why::Policy(why) => {
                anstream::eprintln!("{} {}\n  {call}", "Asked first:".yellow().bold(), clean(&why))
            }
            Why::Unsaid(values) => {
                let values: Vec<String> =
                    values.iter().map(|(place, value)| format!("{place} = {value}")).collect();
                anstream::eprintln!(
                    "{} {}\n  {call}",
                    "Nobody said:".yellow().bold(),
                    clean(&values.join(", "))
                );
            }
        }
        self.is_yes("Run it? Type yes: ")
    }

    async fn answer(&mut self, question: Elicitation) -> Option<Map<String, Value>> {
        self.waiting = None;
        self.close();
        anstream::eprintln!("{}", clean(&question.message).bold());
        let properties = question.schema["properties"].as_object().cloned().unwrap_or_default();
        let mut answer = Map::new();
        for (name, property) in &properties {
            let said = self.ask(&format!("{name}: "))?;
            if said.is_empty() {
                continue;
            }
            let value = match property["type"].as_str() {
                Some("boolean") => Value::from(matches!(said.to_lowercase().as_str(), "y" | "yes" | "true")),
                Some("integer" | "number") => {
                    serde_json::from_str(&said).unwrap_or_else(|_| Value::from(said))
                }
                Some(_) | None => Value::from(said),
            };
            answer.insert(name.clone(), value);
        }
        (!answer.is_empty()).then_some(answer)
    }

    async fn choose(&mut self) -> LimitChoice {
        self.waiting = None;
        self.close();
        let said = self.ask("The model has used its calls. [c]ontinue, [w]rap up (Enter), [s]top? ");
        let choice = match said.as_deref().map(str::to_lowercase).as_deref() {
            Some("c" | "continue") => LimitChoice::Continue,
            None | Some("s" | "stop") => LimitChoice::Stop,
            Some(_) => LimitChoice::WrapUp,
        };
        self.wait("thinking");
        choice
    }
}

/// Returns the beginning of a result.
fn excerpt(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let cut = |line: &&str| match line.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("  {}…", &line[..at]),
        None => format!("  {line}"),
    };
    let mut shown: Vec<String> = lines.iter().take(SHOWN_LINES).map(cut).collect();
    if lines.len() > SHOWN_LINES {
        shown.push(format!("  … {} more lines", lines.len() - SHOWN_LINES));
    }
    shown.join("\n")
}

/// Takes what stands around a text of many lines away.
fn message(line: &str) -> String {
    let line = line.trim();
    match line.strip_prefix(FENCE).and_then(|it| it.strip_suffix(FENCE)) {
        Some(inside) => inside.trim().to_owned(),
        None => line.replace("\\\n", "\n"),
    }
}

/// Says when a message goes on in the next line.
struct Multiline;

impl Validator for Multiline {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let is_fenced = input.trim_start().starts_with(FENCE);
        let is_open =
            is_fenced && (input.trim().len() < 2 * FENCE.len() || !input.trim_end().ends_with(FENCE));
        Ok(match is_open || input.ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for Multiline {
    type Candidate = String;
}

impl Hinter for Multiline {
    type Hint = String;
}

impl Highlighter for Multiline {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Borrowed(prompt)
    }
}

impl Helper for Multiline {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_many_lines_is_one_message() {
        assert_eq!(message("  hello "), "hello");
        assert_eq!(message("one\\\ntwo"), "one\ntwo");
        assert_eq!(message("\"\"\"\na\nb\n\"\"\""), "a\nb");
    }

    #[test]
    fn a_long_result_is_shown_in_a_few_lines() {
        assert_eq!(excerpt("a\n\nb\nc\nd\ne"), "  a\n  b\n  c\n  … 2 more lines");
    }
}
