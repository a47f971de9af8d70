//! What can be seen of a sentence without understanding it, and the rules over that.
//!
//! A rule asks for things that come together in no honest sentence. Single words decide nothing: they are only told to
//! the classifier. The words are in `data/screen.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::place::{Source, TextPlace};
use super::{Alarm, Neighbours, SignKind};

/// One thing that a sentence has or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// A place where secrets lie.
    SecretPlace,
    /// A word for secrets.
    Secret,
    /// The conversation or the instructions of the model.
    Conversation,
    /// It speaks of the model that reads it.
    Model,
    /// Something is kept from the user.
    Secrecy,
    /// Something is done unnoticed.
    Covert,
    /// Earlier instructions are dropped.
    Override,
    /// Something is handed over.
    Sends,
    /// An address: of a page, a mailbox or a machine.
    Address,
    /// An order, or when it holds.
    Order,
    /// Several words for orders.
    Orders,
    /// It addresses its reader.
    You,
    /// A mark by which the parts of a conversation are told apart.
    Role,
    /// Markup that is not shown.
    Comment,
    /// A name that is none of the tool's own, nor of another tool of its server.
    OtherName,
    /// The name of a tool of another server.
    ForeignTool,
    /// It stood behind an encoding.
    Encoded,
    /// It stood in invisible characters.
    Hidden,
    /// Several words in capitals.
    Capitals,
    /// It stands at a parameter.
    AtParameter,
    /// It stands among names and values.
    AtValue,
    /// It stands in a result.
    AtResult,
}

/// Every feature, in the order of the classifier's weights.
pub const FEATURES: [Feature; 22] = [
    Feature::SecretPlace,
    Feature::Secret,
    Feature::Conversation,
    Feature::Model,
    Feature::Secrecy,
    Feature::Covert,
    Feature::Override,
    Feature::Sends,
    Feature::Address,
    Feature::Order,
    Feature::Orders,
    Feature::You,
    Feature::Role,
    Feature::Comment,
    Feature::OtherName,
    Feature::ForeignTool,
    Feature::Encoded,
    Feature::Hidden,
    Feature::Capitals,
    Feature::AtParameter,
    Feature::AtValue,
    Feature::AtResult,
];

/// What one sentence has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u32);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wording {
    places: Vec<String>,
    secrets: Vec<String>,
    conversation: Vec<String>,
    models: Vec<String>,
    users: Vec<String>,
    not: Vec<String>,
    tell: Vec<String>,
    learn: Vec<String>,
    reader: Vec<String>,
    covert: Vec<String>,
    drop: Vec<String>,
    rules: Vec<String>,
    send: Vec<String>,
    order: Vec<String>,
    marks: Vec<String>,
    comments: Vec<String>,
}

static WORDING: LazyLock<Wording> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/screen.json")).expect("a test reads the words of screening")
});

/// Letters that the lists of words say nothing about, so that only reading tells.
const OTHER_SCRIPT: u32 = 1 << 31;
/// How many words after a denial what is denied may stand.
const REACH: usize = 7;

impl Features {
    pub(super) fn of(
        text: &str,
        place: &TextPlace,
        source: Source,
        own: &[String],
        neighbours: &Neighbours,
    ) -> Self {
        let (wording, lower) = (&*WORDING, text.to_lowercase().replace('’', "'"));
        let words: Vec<&str> = lower
            .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '_'))
            .filter(|word| !word.is_empty())
            .collect();
        let has = |list: &[String]| words.iter().any(|word| list.iter().any(|it| it == word));
        let count = |list: &[String]| words.iter().filter(|word| list.iter().any(|it| it == *word)).count();
        let holds = |list: &[String]| list.iter().any(|it| lower.contains(it.as_str()));
        let orders = count(&wording.order);
        let names =
            || text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|it| is_identifier(it));
        let is_other = |name: &str| {
            name.contains('_') && !own.contains(&name.to_lowercase()) && !neighbours.is_own(name)
        };
        let capitals =
            text.split_whitespace().filter(|it| it.len() >= 4 && it.chars().all(|c| c.is_uppercase()));
        let found = [
            (Feature::SecretPlace, holds(&wording.places)),
            (Feature::Secret, has(&wording.secrets)),
            (Feature::Conversation, has(&wording.conversation)),
            (Feature::Model, has(&wording.models)),
            (Feature::Secrecy, is_secrecy(&words)),
            (Feature::Covert, has(&wording.covert)),
            (Feature::Override, is_override(&words)),
            (Feature::Sends, has(&wording.send)),
            (Feature::Address, has_address(&lower)),
            (Feature::Order, orders > 0),
            (Feature::Orders, orders > 1),
            (Feature::You, has(&wording.reader)),
            (Feature::Role, holds(&wording.marks)),
            (Feature::Comment, holds(&wording.comments)),
            (Feature::OtherName, names().any(is_other)),
            (
                Feature::ForeignTool,
                names().any(|name| neighbours.is_foreign(name) && !own.contains(&name.to_lowercase())),
            ),
            (Feature::Encoded, source == Source::Encoded),
            (Feature::Hidden, source == Source::Hidden),
            (Feature::Capitals, capitals.count() > 1),
            (Feature::AtParameter, matches!(place, TextPlace::Parameter(_))),
            (Feature::AtValue, *place == TextPlace::Value),
            (Feature::AtResult, *place == TextPlace::Result),
        ];
        let mut features = Self::default();
        if text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count() > 3 {
            features.0 |= OTHER_SCRIPT;
        }
        found.iter().filter(|(_, is_there)| *is_there).for_each(|(feature, _)| features.set(*feature));
        features
    }

    /// Whether the sentence has something.
    pub fn has(self, feature: Feature) -> bool {
        self.0 & 1 << feature as u32 != 0
    }

    /// Whether nothing in the sentence could be part of an order to a model, so that understanding it adds nothing.
    pub fn is_plain(self) -> bool {
        let telling = [
            Feature::SecretPlace,
            Feature::Secret,
            Feature::Conversation,
            Feature::Model,
            Feature::Secrecy,
            Feature::Covert,
            Feature::Override,
            Feature::Sends,
            Feature::Address,
            Feature::Order,
            Feature::You,
            Feature::Role,
            Feature::Comment,
            Feature::ForeignTool,
            Feature::Encoded,
            Feature::Hidden,
        ];
        self.0 & OTHER_SCRIPT == 0 && !telling.into_iter().any(|feature| self.has(feature))
    }

    /// Whether so much could be part of an order to a model that it is worth reading even where somebody waits.
    pub fn is_telling(self) -> bool {
        let telling = [
            Feature::SecretPlace,
            Feature::Secret,
            Feature::Conversation,
            Feature::Model,
            Feature::Secrecy,
            Feature::Covert,
            Feature::Override,
            Feature::Sends,
            Feature::Order,
            Feature::Role,
            Feature::Comment,
            Feature::ForeignTool,
            Feature::Encoded,
            Feature::Hidden,
            Feature::You,
        ];
        telling.into_iter().filter(|feature| self.has(*feature)).count() > 1
    }

    /// Returns what the rules say about the sentence.
    pub(super) fn signs(self) -> Vec<(SignKind, Alarm)> {
        let has = |feature| self.has(feature);
        let hands_over = has(Feature::Sends) && (has(Feature::SecretPlace) || has(Feature::Address));
        let steers = hands_over || has(Feature::Override) || has(Feature::Role) || has(Feature::Secrecy);
        let mut signs = Vec::new();
        if has(Feature::Hidden) {
            signs.push((SignKind::Hidden, Alarm::Hostile));
        }
        if has(Feature::Encoded) && (steers || has(Feature::Model) && has(Feature::Order)) {
            signs.push((SignKind::Disguised, Alarm::Hostile));
        }
        if has(Feature::Secrecy) {
            let is_worse = hands_over || has(Feature::SecretPlace) || has(Feature::Override);
            signs.push((SignKind::Secrecy, if is_worse { Alarm::Hostile } else { Alarm::Suspicious }));
        }
        if has(Feature::Override) {
            let is_worse = hands_over || has(Feature::Conversation);
            signs.push((SignKind::Override, if is_worse { Alarm::Hostile } else { Alarm::Suspicious }));
        }
        if has(Feature::SecretPlace) && has(Feature::Sends) && has(Feature::Order) {
            signs.push((SignKind::Leak, Alarm::Suspicious));
        }
        if has(Feature::Role) && (has(Feature::Order) || has(Feature::Sends) || has(Feature::Model)) {
            signs.push((SignKind::Role, Alarm::Suspicious));
        }
        if has(Feature::ForeignTool) && has(Feature::Order) {
            signs.push((SignKind::Shadowing, Alarm::Suspicious));
        }
        signs
    }

    fn set(&mut self, feature: Feature) {
        self.0 |= 1 << feature as u32;
    }
}

/// Whether a word may be a name in a program: `send_email`, `sendEmail`, `path`.
pub(super) fn is_identifier(word: &str) -> bool {
    let is_plain =
        word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '/' | ':'));
    is_plain && word.len() <= 64
}

/// Whether something is kept from the user: a denial, then telling, then whom.
fn is_secrecy(words: &[&str]) -> bool {
    let is = |list: &[String], at: usize| words.get(at).is_some_and(|word| list.iter().any(|it| it == word));
    (0..words.len()).filter(|at| is(&WORDING.not, *at)).any(|not| {
        let tells = (not + 1..not + REACH).filter(|at| is(&WORDING.tell, *at));
        let before = (not.saturating_sub(4)..not).any(|at| is(&WORDING.users, at));
        tells.into_iter().any(|tell| {
            let after = (not + 1..tell + REACH).any(|at| at != tell && is(&WORDING.users, at));
            after || before && is(&WORDING.learn, tell)
        })
    })
}

/// Whether earlier instructions are to be dropped.
fn is_override(words: &[&str]) -> bool {
    let is = |list: &[String], at: usize| words.get(at).is_some_and(|word| list.iter().any(|it| it == word));
    (0..words.len()).filter(|at| is(&WORDING.drop, *at)).any(|at| {
        (at + 1..at + REACH).any(|it| is(&WORDING.rules, it)) || at >= 1 && is(&WORDING.rules, at - 1)
    })
}

fn has_address(lower: &str) -> bool {
    let is_mail = |word: &str| {
        word.split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && host.len() > 3)
    };
    lower.contains("http://")
        || lower.contains("https://")
        || lower.split(|c: char| c.is_whitespace() || "\"'`<>(),".contains(c)).any(is_mail)
}
