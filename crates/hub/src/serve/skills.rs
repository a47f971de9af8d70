//! Skills over MCP: those of a person, and those of servers, each server's in a folder of its own.
//!
//! A skill of a server is offered as it was approved. What its server hands out for a file counts only if it is what the
//! digest says, so nobody reads what was not approved; and whoever reads it sees by its address where it comes from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolyard_core::tool::clean;

use super::answer::Request;
use super::{View, offers, park};
use crate::access::Within;
use crate::caller::Answer;
use crate::config::{front_matter, read_bytes_within};
use crate::hub::{Hub, wants_input};
use crate::jsonrpc::{ErrorObject, Fields, raw};
use crate::live::GatheredSkill;
use crate::skills::{Content, encoded, published};
use crate::upstream::Repeat;
use crate::upstream::skill::{MAIN, MOST_BYTES, SkillEntry, SkillFile, digest};

/// What addresses of skills begin with.
pub(super) const SCHEME: &str = "skill://";
/// Where the skills of a person are, and those of servers.
const OWN: &str = "skill://toolyard/";
const GATHERED: &str = "skill://servers/";
/// Where an entry names the server that has the skill.
const SERVER: &str = "toolyard/server";
/// Characters of an address in what is said about it.
const SHOWN_CHARS: usize = 200;

/// A skill as clients of the hub see it.
struct OfferedSkill {
    uri: String,
    description: String,
    frontmatter: Box<RawValue>,
    files: Vec<OfferedFile>,
    server: Option<Arc<str>>,
}

/// One of its files.
struct OfferedFile {
    uri: String,
    digest: String,
    size: u64,
    content: Source,
}

/// Where the content of a file is.
#[derive(Clone)]
enum Source {
    Here(Content),
    There { server: Arc<str>, skill: Arc<SkillEntry>, uri: String },
}

impl OfferedSkill {
    fn entry(&self) -> Fields {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| json!({ "uri": file.uri, "digest": file.digest, "size": file.size }))
            .collect();
        let mut entry = Fields::default();
        entry.set("uri", raw(&self.uri));
        entry.set("frontmatter", self.frontmatter.clone());
        entry.set("resources", raw(&files));
        if let Some(server) = &self.server {
            entry.set("_meta", raw(&json!({ SERVER: **server })));
        }
        entry
    }

    /// Returns one of its files as a list of resources shows it.
    fn resource(&self, file: &OfferedFile) -> Value {
        let name = file.uri.rsplit('/').next().unwrap_or_default();
        let mut resource = json!({ "uri": file.uri, "name": name, "size": file.size });
        if file.uri == self.uri {
            let name = self.uri.strip_suffix(MAIN).and_then(|root| root.rsplit('/').next());
            resource["name"] = name.unwrap_or_default().into();
            resource["description"] = self.description.as_str().into();
        }
        if let Some(kind) = kind(&file.uri) {
            resource["mimeType"] = kind.into();
        }
        resource
    }
}

/// Returns what clients of a view are offered.
async fn offered(request: &Request) -> Vec<OfferedSkill> {
    let mut skills = own(request).await;
    skills.extend(gathered(request));
    skills
}

/// Returns what there may be at an address.
async fn offered_at(request: &Request, uri: &str) -> Vec<OfferedSkill> {
    if uri.starts_with(OWN) { own(request).await } else { gathered(request) }
}

async fn own(request: &Request) -> Vec<OfferedSkill> {
    let View::Surface { servers, .. } = &request.view else { return Vec::new() };
    let (hub, within) = (&request.reception.hub, Within { servers, effect: request.view.effect() });
    let (own, _) = hub.shown_skills(&hub.snapshot(), within);
    // What lies beside them is read from the disk.
    let own = tokio::task::spawn_blocking(move || published(&own)).await.unwrap_or_default();
    let own = own.into_iter().map(|skill| {
        let uri = |path: &str| format!("{OWN}{}/{path}", skill.name);
        let file = |file: crate::skills::PublishedFile| OfferedFile {
            uri: uri(&file.path),
            digest: file.digest,
            size: file.size,
            content: Source::Here(file.content),
        };
        OfferedSkill {
            uri: format!("{OWN}{}{MAIN}", skill.name),
            description: skill.description,
            frontmatter: skill.frontmatter,
            files: skill.files.into_iter().map(file).collect(),
            server: None,
        }
    });
    own.collect()
}

fn gathered(request: &Request) -> Vec<OfferedSkill> {
    let snapshot = request.reception.hub.snapshot();
    let shown = snapshot.skills.iter().filter(|(server, _)| request.view.shows(server));
    let offered = shown.flat_map(|(server, skills)| {
        skills.iter().filter(|it| !it.waits).filter_map(|it| of_server(server, &it.entry))
    });
    offered.collect()
}

fn of_server(server: &Arc<str>, skill: &Arc<SkillEntry>) -> Option<OfferedSkill> {
    let file = |file: &SkillFile| {
        let there =
            Source::There { server: Arc::clone(server), skill: Arc::clone(skill), uri: file.uri.clone() };
        let uri = address(server, &file.uri)?;
        Some(OfferedFile { uri, digest: file.digest.clone(), size: file.size, content: there })
    };
    Some(OfferedSkill {
        uri: address(server, &skill.uri)?,
        description: skill.description.clone(),
        frontmatter: skill.frontmatter.clone(),
        files: skill.files.iter().map(file).collect::<Option<_>>()?,
        server: Some(Arc::clone(server)),
    })
}

/// Returns the address under which something of a server is offered.
fn address(server: &str, uri: &str) -> Option<String> {
    let (scheme, path) = uri.split_once("://")?;
    let folder = encoded(server);
    Some(match scheme {
        "skill" => format!("{GATHERED}{folder}/{path}"),
        _ => format!("{GATHERED}{folder}/@{scheme}/{path}"),
    })
}

/// Lists the skills that a view shows.
pub(crate) async fn list(request: &Request) -> Box<RawValue> {
    let entries: Vec<Fields> = offered(request).await.iter().map(OfferedSkill::entry).collect();
    let mut result = Fields::default();
    result.set("skills", raw(&entries));
    raw(&result)
}

/// Returns the entry of one skill.
pub(crate) async fn get(request: &Request) -> Answer {
    let uri = named(request)?;
    let Some(skill) = offered_at(request, &uri).await.into_iter().find(|skill| skill.uri == uri) else {
        return Err(waiting(request, &uri).unwrap_or_else(|| {
            ErrorObject::invalid_params(format!("no skill is served at `{}`", shown(&uri)))
        }));
    };
    let mut result = Fields::default();
    result.set("skill", raw(&skill.entry()));
    Ok(raw(&result))
}

/// Lists what lies in a folder of a skill, or of skills.
pub(crate) async fn directory(request: &Request) -> Answer {
    let uri = named(request)?;
    let folder = format!("{}/", uri.trim_end_matches('/'));
    let mut children: BTreeMap<String, Value> = BTreeMap::new();
    for skill in &offered(request).await {
        for file in &skill.files {
            let Some(rest) = file.uri.strip_prefix(&folder) else { continue };
            match rest.split_once('/') {
                None => drop(children.insert(file.uri.clone(), skill.resource(file))),
                Some((name, _)) => {
                    let uri = format!("{folder}{name}");
                    let child = json!({ "uri": uri, "name": name, "mimeType": "inode/directory" });
                    children.insert(uri, child);
                }
            }
        }
    }
    if children.is_empty() || !folder.starts_with("skill://") {
        let what = format!("`{}` is no folder of a skill", shown(&uri));
        return Err(waiting(request, &uri).unwrap_or_else(|| ErrorObject::invalid_params(what)));
    }
    Ok(raw(&json!({ "resources": children.into_values().collect::<Vec<_>>() })))
}

/// Returns the main files of skills for a list of resources, which clients read that know nothing of skills.
pub(super) async fn resources(request: &Request) -> Vec<Box<RawValue>> {
    let skills = offered(request).await;
    let main = |skill: &OfferedSkill| {
        let file = skill.files.iter().find(|file| file.uri == skill.uri)?;
        Some(raw(&skill.resource(file)))
    };
    skills.iter().filter_map(main).collect()
}

/// Whether an address of a server lies in one of its skills, which are read by their own rules.
pub(super) fn is_of_skill(skills: &[GatheredSkill], uri: &str) -> bool {
    skills.iter().any(|it| it.entry.holds(uri))
}

/// A file of a skill that somebody wants to read.
pub(super) struct WantedFile {
    /// The address as the client wrote it.
    uri: String,
    content: Source,
}

/// Looks for the file of a skill; `None` where an address has nothing to do with skills.
pub(super) async fn wanted(request: &Request, uri: &str) -> Result<Option<WantedFile>, ErrorObject> {
    let is_surface = matches!(request.view, View::Surface { .. });
    if is_surface && (uri.starts_with(OWN) || uri.starts_with(GATHERED)) {
        let skills = offered_at(request, uri).await;
        let file = skills.iter().flat_map(|skill| &skill.files).find(|file| file.uri == uri);
        let missing = || waiting(request, uri).unwrap_or_else(|| offers::not_found(uri));
        let content = file.map(|file| file.content.clone()).ok_or_else(missing)?;
        return Ok(Some(WantedFile { uri: uri.to_owned(), content }));
    }
    let server = match &request.view {
        View::Transparent { server, .. } => Some(Arc::clone(server)),
        View::Surface { .. } => offers::owner(request, uri),
    };
    let snapshot = request.reception.hub.snapshot();
    let Some((server, skills)) = server.and_then(|it| snapshot.skills.get_key_value(&it)) else {
        return Ok(None);
    };
    if !is_of_skill(skills, uri) {
        return Ok(None);
    }
    let has = |it: &&GatheredSkill| !it.waits && it.entry.files.iter().any(|file| file.uri == uri);
    let Some(skill) = skills.iter().find(has) else {
        let waits = skills.iter().find(|it| it.waits && it.entry.holds(uri));
        return Err(waits.map_or_else(|| offers::not_found(uri), |it| refusal(server, &it.entry)));
    };
    let content =
        Source::There { server: Arc::clone(server), skill: Arc::clone(&skill.entry), uri: uri.to_owned() };
    Ok(Some(WantedFile { uri: uri.to_owned(), content }))
}

/// Reads the file of a skill.
pub(super) async fn read(mut request: Request, file: WantedFile) -> Answer {
    match file.content.clone() {
        Source::Here(content) => {
            let reading = tokio::task::spawn_blocking(move || bytes_of(content)).await;
            let bytes = reading.ok().flatten().ok_or_else(|| offers::not_found(&file.uri))?;
            let mut content = json!({ "uri": file.uri });
            if let Some(kind) = kind(&file.uri) {
                content["mimeType"] = kind.into();
            }
            put(&mut content, bytes);
            Ok(raw(&json!({ "contents": [content] })))
        }
        Source::There { server, uri, .. } => {
            let hub = Arc::clone(&request.reception.hub);
            request.params.set("uri", raw(&uri));
            let result = park::forwarded(request, &server, Repeat::Safe).await?;
            if wants_input(&result) { Ok(without_contents(&result)) } else { verified(&hub, &file, &result) }
        }
    }
}

/// A question is no content yet.
pub(super) fn without_contents(question: &RawValue) -> Box<RawValue> {
    let mut fields = Fields::parse(Some(question)).unwrap_or_default();
    fields.remove("contents");
    raw(&fields)
}

/// Writes what a file holds.
fn put(content: &mut Value, bytes: Vec<u8>) {
    match String::from_utf8(bytes) {
        Ok(text) => content["text"] = text.into(),
        Err(binary) => content["blob"] = STANDARD.encode(binary.into_bytes()).into(),
    }
}

fn bytes_of(content: Content) -> Option<Vec<u8>> {
    match content {
        Content::Text(text) => Some(text.into_bytes()),
        Content::OnDisk(path) => {
            let path: PathBuf = path;
            read_bytes_within(&path, usize::try_from(MOST_BYTES).unwrap_or(usize::MAX)).ok()
        }
    }
}

/// Hands out what a server says that a file is, if it is what was approved. If not, the server is listed again, so that
/// what changed is seen and waits for a person.
pub(super) fn verified(hub: &Hub, file: &WantedFile, result: &RawValue) -> Answer {
    let Source::There { server, skill, uri } = &file.content else { return Ok(result.to_owned()) };
    let fields = Fields::parse(Some(result)).unwrap_or_default();
    let contents: Vec<Fields> = fields.read("contents").unwrap_or_default();
    let mut meant = contents.into_iter().filter(|it| it.text("uri").as_deref() == Some(uri));
    let checked = match (meant.next(), meant.next()) {
        (Some(content), None) => check(skill, uri, &content).map(|bytes| (content.text("mimeType"), bytes)),
        _ => Err("it sends something else for it"),
    };
    match checked {
        // It is written anew: what else a server sends beside the bytes that were checked, somebody may read instead.
        Ok((kind, bytes)) => {
            let mut content = json!({ "uri": file.uri });
            if let Some(kind) =
                kind.filter(|it| it.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '))
            {
                content["mimeType"] = kind.into();
            }
            put(&mut content, bytes);
            Ok(raw(&json!({ "contents": [content] })))
        }
        Err(why) => {
            if let Some(link) = hub.upstream(server).and_then(|it| it.running()) {
                link.stale.notify_one();
            }
            let uri = shown(&file.uri);
            tracing::warn!(%server, "`{uri}` of a skill is not handed out: {why}");
            let what = format!("`{uri}` of server `{server}` is not handed out: {why}");
            Err(ErrorObject::new(ErrorObject::INTERNAL, what))
        }
    }
}

/// Returns the content of a file as it was approved.
fn check(skill: &SkillEntry, uri: &str, content: &Fields) -> Result<Vec<u8>, &'static str> {
    let unreadable = "its content cannot be read";
    let bytes = match (content.get("text"), content.get("blob")) {
        (Some(_), None) => content.text("text").ok_or(unreadable)?.into_bytes(),
        (None, Some(_)) => {
            STANDARD.decode(content.text("blob").ok_or(unreadable)?).map_err(|_| unreadable)?
        }
        (Some(_), Some(_)) | (None, None) => return Err("its content is neither text nor bytes"),
    };
    let known = skill.files.iter().find(|file| file.uri == *uri).ok_or("it is no file of the skill")?;
    if bytes.len() as u64 != known.size || digest(&bytes) != known.digest {
        return Err("its content is not what was approved");
    }
    if *uri == skill.uri {
        let text = std::str::from_utf8(&bytes).map_err(|_| "its main file is no text")?;
        let listed: Value = serde_json::from_str(skill.frontmatter.get()).unwrap_or_default();
        let is_same = front_matter(text).is_some_and(|own| is_alike(&own, &listed));
        return if is_same { Ok(bytes) } else { Err("its front matter is not what its server lists") };
    }
    Ok(bytes)
}

/// Whether two values say the same, however their numbers are written.
fn is_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in =
                |(key, value): (&String, &Value)| other.get(key).is_some_and(|it| is_alike(value, it));
            one.len() == other.len() && one.iter().all(is_in)
        }
        (one, other) => one == other,
    }
}

/// Says that an address lies in a skill that waits for a person.
fn waiting(request: &Request, uri: &str) -> Option<ErrorObject> {
    let snapshot = request.reception.hub.snapshot();
    let shown = snapshot.skills.iter().filter(|(server, _)| request.view.shows(server));
    let mut all = shown.flat_map(|(server, skills)| skills.iter().map(move |it| (server, it)));
    let is_in = |server: &str, it: &GatheredSkill| {
        let root = address(server, it.entry.root());
        root.is_some_and(|root| {
            uri.strip_prefix(&*root).is_some_and(|it| it.is_empty() || it.starts_with('/'))
        })
    };
    let (server, skill) = all.find(|(server, it)| it.waits && is_in(server, it))?;
    Some(refusal(server, &skill.entry))
}

fn refusal(server: &str, skill: &SkillEntry) -> ErrorObject {
    let uri = shown(&skill.uri);
    ErrorObject::invalid_params(format!(
        "skill `{uri}` of server `{server}` is withheld: nobody has approved it as it is now; `toolyard diff {server}` \
         shows it, `toolyard approve {server}` accepts it"
    ))
}

/// Takes the skills that wait for a person out of what a server that is passed through lists.
pub(super) fn passable(hub: &Hub, server: &Arc<str>, result: Box<RawValue>) -> Answer {
    let Ok(mut fields) = Fields::parse(Some(&result)) else { return Ok(result) };
    if let Some(skill) = fields.get("skill") {
        let is_passed = hub.pass_skills(server, &[skill.to_owned()]).contains(&0);
        let uri = Fields::parse(Some(skill)).ok().and_then(|it| it.text("uri")).unwrap_or_default();
        let why = || format!("skill `{}` of server `{server}` is withheld", shown(&uri));
        return if is_passed { Ok(result) } else { Err(ErrorObject::invalid_params(why())) };
    }
    let Some(skills) = fields.read::<Vec<Box<RawValue>>>("skills") else { return Ok(result) };
    let passed = hub.pass_skills(server, &skills);
    if passed.len() == skills.len() {
        return Ok(result);
    }
    let kept: Vec<&RawValue> =
        skills.iter().enumerate().filter(|(at, _)| passed.contains(at)).map(|(_, it)| &**it).collect();
    fields.set("skills", raw(&kept));
    Ok(raw(&fields))
}

fn named(request: &Request) -> Result<String, ErrorObject> {
    request.params.text("uri").ok_or_else(|| ErrorObject::invalid_params("a `uri` is needed"))
}

fn shown(uri: &str) -> String {
    clean(uri).chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}

/// Returns the kind of a file by its name.
fn kind(uri: &str) -> Option<&'static str> {
    let (_, ending) = uri.rsplit('/').next()?.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "md" => "text/markdown",
        "txt" => "text/plain",
        "html" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "py" => "text/x-python",
        "sh" => "text/x-shellscript",
        "js" => "text/javascript",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e1_the_folders_of_servers_differ_as_their_names_do() {
        let uris = ["a b", "a_b", "a/b"].map(|server| address(server, "skill://x/SKILL.md").unwrap());
        assert_eq!(
            uris,
            [
                "skill://servers/a%20b/x/SKILL.md",
                "skill://servers/a_b/x/SKILL.md",
                "skill://servers/a%2Fb/x/SKILL.md"
            ]
        );
        assert_eq!(address("a", "urn:x").as_deref(), None);
    }

    #[test]
    fn e1_front_matter_is_compared_by_what_it_says() {
        let matter = |text: &str| front_matter(&format!("---\n{text}---\nText")).unwrap();
        let listed = json!({"name": "a", "metadata": {"version": 1, "tags": ["x", "y"]}});
        let written = "name: a\nmetadata:\n  tags: [x, y]\n  version: 1.0\n";
        assert!(is_alike(&matter(written), &listed));
        assert!(!is_alike(&matter(&written.replace("[x, y]", "[x]")), &listed));
        assert!(!is_alike(&matter(&format!("{written}hooks: run\n")), &listed));
        assert_eq!(front_matter("name: a\n"), None);
        assert_eq!(front_matter("---\nname: a\n"), None);
        assert_eq!(
            front_matter("---\nname: &a x\nother: *a\n---\n"),
            None,
            "aliases are read in several ways"
        );
    }
}
