//! Questions to the person at the terminal.
//!
//! They go to stderr, because stdout belongs to the answer of the tool. An empty line or the end of the input
//! means: none of it.

use std::io::{self, BufRead, Write};

use owo_colors::OwoColorize;
use serde_json::{Map, Value};
use toolyard_core::tool::{Parameter, Tool};

use crate::tools;

/// Somebody who can be asked.
pub(crate) struct Person<'a> {
    hears: Box<dyn BufRead + 'a>,
    sees: Box<dyn Write + 'a>,
}

impl<'a> Person<'a> {
    /// Returns the person at the terminal.
    pub(crate) fn here() -> Self {
        Self { hears: Box::new(io::stdin().lock()), sees: Box::new(anstream::stderr()) }
    }

    /// Has one of several tools chosen by its number.
    pub(super) fn choose(&mut self, question: &str, among: &[&Tool]) -> io::Result<Option<usize>> {
        if among.is_empty() {
            writeln!(self.sees, "{question}")?;
            return Ok(None);
        }
        writeln!(self.sees, "{}", question.bold())?;
        for (at, tool) in among.iter().enumerate() {
            writeln!(
                self.sees,
                "  {}  {}  {}",
                at + 1,
                tool.id.as_str().bold(),
                tools::summary(tool).dimmed()
            )?;
        }
        loop {
            let prompt = format!("1-{}, or nothing to leave it: ", among.len());
            let Some(said) = self.ask(&prompt)? else { return Ok(None) };
            match said.parse::<usize>() {
                Ok(number) if (1..=among.len()).contains(&number) => return Ok(Some(number - 1)),
                Ok(_) | Err(_) => writeln!(self.sees, "`{said}` is none of them.")?,
            }
        }
    }

    /// Asks for the value of a parameter.
    pub(super) fn fill(&mut self, tool: &Tool, parameter: &Parameter) -> io::Result<Option<String>> {
        self.ask(&format!("{} needs {} ({}): ", tool.id, parameter.name, parameter.kind))
    }

    /// Asks whether to do what cannot be taken back.
    pub(crate) fn agrees(
        &mut self,
        tool: &Tool,
        arguments: &Map<String, Value>,
        is_final: bool,
    ) -> io::Result<bool> {
        let call = super::said(tool, arguments);
        match is_final {
            true => writeln!(self.sees, "{} {call}", "This cannot be taken back:".red().bold())?,
            false => writeln!(self.sees, "Is this what you mean: {call}")?,
        }
        self.accepts("Run it? Type yes: ")
    }

    /// Asks a question that is answered with yes.
    pub(crate) fn accepts(&mut self, prompt: &str) -> io::Result<bool> {
        let said = self.ask(prompt)?;
        Ok(said.is_some_and(|said| matches!(said.to_lowercase().as_str(), "y" | "yes")))
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        write!(self.sees, "{prompt}")?;
        self.sees.flush()?;
        let mut line = String::new();
        self.hears.read_line(&mut line)?;
        Ok(Some(line.trim().to_owned()).filter(|said| !said.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::catalog::{Advertised, Bounds, Catalog};

    use super::*;

    #[test]
    fn r7_a_tool_is_chosen_by_its_number() {
        let asked = |input: &str| {
            with(input, |person, tools| {
                person.choose("Which do you mean?", tools).map(|at| format!("{at:?}"))
            })
        };
        insta::assert_snapshot!(asked("7\nmail\n2\n"), @"
        Which do you mean?
          1  post__send_mail  Sends it.
          2  post__send_text  Sends it.
        1-2, or nothing to leave it: `7` is none of them.
        1-2, or nothing to leave it: `mail` is none of them.
        1-2, or nothing to leave it:
        Some(1)
        ");
        insta::assert_snapshot!(asked("\n"), @"
        Which do you mean?
          1  post__send_mail  Sends it.
          2  post__send_text  Sends it.
        1-2, or nothing to leave it:
        None
        ");
        assert!(asked("").ends_with("None"));
    }

    #[test]
    fn r7_what_is_missing_is_asked_for() {
        insta::assert_snapshot!(with(" a b \n", |person, tools| {
            let filled = person.fill(tools[0], &tools[0].parameters[0])?;
            Ok(format!("{filled:?}"))
        }), @r#"
        post__send_mail needs to (string):
        Some("a b")
        "#);
    }

    #[test]
    fn c3_only_a_yes_is_consent() {
        let asked = |input: &str| {
            with(input, |person, tools| {
                let arguments = Map::from_iter([("to".to_owned(), Value::from("Ana and Bob"))]);
                person.agrees(tools[0], &arguments, true).map(|agrees| agrees.to_string())
            })
        };
        insta::assert_snapshot!(asked("YES\n"), @r#"
        This cannot be taken back: post__send_mail to="Ana and Bob"
        Run it? Type yes:
        true
        "#);
        for input in ["no\n", "\n", "", "yes please\n", "ye\n"] {
            assert!(asked(input).ends_with("false"), "{input:?}");
        }
    }

    /// Returns what a person saw and what came of it.
    fn with(input: &str, ask: impl FnOnce(&mut Person<'_>, &[&Tool]) -> io::Result<String>) -> String {
        let definition = |name: &str| {
            let properties = serde_json::json!({ "to": { "type": "string" } });
            let schema =
                serde_json::json!({ "type": "object", "properties": properties, "required": ["to"] });
            let tool = serde_json::json!({ "name": name, "description": "Sends it.", "inputSchema": schema });
            serde_json::value::to_raw_value(&tool).unwrap()
        };
        let advertised = Advertised {
            server: "post".into(),
            tools: vec![definition("send_mail"), definition("send_text")],
        };
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 99, nesting: 99 };
        let (catalog, _) = Catalog::gather([(advertised, bounds)]);
        let tools: Vec<&Tool> = catalog.tools().iter().collect();
        let mut seen = Vec::new();
        let sees = Box::new(anstream::StripStream::new(&mut seen));
        let mut person = Person { hears: Box::new(input.as_bytes()), sees };
        let outcome = ask(&mut person, &tools).unwrap();
        drop(person);
        let seen = String::from_utf8(seen).unwrap();
        let seen: Vec<&str> = seen.lines().map(str::trim_end).collect();
        format!("{}\n{outcome}", seen.join("\n"))
    }
}
