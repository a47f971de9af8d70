//! Tools that several servers have alike.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::text::terms;
use crate::tool::{Parameter, Tool};

/// Which tools are copies of one another: the same server was set up twice, or one took over a tool of another.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// The number of the group that a tool belongs to; none when it is alone.
    groups: HashMap<usize, usize>,
}

/// A shorter description says too little without the name of its server: every server can have a `search`.
const TELLING_TERMS: usize = 5;

impl Copies {
    /// Compares the tools of a catalog.
    pub(super) fn new(catalog: &Catalog) -> Self {
        let mut alike: HashMap<(&str, &str, &[Parameter]), Vec<usize>> = HashMap::new();
        for (at, Tool { name, description, parameters, .. }) in catalog.tools().iter().enumerate() {
            alike.entry((name, description, parameters)).or_default().push(at);
        }
        let is_telling = |text: &str| terms(text, TELLING_TERMS).len() == TELLING_TERMS;
        let several = alike.into_iter().filter(|(key, tools)| tools.len() > 1 && is_telling(key.1));
        let groups = several.flat_map(|(_, tools)| {
            let first = tools[0];
            tools.into_iter().map(move |tool| (tool, first))
        });
        Self { groups: groups.collect() }
    }

    /// Returns the group of a tool that has copies.
    pub(crate) fn group(&self, position: usize) -> Option<usize> {
        self.groups.get(&position).copied()
    }
}
