//! The HTTP client: sends requests under the address rules and follows redirects.

use crate::address::{is_of_another_service, is_private_name, is_public};
use crate::error::{
    HttpError, NotPublic, failed, not_public, request_failed, shown_url as shown, unusable,
};
use crate::request::{HttpRequest, PreparedRequest};
use crate::response::{HttpResponse, received};
use crate::stream::HttpStream;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Response, Url};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const MAX_REDIRECTS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends requests and pools connections.
pub struct HttpClient {
    allowed: Vec<String>,
    lookup: Lookup,
    guarded: OnceLock<Result<Client, String>>,
    open: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// Creates a client. `allowed` are private hosts, with or without a port, that requests may
    /// reach.
    pub fn new(allowed: &[String]) -> Self {
        let system = |host: &str| {
            let found = (host, 0u16).to_socket_addrs()?;
            Ok(found.map(|address| address.ip()).collect())
        };
        Self::resolving(allowed, Arc::new(system))
    }

    /// The same, with a replacement for the name lookup of the system.
    pub fn resolving(allowed: &[String], lookup: Lookup) -> Self {
        HttpClient {
            allowed: allowed.iter().map(|host| host.trim().to_ascii_lowercase()).collect(),
            lookup,
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
            answer = tokio::time::timeout(limit, async { received(self.follow(request).await?).await }) => {
                answer.unwrap_or_else(|_| Err(late(request, limit)))
            }
        }
    }

    /// Sends a request and follows redirects as [`HttpClient::send`] does, and leaves the body to be read while it
    /// arrives, up to `limit` bytes. The timeout of the request is that of its head, and of each part of the body.
    pub async fn stream(
        &self,
        request: &HttpRequest,
        limit: u64,
        cancel: &CancellationToken,
    ) -> Result<HttpStream, HttpError> {
        let wait = request.timeout.unwrap_or(TIMEOUT);
        let response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(HttpError::Cancelled),
            answer = tokio::time::timeout(wait, self.follow(request)) => {
                answer.unwrap_or_else(|_| Err(late(request, wait)))?
            }
        };
        Ok(HttpStream::of(response, limit, wait))
    }

    /// Streams as [`HttpClient::stream`] does, and follows no redirect: a redirect is a response like any other.
    pub async fn stream_once(
        &self,
        request: &HttpRequest,
        limit: u64,
    ) -> Result<HttpStream, HttpError> {
        let wait = request.timeout.unwrap_or(TIMEOUT);
        let head = async { self.exchange(&PreparedRequest::first(request)?).await };
        let response = tokio::time::timeout(wait, head).await;
        let response = response.unwrap_or_else(|_| Err(late(request, wait)))?;
        Ok(HttpStream::of(response, limit, wait))
    }

    /// Sends a request and follows no redirect: a redirect is a response like any other.
    pub async fn send_once(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let limit = request.timeout.unwrap_or(TIMEOUT);
        let exchange =
            async { received(self.exchange(&PreparedRequest::first(request)?).await?).await };
        tokio::time::timeout(limit, exchange).await.unwrap_or_else(|_| Err(late(request, limit)))
    }

    async fn follow(&self, request: &HttpRequest) -> Result<Response, HttpError> {
        let mut current = PreparedRequest::first(request)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(&current).await?;
            match redirect_target(&response) {
                None => return Ok(response),
                Some(target) => current = current.redirect(response.status().as_u16(), &target)?,
            }
        }
        let message =
            format!("`{}` redirects more than {MAX_REDIRECTS} times", shown(&request.url));
        Err(HttpError::Invalid(unusable(message)))
    }

    async fn exchange(&self, current: &PreparedRequest) -> Result<Response, HttpError> {
        let client = self.client_for(&current.url)?;
        let mut builder = client
            .request(current.method.clone(), current.url.clone())
            .headers(current.headers.clone());
        if let Some(body) = &current.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|error| request_failed(&current.url, &error))
    }

    /// The pool for a URL: with the address rules, or without them for allowed hosts.
    fn client_for(&self, url: &Url) -> Result<&Client, HttpError> {
        let host = url.host_str().unwrap_or_default();
        let guard = !self.is_allowed(url);
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let private = |address: IpAddr| !is_public(address);
        if guard && literal.map_or_else(|_| is_private_name(host), private) {
            return Err(not_public(host));
        }
        let port = url.port_or_known_default().unwrap_or(0);
        if guard && is_of_another_service(port) {
            let message = format!("port {port} belongs to another protocol and is not allowed");
            let help = "add the host with this port to `tools.http.allowPrivate` in the settings";
            let failure = Failure::new(Code::ADDRESS_REFUSED, message).help(help);
            return Err(HttpError::Refused(Box::new(failure)));
        }
        let slot = if guard { &self.guarded } else { &self.open };
        slot.get_or_init(|| build(guard, self.lookup.clone())).as_ref().map_err(|error| {
            HttpError::Invalid(unusable(format!("the HTTP client cannot be created: {error}")))
        })
    }

    fn is_allowed(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or(0));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.allowed.iter().any(|entry| *entry == host || *entry == with_port || entry == bare)
    }
}

fn late(request: &HttpRequest, limit: Duration) -> HttpError {
    let (url, limit) = (shown(&request.url), kb_base::value::format_duration(limit));
    HttpError::TimedOut(failed(format!("`{url}` did not respond within {limit}")))
}

fn build(guard: bool, lookup: Lookup) -> Result<Client, String> {
    // A provider that is already installed is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let resolver = Resolver { public_only: guard, lookup: lookup.clone() };
        Client::builder()
            // A proxy would look up names itself and bypass the address rules.
            .no_proxy()
            .dns_resolver(resolver)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("kb/", env!("CARGO_PKG_VERSION")))
    };
    // Without root certificates, plain http still works.
    let without_certificates = |_| builder().tls_certs_only(std::iter::empty()).build();
    builder().build().or_else(without_certificates).map_err(|error| error.to_string())
}

/// Looks up the addresses of a host name; may block.
pub type Lookup = Arc<dyn Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync>;

/// Resolves names for the connection itself, so that the checked address is the one used.
struct Resolver {
    public_only: bool,
    lookup: Lookup,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, lookup) = (name.as_str().to_owned(), self.lookup.clone());
        let public_only = self.public_only;
        Box::pin(async move {
            let asked = host.clone();
            let found = tokio::task::spawn_blocking(move || lookup(&asked)).await??;
            // A private address among public ones is a sign of DNS rebinding.
            if public_only && !found.iter().all(|address| is_public(*address)) {
                return Err(NotPublic(host).into());
            }
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

fn redirect_target(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    response.headers().get("location")?.to_str().ok().map(str::to_owned)
}
