use super::adapter::{Connection, web_client};
use super::known::KNOWN;
use crate::value::Json;
use std::time::Duration;

/// How long a server on this machine may take to say that it is there.
const PATIENCE: Duration = Duration::from_millis(300);
/// The most of a list of models that is read.
const LIST_BYTES: usize = 1 << 20;

/// A model server found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// `ollama`, `llama.cpp`, `lmstudio`.
    pub name: String,
    /// Its OpenAI-compatible address.
    pub endpoint: String,
    /// The models that it lists.
    pub models: Vec<String>,
}

impl LocalServer {
    /// The model to use where nobody says which: the first that is not for embeddings.
    pub(super) fn chat_model(&self) -> Option<&str> {
        self.models.iter().map(String::as_str).find(|name| !name.contains("embed"))
    }
}

/// Looks for Ollama, llama.cpp and LM Studio where they usually are, all at once, for 300 ms.
pub async fn local_servers() -> Vec<LocalServer> {
    let usual = KNOWN.iter().filter(|known| known.keys.is_empty());
    let places: Vec<_> = usual.map(|known| (known.name, known.endpoint)).collect();
    servers_at(&places).await
}

/// Looks for servers at these addresses (name, base address ending in `/`).
pub async fn servers_at(places: &[(&str, &str)]) -> Vec<LocalServer> {
    let Ok(web) = web_client(Connection::Plain) else { return Vec::new() };
    let asked = places.iter().map(|(name, endpoint)| async {
        let models = tokio::time::timeout(PATIENCE, models(&web, endpoint)).await.ok()??;
        Some(LocalServer { name: (*name).into(), endpoint: (*endpoint).into(), models })
    });
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

async fn models(web: &reqwest::Client, endpoint: &str) -> Option<Vec<String>> {
    let mut answer = web.get(format!("{endpoint}models")).send().await.ok()?;
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
    let list: Json = serde_json::from_slice(&body).ok()?;
    let id = |entry: &Json| entry["id"].as_str().map(str::to_owned);
    Some(list["data"].as_array()?.iter().filter_map(id).collect())
}
