//! Calls that destroy, and calls that only sound like it.

use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::catalog::{Advertised, Bounds, Catalog};

fn tool(name: &str, parameters: &[&str]) -> Tool {
    let properties: Map<String, Value> = parameters.iter().map(|it| ((*it).to_owned(), json!({}))).collect();
    let (server, name) = name.split_once("__").unwrap_or(("desk", name));
    let definition = json!({"name": name, "inputSchema": {"type": "object", "properties": properties}});
    let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 99 };
    let listed = Advertised { server: server.into(), tools: vec![to_raw_value(&definition).unwrap()] };
    Catalog::gather([(listed, bounds)]).0.tools()[0].clone()
}

/// Judges a call of a tool of which nothing but its name is known.
fn judged(name: &str, arguments: &Value) -> Hazard {
    let tool = tool(name, &[]);
    assess(&tool, tool.effect, arguments)
}

fn sign(name: &str, arguments: &Value) -> String {
    let hazard = judged(name, arguments);
    assert_eq!(hazard.sign.is_some(), hazard.effect == Effect::Destroy, "{hazard:?}");
    hazard.sign.unwrap_or_else(|| "-".to_owned())
}

fn command(line: &str) -> String {
    sign("run_command", &json!({"command": line})).replace(" in `command`", "")
}

fn query(text: &str) -> Effect {
    judged("postgres__query", &json!({"sql": text})).effect
}

#[test]
fn c3_command_lines_that_destroy_are_known_through_every_disguise() {
    let found: Vec<String> = [
        "rm -rf build",
        "cd /tmp && sudo -u ana /bin/rm -r x",
        "git -C repo push origin main --force",
        "git push -fu origin main",
        "git push origin :old",
        "git push origin +main",
        "git reset --hard HEAD~3",
        "git clean -fdx",
        "git branch -D old",
        "git checkout -- .",
        "bash -c 'ls; rm x'",
        "echo \"$(rm x)\"",
        "echo `rm x`",
        "ls | xargs -n1 rm",
        "find . -name '*.log' -delete",
        "find . -name '*.log' -exec rm {} +",
        "FORCE=1 dd if=/dev/zero of=/dev/sda",
        "mkfs.ext4 /dev/sdb1",
        "kubectl -n prod delete pod web-1",
        "kubectl exec web-1 -- rm -rf /data",
        "docker system prune -af",
        "terraform destroy -auto-approve",
        "aws s3 rm s3://bucket --recursive",
        "aws ec2 terminate-instances --instance-ids i-1",
        "psql -c \"drop table users\"",
        "python3 -c \"import shutil; shutil.rmtree('x')\"",
        "curl -X DELETE https://api.example.org/users/1",
        "echo hello > notes.txt",
        "cat a | tee b",
        "ssh host 'rm -rf /srv'",
        "Remove-Item -Recurse C:\\temp",
    ]
    .into_iter()
    .map(command)
    .collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    `rm`
    `rm`
    `git push --force`
    `git push -f`
    `git push :old`
    `git push +main`
    `git reset --hard`
    `git clean -f`
    `git branch -D`
    `git checkout .`
    `rm`
    `rm`
    `rm`
    `rm`
    `find -delete`
    `rm`
    `dd of=/dev/sda`
    `mkfs.ext4`
    `kubectl delete`
    `rm`
    `docker prune`
    `terraform destroy`
    `aws rm`
    `aws terminate-instances`
    `DROP`
    `shutil.rmtree`
    `curl -X DELETE`
    `> notes.txt`
    `tee`
    `rm`
    `remove-item`
    ");
}

#[test]
fn c3_everyday_command_lines_are_not_asked_about() {
    for line in [
        "ls -la",
        "git status && git log --oneline -5",
        "git push origin main",
        "git commit -m 'rm -rf is gone; drop table'",
        "git branch feature/delete-user",
        "grep -r 'rm -rf' .",
        "echo 'DROP TABLE users'",
        "npm run build 2> /dev/null",
        "cargo test 2>&1 | head > /dev/null",
        "make >> build.log",
        "kubectl get pods -A",
        "docker run --rm alpine echo hi",
        "docker ps -a",
        "cat notes.txt | tee -a all.txt",
        "find . -name '*.rs'",
        "python3 script.py",
        "curl https://example.org/delete",
        "",
        "'unclosed",
        "echo $(",
    ] {
        assert_eq!(command(line), "-", "{line}");
    }
}

#[test]
fn c3_sql_is_read_by_its_words_and_not_by_its_strings() {
    for text in [
        "DROP TABLE users",
        "drop table if exists users;",
        "-- tidy up\nTRUNCATE logs",
        "/* x */ delete from t where id = 1",
        "ALTER TABLE t DROP COLUMN c",
        "SELECT 1; DROP TABLE t",
        "SELECT 'it''s'; DROP TABLE t",
        "SELECT 'a\\'; DROP TABLE t; --'",
        "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
        "UPDATE users SET active = false",
        "EXPLAIN ANALYZE DELETE FROM t",
        "DO $$ BEGIN DROP TABLE t; END $$",
        "BEGIN; DELETE FROM t; COMMIT",
        "/*!50000 DROP TABLE t */",
        "CREATE OR REPLACE TABLE t AS SELECT 1",
        "MATCH (n:Draft) DETACH DELETE n",
        "OPTIONAL MATCH (a)-[r]->(b) DELETE r",
    ] {
        assert_eq!(query(text), Effect::Destroy, "{text}");
    }
    for text in [
        "SELECT 'drop table users' AS joke",
        "SELECT \"delete\" FROM t -- drop table t",
        "SELECT * FROM drops WHERE note LIKE '%; DELETE FROM t%'",
        "INSERT INTO log VALUES ('TRUNCATE t')",
        "UPDATE users SET active = false WHERE id = 1",
        "SELECT $$drop table t$$",
        "EXPLAIN DELETE FROM t",
        "CREATE TABLE t (deleted boolean)",
        "how many rows were deleted?",
    ] {
        assert_ne!(query(text), Effect::Destroy, "{text}");
    }
    let note = json!({"content": "DROP TABLE users", "query": "delete from memory"});
    assert_eq!(sign("create_note", &note), "-", "no database takes this");
}

#[test]
fn h1_a_warning_is_put_aside_only_for_a_call_that_is_understood_whole() {
    let run = tool("postgres__execute_sql", &["sql", "timeout", "statement_b64"]);
    let call = |arguments: Value| assess(&run, Effect::Destroy, &arguments).effect;
    assert_eq!(call(json!({"sql": "SELECT 1"})), Effect::Read);
    assert_eq!(call(json!({"sql": "SELECT count(*) FROM t WHERE a = 'it''s'", "timeout": 5})), Effect::Read);
    assert_eq!(call(json!({"sql": "INSERT INTO t (a) VALUES (1)"})), Effect::Write);
    for arguments in [
        json!({"sql": "tidy up"}),
        json!({"sql": "SELECT 1", "statement_b64": "RFJPUA=="}),
        json!({"sql": "SELECT 1", "unheard_of": 1}),
        json!({"sql": "SELECT tidy_up()"}),
        json!({"sql": "SELECT evil.count(1)"}),
        json!({"sql": "SELECT 1 --and more"}),
        json!({"sql": "SELECT 1 # and more"}),
        json!({"sql": LATER}),
        json!({"timeout": 5}),
        json!({}),
    ] {
        assert_eq!(call(arguments.clone()), Effect::Destroy, "{arguments}");
    }
    let shell = tool("run_command", &["command", "cwd"]);
    let call = |line: &str| assess(&shell, Effect::Destroy, &json!({"command": line, "cwd": "/tmp"})).effect;
    assert_eq!(call("ls -la | wc -l && cat 'a b.txt'"), Effect::Read);
    for line in ["make deploy", "ls > a", "ls $(x)", "ls; x", "ls 'a&b'", "ls \"", "", "LS", "ls & x"] {
        assert_eq!(call(line), Effect::Destroy, "{line}");
    }
    let disk = tool("format_volume", &["volume", "command"]);
    assert_eq!(assess(&disk, Effect::Destroy, &json!({"command": "ls"})).effect, Effect::Destroy);
    let provision = tool("provision", &["volume", "command"]);
    assert_eq!(assess(&provision, Effect::Destroy, &json!({"command": "ls"})).effect, Effect::Destroy);
}

#[test]
fn h1_a_proof_says_why() {
    let why = |name: &str, arguments: Value| {
        let keys: Vec<&str> = arguments.as_object().unwrap().keys().map(String::as_str).collect();
        assess(&tool(name, &keys), Effect::Destroy, &arguments).proof.unwrap_or_else(|| "-".to_owned())
    };
    let all = [
        why("run_command", json!({"command": "cd src && git log -3 | wc -l"})),
        why("git__git_command", json!({"args": ["status", "--short"]})),
        why("postgres__query", json!({"sql": "SHOW TABLES; WITH a AS (SELECT 1) SELECT * FROM a"})),
        why("postgres__execute_sql", json!({"sql": "INSERT INTO t VALUES (1)"})),
        why("http_request", json!({"url": "https://example.org/a", "method": "get"})),
        why("graphql_query", json!({"query": "{ viewer { login } }"})),
        why("neo4j__run_query", json!({"query": "MATCH (n) RETURN n"})),
        why("run_command", json!({"command": "rm a"})),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    `command` runs only `cd`, `git log`, `wc`
    `args` runs only `git status`
    `sql` has only `SHOW`, `WITH`
    `sql` has only `INSERT`
    it is a `GET` request
    `query` has no mutation
    `query` only matches and returns
    -
    ");
}

#[test]
fn h1_long_and_deep_statements_are_refused_and_not_followed() {
    let deep = |open: &str, close: &str| format!("SELECT {}1{}", open.repeat(5_000), close.repeat(5_000));
    let texts = [
        deep("(", ")"),
        format!("SELECT 1{}", " + 1".repeat(5_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(1_000)),
        format!("SELECT {}1", "NOT ".repeat(3_000)),
        format!("SELECT {}1", "- ".repeat(7_000)),
        format!("SELECT 1{}", "::int".repeat(3_000)),
        format!("SELECT {}", "CASE WHEN 1 THEN ".repeat(900)),
        format!("{}SELECT 1", "EXPLAIN ".repeat(2_000)),
        format!("SELECT a{}", ".a".repeat(7_000)),
        format!("SELECT a{}", "[1]".repeat(5_000)),
        format!("SELECT * FROM {}t{}", "(".repeat(12), ")".repeat(12)),
        format!("SELECT {}1{}", "(SELECT ".repeat(12), ")".repeat(12)),
        format!("SELECT {}1{}", "f(".repeat(12), ")".repeat(12)),
        format!("SELECT 1{}", " AND 1".repeat(150)),
    ];
    let judged: Vec<Effect> = texts.iter().map(|text| query(text)).collect();
    assert!(judged[..8].iter().all(|effect| *effect != Effect::Destroy), "{judged:?}");
}

#[test]
fn h1_a_read_whose_request_or_program_does_more_is_not_one() {
    let call = |name: &str, arguments: Value| assess(&tool(name, &[]), Effect::Read, &arguments).effect;
    assert_eq!(call("fetch", json!({"url": "https://a.b", "method": "GET"})), Effect::Read);
    assert_eq!(call("fetch", json!({"url": "https://a.b", "method": "POST"})), Effect::Write);
    assert_eq!(call("get_title", json!({"function": "() => document.title"})), Effect::Write);
    assert_eq!(call("get_docs", json!({"function": "map"})), Effect::Read);
    assert_eq!(call("graphql_query", json!({"query": "mutation { addUser { id } }"})), Effect::Write);
    assert_eq!(call("get_note", json!({"ａction": "delete"})), Effect::Destroy, "a wide letter");
    assert_eq!(call("get_note", json!({"action": "de\u{200b}lete"})), Effect::Destroy, "an invisible one");
}

#[test]
fn c3_a_rehearsal_is_a_switch_that_the_tool_itself_has() {
    let named = tool("delete_rows", &["sql", "dry_run", "dry_run_disabled"]);
    let call = |arguments: Value| assess(&named, Effect::Destroy, &arguments).effect;
    assert_eq!(call(json!({"sql": "SELECT 1"})), Effect::Destroy);
    assert_eq!(call(json!({"dry_run": true})), Effect::Write);
    assert_eq!(call(json!({"dry_run_disabled": true})), Effect::Destroy);
    assert_eq!(call(json!({"preview": true})), Effect::Destroy, "the tool has no such switch");
}

#[test]
fn c3_a_whole_text_in_the_place_of_another_destroys() {
    let found: Vec<String> = [
        ("write_file", json!({"path": "a", "content": "b"})),
        ("update_page", json!({"id": 7, "title": "T", "body": "b"})),
        ("set_instructions", json!({"text": "b"})),
        ("create_or_update_file", json!({"path": "a", "content": "b"})),
        ("save_files", json!({"files": [{"path": "a", "content": "b"}]})),
        ("update_issue", json!({"key": "A-1", "fields": {"description": "b"}})),
        ("write_file", json!({"path": LATER, "content": LATER})),
        ("write_file", json!({"path": "a", "content": "b", "mode": LATER})),
        ("write_file", json!({"path": "a", "content": ""})),
        // Nothing is lost, or not a whole text.
        ("write_file", json!({"path": "a", "content": "b", "mode": "append"})),
        ("write_file", json!({"path": "a", "content": "b", "overwrite": false})),
        ("save_memory", json!({"text": "b"})),
        ("create_note", json!({"path": "a", "content": "b"})),
        ("append_to_note", json!({"path": "a", "content": "b"})),
        ("update_note", json!({"path": "a", "heading": "h", "content": "b"})),
        ("update_issue", json!({"number": 1, "state": "closed", "title": "t"})),
        ("set_volume", json!({"level": 3})),
    ]
    .into_iter()
    .map(|(name, arguments)| sign(name, &arguments))
    .collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    `content` replaces what is in `path`
    `body` replaces what is in `id`
    `text` replaces what is there
    `content` replaces what is in `path`
    `content` replaces what is in `path`
    `description` replaces what is in `key`
    `content` replaces what is in `path`
    `content` replaces what is in `path`
    `content` replaces what is in `path`
    -
    -
    -
    -
    -
    -
    -
    -
    ");
}

#[test]
fn c3_a_schema_and_annotations_say_whether_a_text_replaces_another() {
    let call = |definition: Value| {
        let bounds = Bounds { tools: 9, name_chars: 99, description_chars: 999, nesting: 99 };
        let listed = Advertised { server: "desk".into(), tools: vec![to_raw_value(&definition).unwrap()] };
        let tool = Catalog::gather([(listed, bounds)]).0.tools()[0].clone();
        assess(&tool, tool.effect, &json!({"path": "a", "content": "b"})).effect
    };
    let by_default = |mode: Value| {
        call(json!({"name": "write_note", "inputSchema": {"type": "object", "properties": {"mode": mode}}}))
    };
    assert_eq!(by_default(json!({"default": "overwrite"})), Effect::Destroy);
    assert_eq!(by_default(json!({"default": "append"})), Effect::Write);
    let schema = json!({"type": "object"});
    let hinted = |is_destructive: bool| {
        let hints = json!({"destructiveHint": is_destructive});
        call(json!({"name": "write_note", "annotations": hints, "inputSchema": schema}))
    };
    assert_eq!((hinted(true), hinted(false)), (Effect::Destroy, Effect::Write));
    let told = |text: &str| call(json!({"name": "write_note", "description": text, "inputSchema": schema}));
    assert_eq!(told("Creates a new note. Fails where one is."), Effect::Write);
    assert_eq!(told("Creates a note or overwrites an existing one."), Effect::Destroy);
}

#[test]
fn c3_what_is_too_deep_or_there_twice_is_never_a_read() {
    let reads = tool("get_thing", &[]);
    let mut deep = json!({"action": "delete"});
    for _ in 0..100 {
        deep = json!([deep]);
    }
    assert_eq!(assess(&reads, Effect::Read, &json!({"x": deep})).effect, Effect::Destroy);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    assert_eq!(assess(&reads, Effect::Read, &json!({"x": deep})).effect, Effect::Write);
    let twice = json!({"steps": "[{\"op\": \"add\", \"o\\u0070\": \"remove\"}]"});
    insta::assert_snapshot!(sign("batch", &twice), @"`op` is there twice in `steps`");
}

#[test]
fn c3_switches_modes_and_actions_say_what_a_call_does() {
    let found: Vec<String> = [
        ("write_file", json!({"path": "a", "overwrite": true})),
        ("open_file", json!({"path": "a", "mode": "w"})),
        ("save_table", json!({"if_exists": "replace"})),
        ("update_note", json!({"note": "a", "content": "b", "mode": "replace"})),
        ("git__push", json!({"branch": "main", "force": true})),
        ("git__run", json!({"args": ["push", "--force"]})),
        ("run", json!({"command": "git", "args": ["reset", "--hard"]})),
        ("kubernetes__kubectl", json!({"args": "delete pod web"})),
        ("manage_product", json!({"action": "delete", "slug": "x"})),
        ("http_request", json!({"url": "https://a", "method": "DELETE"})),
        ("http_request", json!({"url": "https://a", "method": "put"})),
        ("batch_update", json!({"requests": [{"a": 1}, {"deleteSheet": {"id": 1}}]})),
        ("batch", json!({"operations": [{"type": "create"}, {"type": "delete", "id": 1}]})),
        ("batch", json!({"operations": "[{\"op\": \"remove\", \"path\": \"/a\"}]"})),
        ("update_list", json!({"deletions": [1, 2]})),
        ("graphql", json!({"query": "mutation { deleteUser(id: 1) { id } }"})),
        ("run_code", json!({"code": "import os\nos.remove('a')"})),
        ("mongodb__run", json!({"script": "db.users.deleteMany({})"})),
        ("archive", json!({"options": {"purge": "true"}})),
    ]
    .into_iter()
    .map(|(name, arguments)| sign(name, &arguments))
    .collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    `overwrite` is true
    `mode` is `w`
    `if_exists` is `replace`
    `mode` is `replace`
    `force` is true
    `git push --force` in `args`
    `git reset --hard` in `command`
    `kubectl delete` in `args`
    `action` is `delete`
    `method` is `DELETE`
    `method` is `put`
    `deleteSheet`
    `type` is `delete`
    `op` is `remove`
    `deletions`
    `deleteUser` in `query`
    `os.remove` in `code`
    `db.users.deleteMany` in `script`
    `purge` is true
    ");
}

#[test]
fn c3_what_only_sounds_like_it_is_not_asked_about() {
    for (name, arguments) in [
        ("list_directory", json!({"path": "/", "recursive": true})),
        ("get_page", json!({"force": true})),
        ("write_file", json!({"path": "delete.md", "content": "rm -rf /", "overwrite": false})),
        ("create_note", json!({"title": "Delete", "mode": "append"})),
        ("edit_text", json!({"mode": "replace", "old_text": "a", "new_text": "b"})),
        ("send_mail", json!({"subject": "purge", "body": "delete from t"})),
        ("edit", json!({"skip_delete": true, "soft_delete": true})),
        ("browser__evaluate", json!({"function": "() => map.delete(key)"})),
        ("http_request", json!({"url": "https://a/delete", "method": "GET"})),
        ("update_thing", json!({"method": "put"})),
        ("search", json!({"query": "how to drop a table"})),
        ("move_file", json!({"deletions": [], "delete": false})),
    ] {
        assert_eq!(sign(name, &arguments), "-", "{name} {arguments}");
    }
}

#[test]
fn c3_a_tool_that_calls_itself_harmless_is_judged_by_what_it_is_told() {
    let reads = tool("sqlite__read_query", &["query"]);
    let call = |arguments: Value| assess(&reads, Effect::Read, &arguments).effect;
    assert_eq!(call(json!({"query": "SELECT 1"})), Effect::Read);
    assert_eq!(call(json!({"query": "DROP TABLE t"})), Effect::Destroy);
    assert_eq!(call(json!({"query": "INSERT INTO t VALUES (1)"})), Effect::Write);
    assert_eq!(call(json!({"query": "SELECT 1 INTO OUTFILE 'a'"})), Effect::Write);
    assert_eq!(call(json!({"query": LATER})), Effect::Write);
    assert_eq!(call(json!({"query": "SELECT * FROM t -- the newest\nLIMIT 1"})), Effect::Read);
    assert_eq!(call(json!({"query": "undrop table t"})), Effect::Write, "a verb that nobody knows");
    let searches = tool("postgres__search_docs", &["query"]);
    let words = json!({"query": "which indexes are there?"});
    assert_eq!(assess(&searches, Effect::Read, &words).effect, Effect::Read);
}

#[test]
fn r17_a_long_text_is_judged_in_one_go() {
    for piece in ["a(", "$a$", "${IFS}", "[", "sudo ", "bash -c ", "$(", "{\"a\":"] {
        let text = piece.repeat(200_000 / piece.len());
        for key in ["command", "sql"] {
            judged("postgres__run_shell_command", &json!({key: text}));
        }
    }
    // Every level has a name that looks like another one.
    let mut deep = json!("\u{ff44}rop");
    for _ in 0..126 {
        deep = json!({"\u{ff53}ql": deep, "list": ["\u{ff44}rop"]});
    }
    judged("postgres__run_shell_command", &deep);
}

mod corpus; //    calls of real servers
mod disguised; // destructive calls in disguise

mod arbitrary {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn r17_no_text_is_too_strange_to_judge(text in "[-a-z ;'\"`$(){}\\\\|&>#/*!\\n=]{0,60}", more in ".{0,40}") {
            for text in [text, more] {
                for key in ["command", "sql", "code", "args", "action", "mode"] {
                    judged("postgres__run_shell_command", &json!({key: text}));
                }
            }
        }
    }
}

#[test]
fn h1_a_text_for_a_graph_is_a_read_only_if_all_of_it_is_a_question() {
    let run = tool("shop__graphql_query", &["query"]);
    let effect = |text: &str| assess(&run, Effect::Write, &json!({"query": text})).effect;
    for text in [
        "{ viewer { login } }",
        "query Q($a: [Int!] = [1, -2]) @live { user(id: $a, name: \"a } \\\" b\") { ...F, x: y } } # done\nfragment F on User { id }",
        "query { note(text: \"\"\"several \"lines\" }\"\"\") { id } }",
    ] {
        assert_eq!(effect(text), Effect::Read, "{text}");
    }
    for text in [
        "query { budget",
        "query { budget\n; DROP TABLE users",
        "query { budget }; DROP TABLE users",
        "{ a } drop table users",
        "drop { a }",
        "{ a ) }",
        "{ a \"}",
        "{ a } }",
    ] {
        assert_ne!(effect(text), Effect::Read, "{text}");
    }
}
