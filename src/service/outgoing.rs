//! [`Receiver`]: an address that the settings choose, such as that of a webhook or a collector.

use super::notify::{Untold, secret};
use super::runs::ConfiguredSecrets;
use crate::http::{HttpClient, HttpError, HttpRequest, HttpResponse, host_of, shown_url};
use crate::value::Json;
use std::time::Duration;

/// Time that a receiver has.
const LIMIT: Duration = Duration::from_secs(30);

/// Receives requests of `kb`. The address is the choice of the settings, so that its host may be private.
pub(super) struct Receiver {
    url: String,
    host: String,
    /// The address in messages. The path of a secret address is a password.
    pub(super) shown: String,
}

impl Receiver {
    /// The receiver at a URL, or at the one that a secret contains. `complete` changes the URL. Fails with
    /// `invalid` if it is not a URL.
    pub(super) async fn at(
        secrets: &ConfiguredSecrets,
        address: &str,
        complete: impl FnOnce(String) -> String,
        invalid: Untold,
    ) -> Result<Receiver, Untold> {
        let is_secret = !address.starts_with("http");
        let url = if is_secret { secret(secrets, address).await? } else { address.to_owned() };
        let url = complete(url);
        let host = host_of(&url).ok_or(invalid)?;
        let shown = if is_secret { host.clone() } else { shown_url(&url) };
        Ok(Receiver { url, host, shown })
    }

    /// Posts JSON. A redirect is not followed, so that the receiver cannot choose another one.
    pub(super) async fn post(
        &self,
        mut headers: Vec<(String, String)>,
        body: String,
    ) -> Result<HttpResponse, Untold> {
        headers.insert(0, ("content-type".to_owned(), "application/json".to_owned()));
        let request = HttpRequest {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers,
            query: Vec::new(),
            body: Some(Json::String(body)),
            timeout: Some(LIMIT),
        };
        let response = HttpClient::new(std::slice::from_ref(&self.host)).send_once(&request).await;
        response.map_err(|error| {
            let message = error.failure().message.replace(&shown_url(&self.url), &self.shown);
            let is_final = matches!(error, HttpError::Invalid(_) | HttpError::Refused(_));
            Untold { is_final, ..Untold::new(message) }
        })
    }
}
