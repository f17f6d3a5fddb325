//! Errors of requests, and URLs as they are shown.

use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use reqwest::Url;

/// The reason why a request has no response.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HttpError {
    /// A rule forbids the request; nothing was sent to the refused address.
    #[error("{0}")]
    Refused(Box<Failure>),
    /// The request itself is invalid.
    #[error("{0}")]
    Invalid(Box<Failure>),
    /// The network failed; a retry may succeed.
    #[error("{0}")]
    Transient(Box<Failure>),
    /// The timeout elapsed.
    #[error("{0}")]
    TimedOut(Box<Failure>),
    /// The request was cancelled.
    #[error("the request was stopped")]
    Cancelled,
}

impl HttpError {
    /// The failure shown to steps and models.
    pub fn failure(&self) -> Failure {
        match self {
            HttpError::Refused(failure)
            | HttpError::Invalid(failure)
            | HttpError::Transient(failure)
            | HttpError::TimedOut(failure) => (**failure).clone(),
            HttpError::Cancelled => Failure::new(Code::TOOL_STOPPED, "the request was stopped"),
        }
    }
}

pub(crate) fn failed(message: String) -> Box<Failure> {
    Box::new(Failure::new(Code::HTTP_FAILED, message))
}

pub(crate) fn unusable(message: String) -> Box<Failure> {
    Box::new(Failure::new(Code::RESPONSE_UNUSABLE, message))
}

pub(crate) fn bad(message: String) -> Box<Failure> {
    Box::new(Failure::new(Code::BAD_ARGUMENTS, message))
}

/// A URL without query, fragment, user name and password, which may contain secrets. An invalid URL
/// is cut in the same way.
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

/// The host of an absolute URL of http or https.
pub fn host_of(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.host_str().map(str::to_owned)
}

/// Masks the user name and password of a URL; any other text is returned as it is.
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

/// A host name that resolves to an address outside of the public internet.
#[derive(Debug, thiserror::Error)]
#[error("the address of `{0}` is not public")]
pub(crate) struct NotPublic(pub(super) String);

/// Converts an error of the network, or of the resolver above.
pub(crate) fn request_failed(url: &Url, error: &reqwest::Error) -> HttpError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut why = String::new();
    while let Some(error) = cause {
        if let Some(NotPublic(host)) = error.downcast_ref::<NotPublic>() {
            return not_public(host);
        }
        why = error.to_string();
        cause = error.source();
    }
    let message = format!("the request to `{}` failed: {why}", shown_url(url.as_str()));
    if error.is_timeout() {
        HttpError::TimedOut(failed(message))
    } else {
        HttpError::Transient(failed(message))
    }
}

/// The refusal of a host whose address is not public.
pub(crate) fn not_public(host: &str) -> HttpError {
    let message = format!("the address of `{host}` is not public and not allowed");
    let help =
        "add the host, with its port, to `tools.http.allowPrivate` in the settings to permit it";
    let failure = Failure::new(Code::ADDRESS_REFUSED, message).help(help);
    HttpError::Refused(Box::new(failure))
}
