//! One server of the settings file: what was written becomes how to reach it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use toolyard_core::catalog::consolidate::Declaration;

use super::document::Member;
use super::mistake::Report;
use super::raw::{
    RawAuth, RawAuthWord, RawBuiltin, RawClient, RawConsolidate, RawLimits, RawSandbox, RawScopes, RawServer,
    RawSpan, RawType,
};
use super::{Auth, Confinement, Folders, Limits, Off, Server, StudioServices, Transport, trust};

mod builtin; // servers inside the hub

/// What the servers of one file have in common.
pub(super) struct Surroundings<'a> {
    pub(super) folders: &'a Folders,
    /// The folder of the settings file.
    pub(super) folder: &'a Path,
    /// How long a call may take where the server says nothing else and somebody said it for all.
    pub(super) call: Option<Duration>,
}

/// Resolves a server that fits the schema; `None` when it was reported instead.
pub(super) fn resolve(
    member: &Member,
    raw: RawServer,
    around: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Option<Server> {
    let mut server = Resolving { name: &member.key, member, around, report, failed: false };
    let limits = server.limits(raw.limits.as_ref(), raw.timeout);
    let idle_stop = raw.idle_stop.as_ref().and_then(|span| server.idle_stop(span));
    let lazy = raw.lazy.unwrap_or(true);
    let services = raw.services.as_ref().map(|raw| server.services(raw)).unwrap_or_default();
    let consolidate = raw.consolidate.as_ref().and_then(declarations);
    let trust = raw.trust.and_then(trust::of_server);
    let sandbox = raw.sandbox.as_ref().and_then(|sandbox| server.sandbox(sandbox, raw.command.is_some()));
    let transport = server.transport(raw, &services)?;
    (!server.failed).then_some(Server {
        transport,
        lazy,
        idle_stop,
        limits,
        services,
        consolidate,
        trust,
        sandbox,
    })
}

/// Returns the families that are declared; `None` where tools are shown as they are.
fn declarations(raw: &RawConsolidate) -> Option<Vec<Declaration>> {
    match raw {
        RawConsolidate::Switch(false) => None,
        RawConsolidate::Switch(true) => Some(Vec::new()),
        RawConsolidate::Families(families) => {
            let declared = families.iter().map(|raw| Declaration {
                entity: raw.entity.clone(),
                tools: raw.tools.clone(),
                actions: raw.actions.clone(),
                batch: raw.batch,
            });
            Some(declared.collect())
        }
    }
}

/// Says why a server is off, where it lacks a variable.
pub(super) fn off(member: &Member, report: &Report<'_>) -> Option<Off> {
    let (mut variables, mut mistakes) = (Vec::new(), Vec::new());
    for (variable, mistake) in report.unset(&member.node.span) {
        if !variables.contains(variable) {
            variables.push(variable.clone());
        }
        mistakes.push(mistake.clone());
    }
    let transport = if member.node.member("command").is_some() {
        "stdio"
    } else if member.node.member("builtin").is_some() {
        "builtin"
    } else {
        "http"
    };
    (!variables.is_empty()).then_some(Off { transport, variables, mistakes })
}

struct Resolving<'r, 'm, 'a> {
    name: &'m str,
    member: &'m Member,
    around: &'m Surroundings<'m>,
    report: &'r mut Report<'a>,
    failed: bool,
}

/// The one of the three ways that a server is written.
enum Way {
    Command(String),
    Url { key: &'static str, url: String },
    Builtin(RawBuiltin),
}

impl Resolving<'_, '_, '_> {
    fn transport(&mut self, raw: RawServer, services: &StudioServices) -> Option<Transport> {
        let way = self.way(&raw)?;
        self.check_type(&way, raw.r#type.or(raw.transport));
        self.check_builtin(&way, &raw);
        if (raw.auth.is_some() || raw.oauth.is_some()) && !matches!(way, Way::Url { .. }) {
            let key = if raw.auth.is_some() { "auth" } else { "oauth" };
            self.wrong(&[key], format!("`{key}` is only for servers with a `url`"), None);
        }
        match way {
            Way::Command(command) => Some(self.stdio(command, raw)),
            Way::Url { key, url } => {
                self.check_url(key, &url);
                let sse = matches!(raw.r#type.or(raw.transport), Some(RawType::Sse));
                let headers = self.headers(raw.headers.unwrap_or_default());
                let auth = self.auth(raw.auth, raw.oauth);
                Some(if sse {
                    Transport::Sse { url, headers, auth }
                } else {
                    Transport::Http { url, headers, auth }
                })
            }
            Way::Builtin(builtin) => self.builtin(builtin, &raw, services).map(Transport::Builtin),
        }
    }

    fn way(&mut self, raw: &RawServer) -> Option<Way> {
        let url = [("url", &raw.url), ("serverUrl", &raw.server_url), ("httpUrl", &raw.http_url)];
        let mut ways: Vec<(&'static str, Way)> = Vec::new();
        ways.extend(raw.command.clone().map(|it| ("command", Way::Command(it))));
        for (key, url) in url {
            ways.extend(url.clone().map(|url| (key, Way::Url { key, url })));
        }
        ways.extend(raw.builtin.map(|it| ("builtin", Way::Builtin(it))));
        let mut ways = ways.into_iter();
        let Some((first, way)) = ways.next() else {
            let hint = "add a `command` to run, or a `url` to connect to".to_owned();
            let message = format!("server `{}` has neither `command` nor `url`", self.name);
            self.report.add(self.member.key_at, message, Some(hint));
            return None;
        };
        if let Some((second, _)) = ways.next() {
            let hint = "keep the one you want and delete the other".to_owned();
            let message = format!("server `{}` has both `{first}` and `{second}`", self.name);
            self.wrong(&[second], message, Some(hint));
            return None;
        }
        Some(way)
    }

    fn check_type(&mut self, way: &Way, named: Option<RawType>) {
        let Some(named) = named else { return };
        let (fits, needed) = match named {
            RawType::Stdio | RawType::Local => (matches!(way, Way::Command(_)), "command"),
            RawType::Http
            | RawType::StreamableHttp
            | RawType::StreamableHttpInCamelCase
            | RawType::StreamableHttpInSnakeCase
            | RawType::Sse => (matches!(way, Way::Url { .. }), "url"),
            RawType::Builtin => (matches!(way, Way::Builtin(_)), "builtin"),
        };
        if !fits {
            let key = if self.member.node.member("type").is_some() { "type" } else { "transport" };
            let message = format!("the `{key}` of server `{}` needs a `{needed}`", self.name);
            self.wrong(&[key], message, Some(format!("delete `{key}`: it is clear from the other keys")));
        }
    }

    fn stdio(&mut self, command: String, raw: RawServer) -> Transport {
        let mut env = raw.env_file.map_or_else(BTreeMap::new, |file| self.env_file(&file));
        env.extend(raw.env.unwrap_or_default().into_iter().filter_map(|(name, value)| match value {
            Value::String(text) => Some((name, text)),
            Value::Number(number) => Some((name, number.to_string())),
            Value::Bool(flag) => Some((name, flag.to_string())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }));
        let args = raw.args.unwrap_or_default();
        if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            let message = format!("`{}` is not the name of an environment variable", name.escape_debug());
            self.wrong(&["env"], message, None);
        }
        let texts = args.iter().chain(env.values()).chain([&command]);
        if texts.into_iter().any(|text| text.contains('\0')) {
            let message =
                format!("server `{}` has a null character in its command or environment", self.name);
            self.wrong(&["command"], message, None);
        }
        let cwd = raw.cwd.filter(|it| !it.is_empty()).map(|cwd| self.path(&cwd));
        let in_folder = command.contains('/') || (cfg!(windows) && command.contains('\\'));
        let command = if in_folder { self.path(&command).to_string_lossy().into_owned() } else { command };
        Transport::Stdio { command, args, env, cwd }
    }

    fn check_url(&mut self, key: &'static str, url: &str) {
        let problem = match url::Url::parse(url) {
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() => return,
            Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => "it has no host".to_owned(),
            Ok(parsed) => format!("`{}` is not http or https", parsed.scheme()),
            Err(error) => error.to_string(),
        };
        let hint = "write it like \"https://example.com/mcp\"".to_owned();
        self.wrong(
            &[key],
            format!("the `{key}` of server `{}` is not usable: {problem}", self.name),
            Some(hint),
        );
    }

    fn headers(&mut self, headers: BTreeMap<String, String>) -> BTreeMap<String, String> {
        for (name, value) in &headers {
            let token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
            if name.is_empty() || !name.bytes().all(token) {
                let message = format!("`{}` is not the name of a header", name.escape_debug());
                self.wrong(&["headers", name], message, None);
            } else if value.chars().any(|it| it.is_control() && it != '\t') {
                let message = format!("the header `{name}` has a line break or control character in it");
                self.wrong(&["headers", name], message, None);
            }
        }
        headers
    }

    fn auth(&mut self, auth: Option<RawAuth>, oauth: Option<RawClient>) -> Auth {
        let client = match (auth, oauth) {
            (Some(RawAuth::Word(RawAuthWord::Off)), _) => return Auth::Off,
            (Some(RawAuth::Client(client)), _) | (_, Some(client)) => client,
            (Some(RawAuth::Word(RawAuthWord::Auto)) | None, None) => RawClient::default(),
        };
        if client.enabled == Some(false) {
            return Auth::Off;
        }
        let client_id = client.client_id.or(client.cursor_client_id);
        let client_secret = client.client_secret.or(client.cursor_client_secret);
        if client_id.is_none() && client_secret.is_some() {
            let message = format!("server `{}` has a client secret without a client id", self.name);
            let key = if self.member.node.member("auth").is_some() { "auth" } else { "oauth" };
            self.wrong(&[key], message, Some("add `clientId`".to_owned()));
        }
        let scopes = match client.scopes {
            Some(RawScopes::List(scopes)) => scopes,
            Some(RawScopes::Spaced(scopes)) => scopes.split_whitespace().map(str::to_owned).collect(),
            None => Vec::new(),
        };
        Auth::Automatic { client_id, client_secret, scopes }
    }

    fn limits(&mut self, raw: Option<&RawLimits>, timeout: Option<u64>) -> Limits {
        let standard = Limits::default();
        let unset = RawLimits::default();
        let raw = raw.unwrap_or(&unset);
        let written = raw.call_ms.or(timeout).map(Duration::from_millis);
        let call = written.or(self.around.call).unwrap_or(standard.call);
        let call_total = raw.call_total_ms.map(Duration::from_millis);
        Limits {
            start: raw.start_ms.map_or(standard.start, Duration::from_millis),
            call,
            // Who gives a call longer than that means it.
            call_total: call_total.unwrap_or_else(|| standard.call_total.max(call)),
            message_bytes: raw.message_bytes.unwrap_or(standard.message_bytes),
            nesting: raw.nesting.unwrap_or(standard.nesting),
            tools: raw.tools.unwrap_or(standard.tools),
            pages: raw.pages.unwrap_or(standard.pages),
            name_chars: raw.name_chars.unwrap_or(standard.name_chars),
            description_chars: raw.description_chars.unwrap_or(standard.description_chars),
            concurrency: raw.concurrency.unwrap_or(standard.concurrency),
        }
    }

    fn idle_stop(&mut self, span: &RawSpan) -> Option<Duration> {
        match span {
            RawSpan::Seconds(seconds) => Some(Duration::from_secs(*seconds)),
            RawSpan::Text(text) => {
                let duration = duration(text);
                if duration.is_none() {
                    let message =
                        format!("`idleStop` of server `{}` is not a length of time up to a year", self.name);
                    let hint = "write seconds, or text such as \"90s\", \"5m\" or \"1h\"".to_owned();
                    self.wrong(&["idleStop"], message, Some(hint));
                }
                duration
            }
        }
    }

    /// Resolves what a program may use. What VS Code writes under the same key means other things, and is not used.
    fn sandbox(&mut self, raw: &RawSandbox, has_command: bool) -> Option<Confinement> {
        let is_foreign = raw.filesystem.is_some() || raw.network.as_ref().is_some_and(Value::is_object);
        let is_ours =
            raw.read.is_some() || raw.write.is_some() || raw.network.as_ref().is_some_and(Value::is_boolean);
        if is_foreign && is_ours {
            let message =
                format!("`sandbox` of server `{}` mixes what Toolyard and VS Code write", self.name);
            let hint = "keep `network` (true or false), `read` and `write`, and delete the rest".to_owned();
            self.wrong(&["sandbox"], message, Some(hint));
        }
        if is_foreign {
            return None;
        }
        if !has_command {
            let message = "`sandbox` is only for servers with a `command`".to_owned();
            self.wrong(&["sandbox"], message, None);
        }
        let paths =
            |written: &Option<Vec<String>>| written.iter().flatten().map(|path| self.path(path)).collect();
        let network = raw.network.as_ref().and_then(Value::as_bool).unwrap_or(true);
        Some(Confinement { network, read: paths(&raw.read), write: paths(&raw.write) })
    }

    fn env_file(&mut self, file: &str) -> BTreeMap<String, String> {
        let path = self.path(file);
        match super::read_text(&path) {
            Ok(text) => env_lines(&text),
            Err(error) => {
                let message = format!("`envFile` of server `{}` cannot be read: {error}", self.name);
                self.wrong(&["envFile"], message, Some(format!("it is looked for at {}", path.display())));
                BTreeMap::new()
            }
        }
    }

    fn path(&self, written: &str) -> PathBuf {
        resolve_path(written, self.around.folder, &self.around.folders.home)
    }

    fn wrong(&mut self, path: &[&str], message: String, hint: Option<String>) {
        let mut at = self.member.key_at;
        let mut node = &self.member.node;
        for key in path {
            let Some(member) = node.member(key) else { break };
            at = member.node.span.start;
            node = &member.node;
        }
        self.failed = true;
        self.report.add(at, message, hint);
    }
}

/// Makes a path absolute: `~` is the home folder, anything relative starts in `folder`.
pub(super) fn resolve_path(written: &str, folder: &Path, home: &Path) -> PathBuf {
    let path = match written.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with(['/', std::path::MAIN_SEPARATOR]) => home.join(&rest[1..]),
        Some(_) | None => folder.join(written),
    };
    // `./server` reads better, and compares better, without the dot.
    path.components().collect()
}

/// Reads a length of time up to a year, such as `90s`, `5m`, `1h` or `500ms`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let milliseconds = match text[digits..].trim() {
        "ms" => 1,
        "" | "s" | "sec" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let most = 365 * 86_400_000;
    number.checked_mul(milliseconds).filter(|it| (1..=most).contains(it)).map(Duration::from_millis)
}

/// Reads `NAME=value` lines as dotenv files have them: comments, `export`, and quotes around a value.
fn env_lines(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), unquoted(value.trim())))
        .collect()
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return if quote == '"' {
                inner.replace("\\n", "\n").replace("\\\"", "\"")
            } else {
                inner.to_owned()
            };
        }
    }
    value.split(" #").next().unwrap_or(value).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit() {
        let read = |text| duration(text).map(|it| it.as_millis());
        assert_eq!(
            ["500ms", "90", "90s", "5m", "1h", "2d", " 5 m "].map(read),
            [500, 90_000, 90_000, 300_000, 3_600_000, 172_800_000, 300_000].map(Some)
        );
        assert_eq!(["", "m", "0s", "-5s", "5 weeks", "99999999999999999999h", "366d"].map(read), [None; 7]);
    }

    #[test]
    fn an_env_file_is_read_as_dotenv_files_are() {
        let text =
            "# keys\nexport A=1\nB = two words # comment\nC=\"three # \\\"3\\\"\"\nD='$raw'\nE=\nnothing\n";
        insta::assert_debug_snapshot!(env_lines(text), @r#"
        {
            "A": "1",
            "B": "two words",
            "C": "three # \"3\"",
            "D": "$raw",
            "E": "",
        }
        "#);
    }
}
