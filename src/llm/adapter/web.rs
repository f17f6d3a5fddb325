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
                super::answered::answered(status.as_u16());
            }
            answer.success()
        },
    )
}

/// A client for servers of this machine, past any proxy, or for all others.
///
/// Redirects are not followed: a key would go with them. The error says why there can be no client,
/// such as a machine without certificates.
pub(in crate::llm) fn web_client(local: bool) -> Result<reqwest::Client, String> {
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
    let client = if local { client.no_proxy() } else { client };
    client.build().map_err(|error| error.to_string())
}
