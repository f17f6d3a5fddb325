use crate::diagnostic::Code;
use crate::value::Failure;
use reqwest::Url;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HttpError {
    /// A rule forbids it; nothing was sent to that place.
    #[error("{0}")]
    Refused(Box<Failure>),
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(Box<Failure>),
    /// The network failed; another time it may not.
    #[error("{0}")]
    Transient(Box<Failure>),
    /// It took too long.
    #[error("{0}")]
    TimedOut(Box<Failure>),
    /// It was stopped.
    #[error("the request was stopped")]
    Cancelled,
}

impl HttpError {
    /// The failure that steps and models see.
    pub fn failure(&self) -> Failure {
        match self {
            HttpError::Refused(failure)
            | HttpError::Invalid(failure)
            | HttpError::Transient(failure)
            | HttpError::TimedOut(failure) => (**failure).clone(),
            HttpError::Cancelled => {
                Failure::new(Code::TOOL_STOPPED.as_str(), "the request was stopped")
            }
        }
    }
}

pub(super) fn failed(message: String) -> Box<Failure> {
    Box::new(Failure::new(Code::HTTP_FAILED.as_str(), message))
}

pub(super) fn unusable(message: String) -> Box<Failure> {
    Box::new(Failure::new(Code::RESPONSE_UNUSABLE.as_str(), message))
}

pub(super) fn bad(message: String) -> Box<Failure> {
    Box::new(Failure::new(Code::BAD_ARGUMENTS.as_str(), message))
}

/// A URL without its query, user name and password, which may hold secrets; also of a text that is
/// none.
pub fn shown_url(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        }
        Err(_) => {
            let plain = without_credentials(text);
            plain.split(['?', '#']).next().unwrap_or_default().to_owned()
        }
    }
}

/// A text whose user name and password of a URL are masked; anything else stays as it is.
pub fn without_credentials(text: &str) -> String {
    let start = match text.find("//").or_else(|| text.find("\\\\")) {
        Some(at) => at + 2,
        None => return text.to_owned(),
    };
    let rest = &text[start..];
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{}***{}", &text[..start], &rest[at..]),
        None => text.to_owned(),
    }
}
