//! What may be called and what is written down about it, as people write it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// What may be called.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Policy")]
pub(in crate::config) struct RawPolicy {
    /// Globs over `server__tool` that are refused.
    #[serde(default)]
    pub(in crate::config) deny: Vec<String>,
    /// When not empty, only these globs over `server__tool` are allowed.
    #[serde(default)]
    pub(in crate::config) allow: Vec<String>,
    /// How often tools may be called, by glob over `server__tool`: calls per minute, or calls and a period in seconds.
    /// Every limit that fits a tool counts.
    pub(in crate::config) rate_limits: Option<BTreeMap<String, RawRateLimit>>,
    /// What happens to tools and results whose texts look like instructions to a model.
    pub(in crate::config) screening: Option<RawScreening>,
    /// Refuses every call that does more than read.
    pub(in crate::config) read_only: Option<bool>,
    /// What happens before a call; the first rule that fits decides. Without one, what destroys is asked
    /// about and everything else runs.
    #[expect(dead_code, reason = "only its schema is used: the rules are read one by one")]
    #[serde(default)]
    pub(in crate::config) rules: Vec<RawRule>,
    /// What happens to tools that nobody has seen before; "first-use" by default. A tool whose definition changes later
    /// waits for `toolyard approve` either way.
    pub(in crate::config) trust: Option<RawTrust>,
}

/// `first-use` accepts a tool as it is seen first, `ask` keeps it back until `toolyard approve`.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Trust")]
pub(in crate::config) enum RawTrust {
    FirstUse,
    Ask,
}

/// What a server says about it, or a switch of another program.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(untagged)]
#[schemars(rename = "ServerTrust")]
pub(in crate::config) enum RawServerTrust {
    Word(RawTrust),
    Switch(#[expect(dead_code, reason = "other programs write it")] bool),
}

/// What happens to texts that look like instructions to a model.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Screening")]
pub(in crate::config) enum RawScreening {
    /// Nothing is screened.
    Allow,
    /// People are told of such tools, and programs of such results.
    Warn,
    /// Such tools are neither listed nor callable, too.
    Quarantine,
}

/// What happens before calls of some tools. A rule without `tool`, `server` and `effect` fits every call.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Rule")]
pub(in crate::config) struct RawRule {
    /// A glob over `server__tool`, or a list of them.
    pub(in crate::config) tool: Option<RawNames>,
    /// A server, or a list of them.
    pub(in crate::config) server: Option<RawNames>,
    /// What the call does to the world, or a list of it.
    pub(in crate::config) effect: Option<RawEffects>,
    /// What happens.
    pub(in crate::config) then: RawStance,
}

/// One name, or a list of them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Names")]
pub(in crate::config) enum RawNames {
    One(#[schemars(length(min = 1))] String),
    Several(Vec<String>),
}

/// One effect, or a list of them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Effects")]
pub(in crate::config) enum RawEffects {
    One(RawEffect),
    Several(Vec<RawEffect>),
}

/// `read` changes nothing, `write` adds or changes something, `destroy` removes something or cannot be undone.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Effect")]
pub(in crate::config) enum RawEffect {
    Read,
    Write,
    Destroy,
}

/// `allow` runs the call, `ask` has it confirmed first, `deny` refuses it.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Stance")]
pub(in crate::config) enum RawStance {
    Allow,
    Ask,
    Deny,
}

/// How often a tool may be called.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(untagged)]
#[schemars(rename = "RateLimit")]
pub(in crate::config) enum RawRateLimit {
    /// Calls per minute.
    PerMinute(#[schemars(range(min = 1, max = 1_000_000))] u32),
    /// Calls and a period.
    PerPeriod(RawCallsPerPeriod),
}

/// So many calls within a period.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "CallsPerPeriod")]
pub(in crate::config) struct RawCallsPerPeriod {
    /// How many calls.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::config) calls: u32,
    /// Within how many seconds; 60 by default.
    #[schemars(range(min = 1, max = 2_592_000))]
    pub(in crate::config) period: Option<u64>,
}

/// What is written down about calls.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Audit")]
pub(in crate::config) struct RawAudit {
    /// Whether calls are written down; true by default.
    pub(in crate::config) enabled: Option<bool>,
    /// Whether the values of arguments are, too, except those that look like secrets; false by default.
    pub(in crate::config) values: Option<bool>,
    /// Bytes of one file before the next is begun; 8388608 by default.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub(in crate::config) file_bytes: Option<u64>,
    /// Files that are kept; 4 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub(in crate::config) files: Option<usize>,
}
