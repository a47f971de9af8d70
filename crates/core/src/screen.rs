//! Says whether a text that a stranger wrote looks like instructions to a model.
//!
//! Definitions and results are screened for hidden text, for orders that keep the user out, that replace earlier
//! instructions, that hand secrets over, or that speak about the tools of others. Few structural rules decide
//! together with a small classifier over sentence vectors. It sees text alone: harmless words before malicious code
//! are not noticed, and a text that is not noticed is not thereby safe. It is never the only defence.

mod disguise; //   text behind encodings and invisible characters
mod place; //      where a sentence stands
mod feature; //    what can be seen of a sentence without understanding it
mod excerpt; //    the sentences of a definition or a result
mod classifier; // what understanding adds

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolyard_encoder::Embedding;

use crate::catalog::Catalog;
use crate::thresholds::thresholds;
use crate::tool::clean;

pub use classifier::{Classifier, Plane};
pub use excerpt::{Excerpt, excerpts_of_text, excerpts_of_tool};
pub use feature::{FEATURES, Feature, Features};
pub use place::TextPlace;

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Screened {
    /// How bad it looks.
    pub alarm: Alarm,
    /// Why, the worst first.
    pub signs: Vec<Sign>,
}

/// How bad a text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Alarm {
    /// Nothing was noticed.
    #[default]
    Clean,
    /// A person should read it.
    Suspicious,
    /// Several things that no honest text has together.
    Hostile,
}

/// One reason for an alarm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sign {
    /// What it is.
    pub kind: SignKind,
    /// How bad it is by itself.
    pub alarm: Alarm,
    /// Where it stands, such as ``parameter `path` ``.
    pub place: String,
    /// What it says, cleaned and shortened.
    pub words: String,
}

/// What a sign says about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignKind {
    /// Words in characters that nobody sees.
    Hidden,
    /// Words behind an encoding.
    Disguised,
    /// The user is to be kept from knowing.
    Secrecy,
    /// Earlier instructions are to be dropped.
    Override,
    /// Secrets or the conversation are to be handed over.
    Leak,
    /// It poses as the system, the user or the model.
    Role,
    /// It speaks about a tool of another server.
    Shadowing,
    /// It reads like instructions to a model, as the classifier says.
    Instructions,
}

/// Which parts of the screening decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Rules and classifier.
    Both,
    /// Rules alone.
    Rules,
    /// The classifier alone.
    Classifier,
}

/// The names of all tools, and the servers that have them.
#[derive(Clone, Debug, Default)]
pub struct ToolNames(Arc<HashMap<String, Vec<Arc<str>>>>);

/// The names of tools as one server sees them: those that are its own, and those of others, by which a text may try to
/// steer them.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    all: ToolNames,
    server: Arc<str>,
}

/// Words of a text that are shown with a sign.
const SHOWN_CHARS: usize = 160;
/// Signs that are told of one text.
const MOST_SIGNS: usize = 5;

impl ToolNames {
    /// Takes the names of all tools.
    pub fn of(catalog: &Catalog) -> Self {
        Self::new(catalog.tools().iter().map(|tool| (&*tool.name, &tool.server)))
    }

    /// Takes the names that servers give their tools. Plain words are left out: everybody uses them.
    pub fn new<'t>(tools: impl IntoIterator<Item = (&'t str, &'t Arc<str>)>) -> Self {
        let mut names: HashMap<String, Vec<Arc<str>>> = HashMap::new();
        for (name, server) in tools.into_iter().filter(|(name, _)| name.len() >= 6 && is_compound(name)) {
            names.entry(name.to_lowercase()).or_default().push(Arc::clone(server));
        }
        Self(Arc::new(names))
    }

    /// Returns the names as one server sees them.
    pub fn beside(&self, server: &Arc<str>) -> Neighbours {
        Neighbours { all: self.clone(), server: Arc::clone(server) }
    }
}

impl Neighbours {
    /// Whether only other servers have a tool of this name.
    fn is_foreign(&self, name: &str) -> bool {
        self.owns(name) == Some(false)
    }

    /// Whether the server has a tool of this name itself.
    fn is_own(&self, name: &str) -> bool {
        self.owns(name) == Some(true)
    }

    fn owns(&self, name: &str) -> Option<bool> {
        Some(self.all.0.get(&name.to_lowercase())?.contains(&self.server))
    }
}

impl Screened {
    /// Says why without quoting anything, for a model that is not to read it.
    pub fn gist(&self) -> String {
        let Some(first) = self.signs.first() else { return "nothing was noticed".to_owned() };
        format!("its {} {}", first.place, first.kind)
    }

    /// Says it in one clause, for a person: the first reason, with the words that gave it.
    pub fn sentence(&self) -> String {
        let Some(first) = self.signs.first() else { return "nothing was noticed".to_owned() };
        format!("{}: \u{201c}{}\u{201d}", self.gist(), first.words)
    }
}

impl fmt::Display for SignKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hidden => "has words in invisible characters",
            Self::Disguised => "has encoded words",
            Self::Secrecy => "wants something kept from the user",
            Self::Override => "wants earlier instructions dropped",
            Self::Leak => "asks for secrets or the conversation",
            Self::Role => "poses as the system, the user or the model",
            Self::Shadowing => "gives orders about a tool of another server",
            Self::Instructions => "reads like instructions to a model",
        })
    }
}

/// Screens the excerpts of one text. Without vectors the rules decide alone; with them there is one for each excerpt,
/// and none for those that were not read.
pub fn screen(excerpts: &[Excerpt], vectors: Option<&[Option<Embedding>]>, means: Means) -> Screened {
    let mut signs = Vec::new();
    for (at, excerpt) in excerpts.iter().enumerate() {
        if means != Means::Classifier {
            signs
                .extend(excerpt.features.signs().into_iter().map(|(kind, alarm)| sign(excerpt, kind, alarm)));
        }
        let vector = vectors.and_then(|vectors| vectors.get(at)?.as_ref());
        if let (Some(vector), true) = (vector, means != Means::Rules) {
            let score = Classifier::builtin().score(vector.values(), &excerpt.features);
            let limits = &thresholds().screening;
            let alarm = match f64::from(score) {
                it if it >= limits.hostile => Alarm::Hostile,
                it if it >= limits.suspicious => Alarm::Suspicious,
                _ => continue,
            };
            signs.push(sign(excerpt, SignKind::Instructions, alarm));
        }
    }
    signs.sort_by_key(|sign| std::cmp::Reverse(sign.alarm));
    let alarm = signs.first().map(|sign| sign.alarm).unwrap_or_default();
    signs.truncate(MOST_SIGNS);
    Screened { alarm, signs }
}

/// Whether a name is made of several words, so that nobody says it by chance.
fn is_compound(name: &str) -> bool {
    let is_camel =
        || name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    name.contains('_') || is_camel()
}

fn sign(excerpt: &Excerpt, kind: SignKind, alarm: Alarm) -> Sign {
    let line = clean(&excerpt.text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut words: String = line.chars().take(SHOWN_CHARS).collect();
    if words.len() < line.len() {
        words.push('…');
    }
    Sign { kind, alarm, place: excerpt.place.to_string(), words }
}

#[cfg(test)]
mod tests;
