//! What a server says of its skills: each with the digests of all its files.
//!
//! An entry is a complete manifest, or it is none: one with a mistake is left out and told of. A skill whose content is
//! made anew each time has no digests, so there is nothing that a person could approve, and it is left out as well.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolyard_core::tool::{clean, may_hide};

use crate::jsonrpc::{Fields, raw};

/// The file that every skill has.
pub(crate) const MAIN: &str = "/SKILL.md";
/// Skills of one server.
const MOST_SKILLS: usize = 512;
/// Files of one skill, and their bytes, as the extension limits them.
pub(crate) const MOST_FILES: usize = 512;
pub(crate) const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of one entry; a complete one of the most files has fewer.
const MOST_ENTRY: usize = 256 * 1024;
/// Characters of a name and of what a skill is for, as the format limits them.
const NAME_CHARS: usize = 64;
const PURPOSE_CHARS: usize = 1024;
/// Characters of an address that are shown.
const SHOWN_CHARS: usize = 120;

/// One skill of a server.
#[derive(Clone, Debug)]
pub struct SkillEntry {
    /// The address of its main file, in the words of its server.
    pub uri: String,
    /// What it is for.
    pub description: String,
    /// What stands before its text, as its author wrote it.
    pub frontmatter: Box<RawValue>,
    /// All its files, the main one among them.
    pub files: Vec<SkillFile>,
}

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SkillFile {
    /// Its address.
    pub uri: String,
    /// The digest of its bytes.
    pub digest: String,
    /// How many bytes it has.
    pub size: u64,
}

impl SkillEntry {
    /// Reads an entry, or says what is wrong with it.
    pub(crate) fn read(entry: &RawValue) -> Result<Self, String> {
        if entry.get().len() > MOST_ENTRY {
            return Err(format!("its entry has more than {} KiB", MOST_ENTRY / 1024));
        }
        let fields = Fields::parse(Some(entry)).map_err(|_| "its entry is not an object".to_owned())?;
        let uri = fields.text("uri").ok_or("its entry has no `uri`")?;
        let frontmatter = fields.get("frontmatter").ok_or("its entry has no `frontmatter`")?.to_owned();
        // What nobody can see could say something else to a model than to a person.
        if may_hide(frontmatter.get()) || may_hide(&uri) {
            return Err("it has characters that nobody sees".to_owned());
        }
        let matter = Fields::parse(Some(&frontmatter)).map_err(|_| "its `frontmatter` is not an object")?;
        let name = matter.text("name").unwrap_or_default();
        let description = matter.text("description").unwrap_or_default();
        if !is_name(&name) {
            return Err("its name is not lower-case letters and digits, joined by single `-`".to_owned());
        }
        let is_said = !description.trim().is_empty() && description.chars().count() <= PURPOSE_CHARS;
        if !is_said {
            return Err(format!("its `description` is empty or has more than {PURPOSE_CHARS} characters"));
        }
        let root = uri.strip_suffix(MAIN).ok_or("its `uri` does not end with `/SKILL.md`")?;
        if !is_address(root) || root.rsplit('/').next() != Some(&*name) {
            return Err("its `uri` is no path that ends with its name and `/SKILL.md`".to_owned());
        }
        let files = fields.get("resources").ok_or("its entry has no `resources`")?;
        if files.get() == "\"dynamic\"" {
            return Err("its content is made anew each time, so it cannot be approved".to_owned());
        }
        let files: Vec<SkillFile> = serde_json::from_str(files.get())
            .map_err(|_| "its `resources` are no list of `uri`, `digest` and `size`")?;
        let read = Self { description, frontmatter, files, uri };
        read.check()?;
        Ok(read)
    }

    fn check(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        for file in &self.files {
            if !self.holds(&file.uri) || !is_address(&file.uri) || may_hide(&file.uri) {
                return Err(format!("`{}` lies outside of it", shortened(&file.uri)));
            }
            if !seen.insert(&file.uri) {
                return Err(format!("`{}` is listed twice", shortened(&file.uri)));
            }
            let hex = file.digest.strip_prefix("sha256:").unwrap_or_default();
            if hex.len() != 64 || !hex.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f')) {
                return Err(format!("the digest of `{}` is none", shortened(&file.uri)));
            }
        }
        let bytes = self.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if self.files.len() > MOST_FILES || bytes > MOST_BYTES {
            let most = MOST_BYTES / 1024 / 1024;
            return Err(format!("it has more than {MOST_FILES} files or {most} MiB"));
        }
        if !seen.contains(&self.uri) {
            return Err("its `resources` lack its main file".to_owned());
        }
        Ok(())
    }

    /// Returns the address of its folder.
    pub(crate) fn root(&self) -> &str {
        self.uri.strip_suffix(MAIN).unwrap_or(&self.uri)
    }

    /// Whether an address lies in its folder, whatever is there.
    pub(crate) fn holds(&self, uri: &str) -> bool {
        uri.strip_prefix(self.root()).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Writes down what is approved of it: what it is called and for, and every byte of its files.
    pub(crate) fn definition(&self) -> Box<RawValue> {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| json!({ "uri": file.uri, "digest": file.digest, "size": file.size }))
            .collect();
        let mut annotations = Fields::default();
        annotations.set("frontmatter", self.frontmatter.clone());
        annotations.set("files", raw(&files));
        let mut definition = Fields::default();
        definition.set("name", raw(&self.uri));
        definition.set("description", raw(&self.description));
        definition.set("annotations", raw(&annotations));
        raw(&definition)
    }
}

/// Keeps the entries that are sound, and says what is wrong with the others.
pub(crate) fn sound(entries: Vec<Box<RawValue>>, problems: &mut Vec<String>) -> Vec<Box<RawValue>> {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for entry in entries {
        if kept.len() >= MOST_SKILLS {
            problems.push(format!("it has more than {MOST_SKILLS} skills; the rest is left out"));
            break;
        }
        let read = SkillEntry::read(&entry).and_then(|read| match seen.insert(read.uri.clone()) {
            true => Ok(()),
            false => Err("it is listed twice".to_owned()),
        });
        match read {
            Ok(()) => kept.push(entry),
            Err(why) => {
                let uri = Fields::parse(Some(&entry)).ok().and_then(|it| it.text("uri")).unwrap_or_default();
                problems.push(format!("skill `{}` is left out: {why}", shortened(&uri)));
            }
        }
    }
    kept
}

/// Whether a skill may be called so, as the format of skills says.
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    name.len() <= NAME_CHARS && name.split('-').all(is_part)
}

/// Whether something is an address with a path, and the path leads nowhere but down.
fn is_address(uri: &str) -> bool {
    let Some((scheme, path)) = uri.split_once("://") else { return false };
    let is_scheme = scheme.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'-' | b'.'));
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.starts_with('@');
    !scheme.is_empty()
        && is_scheme
        && path.split('/').all(is_plain)
        && !path.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\'))
}

fn shortened(uri: &str) -> String {
    clean(uri).chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}

/// Returns the digest of a file as entries write it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(change: impl FnOnce(&mut Value)) -> Box<RawValue> {
        let file = |name: &str| json!({"uri": format!("skill://a/refunds/{name}"), "digest": digest(b""), "size": 0});
        let mut entry = json!({
            "uri": "skill://a/refunds/SKILL.md",
            "frontmatter": {"name": "refunds", "description": "Refunds", "license": "MIT"},
            "resources": [file("SKILL.md"), file("templates/mail.md")],
        });
        change(&mut entry);
        raw(&entry)
    }

    #[test]
    fn e1_an_entry_is_sound_or_left_out_with_a_reason() {
        let wrong = |change: fn(&mut Value)| SkillEntry::read(&entry(change)).unwrap_err();
        let read = SkillEntry::read(&entry(|_| {})).unwrap();
        assert_eq!((read.root(), read.files.len()), ("skill://a/refunds", 2));
        assert!(read.holds("skill://a/refunds/any/file") && !read.holds("skill://a/refunds-more/SKILL.md"));
        let reasons = [
            wrong(|it| it["frontmatter"]["name"] = json!("payouts")),
            wrong(|it| it["frontmatter"]["name"] = json!("Refunds")),
            wrong(|it| it["frontmatter"]["description"] = json!(" ")),
            wrong(|it| it["uri"] = json!("skill://a/refunds")),
            wrong(|it| it["resources"] = json!("dynamic")),
            wrong(|it| it["resources"][1]["uri"] = json!("skill://a/refunds/../x")),
            wrong(|it| it["resources"][1]["uri"] = json!("skill://a/other/x")),
            wrong(|it| it["resources"][1]["uri"] = json!("skill://a/refunds/SKILL.md")),
            wrong(|it| it["resources"][1]["digest"] = json!("sha256:AB")),
            wrong(|it| it["resources"][1]["size"] = json!(MOST_BYTES + 1)),
            wrong(|it| drop(it["resources"].as_array_mut().unwrap().remove(0))),
            wrong(|it| it["frontmatter"]["description"] = json!("Refunds\u{200b}\u{e0041}")),
        ];
        insta::assert_snapshot!(reasons.join("\n"), @r"
        its `uri` is no path that ends with its name and `/SKILL.md`
        its name is not lower-case letters and digits, joined by single `-`
        its `description` is empty or has more than 1024 characters
        its `uri` does not end with `/SKILL.md`
        its content is made anew each time, so it cannot be approved
        `skill://a/refunds/../x` lies outside of it
        `skill://a/other/x` lies outside of it
        `skill://a/refunds/SKILL.md` is listed twice
        the digest of `skill://a/refunds/templates/mail.md` is none
        it has more than 512 files or 16 MiB
        its `resources` lack its main file
        it has characters that nobody sees
        ");
    }

    #[test]
    fn e1_skills_beyond_the_limit_and_those_listed_twice_are_left_out() {
        let mut problems = Vec::new();
        assert_eq!(sound(vec![entry(|_| {}), entry(|_| {})], &mut problems).len(), 1);
        let many = (0..2 * MOST_SKILLS).map(|number| {
            entry(|it| {
                *it = serde_json::from_str(&it.to_string().replace("//a/", &format!("//{number}/"))).unwrap()
            })
        });
        assert_eq!(sound(many.collect(), &mut problems).len(), MOST_SKILLS);
        insta::assert_snapshot!(problems.join("\n"), @r"
        skill `skill://a/refunds/SKILL.md` is left out: it is listed twice
        it has more than 512 skills; the rest is left out
        ");
    }
}
