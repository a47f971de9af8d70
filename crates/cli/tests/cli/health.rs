//! Status, doctor, logs and login.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use testkit::{Oracle, Saying};

use crate::place::Place;

const MIXED: &str = r#"{ "mcpServers": {
    "dead": { "command": "FAULT", "args": ["--fault", "dies-at-start"] },
    "good": { "command": "FAULT" },
    "missing": { "command": "no-such-command-anywhere" },
    "nowhere": { "command": "FAULT", "cwd": "/no/such/folder" },
    "twice": { "command": "FAULT", "args": ["--fault", "duplicate-names"] },
    "web": { "url": "http://127.0.0.1:9/mcp" },
} }"#;

#[test]
fn status_starts_nothing() {
    let place = Place::with(
        r#"{ "mcpServers": { "eager": { "command": "FAULT", "lazy": false, "args": ["--fault", "dies-at-start"] } } }"#,
    );
    insta::assert_snapshot!(place.run(&["status"]), @"
    No hub is running. What is known:
      server  transport  state       tools
      eager   stdio      configured  ?
    [exit 0]
    ");
    // A server that is started leaves its last words.
    insta::assert_snapshot!(place.run(&["logs", "eager"]), @"
    [stderr]
    `eager` has no log: it has written nothing so far
    [exit 0]
    ");
}

#[test]
fn doctor_says_what_helps_for_each_server() {
    let place = Place::with(MIXED);
    let output = place.seen(&place.output(&["doctor"]));
    // Servers are told as they are done, so their order is theirs.
    let mut blocks: Vec<String> = Vec::new();
    // How much of a dying server's last words is in its log differs from run to run.
    let is_last_word = |line: &str| line.contains("the end of its log") || line.contains("fatal:");
    for line in output.lines().filter(|line| !is_last_word(line)) {
        match blocks.last_mut() {
            Some(block) if line.starts_with(' ') => *block += &format!("\n{line}"),
            _ => blocks.push(line.to_owned()),
        }
    }
    blocks.sort();
    insta::assert_snapshot!(blocks.join("\n"), @"
    2 of 6 servers in order
    [exit 1]
    configuration
      ok  [HOME]/config/toolyard/toolyard.json has no mistakes
    dead
      bad  server `dead` did not start: it exited with code 3
          fix: `toolyard logs dead` has all it wrote; run its command by hand to see why it ends
    good
      ok  starts in [N] ms, lists 24 tools in [N] ms
    meaning
      ok  `toolyard-router` compares meanings
    missing
      bad  command `no-such-command-anywhere` was not found
          fix: install it, or give its full path as `command` in the configuration
    nowhere
      bad  its folder `/no/such/folder` does not exist
          fix: make the folder, or correct `cwd` in the configuration
    system
      ok  what is learnt is kept in [HOME]/data/toolyard
    twice
      ok  starts in [N] ms, lists 24 tools in [N] ms
      note  1 problem with what it offers:
            `twice`: tool `echo` left out: the name is listed twice; the first one counts
          fix: the rest works; the server's author can correct these
    web
      bad  server `web` did not start: nothing answers at http://127.0.0.1:9
          fix: check that the address is right and that the server runs
    ");
}

#[test]
fn doctor_on_one_server_looks_at_no_other() {
    let place = Place::with(MIXED);
    insta::assert_snapshot!(place.run(&["doctor", "good"]), @"
    configuration
      ok  [HOME]/config/toolyard/toolyard.json has no mistakes
    good
      ok  starts in [N] ms, lists 24 tools in [N] ms
    1 of 1 server in order
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["doctor", "godo"]), @"
    [stderr]
    error: there is no server `godo`
      hint: configured servers: dead, good, missing, nowhere, twice, web
    [exit 2]
    ");
}

#[test]
fn doctor_as_json_has_the_same_in_order() {
    let place = Place::with(MIXED);
    let (found, exit) = place.json(&["doctor", "--json"]);
    assert_eq!((exit, &found["ok"]), (1, &false.into()));
    let servers = found["servers"].as_array().unwrap();
    let told: Vec<String> =
        servers.iter().map(|it| format!("{} {} {}", it["name"], it["ok"], it["tools"])).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    "dead" false null
    "good" true 24
    "missing" false null
    "nowhere" false null
    "twice" true 24
    "web" false null
    "#);
    let good = servers.iter().find(|it| it["name"] == "good").unwrap();
    assert!(good["startMs"].is_u64() && good["listMs"].is_u64(), "{good}");
}

#[test]
fn doctor_is_content_with_the_built_in_servers() {
    assert_eq!(Place::new().output(&["doctor"]).status.code(), Some(0));
}

#[test]
fn status_tells_what_was_learnt_before() {
    let place = Place::with(MIXED);
    place.output(&["list"]);
    insta::assert_snapshot!(place.run(&["status"]), @"
    No hub is running. What is known:
      server   transport  state       tools
      dead     stdio      configured  ?
      good     stdio      known       24
      missing  stdio      configured  ?
      nowhere  stdio      configured  ?
      twice    stdio      known       24     1 problem (`toolyard doctor twice`)
      web      http       configured  ?
    [exit 0]
    ");
}

#[test]
fn logs_show_the_end_of_what_a_server_wrote() {
    let place = Place::with(MIXED);
    place.write("data/toolyard/logs/dead.log", "one\n\u{1b}[31mtwo\u{1b}[0m\nthree\n");
    insta::assert_snapshot!(place.run(&["logs", "dead", "-n", "2"]), @"
    two
    three
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["logs", "web"]), @"
    [stderr]
    `web` has no log: a server behind a URL keeps its own log
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["logs", "daed"]), @"
    [stderr]
    error: there is no server `daed`
      hint: configured servers: dead, good, missing, nowhere, twice, web
    [exit 2]
    ");
    let (logs, _) = place.json(&["logs", "dead", "--json"]);
    assert_eq!(logs["lines"][2], "three");
}

#[test]
fn a_followed_log_goes_on_with_new_lines() {
    let place = Place::with(MIXED);
    place.write("data/toolyard/logs/good.log", "old\n");
    let mut child = place.command(&["logs", "good", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "old");
    let path = place.path("data/toolyard/logs/good.log");
    let mut log = std::fs::File::options().append(true).open(&path).unwrap();
    log.write_all(b"new\nunfin").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "new");
    log.write_all(b"ished\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "unfinished");
    // A full log is put aside and a new one begun.
    std::fs::rename(&path, path.with_extension("log.1")).unwrap();
    std::fs::write(&path, "fresh\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "fresh");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_server_that_hangs_keeps_no_other_from_being_told() {
    let place = Place::with(
        r#"{ "mcpServers": {
            "a-hanging": { "command": "FAULT", "args": ["--fault", "silent"], "limits": { "startMs": 9000 } },
            "b-good": { "command": "FAULT" },
        } }"#,
    );
    insta::assert_snapshot!(place.run(&["doctor"]), @"
    configuration
      ok  [HOME]/config/toolyard/toolyard.json has no mistakes
    system
      ok  what is learnt is kept in [HOME]/data/toolyard
    b-good
      ok  starts in [N] ms, lists 24 tools in [N] ms
    a-hanging
      bad  server `a-hanging` did not start: it did not greet within 9s (`limits.startMs`)
          fix: if it needs longer, raise `limits.startMs` of `a-hanging`; else run its command by hand to see what it waits for
    meaning
      ok  `toolyard-router` compares meanings
    1 of 2 servers in order
    [exit 1]
    ");
}

#[test]
fn login_is_only_where_there_is_one() {
    let place = Place::with(
        r#"{ "mcpServers": {
            "local": { "command": "FAULT" },
            "off": { "url": "http://127.0.0.1:9/mcp", "auth": "off" },
            "own": { "url": "http://127.0.0.1:9/mcp", "headers": { "authorization": "Bearer x" } },
            "web": { "url": "http://127.0.0.1:9/mcp" },
        } }"#,
    );
    insta::assert_snapshot!(
        ["local", "off", "own", "web", "wbe"]
            .map(|server| place.run(&["login", server, "--no-browser"]))
            .join("\n"),
        @"
        [stderr]
        error: `local` has no login: it is not reached over HTTP
        [exit 2]
        [stderr]
        error: `off` has no login: `auth` is off for it in the configuration
        [exit 2]
        [stderr]
        error: `own` has no login: its `Authorization` header in the configuration is used
        [exit 2]
        [stderr]
        error: the login at `web` did not work: `http://127.0.0.1:9/mcp` cannot be used: Connection refused (os error 111)
        [exit 1]
        [stderr]
        error: there is no server `wbe`
          hint: configured servers: local, off, own, web
        [exit 2]
        "
    );
}

#[test]
fn r9_doctor_says_whether_language_models_answer() {
    let ready = Oracle::start([Saying::Json(serde_json::json!({"ready": true}))]);
    let loose = Oracle::start([Saying::Text("Yes, I am!".to_owned())]);
    let doctor = |arguments: &str, toolset: &str| {
        let place = Place::with(&format!(
            r#"{{ "mcpServers": {{}}, "routing": {{ "arguments": {arguments} }}, "toolset": {toolset} }}"#
        ));
        let (found, exit) = place.json(&["doctor", "--json"]);
        assert_eq!((exit, &found["ok"]), (0, &true.into()), "everything works without them: {found}");
        let seen = place.run(&["doctor"]);
        seen.lines()
            .skip_while(|line| *line != "language models")
            .take_while(|it| !it.contains("in order"))
            .fold(String::new(), |all, line| all + line + "\n")
    };
    let model = |url: &str| format!(r#"{{ "model": "{url}", "timeoutMs": 60000 }}"#);
    insta::assert_snapshot!(doctor(&model(&ready.openai()), &model(&loose.ollama())), @"
    language models
      ok  `small` of `routing.arguments.model` answers
      note  `small` does not keep to a JSON schema; meanwhile words decide alone
          fix: see whether its service runs and has the model, or correct `model` and `apiKey` in `toolset`
    ");
    let away = model("http://127.0.0.1:9/v1/chat/completions#small");
    let found = doctor(&away, "{}");
    assert!(
        found.contains("note  `small` cannot be reached: ") && found.contains("`routing.arguments`"),
        "{found}"
    );
    let silent = Oracle::start([Saying::Silence]);
    let hasty = format!(r#"{{ "model": "{}", "timeoutMs": 50 }}"#, silent.ollama());
    insta::assert_snapshot!(doctor(&hasty, "{}"), @"
    language models
      note  `small` did not answer within 50ms; meanwhile words decide alone
          fix: raise `routing.arguments.timeoutMs`, or see whether its service is busy
    ");
    insta::assert_snapshot!(doctor("{}", "{}"), @"");
}

const OFF: &str = r#"{ "mcpServers": {
    "good": { "command": "FAULT" },
    "hub": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${NOT_SET_ANYWHERE}" } },
} }"#;

#[test]
fn a_server_that_lacks_a_variable_is_named_with_what_helps() {
    let place = Place::with(OFF);
    assert_eq!(place.output(&["list"]).status.code(), Some(0));
    insta::assert_snapshot!(place.run(&["status"]), @"
    No hub is running. What is known:
      server  transport  state  tools
      good    stdio      known  24
      hub     http       off    ?      the environment variable `NOT_SET_ANYWHERE` is not set; set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["doctor"]), @"
    configuration
      ok  [HOME]/config/toolyard/toolyard.json has no mistakes
    system
      ok  what is learnt is kept in [HOME]/data/toolyard
    hub
      bad  it is off: the environment variable `NOT_SET_ANYWHERE` is not set ([HOME]/config/toolyard/toolyard.json:3:78)
          fix: set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`
    good
      ok  starts in [N] ms, lists 24 tools in [N] ms
    meaning
      ok  `toolyard-router` compares meanings
    1 of 2 servers in order
    [exit 1]
    ");
    insta::assert_snapshot!(place.run(&["doctor", "hub"]), @"
    configuration
      ok  [HOME]/config/toolyard/toolyard.json has no mistakes
    hub
      bad  it is off: the environment variable `NOT_SET_ANYWHERE` is not set ([HOME]/config/toolyard/toolyard.json:3:78)
          fix: set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`
    0 of 1 server in order
    [exit 1]
    ");
    insta::assert_snapshot!(place.run(&["call", "hub__search", "query=x"]), @"
    [stderr]
    error: server `hub` is off: the environment variable `NOT_SET_ANYWHERE` is not set; set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`
    [exit 1]
    ");
    insta::assert_snapshot!(place.run(&["list", "hub"]), @"
    [stderr]
    error: server `hub` is off: the environment variable `NOT_SET_ANYWHERE` is not set
      hint: set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`
    [exit 1]
    ");
    let listed = place.run(&["list"]);
    insta::assert_snapshot!(listed.split_once("24 tools of").unwrap().1, @"
     1 server; 1 server is off:
      hub  the environment variable `NOT_SET_ANYWHERE` is not set; set it where Toolyard is started, or give a default: `${NOT_SET_ANYWHERE:-value}`
    [exit 0]
    ");
    let (found, exit) = place.json(&["list", "--json"]);
    assert_eq!((exit, &found["failed"][0]["server"]), (0, &"hub".into()));
}

#[test]
fn a_server_that_lacked_a_variable_is_there_when_it_is_set() {
    let place = Place::with(
        r#"{ "mcpServers": { "good": { "command": "FAULT", "env": { "KEY": "${SOMETIMES_SET}" } } } }"#,
    );
    assert_eq!(place.output(&["call", "good__echo", "text=hi"]).status.code(), Some(1));
    let mut command = place.command(&["call", "good__echo", "text=hi"]);
    let output = command.env("SOMETIMES_SET", "key").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hi\n");
}

#[test]
fn t27_doctor_notices_a_store_that_can_only_be_read() {
    let place = Place::with(r#"{ "mcpServers": { "time": { "builtin": "time" } } }"#);
    assert!(place.run(&["doctor"]).ends_with("[exit 0]"));
    let store = place.json(&["doctor", "--json"]).0["system"][0]["message"].as_str().unwrap().to_owned();
    let folder = std::path::Path::new(store.strip_prefix("what is learnt is kept in ").unwrap());
    // The header says that only a newer SQLite may write; the mode of a file means nothing to root.
    let mut bytes = std::fs::read(folder.join("toolyard.db")).unwrap();
    bytes[18] = 3;
    std::fs::write(folder.join("toolyard.db"), bytes).unwrap();
    let (found, exit) = place.json(&["doctor", "--json"]);
    assert_eq!((exit, &found["ok"], &found["system"][0]["level"]), (1, &false.into(), &"bad".into()));
    assert!(found["system"][0]["message"].as_str().unwrap().contains("readonly database"), "{found}");
}

#[test]
fn t27_doctor_says_what_is_wrong_with_the_key_and_what_a_sandbox_can_do() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with(r#"{ "mcpServers": { "time": { "builtin": "time" } } }"#);
    let found = place.json(&["doctor", "--json"]).0;
    let told = |found: &serde_json::Value| {
        let all = found["system"].as_array().unwrap().clone();
        all.iter().map(|it| format!("{} {}", it["level"], it["message"])).collect::<Vec<_>>()
    };
    assert!(told(&found).iter().any(|it| it.contains(" be confined with `sandbox`")), "{found}");
    let store = found["system"][0]["message"].as_str().unwrap().to_owned();
    let key =
        std::path::Path::new(store.strip_prefix("what is learnt is kept in ").unwrap()).join("seal.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o666)).unwrap();
    let (found, exit) = place.json(&["doctor", "--json"]);
    assert_eq!((exit, found["system"][1]["level"].as_str()), (1, Some("bad")));
    assert!(found["system"][1]["fix"].as_str().unwrap().contains("chmod 600"), "{found}");
}
