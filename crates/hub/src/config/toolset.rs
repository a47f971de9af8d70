//! What conversations are given, as the settings say it.

use std::path::PathBuf;

use toolyard_core::session::Caps;
use toolyard_core::tool::{Parameters, clean};

use super::LanguageModel;

/// What conversations are given on the surface `toolset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Toolset {
    /// Tools that are always there, as `server__tool`.
    pub core: Vec<String>,
    /// Which of the hub's own tools are listed.
    pub own: Vec<OwnTool>,
    /// Tools up to this tier are always there.
    pub tier: u8,
    /// How many there are at most.
    pub caps: Caps,
    /// Who activates skills.
    pub activating: Activating,
    /// Tokens of the whole list; any number when `None`.
    pub tokens: Option<usize>,
    /// Which parameters are listed.
    pub parameters: Parameters,
    /// What says which domains a message is about; the router does when `None`.
    pub chooser: Option<LanguageModel>,
}

impl Default for Toolset {
    fn default() -> Self {
        Self {
            core: Vec::new(),
            own: OwnTool::ALL.to_vec(),
            tier: 0,
            caps: Caps::STANDARD,
            activating: Activating::Asked,
            tokens: None,
            parameters: Parameters::All,
            chooser: None,
        }
    }
}

/// A tool of the hub itself on the surface `toolset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnTool {
    /// Does what words ask for.
    SmartRoute,
    /// Loads a skill.
    ActivateSkill,
    /// Finds tools by words.
    FindTools,
    /// Calls a tool that is not listed.
    CallTool,
}

impl OwnTool {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::SmartRoute, Self::ActivateSkill, Self::FindTools, Self::CallTool];

    /// Returns the name by which clients call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SmartRoute => "smart_route",
            Self::ActivateSkill => "activate_skill",
            Self::FindTools => "find_tools",
            Self::CallTool => "call_tool",
        }
    }

    /// Returns the tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }
}

/// Who activates skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activating {
    /// Whoever calls `activate_skill`.
    Asked,
    /// Words that a skill is for do as well.
    Automatic,
}

/// A set of tools with instructions, loaded on demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// When to use it.
    pub when: String,
    /// What a model is told when it activates the skill.
    pub instructions: String,
    /// Tools as `server__tool`.
    pub tools: Vec<String>,
    /// Where it is written; in the settings themselves when `None`.
    pub place: Option<Place>,
    /// Whether it came with a built-in server.
    pub is_shipped: bool,
}

impl Skill {
    /// Characters of what a skill is for. Other programs allow as many.
    const WHEN_CHARS: usize = 1024;
    /// Bytes of what a model is told.
    const TEXT_BYTES: usize = 64 * 1024;

    /// Whether a skill may be called so.
    pub(crate) fn is_name(name: &str) -> bool {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    }

    /// Makes its texts safe to show, and returns the keys of those that are too long, with how long they may be.
    pub(crate) fn settle(&mut self) -> Vec<(&'static str, String)> {
        self.when = clean(&self.when).trim().to_owned();
        self.instructions = clean(&self.instructions).trim().to_owned();
        let mut wrong = Vec::new();
        if self.when.chars().count() > Self::WHEN_CHARS {
            let most = Self::WHEN_CHARS;
            wrong.push(("when", format!("what the skill is for has more than {most} characters")));
        }
        if self.instructions.len() > Self::TEXT_BYTES {
            let most = Self::TEXT_BYTES / 1024;
            wrong.push(("instructions", format!("the instructions of the skill have more than {most} KiB")));
        }
        wrong
    }
}

/// Where a skill is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line of each of its tools.
    pub lines: Vec<usize>,
}
