//! Discovery of model servers on this machine, and of the context windows of their models.

use super::adapter::{Connection, web_client};
use super::known::KNOWN;
use kb_base::value::Json;
use std::time::Duration;

/// Timeout for the response of a server on this machine.
const PATIENCE: Duration = Duration::from_millis(300);
/// Maximum size of a list of models, in bytes.
const LIST_BYTES: usize = 1 << 20;

/// A model server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Name of the server: `ollama`, `llama.cpp` or `lmstudio`.
    pub name: String,
    /// Base URL of its OpenAI-compatible API.
    pub endpoint: String,
    /// Names of the models that it lists.
    pub models: Vec<String>,
}

impl LocalServer {
    /// The default model: the first that is not an embedding model.
    pub(super) fn chat_model(&self) -> Option<&str> {
        self.models.iter().map(String::as_str).find(|name| !name.contains("embed"))
    }
}

/// Probes the default ports of Ollama, llama.cpp and LM Studio in parallel, with a timeout of 300 ms.
pub async fn local_servers() -> Vec<LocalServer> {
    let usual = KNOWN.iter().filter(|known| known.keys.is_empty());
    let candidates: Vec<_> = usual.map(|known| (known.name, known.endpoint)).collect();
    servers_at(&candidates).await
}

/// Probes these servers (name, base URL ending in `/`).
pub async fn servers_at(candidates: &[(&str, &str)]) -> Vec<LocalServer> {
    let Ok(web) = web_client(Connection::Plain) else { return Vec::new() };
    let probes = candidates.iter().map(|(name, endpoint)| async {
        let models = tokio::time::timeout(PATIENCE, models(&web, endpoint)).await.ok()??;
        Some(LocalServer { name: (*name).into(), endpoint: (*endpoint).into(), models })
    });
    futures::future::join_all(probes).await.into_iter().flatten().collect()
}

async fn models(web: &reqwest::Client, endpoint: &str) -> Option<Vec<String>> {
    let list = get(web, &format!("{endpoint}models")).await?;
    let id = |entry: &Json| entry["id"].as_str().map(str::to_owned);
    Some(list["data"].as_array()?.iter().filter_map(id).collect())
}

/// The context window with which a server on this machine serves a model, in tokens, if it tells: llama.cpp
/// in `props`, LM Studio in its list of models. With a timeout of 300 ms for each.
pub(super) async fn window(endpoint: &str, model: &str) -> Option<u32> {
    let web = web_client(Connection::Plain).ok()?;
    let root = endpoint.strip_suffix("v1/").unwrap_or(endpoint);
    let (props, listed) = (format!("{root}props"), format!("{root}api/v0/models/{model}"));
    let ask = |url: String| {
        let web = &web;
        async move { tokio::time::timeout(PATIENCE, get(web, &url)).await.ok().flatten() }
    };
    let (props, listed) = futures::join!(ask(props), ask(listed));
    let of_props = props.and_then(|all| all["default_generation_settings"]["n_ctx"].as_u64());
    let of_list = listed.and_then(|one| {
        one["loaded_context_length"].as_u64().or_else(|| one["max_context_length"].as_u64())
    });
    let tokens = of_props.or(of_list).filter(|tokens| *tokens > 0)?;
    u32::try_from(tokens).ok()
}

/// The JSON at a URL, up to a maximum size.
async fn get(web: &reqwest::Client, url: &str) -> Option<Json> {
    let mut answer = web.get(url).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.ok()? {
        body.extend_from_slice(&part);
        if body.len() > LIST_BYTES {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}
