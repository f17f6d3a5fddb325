//! Requests as callers state them, and their checked form.

use crate::error::{HttpError, bad, shown_url as shown};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use std::time::Duration;

/// A request as a tool or step states it.
#[derive(Debug, Clone, Default)]
pub struct HttpRequest {
    /// The method; empty means `GET`.
    pub method: String,
    /// An absolute URL.
    pub url: String,
    /// In order; a name may repeat.
    pub headers: Vec<(String, String)>,
    /// Added to the query of the URL, in order.
    pub query: Vec<(String, String)>,
    /// A string is sent as it is; any other value as JSON.
    pub body: Option<Json>,
    /// Limits the whole exchange, redirects included; the default is 30 s.
    pub timeout: Option<Duration>,
}

/// A checked request: the first one, or the next one of a chain of redirects.
pub(crate) struct PreparedRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

/// Headers that belong to the connection and cannot be set by a caller.
const RESERVED: [&str; 10] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "proxy-connection",
];
impl PreparedRequest {
    pub(crate) fn first(request: &HttpRequest) -> Result<PreparedRequest, HttpError> {
        let mut url = checked_url(&request.url, None)?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let method = match request.method.as_str() {
            "" => Method::GET,
            text => {
                text.to_ascii_uppercase().parse::<Method>().ok().filter(is_supported).ok_or_else(
                    || HttpError::Invalid(bad(format!("`{text}` is not a supported HTTP method"))),
                )?
            }
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let (name, value) = header(name, value)?;
            headers.append(name, value);
        }
        let body = request.body.as_ref().filter(|body| !body.is_null()).map(|body| match body {
            Json::String(text) => text.clone().into_bytes(),
            other => {
                let json = HeaderValue::from_static("application/json");
                headers.entry("content-type").or_insert(json);
                other.to_string().into_bytes()
            }
        });
        Ok(PreparedRequest { method, url, headers, body })
    }
}

fn is_supported(method: &Method) -> bool {
    let supported = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    supported.contains(method)
}

/// Parses a URL and refuses unsupported schemes and credentials.
pub(crate) fn checked_url(text: &str, base: Option<&Url>) -> Result<Url, HttpError> {
    let url = Url::options().base_url(base).parse(text).map_err(|error| {
        HttpError::Invalid(bad(format!("`{}` is not a URL: {error}", shown(text))))
    })?;
    let refuse = |why: &str| {
        let message = format!("the URL `{}` is not allowed: {why}", shown(url.as_str()));
        let failure = Failure::new(Code::ADDRESS_REFUSED, message);
        Err(HttpError::Refused(Box::new(failure)))
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("the scheme must be http or https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("it contains a user name or password; send a header instead");
    }
    Ok(url)
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HttpError> {
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) {
        return Err(HttpError::Invalid(bad(format!("the header `{name}` cannot be set"))));
    }
    let name = HeaderName::try_from(&lower)
        .map_err(|_| HttpError::Invalid(bad(format!("`{name}` is not a valid header name"))))?;
    let value = HeaderValue::try_from(value).map_err(|_| {
        HttpError::Invalid(bad(format!("the value of the header `{name}` contains a line break")))
    })?;
    Ok((name, value))
}
