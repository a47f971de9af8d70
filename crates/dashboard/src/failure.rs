//! Errors as the page reads them: what happened, and what to do next.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use toolyard_hub::{hub, journal};

/// What an endpoint answers.
pub(crate) type Reply = Result<Json<Value>, ApiError>;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: hint.into() }
    }

    pub(crate) fn bad_request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message, hint)
    }

    pub(crate) fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message, hint)
    }

    pub(crate) fn conflict(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message, hint)
    }

    /// Something that the hub itself depends on failed.
    pub(crate) fn internal(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message, hint)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = json!({ "error": { "message": self.message, "hint": self.hint } });
        (self.status, Json(error)).into_response()
    }
}

/// What helps when something cannot be read or written on the disk.
const DISK: &str = "look at the folder in `store.folder` of the configuration";

impl From<toolyard_history::Error> for ApiError {
    fn from(err: toolyard_history::Error) -> Self {
        Self::internal(err.to_string(), DISK)
    }
}

impl From<journal::Error> for ApiError {
    fn from(err: journal::Error) -> Self {
        Self::internal(err.to_string(), DISK)
    }
}

impl From<std::io::Error> for ApiError {
    fn from(err: std::io::Error) -> Self {
        Self::internal(err.to_string(), DISK)
    }
}

impl From<hub::NotLearnt> for ApiError {
    fn from(err: hub::NotLearnt) -> Self {
        Self::internal(err.to_string(), DISK)
    }
}

impl From<hub::NotTaken> for ApiError {
    fn from(why: hub::NotTaken) -> Self {
        match why {
            hub::NotTaken::Missing(_) => {
                Self::not_found(why.to_string(), "the list of runs may be out of date")
            }
            hub::NotTaken::Driven(_) => {
                Self::conflict(why.to_string(), "it goes on by itself; cancel it to stop it")
            }
            hub::NotTaken::Journal(err) => err.into(),
        }
    }
}

/// Does what waits for the disk without keeping other requests waiting.
pub(crate) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ApiError>
where
    T: Send + 'static,
    E: Into<ApiError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Into::into),
        Err(err) => Err(ApiError::internal(format!("this could not be finished: {err}"), "try again")),
    }
}
