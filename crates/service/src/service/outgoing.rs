//! [`Receiver`]: an address that the settings choose, such as that of a webhook or a collector; and
//! [`DeliveryFailure`], why it was not delivered.

use super::runs::ConfiguredSecrets;
use kb_base::value::{Json, one_line};
use kb_core::redaction::{Masked, Redactor};
use kb_engine::engine::Secrets;
use kb_http::{HttpClient, HttpError, HttpRequest, HttpResponse, host_of, shown_url};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time that a receiver has.
const LIMIT: Duration = Duration::from_secs(30);

/// Why a notification was not delivered. `P` is the type of its text: `String` until it is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFailure<P = Masked<String>> {
    /// The reason.
    pub problem: P,
    /// How long the receiver asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether another attempt cannot succeed.
    pub is_final: bool,
}

/// A failure whose text is not masked yet.
pub(super) type Unmasked = DeliveryFailure<String>;

impl Unmasked {
    pub(super) fn new(problem: String) -> Unmasked {
        DeliveryFailure { problem, retry_after: None, is_final: false }
    }

    pub(super) fn final_(problem: String) -> Unmasked {
        DeliveryFailure { is_final: true, ..Unmasked::new(problem) }
    }

    /// The failure with its text in one line, in which the secrets that the redactor knows are masked.
    pub(super) fn masked_by(self, redactor: &Redactor) -> DeliveryFailure {
        let DeliveryFailure { problem, retry_after, is_final } = self;
        let problem = redactor.mask(problem).map(|text| one_line(&text, LONGEST));
        DeliveryFailure { problem, retry_after, is_final }
    }
}

/// Maximum number of characters of a problem.
const LONGEST: usize = 1000;

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
        invalid: Unmasked,
    ) -> Result<Receiver, Unmasked> {
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
    ) -> Result<HttpResponse, Unmasked> {
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
            DeliveryFailure { is_final, ..Unmasked::new(message) }
        })
    }
}

/// The value of a secret by its name or reference.
pub(super) async fn secret(secrets: &ConfiguredSecrets, name: &str) -> Result<String, Unmasked> {
    let cancel = CancellationToken::new();
    secrets.fetch_now(name, &cancel).await.map_err(|failure| Unmasked::new(failure.message))?;
    let value = if name.contains(':') { secrets.by_reference(name) } else { secrets.by_name(name) };
    value.ok_or_else(|| Unmasked::new(format!("the secret `{name}` has no value here")))
}
