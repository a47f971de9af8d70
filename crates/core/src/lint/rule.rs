//! The rules of the lint: their ids, how much each matters, and what they want.
//!
//! An id is stable: files in version control and dashboards know it.

use serde::{Serialize, Serializer};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiagnosticLevel {
    /// The definition is wrong, or says nothing.
    Error,
    /// A caller is likely to choose or call the tool wrongly.
    Warning,
    /// It could be said better.
    Note,
}

impl DiagnosticLevel {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident, $id:literal, $level:ident, $cost:literal, $help:literal;)+) => {
        /// What can be wrong with the documentation of a tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RuleId {
            $($(#[$doc])* $name,)+
        }

        impl RuleId {
            /// Every rule, in the order in which a description is read.
            pub const ALL: [Self; [$($id),+].len()] = [$(Self::$name),+];

            /// Returns the stable id, such as `no-description`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)+ }
            }

            /// Returns how much it matters.
            pub fn level(self) -> DiagnosticLevel {
                match self { $(Self::$name => DiagnosticLevel::$level,)+ }
            }

            /// Returns what is wrong and what to do about it.
            pub fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)+ }
            }

            /// Returns the points that a tool loses for it, beside those of the part of the form that it lacks.
            pub(super) fn cost(self) -> u32 {
                match self { $(Self::$name => $cost,)+ }
            }
        }
    };
}

rules! {
    /// There is no description.
    NoDescription, "no-description", Error, 0,
        "A tool without a description is chosen by its name alone. Say in one sentence what it does.";
    /// Several tools have one description.
    SharedDescription, "shared-description", Error, 10,
        "Tools with different names have the same description, so it tells none of them. Say what each one does.";
    /// The first sentence does not say what the tool does.
    UnclearPurpose, "unclear-purpose", Warning, 0,
        "The first sentence is what callers compare. Make it one sentence of plain prose that says what is done to what, \
         and more than the name says.";
    /// It is not said when to use the tool.
    NoUseCases, "no-use-cases", Warning, 0,
        "Say when the tool is wanted: `Use when the user wants to …`, with the words that people use.";
    /// It is not said what the tool does not do.
    NoBoundaries, "no-boundaries", Note, 0,
        "Say what the tool does not do, and which tool does: `Does not …; use X instead.`";
    /// Nothing says what comes back.
    NoReturns, "no-returns", Note, 0,
        "Say what a call returns, in the description (`Returns …`) or as an `outputSchema`.";
    /// There is no example.
    NoExamples, "no-examples", Note, 0,
        "Show one call with typical arguments, or give parameters examples.";
    /// A parameter has no description.
    ParameterUndescribed, "parameter-undescribed", Warning, 0,
        "Describe each parameter: what it is, which form it has, what happens without it.";
    /// A parameter that takes any text has no example.
    ParameterWithoutExample, "parameter-without-example", Note, 0,
        "A required text can be anything. Give an example of a value, in the description or under `examples`.";
    /// A parameter has choices that nothing explains.
    EnumUndocumented, "enum-undocumented", Note, 0,
        "Say what the values of an enumeration mean, and which one is usual.";
    /// A parameter has no type.
    ParameterUntyped, "parameter-untyped", Warning, 0,
        "Give the parameter a `type`, or alternatives with types; otherwise callers guess.";
    /// A parameter's name says nothing, and nor does anything else.
    UnclearParameterName, "unclear-parameter-name", Warning, 3,
        "Names such as `x` or `data` fit everything. Rename the parameter or describe it.";
    /// Something is required that the schema does not have.
    RequiredUnknown, "required-unknown", Error, 15,
        "`required` names a parameter that `properties` lacks. Add the property or correct the name.";
    /// It is not said where an identifier comes from.
    IdWithoutSource, "id-without-source", Note, 0,
        "A required identifier comes from another call. Name the tool that returns it, as a prerequisite.";
    /// The name says nothing.
    VagueName, "vague-name", Warning, 10,
        "The name is only a verb that fits everything. Name what is done and to what, such as `run_query`.";
    /// What is said of the effect contradicts the name.
    AnnotationDisagrees, "annotation-disagrees", Error, 15,
        "Clients ask before destructive calls and repeat read-only ones. Make annotations and name say the same.";
    /// Parameters of one server have several names for one idea.
    ParameterNamesDiffer, "parameter-names-differ", Note, 2,
        "One idea has several parameter names within a server. Use one of them everywhere.";
    /// The description is too long.
    DescriptionTooLong, "description-too-long", Warning, 5,
        "Every conversation pays for the description. Keep what is needed to choose and call the tool; move the rest \
         into resources or into the results.";
    /// The description is written for search and not for readers.
    KeywordStuffing, "keyword-stuffing", Warning, 10,
        "Repeated words and lists of keywords draw wrong requests. Write sentences.";
    /// The description praises.
    Praise, "praise", Note, 3,
        "Praise tells nothing. Say what the tool does.";
    /// The description shouts.
    Shouting, "shouting", Note, 5,
        "Capital letters do not make text clearer. Write plain sentences and put what matters first.";
    /// The description tells models to prefer the tool.
    Pushing, "pushing", Warning, 8,
        "Other servers are there as well. Say when the tool fits, not that it is always to be used.";
    /// Another tool is hard to tell apart.
    Confusable, "confusable", Warning, 5,
        "Another tool has nearly the same name, description and parameters. Say in each when it is meant, and name the other.";
    /// Another server has the same tool.
    Twin, "twin", Note, 0,
        "Another server lists exactly this tool. Remove one of the servers, or hide its tools.";
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
