//! Where the values of a step come from, and what decides whether it runs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Path;
use crate::arguments::Which;

/// Where one value comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// It is known.
    Literal(Value),
    /// It lies at a known place in the result of a step.
    Output {
        /// The step.
        step: String,
        /// The place.
        path: Path,
    },
    /// It is looked for in the result of a step when that is there, because most servers do not say
    /// beforehand what their results look like.
    Found {
        /// The step.
        step: String,
        /// What it is needed for.
        sought: Sought,
        /// Which of several.
        which: Which,
    },
    /// It lies in the element that the step runs for.
    Item(Path),
    /// Pieces of text, one after the other.
    Text(Vec<Self>),
    /// A list of values.
    List(Vec<Self>),
    /// An object of values.
    Object(BTreeMap<String, Self>),
    /// The path of another file, with this ending instead of its own.
    Renamed {
        /// The path.
        of: Box<Self>,
        /// The ending, without a dot.
        ending: String,
    },
    /// Whoever starts the template gives it.
    Parameter(String),
}

/// The parameter that a value is looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sought {
    /// What the parameter is called.
    pub parameter: String,
    /// Its JSON Schema, which the value must satisfy.
    pub schema: Value,
}

/// Decides whether a step runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// A value passes a test.
    Value {
        /// The value; one that is not there is tested as well.
        of: Input,
        /// The test.
        is: Test,
    },
    /// All of them hold.
    All(Vec<Self>),
    /// One of them holds.
    Any(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
}

/// What a value is tested for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Test {
    /// It is there and not `null`.
    Present,
    /// It is there and neither `null`, `false`, an empty text, an empty list nor an empty object.
    Filled,
    /// It is this.
    Equals(Value),
    /// It is a text with this in it, a list with this element, or an object with this key.
    Contains(Value),
    /// It is a number above this.
    Above(f64),
    /// It is a number below this.
    Below(f64),
}

impl Input {
    /// Calls `visit` with this input and every input inside it.
    pub fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::Text(parts) | Self::List(parts) => parts.iter().for_each(|part| part.visit(visit)),
            Self::Object(members) => members.values().for_each(|member| member.visit(visit)),
            Self::Renamed { of, .. } => of.visit(visit),
            Self::Literal(_)
            | Self::Output { .. }
            | Self::Found { .. }
            | Self::Item(_)
            | Self::Parameter(_) => {}
        }
    }

    /// Returns the value where it is written in the plan itself.
    pub fn literal(&self) -> Option<&Value> {
        if let Self::Literal(value) = self { Some(value) } else { None }
    }

    /// Whether the value is known before anything ran.
    pub fn is_known(&self) -> bool {
        let mut is_known = true;
        self.visit(&mut |input| {
            is_known &= !matches!(input, Self::Output { .. } | Self::Found { .. } | Self::Item(_));
        });
        is_known
    }

    pub(super) fn nesting(&self) -> usize {
        let deepest = |parts: &mut dyn Iterator<Item = &Self>| parts.map(Self::nesting).max().unwrap_or(0);
        match self {
            Self::Text(parts) | Self::List(parts) => 1 + deepest(&mut parts.iter()),
            Self::Object(members) => 1 + deepest(&mut members.values()),
            Self::Renamed { of, .. } => 1 + of.nesting(),
            Self::Literal(_)
            | Self::Output { .. }
            | Self::Found { .. }
            | Self::Item(_)
            | Self::Parameter(_) => 1,
        }
    }
}

impl Condition {
    /// Calls `visit` with every input that the condition looks at.
    pub fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Input)) {
        match self {
            Self::Value { of, .. } => of.visit(visit),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.visit(visit)),
            Self::Not(inner) => inner.visit(visit),
        }
    }

    pub(super) fn nesting(&self) -> usize {
        match self {
            Self::Value { of, .. } => 1 + of.nesting(),
            Self::All(parts) | Self::Any(parts) => 1 + parts.iter().map(Self::nesting).max().unwrap_or(0),
            Self::Not(inner) => 1 + inner.nesting(),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = |path: &Path| if path.0.is_empty() { String::new() } else { format!(".{path}") };
        match self {
            Self::Literal(value) => write!(f, "{}", shortened(&value.to_string())),
            Self::Output { step, path } => write!(f, "{step}{}", dotted(path).replace(".[", "[")),
            Self::Found { step, sought, which } => write!(f, "{which} {} in {step}", sought.parameter),
            Self::Item(path) => write!(f, "item{}", dotted(path).replace(".[", "[")),
            Self::Parameter(name) => write!(f, "parameters.{name}"),
            Self::Text(parts) => joined(f, parts, " + "),
            Self::Renamed { of, ending } => write!(f, "{of} with the ending .{ending}"),
            Self::List(parts) => {
                f.write_str("[")?;
                joined(f, parts, ", ")?;
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (at, (key, member)) in members.iter().enumerate() {
                    write!(f, "{}{key}: {member}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Last => f.write_str("last"),
            Self::Nth(at) => write!(f, "number {}", at + 1),
            Self::All => f.write_str("all"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { of, is } => match is {
                Test::Present => write!(f, "{of} is there"),
                Test::Filled => write!(f, "{of} is not empty"),
                Test::Equals(value) => write!(f, "{of} is {value}"),
                Test::Contains(value) => write!(f, "{of} contains {value}"),
                Test::Above(number) => write!(f, "{of} is above {number}"),
                Test::Below(number) => write!(f, "{of} is below {number}"),
            },
            Self::All(parts) => joined(f, parts, " and "),
            Self::Any(parts) => joined(f, parts, " or "),
            Self::Not(inner) => write!(f, "not ({inner})"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[impl fmt::Display], between: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if at == 0 { "" } else { between })?;
    }
    Ok(())
}

/// A plan is read by a person; a whole file as an argument would hide the rest.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 120;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
