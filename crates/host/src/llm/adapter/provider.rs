//! [`GenaiProvider`]: one model call through the `genai` library.

use super::calls::CallCollector;
use super::error::model_error;
use super::names::ToolNames;
use super::ollama;
use super::request::{options, question, service};
use super::response_status;
use super::stream::Reader;
use super::web::{Connection, web_client};
use crate::llm::known::Protocol;
use crate::llm::target::{Target, is_local};
use crate::llm::tiers::Tiers;
use crate::llm::{ChatReply, ChatRequest, ModelError, ModelLimits, ModelProvider, ModelRef};
use futures::FutureExt;
use futures::future::BoxFuture;
use genai::Client;
use kb_base::value::Tier;
use kb_core::redaction::Redactor;
use kb_language::definition::ModelPrice;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Calls real models: the models of the tiers, and others by name.
///
/// One call is one HTTP request; dropping its future or cancelling it closes the connection.
pub struct GenaiProvider {
    tiers: Tiers,
    plain: LazyClient,
    local: LazyClient,
    remote: LazyClient,
    redactor: Arc<Redactor>,
}

/// A client that the first call creates, or the reason why it cannot be created.
type LazyClient = OnceLock<Result<Clients, String>>;

/// A client of the library, and the HTTP client that it uses.
struct Clients {
    library: Client,
    web: reqwest::Client,
}

impl GenaiProvider {
    /// A provider for those tiers. Does not access the network.
    pub fn new(tiers: Tiers) -> Self {
        let [plain, local, remote] = [const { OnceLock::new() }; 3];
        GenaiProvider { tiers, plain, local, remote, redactor: Arc::default() }
    }

    /// Masks the secrets of a run in error messages.
    #[must_use]
    pub fn with_redactor(self, redactor: Arc<Redactor>) -> Self {
        GenaiProvider { redactor, ..self }
    }

    fn clients(&self, target: &Target) -> Result<&Clients, ModelError> {
        let line = Connection::to(&target.endpoint, is_local(&target.endpoint));
        let place = match line {
            Connection::Plain => &self.plain,
            Connection::Local => &self.local,
            Connection::Remote => &self.remote,
        };
        let made = place.get_or_init(|| {
            let web = web_client(line)?;
            let library = Client::builder().with_reqwest(web.clone()).build();
            Ok(Clients { library: library.map_err(|error| error.to_string())?, web })
        });
        made.as_ref().map_err(|why| ModelError::Refused {
            message: format!("cannot connect to `{}`: {why}", target.endpoint),
            status: None,
        })
    }

    async fn ask(
        &self,
        target: &Target,
        request: &ChatRequest,
        on_token: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<ChatReply, ModelError> {
        let Clients { library: client, web } = self.clients(target)?;
        let mut names = ToolNames::default();
        if target.protocol == Protocol::Ollama {
            let body = ollama::body(request, target, &mut names);
            let collected = &CallCollector::default();
            let origin = &request.origin;
            let reader = Reader { target, names: &names, origin, collected, on_token };
            return ollama::chat(web, body, &reader).await;
        }
        let question = question(request, target, &mut names);
        let collected = Arc::new(CallCollector::default());
        let options = options(request, target);
        let origin = &request.origin;
        let service = service(target, request.reasoning.is_some());
        let reader =
            Reader { target, names: &names, origin, collected: collected.as_ref(), on_token };
        if !target.stream {
            let answer = client.exec_chat(service, question, Some(&options)).await;
            return reader.whole(answer.map_err(|error| model_error(error, target))?);
        }
        let options = options.with_raw_frame_sink_arc(collected.clone());
        let answer = client.exec_chat_stream(service, question, Some(&options)).await;
        let stream = answer.map_err(|error| model_error(error, target))?.stream;
        reader.read(stream).await
    }

    async fn bounded(
        &self,
        request: ChatRequest,
        on_token: &(dyn Fn(&str) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ChatReply, ModelError> {
        let ModelRef { name, tier } = &request.model;
        let target = self.tiers.target(tier.unwrap_or(Tier::Medium), Some(name))?;
        let target = Target { redactor: self.redactor.clone(), ..target };
        // The library parses untrusted data; a panic in it means an invalid response.
        let asked = AssertUnwindSafe(response_status::bounded(
            &target,
            self.ask(&target, &request, on_token),
        ));
        let asked = asked.catch_unwind();
        let limit = request.timeout;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            answer = tokio::time::timeout(limit, asked) => match answer {
                Err(_) => Err(ModelError::Timeout { model: target.model.clone(), limit }),
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(super::error::transient(format!(
                    "`{}` sent a response that cannot be read",
                    target.model
                ))),
            },
        }
    }
}

impl ModelProvider for GenaiProvider {
    fn chat<'a>(
        &'a self,
        request: ChatRequest,
        on_token: &'a (dyn Fn(&str) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.bounded(request, on_token, cancel))
    }

    fn resolve(&self, tier: Tier, model: Option<&str>) -> Result<ModelRef, ModelError> {
        self.tiers.resolve(tier, model)
    }

    fn price(&self, model: &ModelRef) -> Option<ModelPrice> {
        let tier = model.tier.unwrap_or(Tier::Medium);
        self.tiers.target(tier, Some(&model.name)).ok()?.price
    }

    fn provider_of(&self, model: &ModelRef) -> Option<String> {
        let tier = model.tier.unwrap_or(Tier::Medium);
        self.tiers.target(tier, Some(&model.name)).ok().map(|target| target.provider)
    }

    fn limits(&self, model: &ModelRef) -> ModelLimits {
        let tier = model.tier.unwrap_or(Tier::Medium);
        self.tiers.target(tier, Some(&model.name)).map(|target| target.limits).unwrap_or_default()
    }
}
