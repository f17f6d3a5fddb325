//! [`EndpointEmbedder`]: vectors from an OpenAI-compatible server.

use super::response::{error_text, unusable, vectors};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_http::{HttpClient, HttpError, HttpRequest, host_of, shown_url};
use kb_knowledge::{EmbedError, Embedder};
use kb_language::definition::EmbeddingSettings;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a server that did not answer is not asked again.
const PAUSE: Duration = Duration::from_secs(60);

/// Vectors from an OpenAI-compatible server. A server that does not answer is not asked again for a minute, so that not
/// each question waits for it.
pub struct EndpointEmbedder {
    settings: EmbeddingSettings,
    url: String,
    key: String,
    secret: Option<SecretString>,
    client: HttpClient,
    silent: Mutex<Option<(Instant, Box<Failure>)>>,
}

impl std::fmt::Debug for EndpointEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointEmbedder").field("key", &self.key).finish_non_exhaustive()
    }
}

impl EndpointEmbedder {
    /// The server of the settings; `secret` is its API key.
    pub fn new(settings: &EmbeddingSettings, secret: Option<String>) -> EndpointEmbedder {
        let EmbeddingSettings { endpoint, model, dimensions, max_chars, .. } = settings;
        let dimensions = dimensions.map(|own| own.to_string()).unwrap_or_default();
        let base = endpoint.trim_end_matches('/');
        EndpointEmbedder {
            url: format!("{base}/embeddings"),
            key: format!("{} {model} {dimensions} {max_chars}", shown_url(base)),
            secret: secret.map(SecretString::from),
            // The address is the choice of the settings, so that its host may be private.
            client: HttpClient::new(&host_of(endpoint).into_iter().collect::<Vec<_>>()),
            settings: settings.clone(),
            silent: Mutex::default(),
        }
    }

    /// Name of the model.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    fn request(&self, texts: &[String]) -> HttpRequest {
        let mut body = json!({
            "model": self.settings.model,
            "input": texts,
            "encoding_format": "float",
        });
        if let Some(dimensions) = self.settings.dimensions {
            body["dimensions"] = json!(dimensions);
        }
        let token = self.secret.as_ref().map(|key| format!("Bearer {}", key.expose_secret()));
        HttpRequest {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers: token.map(|token| ("authorization".to_owned(), token)).into_iter().collect(),
            body: Some(body),
            timeout: Some(self.settings.timeout),
            ..HttpRequest::default()
        }
    }

    fn exchange(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let request = self.request(texts);
        // The caller may be on a thread of a runtime, which must not drive another one.
        let send = || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            Some(runtime.block_on(self.client.send_once(&request)))
        };
        let sent = std::thread::scope(|scope| scope.spawn(send).join().ok().flatten());
        let unavailable = |failure: Failure| EmbedError::Unavailable(Box::new(failure));
        let response = match sent {
            Some(Ok(response)) => response,
            Some(Err(HttpError::Invalid(failure))) => return Err(EmbedError::Unusable(failure)),
            Some(Err(error)) => return Err(unavailable(error.failure())),
            None => {
                let message = "no thread could be started for a request";
                return Err(unavailable(Failure::new(Code::HTTP_FAILED, message)));
            }
        };
        let refuse = |why: &str| unusable(&shown_url(&self.url), why);
        if response.status != 200 {
            let text = error_text(&response.body).map(|text| format!(": {text}"));
            let why = format!("status {}{}", response.status, text.unwrap_or_default());
            // It refuses the caller, not a text.
            let refuses_all = matches!(response.status, 300..=399 | 401..=405 | 429 | 503);
            let of = if refuses_all { EmbedError::Unavailable } else { EmbedError::Unusable };
            return Err(of(refuse(&why)));
        }
        // Some servers name no content type.
        let parsed =
            response.body.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
        let body = parsed.as_ref().unwrap_or(&response.body);
        let dimensions = self.settings.dimensions.map(|own| own as usize);
        vectors(body, texts.len(), dimensions).map_err(|why| EmbedError::Unusable(refuse(&why)))
    }
}

impl Embedder for EndpointEmbedder {
    fn key(&self) -> &str {
        &self.key
    }

    fn max_chars(&self) -> usize {
        self.settings.max_chars as usize
    }

    fn batch(&self) -> usize {
        self.settings.batch as usize
    }

    fn budget(&self) -> Duration {
        self.settings.timeout
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, failure)) = &*silent
            && since.elapsed() < PAUSE
        {
            return Err(EmbedError::Unavailable(failure.clone()));
        }
        let answer = self.exchange(texts);
        *silent = match &answer {
            Err(EmbedError::Unavailable(failure)) => Some((kb_clock::instant(), failure.clone())),
            _ => None,
        };
        answer
    }
}
