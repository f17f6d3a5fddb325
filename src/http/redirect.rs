use super::error::{HttpError, bad, shown_url as shown};
use crate::diagnostic::Code;
use crate::value::{Failure, Json};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use std::time::Duration;

/// One request, rendered.
#[derive(Debug, Clone, Default)]
pub struct HttpRequest {
    /// `GET` where empty.
    pub method: String,
    /// Absolute.
    pub url: String,
    /// In order.
    pub headers: Vec<(String, String)>,
    /// Added to the URL's own, in order.
    pub query: Vec<(String, String)>,
    /// A text is sent as it is; everything else as JSON.
    pub body: Option<Json>,
    /// For everything, redirects included; 30 s unless said.
    pub timeout: Option<Duration>,
}

/// One request of a chain of redirects.
pub(super) struct PreparedRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
}

/// Headers that belong to the connection, not to a caller.
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
/// What goes along to another origin. Any other header may be a credential: `X-Api-Key` has many
/// names.
const HARMLESS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

impl PreparedRequest {
    pub(super) fn first(request: &HttpRequest) -> Result<PreparedRequest, HttpError> {
        let mut url = checked(&request.url, None)?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let method =
            match request.method.as_str() {
                "" => Method::GET,
                text => text.to_ascii_uppercase().parse::<Method>().ok().filter(known).ok_or_else(
                    || HttpError::Invalid(bad(format!("`{text}` is not a method of a request"))),
                )?,
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

    /// Where a redirect leads, with what may go along.
    pub(super) fn next(mut self, status: u16, target: &str) -> Result<PreparedRequest, HttpError> {
        let url = checked(target, Some(&self.url))?;
        if self.url.scheme() == "https" && url.scheme() != "https" {
            let message =
                format!("a redirect from https to `{}` is not followed", shown(url.as_str()));
            let failure = Failure::new(Code::ADDRESS_REFUSED.as_str(), message)
                .help("ask for the http address itself, if its answer may be anybody's");
            return Err(HttpError::Refused(Box::new(failure)));
        }
        if url.origin() != self.url.origin() {
            self.headers = HARMLESS
                .iter()
                .filter_map(|name| {
                    Some((HeaderName::from_static(name), self.headers.remove(*name)?))
                })
                .collect();
            self.body = None;
        }
        let reads = matches!(self.method, Method::GET | Method::HEAD);
        if status == 303 || (matches!(status, 301 | 302) && !reads) {
            self.method = if self.method == Method::HEAD { Method::HEAD } else { Method::GET };
            self.body = None;
            self.headers.remove("content-type");
        }
        Ok(PreparedRequest { url, ..self })
    }
}

fn known(method: &Method) -> bool {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    known.contains(method)
}

/// Reads a URL and refuses what no request may be sent to, whatever its address is.
fn checked(text: &str, base: Option<&Url>) -> Result<Url, HttpError> {
    let url = Url::options().base_url(base).parse(text).map_err(|error| {
        HttpError::Invalid(bad(format!("`{}` is not a URL: {error}", shown(text))))
    })?;
    let refuse = |why: &str| {
        let message = format!("requests do not go to `{}`: {why}", shown(url.as_str()));
        let failure = Failure::new(Code::ADDRESS_REFUSED.as_str(), message);
        Err(HttpError::Refused(Box::new(failure)))
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("only http and https are spoken");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("a URL holds no user name and password; send a header");
    }
    Ok(url)
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), HttpError> {
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) {
        return Err(HttpError::Invalid(bad(format!("the header `{name}` is not set by a caller"))));
    }
    let name = HeaderName::try_from(&lower)
        .map_err(|_| HttpError::Invalid(bad(format!("`{name}` is not a header's name"))))?;
    let value = HeaderValue::try_from(value).map_err(|_| {
        HttpError::Invalid(bad(format!("the value of the header `{name}` holds a line break")))
    })?;
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::{HttpRequest, PreparedRequest};

    #[test]
    fn a_redirect_never_goes_from_https_to_http_nor_takes_credentials_elsewhere() {
        let cases = [
            ("https://a.example/x", Ok(true)),
            ("/x", Ok(true)),
            ("https://a.example:444/", Ok(false)),
            ("https://b.a.example/", Ok(false)),
            ("https://a.example.b/", Ok(false)),
            ("//b.example/", Ok(false)),
            ("http://a.example/", Err(())),
            ("http://b.example/", Err(())),
            ("https://me:secret@a.example/", Err(())),
            ("file:///etc/passwd", Err(())),
        ];
        for (target, expected) in cases {
            for status in [301, 302, 303, 307, 308] {
                let request = HttpRequest {
                    url: "https://a.example/".into(),
                    headers: vec![("Authorization".into(), "Bearer x".into())],
                    ..HttpRequest::default()
                };
                let current =
                    PreparedRequest::first(&request).unwrap_or_else(|error| panic!("{error}"));
                let next = current.next(status, target);
                let kept = next.map(|current| current.headers.contains_key("authorization"));
                assert_eq!(kept.map_err(|_| ()), expected, "{status} {target}");
            }
        }
    }
}
