use super::address::{is_of_another_service, is_private_name, is_public};
use super::error::{HttpError, failed, shown_url as shown, unusable};
use super::redirect::PreparedRequest;
use super::response::received;
use super::{HttpRequest, HttpResponse};
use crate::diagnostic::Code;
use crate::value::Failure;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Response, Url};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const MAX_REDIRECTS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends requests; keeps connections.
pub struct HttpClient {
    allowed: Vec<String>,
    lookup: Lookup,
    guarded: OnceLock<Result<Client, String>>,
    open: OnceLock<Result<Client, String>>,
}

impl HttpClient {
    /// `allowed` are hosts, with or without a port, that may be reached although they are private.
    pub fn new(allowed: &[String]) -> Self {
        let system = |host: &str| {
            let found = (host, 0u16).to_socket_addrs()?;
            Ok(found.map(|address| address.ip()).collect())
        };
        Self::resolving(allowed, Arc::new(system))
    }

    /// The same, with names looked up elsewhere than in the system.
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
        let mut current = PreparedRequest::first(request)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.exchange(&current).await?;
            match redirect(&response) {
                None => return received(response).await,
                Some(target) => current = current.next(response.status().as_u16(), &target)?,
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
        builder.send().await.map_err(|error| no_answer(&current.url, &error))
    }

    /// The client that may go to this URL.
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
            let message =
                format!("requests do not go to port {port}: another service speaks there");
            let help =
                "list the host with this port under `tools.http.allowPrivate` in the settings";
            let failure = Failure::new(Code::ADDRESS_REFUSED.as_str(), message).help(help);
            return Err(HttpError::Refused(Box::new(failure)));
        }
        let slot = if guard { &self.guarded } else { &self.open };
        slot.get_or_init(|| build(guard, self.lookup.clone())).as_ref().map_err(|error| {
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

fn build(guard: bool, lookup: Lookup) -> Result<Client, String> {
    // Another room may have chosen it already; then it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let resolver = Resolver { public_only: guard, lookup: lookup.clone() };
        Client::builder()
            // A proxy of the environment would look names up itself and go anywhere.
            .no_proxy()
            .dns_resolver(resolver)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("kb/", env!("CARGO_PKG_VERSION")))
    };
    // A machine without certificates can still speak plain http.
    let without_certificates = |_| builder().tls_certs_only(std::iter::empty()).build();
    builder().build().or_else(without_certificates).map_err(|error| error.to_string())
}

/// Finds the addresses of a name; may take its time.
pub type Lookup = Arc<dyn Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync>;

/// Resolves names where the connection takes its address from: what is checked is what is used.
struct Resolver {
    public_only: bool,
    lookup: Lookup,
}

/// A name has an address that requests may not go to.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not on the public internet")]
struct NotPublic(String);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, lookup) = (name.as_str().to_owned(), self.lookup.clone());
        let public_only = self.public_only;
        Box::pin(async move {
            let asked = host.clone();
            let found = tokio::task::spawn_blocking(move || lookup(&asked)).await??;
            // One private address among public ones is how a name is made to mean two places.
            if public_only && !found.iter().all(|address| is_public(*address)) {
                return Err(NotPublic(host).into());
            }
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

fn redirect(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    response.headers().get("location")?.to_str().ok().map(str::to_owned)
}

pub(super) fn no_answer(url: &Url, error: &reqwest::Error) -> HttpError {
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
    let failure = Failure::new(Code::ADDRESS_REFUSED.as_str(), message).help(help);
    HttpError::Refused(Box::new(failure))
}
