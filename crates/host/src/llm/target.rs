//! [`Target`]: a model with everything that a call needs: endpoint, key, protocol, price.

use super::known::{self, KnownProvider, OLLAMA, Protocol};
use super::limits::ModelLimits;
use super::prices::Prices;
use kb_base::value::Json;
use kb_core::redaction::Redactor;
use kb_language::definition::{ModelPrice, TierSettings};
use secrecy::SecretString;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The context window of models that Ollama serves, in tokens, unless `contextWindow` sets another one.
const OLLAMA_WINDOW: u32 = 16_384;

/// The environment variables that configure models, API keys among them.
#[derive(Clone, Default)]
pub(super) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The value of a variable that is set and not blank.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Copies these variables from `env`, as far as they are set.
    pub(super) fn take<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
        env: &BTreeMap<String, String>,
    ) {
        let found = names.into_iter().filter_map(|name| env.get_key_value(name));
        self.0.extend(found.map(|(name, value)| (name.clone(), value.clone())));
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A model with everything that a call needs.
#[derive(Debug, Clone)]
pub struct Target {
    /// Name of the provider: `anthropic`, `ollama`, `openai-compatible`, ….
    pub provider: String,
    /// Name of the model at the provider.
    pub model: String,
    /// Base URL, ending in `/`.
    pub endpoint: String,
    /// Environment variable with the API key; `None` if the provider needs none.
    pub key_env: Option<String>,
    /// Price of the model, if known.
    pub price: Option<ModelPrice>,
    /// Sizes of the model, as far as they are known.
    pub limits: ModelLimits,
    /// Whether responses are streamed.
    pub stream: bool,
    pub(super) protocol: Protocol,
    pub(super) key: Option<SecretString>,
    /// Masks the secrets of the run in error messages of the provider.
    pub(super) redactor: Arc<Redactor>,
}

impl Target {
    /// A model of a built-in provider, with the first of its API keys that is set.
    pub(super) fn known(
        known: &KnownProvider,
        model: &str,
        env: &Environment,
        prices: &Prices,
    ) -> Result<Target, String> {
        let settings = TierSettings {
            provider: Some(known.name.to_owned()),
            model: model.to_owned(),
            ..TierSettings::default()
        };
        Target::configured(&settings, env, prices)
    }

    /// A model at an OpenAI-compatible endpoint.
    pub(super) fn compatible(
        endpoint: &str,
        model: &str,
        key: Option<&str>,
        env: &Environment,
        prices: &Prices,
    ) -> Result<Target, String> {
        let settings = TierSettings {
            endpoint: Some(endpoint.to_owned()),
            model: model.to_owned(),
            api_key_env: key.map(str::to_owned),
            ..TierSettings::default()
        };
        Target::configured(&settings, env, prices)
    }

    /// The model of `llm.tiers.TIER`; the error names what is missing.
    pub(super) fn configured(
        settings: &TierSettings,
        env: &Environment,
        prices: &Prices,
    ) -> Result<Target, String> {
        let provider = settings.provider.as_deref();
        let known = match provider {
            Some(name) => known::by_name(name),
            None if settings.endpoint.is_none() => known::by_model(&settings.model),
            None => None,
        };
        let endpoint = match (&settings.endpoint, known) {
            (Some(endpoint), _) => base(endpoint)?,
            (None, Some(known)) => known.endpoint.to_owned(),
            (None, None) => return Err(unknown(provider, &settings.model)),
        };
        let (key_env, key) = key(settings, known, env)?;
        let model = settings.model.clone();
        let provider = provider_name(provider, known, &endpoint);
        let protocol = protocol(known, &provider, &model);
        let price = settings.price.or_else(|| prices.at(&model, is_local(&endpoint)));
        Ok(Target {
            provider,
            limits: limits(protocol, &model).or_own(settings.context_window, settings.max_output),
            protocol,
            stream: settings.stream != Some(false),
            model,
            endpoint,
            key_env,
            price,
            key,
            redactor: Arc::default(),
        })
    }

    /// Another model of the same server.
    pub(super) fn with_model(&self, model: &str, prices: &Prices) -> Target {
        let price = prices.at(model, is_local(&self.endpoint));
        let limits = limits(self.protocol, model);
        Target { model: model.to_owned(), price, limits, ..self.clone() }
    }

    /// Everything except the API key, for the journal.
    pub fn frozen(&self) -> Json {
        let price = self.price.map(|price| {
            json!({
                "input": price.input,
                "output": price.output,
                "cachedInput": price.cached_input,
                "cacheWrite": price.cache_write,
            })
        });
        json!({
            "provider": self.provider,
            "model": self.model,
            "endpoint": self.endpoint,
            "apiKeyEnv": self.key_env,
            "price": price,
            "contextWindow": self.limits.window,
            "maxOutputTokens": self.limits.output,
            "stream": self.stream,
        })
    }

    /// Restores the result of [`Target::frozen`], with the current API key.
    pub(super) fn from_frozen(
        frozen: &Json,
        env: &Environment,
        prices: &Prices,
    ) -> Result<Target, String> {
        let text = |key: &str| frozen[key].as_str().map(str::to_owned);
        let tokens = |key: &str| frozen[key].as_u64().and_then(|count| u32::try_from(count).ok());
        let price = &frozen["price"];
        let price = price["input"].as_f64().zip(price["output"].as_f64()).map(|(input, output)| {
            ModelPrice {
                input,
                output,
                cached_input: price["cachedInput"].as_f64(),
                cache_write: price["cacheWrite"].as_f64(),
            }
        });
        let settings = TierSettings {
            provider: text("provider"),
            model: text("model").ok_or("the journal contains no model")?,
            endpoint: text("endpoint"),
            api_key_env: text("apiKeyEnv"),
            price,
            context_window: tokens("contextWindow"),
            max_output: tokens("maxOutputTokens"),
            stream: frozen["stream"].as_bool(),
        };
        Target::configured(&settings, env, prices)
    }
}

/// Whether a URL addresses this machine.
pub(super) fn is_local(endpoint: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(endpoint) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

/// The normalised base URL: with `/v1` if it has no path, without `chat/completions`, with a slash at
/// the end.
fn base(endpoint: &str) -> Result<String, String> {
    let bad =
        || format!("the endpoint `{endpoint}` is not a URL such as `http://127.0.0.1:8080/v1`");
    let url = reqwest::Url::parse(endpoint.trim()).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "an endpoint must not contain a password; name a variable with `apiKeyEnv`".into()
        );
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = if path.is_empty() { "/v1" } else { path };
    let mut url = url.clone();
    url.set_path(&format!("{path}/"));
    url.set_fragment(None);
    Ok(url.to_string())
}

fn key(
    settings: &TierSettings,
    known: Option<&KnownProvider>,
    env: &Environment,
) -> Result<(Option<String>, Option<SecretString>), String> {
    let secret = |name: &str| {
        env.get(name).map(|value| (Some(name.to_owned()), Some(SecretString::from(value))))
    };
    if let Some(name) = &settings.api_key_env {
        let model = &settings.model;
        let missing =
            || format!("`{name}`, which must contain the API key of `{model}`, is not set");
        return secret(name).ok_or_else(missing);
    }
    // The key of a provider is not sent to another endpoint.
    let names = match (known, &settings.endpoint) {
        (Some(known), None) => known.keys,
        (Some(known), Some(own)) if same_host(own, known.endpoint) => known.keys,
        _ => &[],
    };
    if let Some(found) = names.iter().find_map(|name| secret(name)) {
        return Ok(found);
    }
    if names.is_empty() {
        Ok((None, None))
    } else {
        Err(format!("`{}` needs an API key in `{}`", settings.model, names.join("` or `")))
    }
}

fn same_host(a: &str, b: &str) -> bool {
    let host = |text: &str| reqwest::Url::parse(text).ok()?.host_str().map(str::to_owned);
    host(a).is_some_and(|host_a| host(b).as_ref() == Some(&host_a))
}

fn provider_name(given: Option<&str>, known: Option<&KnownProvider>, endpoint: &str) -> String {
    let at_endpoint = || known::KNOWN.iter().find(|known| known.endpoint == endpoint);
    let known = known.or_else(at_endpoint).map(|known| known.name);
    known.or(given).unwrap_or("openai-compatible").to_owned()
}

/// OpenAI serves its `codex` and `pro` models only through responses, and from GPT-5.6 on it accepts
/// tools of a model that reasons only there.
fn needs_responses(model: &str) -> bool {
    let version = model.strip_prefix("gpt-").and_then(|rest| {
        let version = rest.split('-').next()?;
        let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    model.contains("codex")
        || model.ends_with("-pro")
        || version.is_some_and(|version| version >= (5, 6))
}

/// The sizes of a model. Ollama serves a model with the context window that a request names; its default
/// is smaller than most prompts.
fn limits(protocol: Protocol, model: &str) -> ModelLimits {
    match protocol {
        Protocol::Ollama => {
            ModelLimits { window: Some(OLLAMA_WINDOW), output: None, ..ModelLimits::of(model) }
        }
        _ => ModelLimits::of(model),
    }
}

fn protocol(known: Option<&KnownProvider>, provider: &str, model: &str) -> Protocol {
    match known {
        None if provider == OLLAMA => Protocol::Ollama,
        Some(known) if known.name == "openai" && needs_responses(model) => {
            Protocol::OpenAiResponses
        }
        Some(known) => known.protocol,
        None => Protocol::OpenAi,
    }
}

fn unknown(provider: Option<&str>, model: &str) -> String {
    match provider {
        Some(name) => format!(
            "the provider `{name}` of `{model}` is unknown; set its `endpoint`, or use one of {}",
            known::names()
        ),
        None => format!("no provider is known for `{model}`; set `provider` or `endpoint`"),
    }
}
