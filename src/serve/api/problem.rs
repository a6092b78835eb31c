//! Error responses.

use super::load::Refused;
use crate::learn::FeedbackError;
use crate::memory::MemoryError;
use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::fmt::Display;

/// Body of an error response.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(in crate::serve) struct ErrorBody {
    /// The problem in plain words, for a person.
    error: String,
}

/// An error response.
#[derive(Debug)]
pub(in crate::serve) struct Problem {
    status: StatusCode,
    message: String,
}

impl Problem {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn not_found(error: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, error.to_string())
    }

    pub fn conflict(error: impl Display) -> Self {
        Self::new(StatusCode::CONFLICT, error.to_string())
    }

    /// A failure on the side of the service.
    pub fn failed(error: impl Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }

    /// A panic; the caller learns no details of it.
    pub fn internal() -> Self {
        Self::failed("internal error")
    }
}

impl From<MemoryError> for Problem {
    fn from(error: MemoryError) -> Self {
        let status = match error {
            MemoryError::NoSuchEntry { .. }
            | MemoryError::NoSuchVersion { .. }
            | MemoryError::NoSuchDecision { .. } => StatusCode::NOT_FOUND,
            MemoryError::Refused(_) | MemoryError::ApprovalSpent { .. } => StatusCode::CONFLICT,
            MemoryError::Locked | MemoryError::TooSlow => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<FeedbackError> for Problem {
    fn from(error: FeedbackError) -> Self {
        match error {
            FeedbackError::Memory(error) => error.into(),
            error @ (FeedbackError::NotApprovable { .. } | FeedbackError::NoTarget { .. }) => Self::conflict(error),
            error => Self::failed(error),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Rate => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "the rate limit for checks is exceeded; retry later")
            }
            Refused::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many checks are queued; do not act, retry later")
            }
        }
    }
}

/// The header that an error response has besides those of every response.
pub(in crate::serve) fn header_for(status: StatusCode) -> Option<(HeaderName, &'static str)> {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, "1")),
        StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
        _ => None,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorBody { error: self.message })).into_response();
        if let Some((name, value)) = header_for(self.status) {
            response.headers_mut().insert(name, header::HeaderValue::from_static(value));
        }
        response
    }
}
