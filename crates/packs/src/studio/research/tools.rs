//! The definitions of the research tools.

use serde_json::{Value, json};

use super::{request, search_cache, status, web_search};
use crate::{
    arguments::Arguments,
    reply::Outcome,
    studio::{
        Studio,
        describe::Doc,
        outside::Outside,
        schema::{self, count, is, line, page_of, records, said},
    },
    tool::{Effect, Spec, Tool},
};

/// Returns the tools that search with these services.
pub(in crate::studio) fn tools(outside: &Outside) -> Vec<Tool<Studio>> {
    type Run = fn(&Studio, &Outside, &Arguments<'_>) -> Outcome;
    let with = |run: Run| {
        let outside = outside.clone();
        move |studio: &Studio, arguments: &Arguments<'_>| run(studio, &outside, arguments)
    };
    let tools = [
        search_spec().run(with(web_search)),
        request_spec().run(with(request)),
        status_spec().run(with(status)),
        cache_spec().run(search_cache),
    ];
    let mut tools: Vec<_> = tools.into_iter().map(|tool| tool.tagged(["domain:research"])).collect();
    // The last one looks only at what is here.
    for tool in &mut tools[..3] {
        tool.definition["annotations"]["openWorldHint"] = json!(true);
    }
    tools
}

fn hit_fields() -> Value {
    json!({ "title": said("The page."), "url": said("Its address."), "snippet": said("The part that fits.") })
}

fn search_spec() -> Spec {
    let doc = Doc {
        purpose: "Searches the web.",
        prerequisite: "none.",
        use_when: &["look something up", "find current facts, trends or competitors"],
        not: &[
            "study a question in depth (use request_deep_research)",
            "search what was found before (use search_research_cache)",
        ],
        args: &["query: e.g. \"lemonade packaging trends\"", "limit: 1 to 20. Defaults to 20"],
        returns: "JSON with results (title, url, snippet), total_count and has_more; they are kept for later.",
        examples: &["web_search(query=\"lemonade packaging trends\")"],
    };
    Spec {
        name: "web_search".into(),
        title: "Search the web".into(),
        description: doc.text().into(),
        effect: Effect::Adds,
        input: (
            json!({
                "query": line("What to look for.", 500, &["lemonade packaging trends"]),
                "limit": schema::limit(20),
            }),
            vec!["query".to_owned()],
        ),
        output: json!({
            "query": said("What was looked for."),
            "results": records(&hit_fields()),
            "total_count": count("How many were found."),
            "has_more": is("Whether there are more than were returned."),
        }),
    }
}

fn request_spec() -> Spec {
    let doc = Doc {
        purpose: "Starts a longer research in the background: several searches and a report.",
        prerequisite: "none.",
        use_when: &["have a question studied in depth", "get a report with sources"],
        not: &["answer at once (use web_search)", "return the report (use get_research_status)"],
        args: &["question: e.g. \"How do small lemonade brands stand out?\""],
        returns: "JSON with the id of the research and what to call next.",
        examples: &["request_deep_research(question=\"How do small lemonade brands stand out?\")"],
    };
    Spec {
        name: "request_deep_research".into(),
        title: "Request deep research".into(),
        description: doc.text().into(),
        effect: Effect::Adds,
        input: (
            json!({ "question": line("What to find out.", 2000, &["How do small lemonade brands stand out?"]) }),
            vec!["question".to_owned()],
        ),
        output: json!({
            "id": count("Names the research."),
            "question": said("What is to be found out."),
            "status": said("running."),
            "next_step": said("What to call next."),
        }),
    }
}

fn status_spec() -> Spec {
    let doc = Doc {
        purpose: "Shows how far a research is, and its report.",
        prerequisite: "an id from request_deep_research; without it, the latest are listed.",
        use_when: &["get the result of a research", "see which researches there are"],
        not: &["start a research (use request_deep_research)", "find by words (use search_research_cache)"],
        args: &[
            "id: e.g. 1",
            "wait_seconds: wait for the end, 0 to 50. Defaults to 0",
            "offset, limit: without id. Default to 0 and 20",
        ],
        returns: "JSON with researches (status running, done, failed or stopped; report; sources), total_count and \
            has_more.",
        examples: &["get_research_status(id=1, wait_seconds=30)", "get_research_status()"],
    };
    Spec {
        name: "get_research_status".into(),
        title: "Get research status".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "id": {
                    "type": "integer", "description": "The research.",
                    "minimum": 1, "maximum": 1_000_000_000, "examples": [1],
                },
                "wait_seconds": {
                    "type": "integer", "description": "How long to wait for the end.",
                    "minimum": 0, "maximum": 50, "default": 0, "examples": [1],
                },
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            Vec::new(),
        ),
        output: page_of(
            "researches",
            records(&json!({
                "id": count("Names the research."),
                "question": said("What is to be found out."),
                "status": said("running, done, failed or stopped."),
                "report": said("The result, or why there is none; empty while it runs."),
                "queries_done": count("How many searches are done."),
                "queries_total": count("How many there are."),
                "sources": records(&json!({ "title": said("The page."), "url": said("Its address.") })),
                "created": said("When it was asked for."),
            })),
        ),
    }
}

fn cache_spec() -> Spec {
    let doc = Doc {
        purpose: "Searches everything that was researched before, without the web.",
        prerequisite: "none; it holds what web_search and request_deep_research have found.",
        use_when: &["reuse earlier findings", "avoid searching for the same twice"],
        not: &["search the web (use web_search)", "recall preferences (use recall_memory)"],
        args: &[
            "query: words, e.g. \"lemonade trends\"",
            "offset: Defaults to 0",
            "limit: 1 to 100. Defaults to 20",
        ],
        returns: "JSON with findings (kind, asked, report, results, created), best first, total_count and has_more.",
        examples: &["search_research_cache(query=\"lemonade trends\")"],
    };
    Spec {
        name: "search_research_cache".into(),
        title: "Search research cache".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "query": line("Words to look for.", 500, &["lemonade trends"]),
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            vec!["query".to_owned()],
        ),
        output: page_of(
            "findings",
            records(&json!({
                "kind": said("search or research."),
                "asked": said("The query or question."),
                "report": said("The report of a research; otherwise empty."),
                "results": records(&hit_fields()),
                "created": said("When."),
            })),
        ),
    }
}
