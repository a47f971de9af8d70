//! What a Toolyard hub decided, what people said about it, and what was learnt, kept in SQLite.
//!
//! One file, `history.db`, that several hubs share. Routes are bounded by age and by bytes and are written by a
//! thread of their own, so that keeping them never delays a request. Feedback and lessons are on the disk when the
//! call that gives them returns.
//!
//! Data flows down this list. A module may use the modules above it, never below.

mod error; //     why something could not be kept or read
mod bounds; //    texts and numbers that fit
mod feedback; //  what people said, and what was learnt from it
mod route; //     one decision, and how routes are looked for
mod retention; // how long and how much is kept
mod database; //  the file: opened, shared, replaced when it is damaged
mod rows; //      routes as rows
mod prune; //     forgetting words, old routes and whatever does not fit
mod search; //    pages of routes
mod lessons; //   feedback and lessons as rows
mod summary; //   numbers for charts
mod writer; //    the thread that writes routes
mod history; //   the front door

pub use error::Error;
pub use feedback::{Feedback, FeedbackSource, Lesson, Rating};
pub use history::History;
pub use retention::Retention;
pub use route::{Considered, Page, Route, RouteOutcome, RouteSearch, route_id};
pub use summary::{FailureCount, FeedbackCount, Interval, SessionSummary, Summary, ToolCount};
