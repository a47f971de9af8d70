//! A tool's definition as clients of the hub are told it.
//!
//! Only what had to change is written anew; every other value is the server's own text, digit for digit.

use serde_json::value::RawValue;

use super::json::{Members, is_null, text};
use super::{Tool, clean};

/// Stands in for an input schema that the server left out.
const NO_PARAMETERS: &str = r#"{"type":"object"}"#;

/// Which parameters of a tool are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// All of them.
    All,
    /// Those that no call can do without.
    Required,
}

impl Tool {
    /// Returns the definition as JSON text under the tool's id.
    ///
    /// The description and titles are replaced only where cleaning or cutting changed them. A missing
    /// input schema, or one without a type, gets the one type that the protocol allows. Members that
    /// are `null` are left out where the protocol has no `null`: one such tool makes some clients
    /// drop a whole listing. There is no line break in it, so it may travel on one line.
    pub fn listed(&self) -> String {
        self.written(input_schema)
    }

    /// Returns the definition with one more parameter, unless it has one of that name.
    pub fn listed_with(&self, parameter: &str, schema: &str) -> String {
        if self.parameters.iter().any(|own| own.name == parameter) {
            return self.listed();
        }
        self.written(|value| with_parameter(&input_schema(value), parameter, schema))
    }

    /// Returns the definition for whoever has little room: what it does in a sentence, no title and no form of
    /// results, and of the parameters those that are asked for; with one more where there is one.
    pub fn listed_briefly(&self, gist: &str, parameters: Parameters, added: Option<(&str, &str)>) -> String {
        let required: Vec<&str> =
            self.parameters.iter().filter(|own| own.required).map(|own| own.name.as_str()).collect();
        let whole = self.written(|value| {
            let kept = match parameters {
                Parameters::All => input_schema(value),
                Parameters::Required => with_only(&input_schema(value), &required),
            };
            match added.filter(|(name, _)| !self.parameters.iter().any(|own| own.name == *name)) {
                Some((name, schema)) => with_parameter(&kept, name, schema),
                None => kept,
            }
        });
        let Ok(value) = serde_json::from_str::<Box<RawValue>>(&whole) else { return whole };
        let mut out = Listing::new(whole.len());
        for (key, value) in Members::of(&value).map_or_else(Vec::new, |members| members.0) {
            match key.as_str() {
                "name" | "inputSchema" | "annotations" => out.member(&key, value.get()),
                "description" => out.member(&key, &quoted(gist)),
                // A model never sees it; a host needs it to show the results.
                "_meta" => out.member_if_some(&key, app_of(value)),
                _ => {}
            }
        }
        out.finish()
    }

    fn written(&self, schema: impl Fn(&RawValue) -> String) -> String {
        let mut out = Listing::new(self.definition.get().len() + 64);
        let members = Members::of(&self.definition).map_or_else(Vec::new, |members| members.0);
        let mut has_schema = false;
        for (key, value) in members {
            match key.as_str() {
                "name" => out.member(&key, &quoted(self.id.as_str())),
                "description" => out.member_if_some(&key, retold(value, Some(&self.description))),
                "title" => out.member_if_some(&key, retold(value, self.title.as_deref())),
                "annotations" => out.member_if_some(&key, annotations(value)),
                "inputSchema" => {
                    has_schema = true;
                    out.member(&key, &schema(value));
                }
                "outputSchema" | "icons" | "execution" | "_meta" if is_null(value) => {}
                _ => out.member(&key, value.get()),
            }
        }
        if !has_schema {
            let none = RawValue::from_string(NO_PARAMETERS.to_owned()).expect("it is JSON");
            out.member("inputSchema", &schema(&none));
        }
        out.finish()
    }
}

/// Returns what `_meta` says of the app that shows the results.
fn app_of(meta: &RawValue) -> Option<String> {
    let ui = Members::of(meta)?.get("ui")?.get().to_owned();
    Some(format!(r#"{{"ui":{ui}}}"#))
}

/// An object under construction, on one line.
struct Listing(String);

impl Listing {
    fn new(capacity: usize) -> Self {
        let mut text = String::with_capacity(capacity);
        text.push('{');
        Self(text)
    }

    fn member(&mut self, key: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        // Inside strings JSON escapes line breaks, so those that are left are only layout.
        self.0.extend(value.split(['\n', '\r']));
    }

    fn member_if_some(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.member(key, &value);
        }
    }

    fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The text we keep where it differs from what the server wrote, else the server's own spelling of it.
fn retold(value: &RawValue, kept: Option<&str>) -> Option<String> {
    let kept = kept.filter(|_| !is_null(value))?;
    let as_written = text(value).is_some_and(|written| same_text(&written, kept));
    Some(if as_written { value.get().to_owned() } else { quoted(kept) })
}

/// Windows line ends are no reason to rewrite a description.
fn same_text(written: &str, kept: &str) -> bool {
    written == kept || (written.contains('\r') && written.replace("\r\n", "\n") == kept)
}

fn annotations(value: &RawValue) -> Option<String> {
    if is_null(value) {
        return None;
    }
    let members = Members::of(value)?;
    let has_hidden = |(key, value): &(String, &RawValue)| {
        key == "title" && text(value).is_some_and(|title| clean(&title) != title)
    };
    if !members.0.iter().any(has_hidden) {
        return Some(value.get().to_owned());
    }
    let mut out = Listing::new(value.get().len());
    for (key, value) in members.0 {
        match text(value) {
            Some(title) if key == "title" => out.member(&key, &quoted(&clean(&title))),
            _ => out.member(&key, value.get()),
        }
    }
    Some(out.finish())
}

fn input_schema(value: &RawValue) -> String {
    match Members::of(value) {
        Some(schema) if schema.get("type").is_some() => value.get().to_owned(),
        Some(schema) => {
            let mut out = Listing::new(value.get().len() + 16);
            out.member("type", r#""object""#);
            for (key, value) in schema.0.into_iter().filter(|(key, _)| key != "type") {
                out.member(&key, value.get());
            }
            out.finish()
        }
        None => NO_PARAMETERS.to_owned(),
    }
}

fn with_only(schema: &str, parameters: &[&str]) -> String {
    let Ok(value) = serde_json::from_str::<Box<RawValue>>(schema) else { return schema.to_owned() };
    let Some(members) = Members::of(&value) else { return schema.to_owned() };
    let mut out = Listing::new(schema.len());
    for (key, value) in members.0 {
        let own = if key == "properties" { Members::of(value) } else { None };
        let Some(own) = own else {
            out.member(&key, value.get());
            continue;
        };
        let mut properties = Listing::new(value.get().len());
        let kept = own.0.iter().filter(|(name, _)| parameters.contains(&name.as_str()));
        kept.for_each(|(name, value)| properties.member(name, value.get()));
        out.member(&key, &properties.finish());
    }
    out.finish()
}

fn with_parameter(schema: &str, parameter: &str, added: &str) -> String {
    let Ok(value) = serde_json::from_str::<Box<RawValue>>(schema) else { return schema.to_owned() };
    let Some(members) = Members::of(&value) else { return schema.to_owned() };
    let mut out = Listing::new(schema.len() + added.len() + 32);
    let mut properties = Listing::new(schema.len());
    for (key, value) in members.0 {
        if key != "properties" {
            out.member(&key, value.get());
        } else if let Some(own) = Members::of(value) {
            own.0.iter().for_each(|(key, value)| properties.member(key, value.get()));
        }
    }
    properties.member(parameter, added);
    out.member("properties", &properties.finish());
    out.finish()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text always has a JSON form")
}
