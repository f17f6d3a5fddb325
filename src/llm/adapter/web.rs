use std::sync::Once;
use std::time::Duration;

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(10);

/// Never tries again, but is told of each answer before its body is read.
fn told() -> reqwest::retry::Builder {
    // A policy that may try again is asked whether it wants to; this one never does.
    reqwest::retry::for_host(String::new()).no_budget().max_retries_per_request(1).classify_fn(
        |answer| {
            if let Some(status) = answer.status() {
                super::response_status::answered(status.as_u16());
            }
            answer.success()
        },
    )
}

/// How servers are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::llm) enum Connection {
    /// On this machine, past any proxy, unencrypted: without reading the system's certificates,
    /// which takes longer than all else before the first request.
    Plain,
    /// On this machine, past any proxy.
    Local,
    /// Anywhere else.
    Remote,
}

impl Connection {
    /// How a server is reached at an endpoint, `local` where that is on this machine.
    pub(super) fn to(endpoint: &str, local: bool) -> Connection {
        match (local, endpoint.starts_with("http://")) {
            (true, true) => Connection::Plain,
            (true, false) => Connection::Local,
            (false, _) => Connection::Remote,
        }
    }
}

/// A client for such servers.
///
/// Redirects are not followed: a key would go with them. The error says why there can be no client,
/// such as a machine without certificates.
pub(in crate::llm) fn web_client(line: Connection) -> Result<reqwest::Client, String> {
    static RING: Once = Once::new();
    RING.call_once(|| {
        // An error means that somebody installed one before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("kb/", env!("CARGO_PKG_VERSION")))
        .tcp_nodelay(true)
        .retry(told());
    let client = match line {
        Connection::Plain => client.no_proxy().tls_certs_only([]),
        Connection::Local => client.no_proxy(),
        Connection::Remote => client,
    };
    client.build().map_err(|error| error.to_string())
}
