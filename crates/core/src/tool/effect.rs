//! What a call to a tool does to the world, as far as its listing tells.

use serde::{Deserialize, Serialize};

use super::vocabulary::vocabulary;
use super::words::words;

/// What a call to a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Changes nothing, so it is safe to repeat.
    Read,
    /// Adds or changes something.
    Write,
    /// Removes something, or cannot be undone.
    Destroy,
}

/// What a server says about the effect of its own tool (MCP `annotations`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Hints {
    /// Says that the tool changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: Option<bool>,
    /// Says that changes may remove or overwrite.
    #[serde(rename = "destructiveHint")]
    pub destructive: Option<bool>,
    /// Says that a second call with the same arguments changes nothing more.
    #[serde(rename = "idempotentHint")]
    pub idempotent: Option<bool>,
}

impl Effect {
    /// Infers the effect from a tool's own name and what its server says.
    ///
    /// The server is believed, with two exceptions: no hint makes a name that clearly destroys harmless, and
    /// a warning about an everyday change is taken as one. The protocol calls every change destructive that is
    /// not an addition, so that servers warn of `edit_file` as of `wipe_disk`. Without hints the verb of the name decides; an unknown verb is taken as a write.
    ///
    /// ```
    /// use toolyard_core::tool::{Effect, Hints};
    ///
    /// assert_eq!(Effect::infer("list_files", Hints::default()), Effect::Read);
    /// assert_eq!(Effect::infer("get_or_create_user", Hints::default()), Effect::Write);
    ///
    /// let harmless = Hints { read_only: Some(true), ..Hints::default() };
    /// assert_eq!(Effect::infer("delete_file", harmless), Effect::Destroy);
    /// ```
    pub fn infer(name: &str, hints: Hints) -> Self {
        let named = from_name(name);
        match hints {
            _ if named == Self::Destroy => Self::Destroy,
            // The protocol gives the other hints a meaning only for tools that are not read-only.
            Hints { read_only: Some(true), .. } => Self::Read,
            Hints { destructive: Some(true), .. } if changes(name) => Self::Write,
            Hints { destructive: Some(true), .. } => Self::Destroy,
            // What does more on a second call did something on the first.
            Hints { read_only: Some(false), .. } | Hints { idempotent: Some(false), .. } => Self::Write,
            Hints { .. } => named,
        }
    }
}

/// Whether the verb of a name is one of an everyday change.
fn changes(name: &str) -> bool {
    words(name).map(classify).find(|word| *word != Word::Other) == Some(Word::Changes)
}

/// `empty_trash`: elsewhere in a name it is an adjective, as in `create_empty_file`.
fn empties(name: &str) -> bool {
    words(name).next().is_some_and(|first| first.eq_ignore_ascii_case("empty"))
}

#[derive(Clone, Copy, PartialEq)]
enum Word {
    /// Reads wherever it stands in a name.
    Reads,
    /// Reads as the first word; later it is more likely a noun, as in `shuffle_list` or `mark_read`.
    ReadsFirst,
    Writes,
    /// Writes as people do all day: adds, edits, moves, sends.
    Changes,
    Destroys,
    Links,
    Other,
}

fn from_name(name: &str) -> Effect {
    let words: Vec<Word> = words(name).map(classify).collect();
    let destroys = words.iter().enumerate().any(|(at, word)| {
        let linked = at > 0 && words[at - 1] == Word::Links;
        // After a verb that reads, it names what is read, as in `get_reset_link`.
        let is_verb = linked || !words[..at].contains(&Word::Reads) && words[0] != Word::ReadsFirst;
        *word == Word::Destroys && is_verb
    });
    let reads = words.first() == Some(&Word::ReadsFirst) || words.contains(&Word::Reads);
    let changes = words.iter().any(|word| matches!(word, Word::Writes | Word::Changes | Word::Destroys));
    // `get_and_frobnicate`: a second verb that is not known to read.
    let links_on = words
        .windows(2)
        .any(|pair| pair[0] == Word::Links && !matches!(pair[1], Word::Reads | Word::ReadsFirst));
    if destroys || empties(name) || is_final(name) {
        Effect::Destroy
    } else if reads && !changes && !links_on {
        Effect::Read
    } else {
        Effect::Write
    }
}

/// Whether a name says that something is done which nobody can take back: a branch is merged, something is published,
/// bought or paid. The verb decides, so `create_merge_request` and `list_releases` are not meant.
fn is_final(name: &str) -> bool {
    let names: Vec<String> = words(name).map(str::to_lowercase).collect();
    let kinds: Vec<Word> = names.iter().map(|word| classify(word)).collect();
    let is_verb = |at: usize| {
        let linked = at > 0 && kinds[at - 1] == Word::Links;
        linked || kinds[..at].iter().all(|kind| *kind == Word::Other)
    };
    let known = &vocabulary().last;
    let is_made = names.last().is_some_and(|word| known.made.contains(word))
        && !names.iter().any(|word| word == "draft");
    names.iter().enumerate().filter(|(at, _)| is_verb(*at)).any(|(at, word)| match word.as_str() {
        verb if known.verbs.contains(verb) => true,
        // A merge request is a thing.
        "merge" if names.get(at + 1).is_some_and(|next| next.starts_with("request")) => false,
        "merge" => {
            names[at + 1..].iter().any(|word| known.branches.contains(word))
                || at > 0 && names[at - 1] == "git"
        }
        "accept" => names[at + 1..].iter().any(|word| word == "merge" || word == "pull"),
        verb => known.makes.contains(verb) && at + 1 < names.len() && is_made,
    })
}

/// Whether a word, as a verb, says that something is removed or cannot be undone.
pub(crate) fn names_destruction(word: &str) -> bool {
    classify(word) == Word::Destroys
}

fn classify(word: &str) -> Word {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase();
    let verbs = &vocabulary().verbs;
    let kinds = [
        (&verbs.reads, Word::Reads),
        (&verbs.reads_first, Word::ReadsFirst),
        (&verbs.destroys, Word::Destroys),
        (&verbs.changes, Word::Changes),
        (&verbs.writes, Word::Writes),
        (&verbs.links, Word::Links),
    ];
    kinds.into_iter().find(|(known, _)| known.contains(&word)).map_or(Word::Other, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Effect {
        Effect::infer(name, Hints::default())
    }

    fn hinted(name: &str, read_only: Option<bool>, destructive: Option<bool>) -> Effect {
        Effect::infer(name, Hints { read_only, destructive, idempotent: None })
    }

    #[test]
    fn the_verb_decides_when_the_server_says_nothing() {
        for name in [
            "get_user",
            "listFiles",
            "search-notes",
            "github_get_issue",
            "read",
            "search_and_list",
            "Describe",
        ] {
            assert_eq!(named(name), Effect::Read, "{name}");
        }
        for name in [
            "delete_file",
            "notes-remove",
            "dropTable",
            "API-delete-a-block",
            "kill",
            "clear_all",
            "delete2",
            "empty_trash",
        ] {
            assert_eq!(named(name), Effect::Destroy, "{name}");
        }
        for name in ["create_issue", "frobnicate", "", "__", "send_mail", "create_empty_file", "読む"] {
            assert_eq!(named(name), Effect::Write, "{name}");
        }
    }

    #[test]
    fn a_read_with_a_second_verb_is_not_a_read() {
        assert_eq!(named("get_or_create"), Effect::Write);
        assert_eq!(named("search_and_replace"), Effect::Write);
        assert_eq!(named("fetch_and_frobnicate"), Effect::Write);
        assert_eq!(named("read_and_delete"), Effect::Destroy);
        assert_eq!(named("listThenPurge"), Effect::Destroy);
    }

    #[test]
    fn a_word_that_may_be_a_noun_is_read_with_care() {
        assert_eq!(named("mark_read"), Effect::Write);
        assert_eq!(named("shuffle_list"), Effect::Write);
        assert_eq!(named("get_reset_link"), Effect::Write);
        assert_eq!(hinted("get_reset_link", Some(true), None), Effect::Read);
        assert_eq!(named("list_deleted_items"), Effect::Read);
    }

    #[test]
    fn the_server_is_believed_unless_the_name_clearly_destroys() {
        assert_eq!(hinted("frobnicate", Some(true), None), Effect::Read);
        assert_eq!(hinted("frobnicate", Some(true), Some(true)), Effect::Read);
        assert_eq!(hinted("get_user", Some(false), None), Effect::Write);
        assert_eq!(hinted("restore_backup", None, Some(true)), Effect::Destroy);
        assert_eq!(hinted("frobnicate", Some(false), Some(true)), Effect::Destroy);
        assert_eq!(hinted("get_user", None, Some(false)), Effect::Read);
        assert_eq!(hinted("delete_file", Some(true), Some(false)), Effect::Destroy);
        assert_eq!(hinted("read_and_delete", Some(true), None), Effect::Destroy);
    }

    #[test]
    fn c3_a_warning_about_an_everyday_change_is_not_one_about_destruction() {
        for name in ["edit_file", "jira_update_issue", "API-post-page", "move_page"] {
            assert_eq!(hinted(name, Some(false), Some(true)), Effect::Write, "{name}");
        }
        for name in ["execute_sql", "kubectl_apply", "update_and_purge", "search_and_replace"] {
            assert_eq!(hinted(name, Some(false), Some(true)), Effect::Destroy, "{name}");
        }
    }

    #[test]
    fn c3_what_nobody_can_take_back_destroys() {
        for name in [
            "merge_pull_request",
            "accept_merge_request",
            "mergeBranch",
            "squash_and_merge_pull_request",
            "git_merge",
            "publish_package",
            "create_release",
            "create_github_release",
            "pay_invoice",
            "create_payment",
            "transfer_funds",
            "buy_ticket",
            "search_and_purchase",
        ] {
            assert_eq!(named(name), Effect::Destroy, "{name}");
        }
        for name in [
            "merge_table_cells",
            "merge_sort",
            "create_merge_request",
            "approve_merge_request",
            "update_pull_request",
            "create_release_notes_draft",
            "create_draft_release",
            "create_payment_link",
            "get_payment",
            "list_releases",
            "get_publish_status",
            "search_purchases",
        ] {
            assert_ne!(named(name), Effect::Destroy, "{name}");
        }
    }

    #[test]
    fn what_does_more_when_repeated_is_not_a_read() {
        let hints = Hints { idempotent: Some(false), ..Hints::default() };
        assert_eq!(Effect::infer("get_next_number", hints), Effect::Write);
        let hints = Hints { idempotent: Some(true), ..Hints::default() };
        assert_eq!(Effect::infer("put_file", hints), Effect::Write);
    }
}
