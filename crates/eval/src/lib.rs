//! How well requests find their tools and arguments, measured on sets whose right answers are known.
//!
//! Requests are decided about by [`toolyard_core::decide`], as the hub decides about them. Nothing is started or called.

pub mod arguments; // how right arguments are when the tool is given
pub mod score; //     rankings and decisions become numbers
pub mod calls; //     what becomes of a call of `smart_route`
pub mod corrections; // what corrections bring
pub mod hijack; //    what a hostile server takes from others
pub mod assistant; // what an assistant in the loop achieves
pub mod attacks; //   what screening notices
mod bench; //         the tools of a set, and what becomes of its requests
mod bm25; //          the baseline
mod model; //         what compares meanings
pub mod sets; //      requests and tools on disk

use std::path::Path;

use toolyard_core::metadata::Sidecar;
use toolyard_core::rank::Weights;

pub use model::MeaningModel;

use bench::Bench;
use bm25::Bm25;
use score::{Measured, Scores};

/// Tools of a ranking that are looked at.
const MOST: usize = 10;

/// Why something could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

/// How decisions are made in a measurement.
#[derive(Debug)]
pub struct Experiment {
    /// Fitted weights; without them the seed's are used.
    pub weights: Option<Weights>,
    /// Asks instead of acting below this confidence.
    pub threshold: f64,
    /// Whether tools have the metadata that comes with the product.
    pub has_library: bool,
    /// What a person's own files say about tools.
    pub metadata: Vec<Sidecar>,
    /// What compares meanings.
    pub model: MeaningModel,
}

/// Is told how far a measurement is.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// A part with so many steps begins.
    pub begin: &'a dyn Fn(&str, usize),
    /// Steps are done.
    pub advance: &'a (dyn Fn(usize) + Sync),
}

/// Measures how well the requests of a set find their tools; of the requests at most `limit`, taken evenly.
pub fn measure(
    folder: &Path,
    limit: Option<usize>,
    settings: &Experiment,
    Progress { begin, advance }: Progress,
) -> Result<Scores, Error> {
    let collection = sets::read(folder, limit)?;
    let vectors = |missing| begin(&format!("{}, vectors of tools", collection.name), missing);
    let bench = Bench::of_set(&collection.tools, settings, vectors, advance);
    begin(&collection.name, collection.cases.len() + collection.unserved.len());
    let bm25 = Bm25::new(&collection.tools);
    let seen = bench.see_all(&collection.cases, &bm25, settings, || advance(1));
    let unserved = bench.see_unserved(&collection, settings, || advance(1));
    let measured = Measured {
        route_us: bench.median_us(&collection.cases, settings),
        collection: &collection,
        seen: &seen,
        unserved: &unserved,
        threshold: settings.threshold,
        all_tokens: bench.tokens(),
    };
    let scores = Scores::of(&measured);
    Ok(Scores { rejected: bench.rejected, written: bench.written, ..scores })
}
