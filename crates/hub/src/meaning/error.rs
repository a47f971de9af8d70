//! Why texts have no vectors.

use std::path::PathBuf;
use std::time::Duration;

/// Why texts have no vectors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program was built without an encoder.
    #[error("this build has no model inside")]
    NoModel,
    /// A file of a folder cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The files of a folder are no encoder.
    #[error("`{}` has no usable model: {source}", folder.display())]
    Encoder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: toolyard_encoder::Error,
    },
    /// A service does not answer as it should.
    #[error("the embeddings endpoint at `{host}` {what}")]
    Endpoint {
        /// Where it is.
        host: String,
        /// What it does instead.
        what: String,
    },
    /// A service did not answer in time.
    #[error(
        "the embeddings endpoint at `{host}` did not answer within {limit:?} (`routing.performance.maxRoutingTime`)"
    )]
    Late {
        /// Where it is.
        host: String,
        /// The time it had.
        limit: Duration,
    },
}
