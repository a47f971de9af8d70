//! Research: web searches, longer research in the background, and a search over what was found before.
//!
//! A research is a list of queries. Every answer is recorded as it comes, so one that was cut short, also by the end of
//! the program, goes on where it was.

mod tools; //  what the clients see
mod worker; // a research in the background

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use self::worker::Worker;
pub(super) use self::{tools::tools, worker::Background};
use super::{
    Studio, memory,
    outside::{Outside, SearchHit},
    schema::Page,
};
use crate::{
    arguments::Arguments,
    fold,
    reply::{Answer, Outcome, Refusal},
};

const RUNNING: &str = "running";

/// A research as it is recorded.
struct Research {
    id: i64,
    question: String,
    status: String,
    report: String,
    queries: Vec<String>,
    created: String,
    /// The queries that were answered, with what was found.
    found: Vec<(String, Vec<Value>)>,
}

impl Research {
    fn read(connection: &Connection, id: i64) -> Result<Self, Refusal> {
        let sql = "SELECT question, status, report, queries, created FROM research WHERE id = ?";
        let row = connection.query_row(sql, [id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?, row.get(4)?))
        });
        let Some((question, status, report, queries, created)) = row.optional()? else {
            return Err(Refusal::new(format!(
                "there is no research {id}: get_research_status() shows the latest"
            )));
        };
        let mut query =
            connection.prepare("SELECT query, hits FROM finding WHERE research = ? ORDER BY id")?;
        let mut rows = query.query([id])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, serde_json::from_str(&row.get::<_, String>(1)?)?));
        }
        let queries = serde_json::from_str(&queries)?;
        Ok(Self { id, question, status, report, queries, created, found })
    }

    fn data(&self) -> Value {
        let mut sources: Vec<Value> = Vec::new();
        for hit in self.found.iter().flat_map(|(_, hits)| hits) {
            if !sources.iter().any(|known| known["url"] == hit["url"]) {
                sources.push(json!({ "title": hit["title"], "url": hit["url"] }));
            }
        }
        json!({
            "id": self.id,
            "question": self.question,
            "status": self.status,
            "report": self.report,
            "queries_done": self.found.len(),
            "queries_total": self.queries.len(),
            "sources": sources,
            "created": self.created,
        })
    }
}

fn web_search(studio: &Studio, outside: &Outside, arguments: &Arguments<'_>) -> Outcome {
    let (query, limit) = (arguments.required("query").trim(), arguments.whole("limit", 20));
    let hits = outside.services().search(query).map_err(|error| {
        Refusal::new(format!(
            "the web could not be searched: {error}. search_research_cache shows what was found before"
        ))
    })?;
    let hits = written(&hits);
    studio.store.write(|writing| {
        writing.execute(
            "INSERT INTO finding (research, query, hits, created) VALUES (NULL, ?1, ?2, ?3)",
            params![query, Value::from(hits.clone()).to_string(), studio.now()],
        )?;
        Ok(())
    })?;
    let total = hits.len();
    let results: Vec<Value> = hits.into_iter().take(limit).collect();
    Ok(Answer::json(json!({
        "query": query,
        "has_more": results.len() < total,
        "results": results,
        "total_count": total,
    })))
}

fn request(studio: &Studio, outside: &Outside, arguments: &Arguments<'_>) -> Outcome {
    let question = arguments.required("question").trim();
    let worker = Worker::new(studio, outside)?;
    let id = studio.store.write(|writing| {
        writing.execute(
            "INSERT INTO research (question, status, report, queries, lease, created)
             VALUES (?1, ?2, '', '[]', 0, ?3)",
            params![question, RUNNING, studio.now()],
        )?;
        Ok(writing.last_insert_rowid())
    })?;
    worker.start(id)?;
    Ok(Answer::json(json!({
        "id": id,
        "question": question,
        "status": RUNNING,
        "next_step": format!("get_research_status(id={id}, wait_seconds=30) shows how far it is"),
    })))
}

fn status(studio: &Studio, outside: &Outside, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::unless(arguments, "id")?;
    let Some(id) = arguments.value("id").and_then(|_| i64::try_from(arguments.whole("id", 0)).ok()) else {
        return latest(studio, page);
    };
    let research = studio.store.read(|connection| Research::read(connection, id))?;
    if research.status == RUNNING {
        // It may have been left behind by a program that has ended; then it goes on here.
        Worker::new(studio, outside)?.start(id)?;
        studio.background.wait(arguments.whole("wait_seconds", 0), || {
            studio
                .store
                .read(|connection| Research::read(connection, id))
                .is_ok_and(|it| it.status != RUNNING)
        });
    }
    let research = studio.store.read(|connection| Research::read(connection, id))?;
    Ok(Answer::json(json!({
        "researches": [research.data()], "total_count": 1, "offset": 0, "has_more": false,
    })))
}

fn latest(studio: &Studio, page: Page) -> Outcome {
    studio.store.read(|connection| {
        let total: u32 = connection.query_row("SELECT COUNT(*) FROM research", [], |row| row.get(0))?;
        let total = total as usize;
        let mut query = connection.prepare("SELECT id FROM research ORDER BY id DESC LIMIT ? OFFSET ?")?;
        let ids = query.query_map(page.bounds(), |row| row.get::<_, i64>(0))?;
        let mut rows = Vec::new();
        for id in ids {
            rows.push(Research::read(connection, id?)?.data());
        }
        Ok(Answer::json(json!({
            "has_more": page.has_more(rows.len(), total),
            "researches": rows,
            "total_count": total,
            "offset": page.offset,
        })))
    })
}

fn search_cache(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    const MOST_LOOKED_AT: i64 = 2000;
    let page = Page::of(arguments);
    let wanted = fold::fold(arguments.required("query"));
    let wanted: Vec<&str> = fold::words(&wanted).collect();
    let mut found: Vec<(usize, Value)> = Vec::new();
    studio.store.read(|connection| {
        let sql = "SELECT 'research', question, report, '[]', created FROM research WHERE report <> ''
                   UNION ALL SELECT 'search', query, '', hits, created FROM finding ORDER BY 5 DESC LIMIT ?";
        let mut query = connection.prepare(sql)?;
        let mut rows = query.query([MOST_LOOKED_AT])?;
        while let Some(row) = rows.next()? {
            let (kind, asked, report): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (hits, created): (String, String) = (row.get(3)?, row.get(4)?);
            let score = memory::hits(&wanted, &format!("{asked} {report} {hits}"));
            if 0 < score {
                let hits: Vec<Value> = serde_json::from_str(&hits)?;
                found.push((
                    score,
                    json!({
                        "kind": kind, "asked": asked, "report": report, "results": hits, "created": created,
                    }),
                ));
            }
        }
        Ok(())
    })?;
    // The newest of those that fit equally well come first: the sort keeps their order.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let total = found.len();
    let rows: Vec<Value> = page.take(found).into_iter().map(|(_, row)| row).collect();
    Ok(Answer::json(json!({
        "has_more": page.has_more(rows.len(), total),
        "findings": rows,
        "total_count": total,
        "offset": page.offset,
    })))
}

fn written(hits: &[SearchHit]) -> Vec<Value> {
    hits.iter().map(|hit| json!({ "title": hit.title, "url": hit.url, "snippet": hit.snippet })).collect()
}
