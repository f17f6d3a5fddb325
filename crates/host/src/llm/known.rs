//! The built-in providers: protocol, endpoint, key variables and default models.

use kb_base::value::Tier;

/// The protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// OpenAI chat completions, which most other providers support too.
    OpenAi,
    /// OpenAI responses, for models without chat completions.
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama `api/chat`.
    Ollama,
}

/// A provider that the settings can name without an endpoint.
pub(super) struct KnownProvider {
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    pub(super) endpoint: &'static str,
    /// Environment variables with the API key, in order of precedence; none for a local server.
    pub(super) keys: &'static [&'static str],
    /// Prefixes of the names of its models.
    pub(super) prefixes: &'static [&'static str],
    /// Default models of the tiers small, medium and large.
    pub(super) models: [&'static str; 3],
}

impl KnownProvider {
    pub(super) fn model(&self, tier: Tier) -> &'static str {
        match tier {
            Tier::Small => self.models[0],
            Tier::Medium => self.models[1],
            Tier::Large => self.models[2],
        }
    }
}

/// All built-in providers. The first one with a key in the environment provides the tiers.
pub(super) const KNOWN: &[KnownProvider] = &[
    KnownProvider {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        endpoint: "https://api.anthropic.com/v1/",
        keys: &["ANTHROPIC_API_KEY"],
        prefixes: &["claude-"],
        models: ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"],
    },
    KnownProvider {
        name: "openai",
        protocol: Protocol::OpenAi,
        endpoint: "https://api.openai.com/v1/",
        keys: &["OPENAI_API_KEY"],
        prefixes: &["gpt-", "chatgpt-", "o1", "o3", "o4"],
        models: ["gpt-6-luna", "gpt-6.1-sol", "gpt-6-astra"],
    },
    KnownProvider {
        name: "gemini",
        protocol: Protocol::Gemini,
        endpoint: "https://generativelanguage.googleapis.com/v1beta/",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        prefixes: &["gemini-"],
        models: ["gemini-3.5-flash-lite", "gemini-3.8-flash", "gemini-3.1-pro-preview"],
    },
    KnownProvider {
        name: "mistral",
        protocol: Protocol::OpenAi,
        endpoint: "https://api.mistral.ai/v1/",
        keys: &["MISTRAL_API_KEY"],
        prefixes: &["mistral-", "codestral-", "devstral-"],
        models: ["mistral-small-latest", "mistral-medium-latest", "mistral-large-latest"],
    },
    KnownProvider {
        name: "deepseek",
        protocol: Protocol::OpenAi,
        endpoint: "https://api.deepseek.com/v1/",
        keys: &["DEEPSEEK_API_KEY"],
        prefixes: &["deepseek-"],
        models: ["deepseek-chat", "deepseek-chat", "deepseek-reasoner"],
    },
    KnownProvider {
        name: "xai",
        protocol: Protocol::OpenAi,
        endpoint: "https://api.x.ai/v1/",
        keys: &["XAI_API_KEY"],
        prefixes: &["grok-"],
        models: ["grok-4-fast", "grok-4", "grok-4"],
    },
    KnownProvider {
        name: "groq",
        protocol: Protocol::OpenAi,
        endpoint: "https://api.groq.com/openai/v1/",
        keys: &["GROQ_API_KEY"],
        prefixes: &[],
        models: ["openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-120b"],
    },
    KnownProvider {
        name: "openrouter",
        protocol: Protocol::OpenAi,
        endpoint: "https://openrouter.ai/api/v1/",
        keys: &["OPENROUTER_API_KEY"],
        prefixes: &[],
        models: ["openrouter/auto", "openrouter/auto", "openrouter/auto"],
    },
    local(OLLAMA, "http://127.0.0.1:11434/v1/", Protocol::Ollama),
    local("llama.cpp", "http://127.0.0.1:8080/v1/", Protocol::OpenAi),
    local("lmstudio", "http://127.0.0.1:1234/v1/", Protocol::OpenAi),
];

/// The name of Ollama.
pub(super) const OLLAMA: &str = "ollama";

/// A server on this machine, with the base URL of its OpenAI-compatible endpoint, which lists its models.
const fn local(name: &'static str, endpoint: &'static str, protocol: Protocol) -> KnownProvider {
    KnownProvider { name, protocol, endpoint, keys: &[], prefixes: &[], models: [""; 3] }
}

/// The provider with that name or one of its common names.
pub(super) fn by_name(name: &str) -> Option<&'static KnownProvider> {
    let spelt: String =
        name.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect();
    let spelt = match spelt.as_str() {
        "google" | "googlegemini" => "gemini",
        "claude" => "anthropic",
        "llamacpp" | "llamaserver" => "llama.cpp",
        other => other,
    };
    KNOWN.iter().find(|known| known.name == spelt)
}

/// The provider of the model with that name; `None` for open weights such as `gpt-oss`, which several
/// providers serve.
pub(super) fn by_model(model: &str) -> Option<&'static KnownProvider> {
    let open = model.starts_with("gpt-oss") || model.contains('/') || model.contains(':');
    let makes =
        |known: &&KnownProvider| known.prefixes.iter().any(|prefix| model.starts_with(prefix));
    KNOWN.iter().find(makes).filter(|_| !open)
}

/// The valid values of `provider`, for messages.
pub(super) fn names() -> String {
    let names: Vec<String> = KNOWN.iter().map(|known| format!("`{}`", known.name)).collect();
    names.join(", ")
}

/// The names of the built-in providers.
pub fn provider_names() -> Vec<&'static str> {
    KNOWN.iter().map(|known| known.name).collect()
}

/// Whether a provider with that name, or with one of its common names, is built in.
pub fn is_provider(name: &str) -> bool {
    by_name(name).is_some()
}
