//! What begins with a slash at a terminal.

use toolyard_agent::session::Session;
use toolyard_core::tool::clean;
use toolyard_hub::config::LanguageModel;

/// What is there to type.
const HELP: &str = "\
/tools         the tools that the model was offered for the last message, and why
/why           the same: why these tools
/skills        the skills; /skills NAME activates one
/model         the model; /model ollama:NAME or /model http://HOST/v1#NAME talks to another
/new           forget what was said and begin anew
/transcript    where this conversation is kept
/quit          end; so does Ctrl-D

A line that ends with \\ goes on in the next. Text between \"\"\" and \"\"\" may have many lines.
Ctrl-C stops the model.";

/// What the terminal does about a command.
pub(super) enum Effect {
    /// Shows something.
    Show(String),
    /// Begins a new conversation.
    Begin,
    /// Says where the conversation is kept.
    Transcript,
    /// Ends.
    Quit,
}

/// Carries out a command.
pub(super) async fn carry_out(session: &mut Session, line: &str, offered: &[String]) -> Effect {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match name {
        "/help" | "/?" => Effect::Show(HELP.to_owned()),
        "/tools" | "/why" => Effect::Show(match offered {
            [] => format!("No tools were offered{}.", because(session.why())),
            tools => format!("{}\n{}", clean(session.why()), tools.join("\n")),
        }),
        "/skills" if !rest.is_empty() => Effect::Show(match session.activate(rest).await {
            Ok(instructions) => clean(&instructions).into_owned(),
            Err(unknown) => clean(&unknown).into_owned(),
        }),
        "/skills" => {
            let (_, supply) = session.supply().await;
            let active = session.skills();
            let line = |(name, skill): (&String, &toolyard_hub::config::Skill)| {
                let mark = if active.contains(name) { " (active)" } else { "" };
                format!("{name}{mark}: {}", skill.when)
            };
            let lines: Vec<String> = supply.skills.iter().map(line).collect();
            Effect::Show(if lines.is_empty() { "There are no skills.".to_owned() } else { lines.join("\n") })
        }
        "/model" if rest.is_empty() => Effect::Show(session.model().name.clone()),
        "/model" => {
            let known = session.model().clone();
            match LanguageModel::parse(rest, known.key, known.timeout) {
                Some(model) => {
                    let name = model.name.clone();
                    session.change_model(model);
                    Effect::Show(format!("Talking to {name} from now on."))
                }
                None => Effect::Show(format!("`{rest}` does not name a model; {}", LanguageModel::HINT)),
            }
        }
        "/new" => Effect::Begin,
        "/transcript" => Effect::Transcript,
        "/quit" | "/exit" | "/q" => Effect::Quit,
        _ => Effect::Show(format!("There is no {name}.\n{HELP}")),
    }
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {}", clean(why)) }
}
