//! Requests that go where they may: the one HTTP client of tools and `http` steps.
//!
//! Only http(s), no password in the URL, and only public addresses unless the settings name the
//! host. The address is checked where the connection takes it from, so that a name cannot answer
//! differently a second time, and every redirect is a new request under the same rules.

use super::address::is_public;
use crate::diagnostic::Code;
use crate::value::{Digest, Failure, Json, JsonMap};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, Url};
use serde_json::json;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::OnceLock;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const MAX_REDIRECTS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is taken in.
const MAX_BODY: usize = 8 << 20;

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

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpResponse {
    /// Any status is an answer.
    pub status: u16,
    /// Names in lower case; repeated ones are joined by a comma.
    pub headers: JsonMap,
    /// A value where the content type says JSON, else text; null where neither can be had.
    pub body: Json,
    /// The body in base64, where it is no text.
    pub base64: Option<String>,
    /// Where it came from, after redirects.
    pub url: String,
    /// Of the body.
    pub bytes: u64,
    /// Of the body.
    pub sha256: Digest,
}

impl HttpResponse {
    /// `{status, headers, body}`, as `http` steps and `http:request` hand it out.
    pub fn output(&self) -> Json {
        let mut output =
            json!({ "status": self.status, "headers": self.headers, "body": self.body });
        if let Some(base64) = &self.base64 {
            output["bodyBase64"] = json!(base64);
        }
        output
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HttpError {
    /// A rule forbids it; nothing was sent to that place.
    #[error("{0}")]
    Refused(Failure),
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(Failure),
    /// The network failed; another time it may not.
    #[error("{0}")]
    Transient(Failure),
    /// It took too long.
    #[error("{0}")]
    TimedOut(Failure),
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
            | HttpError::TimedOut(failure) => failure.clone(),
            HttpError::Cancelled => {
                Failure::new(Code::TOOL_STOPPED.as_str(), "the request was stopped")
            }
        }
    }
}

/// Sends requests; keeps connections.
pub struct HttpClient {
    allowed: Vec<String>,
    guarded: OnceLock<Result<Client, String>>,
    open: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// `allowed` are hosts, with or without a port, that may be reached although they are private.
    pub fn new(allowed: &[String]) -> Self {
        HttpClient {
            allowed: allowed.iter().map(|host| host.trim().to_ascii_lowercase()).collect(),
            guarded: OnceLock::new(),
            open: OnceLock::new(),
        }
    }

    /// Sends a request and follows at most five redirects.
    pub async fn send(
        &self,
        request: &HttpRequest,
        cancel: &CancellationToken,
    ) -> Result<HttpResponse, HttpError> {
        let limit = request.timeout.unwrap_or(TIMEOUT);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(HttpError::Cancelled),
            answer = tokio::time::timeout(limit, self.follow(request)) => {
                answer.unwrap_or_else(|_| Err(HttpError::TimedOut(failed(format!(
                    "`{}` did not answer within {}",
                    shown(&request.url),
                    crate::value::format_duration(limit)
                )))))
            }
        }
    }

    async fn follow(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut hop = Hop::first(request)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(&hop).await?;
            match redirect(&response) {
                None => return received(response).await,
                Some(target) => hop = hop.next(response.status().as_u16(), &target)?,
            }
        }
        let message =
            format!("`{}` redirects more than {MAX_REDIRECTS} times", shown(&request.url));
        Err(HttpError::Invalid(unusable(message)))
    }

    async fn exchange(&self, hop: &Hop) -> Result<Response, HttpError> {
        let client = self.client_for(&hop.url)?;
        let mut builder =
            client.request(hop.method.clone(), hop.url.clone()).headers(hop.headers.clone());
        if let Some(body) = &hop.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|error| no_answer(&hop.url, &error))
    }

    /// The client that may go to this URL.
    fn client_for(&self, url: &Url) -> Result<&Client, HttpError> {
        let host = url.host_str().unwrap_or_default();
        let guard = !self.is_allowed(url);
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        if guard && literal.is_ok_and(|address| !is_public(address)) {
            return Err(not_public(host));
        }
        let slot = if guard { &self.guarded } else { &self.open };
        slot.get_or_init(|| build(guard)).as_ref().map_err(|error| {
            HttpError::Invalid(unusable(format!("no HTTP client can be made: {error}")))
        })
    }

    fn is_allowed(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or(0));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.allowed.iter().any(|entry| *entry == host || *entry == with_port || entry == bare)
    }
}

fn build(guard: bool) -> Result<Client, String> {
    // Another room may have chosen it already; then it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let builder = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("kb/", env!("CARGO_PKG_VERSION")));
        if guard { builder.dns_resolver(PublicOnly) } else { builder }
    };
    // A machine without certificates can still speak plain http.
    let without_certificates = |_| builder().tls_certs_only(std::iter::empty()).build();
    builder().build().or_else(without_certificates).map_err(|error| error.to_string())
}

/// Resolves names to public addresses only.
struct PublicOnly;

/// A name has an address that requests may not go to.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not on the public internet")]
struct NotPublic(String);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let asked = host.clone();
            let look = move || (asked.as_str(), 0u16).to_socket_addrs();
            let found: Vec<SocketAddr> = tokio::task::spawn_blocking(look).await??.collect();
            // One private address among public ones is how a name is made to mean two places.
            match found.iter().all(|address| is_public(address.ip())) {
                true => Ok(Box::new(found.into_iter()) as Addrs),
                false => Err(NotPublic(host).into()),
            }
        })
    }
}

/// One request of a chain of redirects.
struct Hop {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
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
/// Headers that are meant for one place only.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

impl Hop {
    fn first(request: &HttpRequest) -> Result<Hop, HttpError> {
        let mut url = checked(&request.url, None)?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let method = match request.method.as_str() {
            "" => Method::GET,
            text => {
                text.to_ascii_uppercase().parse::<Method>().ok().filter(|m| known(m)).ok_or_else(
                    || HttpError::Invalid(bad(format!("`{text}` is not a method of a request"))),
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
        Ok(Hop { method, url, headers, body })
    }

    /// Where a redirect leads, with what may go along.
    fn next(mut self, status: u16, target: &str) -> Result<Hop, HttpError> {
        let url = checked(target, Some(&self.url))?;
        if url.origin() != self.url.origin() {
            CREDENTIALS.iter().for_each(|name| drop(self.headers.remove(*name)));
        }
        let reads = matches!(self.method, Method::GET | Method::HEAD);
        if status == 303 || (matches!(status, 301 | 302) && !reads) {
            self.method = if self.method == Method::HEAD { Method::HEAD } else { Method::GET };
            self.body = None;
            self.headers.remove("content-type");
        }
        Ok(Hop { url, ..self })
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
        Err(HttpError::Refused(Failure::new(Code::ADDRESS_REFUSED.as_str(), message)))
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

fn redirect(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    response.headers().get("location")?.to_str().ok().map(str::to_owned)
}

/// Takes in an answer, up to the limit.
async fn received(mut response: Response) -> Result<HttpResponse, HttpError> {
    let url = response.url().clone();
    let too_large = || {
        let message = format!(
            "the answer of `{}` is larger than {} MiB",
            shown(url.as_str()),
            MAX_BODY >> 20
        );
        HttpError::Invalid(unusable(message))
    };
    if response.content_length().is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&url, &error))? {
        if bytes.len() + chunk.len() > MAX_BODY {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    let mut headers = JsonMap::new();
    for name in response.headers().keys() {
        let all = response.headers().get_all(name).iter();
        let text: Vec<_> = all.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        headers.insert(name.as_str().to_owned(), json!(text.join(", ")));
    }
    let kind = headers.get("content-type").and_then(Json::as_str).unwrap_or_default();
    let (body, base64) = body(kind, &bytes);
    Ok(HttpResponse {
        status: response.status().as_u16(),
        headers,
        body,
        base64,
        url: shown(url.as_str()),
        bytes: bytes.len() as u64,
        sha256: Digest::of(&bytes),
    })
}

/// A body by its content type; what says that it is JSON and is not stays text.
fn body(content_type: &str, bytes: &[u8]) -> (Json, Option<String>) {
    use base64::Engine;
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind == "text/json" || kind.ends_with("+json");
    if is_json && let Ok(value) = serde_json::from_slice(bytes) {
        return (value, None);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => (json!(text), None),
        Err(_) => (Json::Null, Some(base64::engine::general_purpose::STANDARD.encode(bytes))),
    }
}

fn no_answer(url: &Url, error: &reqwest::Error) -> HttpError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut why = String::new();
    while let Some(error) = cause {
        if let Some(NotPublic(host)) = error.downcast_ref::<NotPublic>() {
            return not_public(host);
        }
        why = error.to_string();
        cause = error.source();
    }
    let message = format!("`{}` gave no answer: {why}", shown(url.as_str()));
    match error.is_timeout() {
        true => HttpError::TimedOut(failed(message)),
        false => HttpError::Transient(failed(message)),
    }
}

fn not_public(host: &str) -> HttpError {
    let message = format!("requests do not go to `{host}`: it is not on the public internet");
    let help = "list the host under `tools.http.allowPrivate` in the settings, with its port, if it may be reached";
    HttpError::Refused(Failure::new(Code::ADDRESS_REFUSED.as_str(), message).help(help))
}

fn failed(message: String) -> Failure {
    Failure::new(Code::HTTP_FAILED.as_str(), message)
}

fn unusable(message: String) -> Failure {
    Failure::new(Code::ANSWER_UNUSABLE.as_str(), message)
}

fn bad(message: String) -> Failure {
    Failure::new(Code::BAD_ARGUMENTS.as_str(), message)
}

/// A URL without its query, user name and password, which may hold secrets.
fn shown(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        }
        Err(_) => text.split(['?', '#']).next().unwrap_or_default().to_owned(),
    }
}
