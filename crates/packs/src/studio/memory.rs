//! Memory: facts that are proposed, confirmed by the user, and recalled later.
//!
//! Nothing is remembered that was not confirmed, and nothing is forgotten without `confirm`.

use rusqlite::{OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::{
    Studio,
    action::{Action, Actions},
    describe::Doc,
    schema::{self, Page, choice, confirm, count, line, page_of, records, said},
};
use crate::{
    arguments::Arguments,
    fold,
    reply::{Answer, Outcome, Refusal},
    tool::{Effect, Spec, Tool, record},
};

const ACTIONS: Actions = Actions {
    tool: "update_memory",
    key: "action",
    all: &[
        Action { name: "propose", required: &["text"], optional: &["topic"], confirm: false },
        Action { name: "confirm", required: &["id"], optional: &[], confirm: false },
        Action { name: "discard", required: &["id"], optional: &[], confirm: false },
        Action { name: "forget", required: &["id"], optional: &[], confirm: true },
    ],
};

const PENDING: &str = "pending";
const KEPT: &str = "kept";

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let tools = [update_spec().run(update), recall_spec().run(recall)];
    tools.into_iter().map(|tool| tool.tagged(["domain:memories"])).collect()
}

#[derive(Clone, Debug)]
struct Memory {
    id: i64,
    topic: String,
    text: String,
    status: String,
    created: String,
}

impl Memory {
    const COLUMNS: &'static str = "id, topic, text, status, created";

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (id, topic, text) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self { id, topic, text, status: row.get(3)?, created: row.get(4)? })
    }

    fn data(&self) -> Value {
        let Self { id, topic, text, status, created } = self;
        json!({ "id": id, "topic": topic, "text": text, "status": status, "created": created })
    }
}

fn update(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let action = ACTIONS.chosen(arguments)?;
    let (message, memory) = studio.store.write(|writing| {
        let column = Memory::COLUMNS;
        if action.name == "propose" {
            let (text, topic) = (arguments.required("text").trim(), arguments.text("topic").unwrap_or("general"));
            let sql = format!(
                "INSERT INTO memory (topic, text, status, created) VALUES (?1, ?2, '{PENDING}', ?3) RETURNING {column}"
            );
            let memory = writing.query_row(&sql, params![topic.trim(), text, studio.now()], Memory::of)?;
            let id = memory.id;
            let ask = format!("Ask the user, then call update_memory(action=\"confirm\", id={id}) or discard it");
            return Ok((ask, memory));
        }
        let id = i64::try_from(arguments.whole("id", 0))?;
        let sql = format!("SELECT {column} FROM memory WHERE id = ?");
        let memory = writing.query_row(&sql, [id], Memory::of).optional()?;
        let memory = memory.ok_or_else(|| Refusal::new(format!("there is no memory {id}: recall_memory() shows them")))?;
        settle(writing, action.name, memory)
    })?;
    Ok(Answer::json(json!({ "action": action.name, "message": message, "memory": memory.data() })))
}

/// Confirms, discards or forgets a memory.
fn settle(
    writing: &rusqlite::Transaction<'_>,
    action: &str,
    mut memory: Memory,
) -> Result<(String, Memory), Refusal> {
    let id = memory.id;
    let is_pending = memory.status == PENDING;
    let message = match action {
        "confirm" if is_pending => {
            writing.execute("UPDATE memory SET status = ?2 WHERE id = ?1", params![id, KEPT])?;
            KEPT.clone_into(&mut memory.status);
            "Remembered"
        }
        "confirm" => "It is remembered already",
        "discard" if !is_pending => {
            return Err(Refusal::new(format!(
                "memory {id} was confirmed: update_memory(action=\"forget\", id={id}, confirm=true) removes it"
            )));
        }
        _ => {
            writing.execute("DELETE FROM memory WHERE id = ?", [id])?;
            "removed".clone_into(&mut memory.status);
            if is_pending { "Discarded" } else { "Forgotten" }
        }
    };
    Ok((message.to_owned(), memory))
}

fn recall(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::of(arguments);
    let memories: Vec<Memory> = studio.store.read(|connection| {
        let mut query =
            connection.prepare(&format!("SELECT {} FROM memory ORDER BY id DESC", Memory::COLUMNS))?;
        let found = query.query_map([], Memory::of)?.collect::<Result<Vec<_>, _>>();
        Ok(found?)
    })?;
    let status = arguments.text("status").unwrap_or(KEPT);
    let wanted = fold::fold(arguments.text("query").unwrap_or_default());
    let wanted: Vec<&str> = fold::words(&wanted).collect();
    let mut scored: Vec<(usize, Memory)> = memories
        .into_iter()
        .filter(|memory| memory.status == status)
        .map(|memory| (hits(&wanted, &format!("{} {}", memory.topic, memory.text)), memory))
        .filter(|(score, _)| wanted.is_empty() || 0 < *score)
        .collect();
    // The newest of those that fit equally well come first: the sort keeps their order.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let total = scored.len();
    let rows: Vec<Value> = page.take(scored).iter().map(|(_, memory)| memory.data()).collect();
    Ok(Answer::json(json!({
        "has_more": page.has_more(rows.len(), total),
        "memories": rows,
        "total_count": total,
        "offset": page.offset,
    })))
}

/// Counts the words that occur in a text, also as the beginning of one of its words.
pub(super) fn hits(wanted: &[&str], text: &str) -> usize {
    let folded = fold::fold(text);
    let words: Vec<&str> = fold::words(&folded).collect();
    wanted.iter().filter(|it| words.iter().any(|word| word.starts_with(*it))).count()
}

fn fields() -> Value {
    json!({
        "id": count("Names the memory."),
        "topic": said("What it is about."),
        "text": said("What to remember."),
        "status": said("pending, kept or removed."),
        "created": said("When, ISO 8601 in UTC."),
    })
}

fn update_spec() -> Spec {
    let doc = Doc {
        purpose: "Remembers a fact for later sessions, after the user has agreed.",
        prerequisite: "confirm, discard and forget need the id from propose or recall_memory.",
        use_when: &["remember a preference or a fact", "agree to, reject or forget something remembered"],
        not: &["recall facts (use recall_memory)", "save long texts (use write_file)"],
        args: &[
            "action: propose (text; topic), confirm (id), discard (id, while pending), forget (id, confirm)",
            "text: e.g. \"The client dislikes red\"",
            "topic: e.g. \"colours\". Defaults to general",
            "id: e.g. 3",
            "confirm: true to forget",
        ],
        returns: "JSON with the action, a message and the memory.",
        examples: &[
            "update_memory(action=\"propose\", text=\"The client dislikes red\", topic=\"colours\")",
            "update_memory(action=\"confirm\", id=3)",
        ],
    };
    Spec {
        name: "update_memory".into(),
        title: "Update memory".into(),
        description: doc.text().into(),
        effect: Effect::Changes,
        input: (
            json!({
                "action": choice("What to do.", &ACTIONS.names()),
                "text": line("What to remember.", 2000, &["The client dislikes red"]),
                "topic": line("What it is about.", 100, &["colours"]),
                "id": {
                    "type": "integer", "description": "The memory.",
                    "minimum": 1, "maximum": 1_000_000_000, "examples": [3],
                },
                "confirm": confirm(),
            }),
            vec!["action".to_owned()],
        ),
        output: json!({
            "action": said("What was done."),
            "message": said("What happened, or what to do next."),
            "memory": record(&fields()),
        }),
    }
}

fn recall_spec() -> Spec {
    let doc = Doc {
        purpose: "Recalls what was remembered, best match first.",
        prerequisite: "none.",
        use_when: &["know what was agreed or preferred before", "see what waits for the user's consent"],
        not: &["remember or forget (use update_memory)", "find files (use list_files)"],
        args: &[
            "query: words to look for, e.g. \"colours\"; without it, everything, newest first",
            "status: kept or pending. Defaults to kept",
            "offset: Defaults to 0",
            "limit: 1 to 100. Defaults to 20",
        ],
        returns: "JSON with memories (id, topic, text, status), total_count and has_more.",
        examples: &["recall_memory()", "recall_memory(query=\"colours\")"],
    };
    Spec {
        name: "recall_memory".into(),
        title: "Recall memory".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "query": line("Words to look for.", 500, &["colours"]),
                "status": choice("Which ones.", &[KEPT, PENDING]),
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            Vec::new(),
        ),
        output: page_of("memories", records(&fields())),
    }
}
