//! HTTP clients for model servers.

use std::sync::Once;
use std::time::Duration;

/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A retry policy that never retries, but observes the status of each response before its body is read.
fn status_observer() -> reqwest::retry::Builder {
    // The client consults only policies that may retry; this one declines every time.
    reqwest::retry::for_host(String::new()).no_budget().max_retries_per_request(1).classify_fn(
        |answer| {
            if let Some(status) = answer.status() {
                super::response_status::observe(status.as_u16());
            }
            answer.success()
        },
    )
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) enum Connection {
    /// On this machine, without proxy and encryption. The system certificates are not loaded, which
    /// would take longer than everything else before the first request.
    Plain,
    /// On this machine, without proxy.
    Local,
    /// Any other host.
    Remote,
}

impl Connection {
    /// The connection to an endpoint; `local` if the endpoint is on this machine.
    pub(super) fn to(endpoint: &str, local: bool) -> Connection {
        match (local, endpoint.starts_with("http://")) {
            (true, true) => Connection::Plain,
            (true, false) => Connection::Local,
            (false, _) => Connection::Remote,
        }
    }
}

/// An HTTP client for such servers.
///
/// It does not follow redirects, which would receive the API key. The error is the reason why a client
/// cannot be created, such as missing system certificates.
pub(in crate::llm) fn web_client(line: Connection) -> Result<reqwest::Client, String> {
    static RING: Once = Once::new();
    RING.call_once(|| {
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("kb/", env!("CARGO_PKG_VERSION")))
        .tcp_nodelay(true)
        .retry(status_observer());
    let client = match line {
        Connection::Plain => client.no_proxy().tls_certs_only([]),
        Connection::Local => client.no_proxy(),
        Connection::Remote => client,
    };
    client.build().map_err(|error| error.to_string())
}
