//! The words that judging a call goes by, read from a file.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde::Deserialize;

/// A set of words in lower case.
pub(super) type Set = HashSet<String>;

/// The words that judging a call goes by.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Lists {
    /// Words of a tool that takes SQL.
    pub(super) sql_words: Set,
    /// Names of arguments that hold SQL, in such a tool.
    pub(super) sql_keys: Set,
    /// Those among them that may hold a person's words instead.
    pub(super) question_keys: Set,
    /// Words that a statement which only reads does not have outside of quotes.
    pub(super) sql_verbs: Set,
    /// Functions of databases that have no effects.
    pub(super) sql_functions: Set,
    /// Words of which each may make the tree of a statement deeper.
    pub(super) sql_links: Set,
    /// Hints to a database that lock nothing.
    pub(super) sql_hints: Set,
    /// Words with which an operation of GraphQL may do more than read.
    pub(super) graph_operations: Set,
    /// Words with which a statement of Cypher that reads begins.
    pub(super) graph_beginnings: Set,
    /// Words with which Cypher writes, or calls what may write.
    pub(super) graph_clauses: Set,
    /// Pragmas that only tell something.
    pub(super) sql_pragmas: Set,
    /// Words of a tool that is a shell.
    pub(super) shell_words: Set,
    /// Names of arguments that hold a command line.
    pub(super) shell_keys: Set,
    /// The same, in a tool that is a shell.
    pub(super) shell_keys_of_shells: Set,
    /// Names of arguments that hold the arguments of a program.
    pub(super) argument_keys: Set,
    /// Names of arguments that hold program text.
    pub(super) code_keys: Set,
    /// Those among them that hold whole programs.
    pub(super) script_keys: Set,
    /// Names of arguments that stand beside the method of an HTTP request.
    pub(super) request_keys: Set,
    /// Names of arguments that say what is to be done.
    pub(super) action_keys: Set,
    /// Switches that make a call destroy.
    pub(super) flags: Set,
    /// Switches that make a write destroy; a read is only more thorough with them.
    pub(super) flags_of_writes: Set,
    /// Words beside which a switch means something else.
    pub(super) not_flags: Set,
    /// Names of arguments that say how something is written.
    pub(super) mode_keys: Set,
    /// Ways of writing that lose what was there.
    pub(super) modes: Set,
    /// Names of arguments that say which part of something is replaced.
    pub(super) parts: Set,
    /// Names of arguments that hold a whole text.
    pub(super) texts: Set,
    /// Verbs of tools that put something in the place of what is there.
    pub(super) replacing: Set,
    /// The same, where an argument names what is written to.
    pub(super) writing: Set,
    /// Verbs and modes that leave what is there.
    pub(super) adding: Set,
    /// Beginnings of words with which a description speaks of what is there.
    pub(super) existing: Vec<String>,
    /// Words of a switch that says whether what is there may be lost.
    pub(super) overwriting: Set,
    /// Switches, as one word, with which nothing that is there is lost.
    pub(super) sparing: Set,
    /// Words of a tool that runs the command line or the statement it is given.
    pub(super) runners: Set,
    /// Switches with which programs that otherwise read write or run something, by program.
    pub(super) writers: HashMap<String, Vec<String>>,
    /// Members of a pipeline with which a database writes or runs a program.
    pub(super) stages: Set,
    /// Words with which something begins that a database does, beside its verbs.
    pub(super) sql_beginnings: Set,
    /// Words that stand in a statement beside its verb, and rarely in what people say.
    pub(super) sql_objects: Set,
    /// Words beside which a tool still does nothing but run what it is given.
    pub(super) runner_words: Set,
    /// Last words of parameters of such a tool that only say where or for how long.
    pub(super) beside: Set,
    /// Parameters of such a tool that only say why, for people.
    pub(super) notes: Set,
    /// Parameters of such a tool that hold the values of a statement.
    pub(super) bindings: Set,
    /// Names of arguments that hold the address of a request.
    pub(super) address_keys: Set,
    /// Words of a tool that sends the HTTP request it is given.
    pub(super) request_words: Set,
    /// Names of arguments that hold the body of a request.
    pub(super) body_keys: Set,
    /// Methods of HTTP that only read.
    pub(super) safe_methods: Set,
    /// Headers of HTTP that do not change what a request does.
    pub(super) safe_headers: Set,
    /// Switches with which a call only says what it would do.
    pub(super) rehearsals: Set,
    /// What destroys, by program: words that are there in this order, and switches that are there or, with `!`,
    /// are not. `*` stands for any characters.
    pub(super) programs: HashMap<String, Vec<String>>,
    /// Programs that run the program behind them.
    pub(super) wrappers: Set,
    /// Programs that run a command line they are given as one word.
    pub(super) shells: Set,
    /// Programs that run SQL they are given as one word.
    pub(super) databases: Set,
    /// Programs that run program text they are given as one word.
    pub(super) interpreters: Set,
    /// Programs that change nothing, whatever their switches.
    pub(super) readers: Set,
    /// What may stand before a parenthesis in a script of `awk` that only prints.
    pub(super) awk_words: Set,
    /// Programs whose own language has a `$`.
    pub(super) dollars: Set,
    /// What other programs may be told without changing anything, by program and subcommand; see `switches`.
    pub(super) reads: HashMap<String, String>,
    /// Names of arguments that list what is to go.
    pub(super) deletion_keys: Set,
    /// Functions that destroy.
    pub(super) code_calls: Set,
    /// Modules whose functions of `file_calls` destroy.
    pub(super) code_owners: Set,
    pub(super) file_calls: Set,
}

impl Lists {
    /// Returns the lists that come with the product, read on first use.
    pub(super) fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Lists> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            serde_json::from_str(include_str!("../../data/hazards.json"))
                .expect("the file comes with the product")
        })
    }
}
