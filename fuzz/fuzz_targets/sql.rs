//! Statements for databases: is one that is judged a read still no read with something destructive beside it?
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use toolyard_core::tool::{Effect, Tool};
use toolyard_fuzz::{judged, runner, text};

static TOOLS: LazyLock<[Tool; 5]> = LazyLock::new(|| {
    [
        runner("postgres", "query", "sql"),
        runner("mysql", "execute_sql", "query"),
        runner("sqlite", "run_query", "query"),
        runner("neo4j", "run_cypher", "query"),
        runner("shop", "graphql_query", "query"),
    ]
});
/// Statements of their own, behind one and before one. A line end comes first, because a comment may be open.
const BEHIND: [&str; 4] =
    ["\n; DROP TABLE users", "\n;\nDELETE FROM users;", "\n;TRUNCATE users", "\n; UPDATE a SET b = 1"];
const BEFORE: [&str; 3] = ["DROP TABLE users;\n", "DELETE FROM users; ", "INSERT INTO a VALUES (1); "];

fuzz_target!(|data: &[u8]| {
    let Some(statement) = text(data) else { return };
    for tool in &*TOOLS {
        let argument = &tool.parameters[0].name;
        let effect = |statement: &str| judged(tool, &json!({argument: statement})).effect;
        if effect(statement) != Effect::Read || statement.trim().is_empty() {
            continue;
        }
        for behind in BEHIND {
            assert_ne!(effect(&format!("{statement}{behind}")), Effect::Read, "{statement:?} and {behind:?}");
        }
        for before in BEFORE {
            assert_ne!(effect(&format!("{before}{statement}")), Effect::Read, "{before:?} and {statement:?}");
        }
    }
});
