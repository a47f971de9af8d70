//! Errors, in the form that each dialect has.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::model::{Dialect, Error};

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// What programs tell it by.
    pub(super) code: &'static str,
    /// What people read.
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub(super) fn too_large() -> Self {
        let most = super::MOST_BYTES / (1024 * 1024);
        let message = format!("the request has more than {most} MiB");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(super) fn unauthorized() -> Self {
        let message = "a bearer token is needed: the one that `toolyard proxy-llm` was started with";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_token", message)
    }

    pub(super) fn busy() -> Self {
        let message = "too many requests in flight; try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_requests", message)
    }

    /// The model server did not answer a request that was passed on.
    pub(super) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "model_server_unreachable", message)
    }

    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// Writes it as an object of a dialect.
    pub(super) fn object(&self, dialect: Dialect) -> Value {
        let kind = match self.status.is_client_error() {
            true => "invalid_request_error",
            false => "server_error",
        };
        match dialect {
            Dialect::OpenAi => {
                json!({ "error": { "message": self.message, "type": kind, "param": null, "code": self.code } })
            }
            Dialect::Ollama => json!({ "error": self.message }),
        }
    }

    /// Makes it a response.
    pub(super) fn respond(&self, dialect: Dialect) -> Response {
        self.respond_with(&self.object(dialect))
    }

    /// Makes it a response with this body.
    pub(super) fn respond_with(&self, body: &Value) -> Response {
        let json = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, json, body.to_string()).into_response();
        let extra = match self.status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
            StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, "1")),
            _ => None,
        };
        if let Some((name, value)) = extra {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Unreachable { .. } => Self::unreachable(message),
            Error::Refused { status, .. } => {
                let status = StatusCode::from_u16(*status).ok().filter(StatusCode::is_client_error);
                Self::new(status.unwrap_or(StatusCode::BAD_GATEWAY), "model_server_refused", message)
            }
            Error::Late { .. } => Self::new(StatusCode::GATEWAY_TIMEOUT, "model_server_silent", message),
            Error::Broken { .. } | Error::Failed { .. } | Error::Senseless { .. } | Error::Endless { .. } => {
                Self::new(StatusCode::BAD_GATEWAY, "model_server_failed", message)
            }
        }
    }
}
