//! Decodes the project settings. Start at [`settings`].

use super::environment::is_variable;
use super::secrets::secrets;
use super::tool_security::{security_of_003, tools};
use super::{Decoder, Fields, Node};
use crate::definition::model::{
    ApprovalLevel, InconclusivePolicy, ModelPrice, ProcessChoice, PromptRecording, Settings,
    SyncMode, TierSettings,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::value::Tier;

const KEYS: [&str; 12] = [
    "schema",
    "llm",
    "orchestrator",
    "verifier",
    "tools",
    "security",
    "secrets",
    "env",
    "sandbox",
    "testCommands",
    "journal",
    "limits",
];

/// Decodes the settings of a project.
pub(crate) fn settings(root: &Node, decoder: &mut Decoder) -> Option<Settings> {
    let fields = decoder.fields(root, "the settings", &KEYS)?;
    let mut settings = Settings::default();
    if let Some(node) = fields.get("llm") {
        llm(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("orchestrator") {
        let inner = decoder.fields(node, "`orchestrator`", &["escalation"]);
        if let Some(node) = inner.and_then(|inner| inner.get("escalation")) {
            escalation(node, &mut settings, decoder);
        }
    }
    if let Some(node) = fields.get("verifier") {
        settings.inconclusive = verifier(node, decoder);
    }
    if let Some(node) = fields.get("tools") {
        tools(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("security") {
        security_of_003(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("secrets") {
        secrets(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("env") {
        let inner = decoder.fields(node, "`env`", &["pass"]);
        if let Some(node) = inner.and_then(|inner| inner.get("pass")) {
            settings.env_pass = decoder.texts(node, "pass");
        }
    }
    rest(&fields, &mut settings, decoder);
    Some(settings)
}

fn rest(fields: &Fields<'_>, settings: &mut Settings, decoder: &mut Decoder) {
    if let Some(node) = fields.get("sandbox") {
        sandbox(node, settings, decoder);
    }
    if let Some((key, node)) = fields.entry("testCommands") {
        decoder.not_yet("testCommands", key.span, None);
        settings.test_commands = decoder.texts(node, "testCommands");
    }
    if let Some(node) = fields.get("journal") {
        let inner = decoder.fields(node, "`journal`", &["sync", "prompts"]);
        if let Some(node) = inner.as_ref().and_then(|inner| inner.get("sync")) {
            let choices = [("normal", SyncMode::Normal), ("full", SyncMode::Full)];
            settings.sync = decoder.one_of(node, "sync", &choices).unwrap_or_default();
        }
        if let Some(node) = inner.as_ref().and_then(|inner| inner.get("prompts")) {
            let choices = [("full", PromptRecording::Full), ("digest", PromptRecording::Digest)];
            settings.prompts = decoder.one_of(node, "prompts", &choices).unwrap_or_default();
        }
    }
    if let Some(node) = fields.get("limits") {
        let inner = decoder.fields(node, "`limits`", &["maxParallel"]);
        settings.max_parallel = inner
            .and_then(|inner| inner.get("maxParallel"))
            .and_then(|node| decoder.integer(node, "maxParallel", 1, 100_000));
    }
}

/// Decodes `sandbox:`. `sandbox: required` is short for `{require: kernel}`.
fn sandbox(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    const KEYS: [&str; 5] = ["require", "criticalUnapprovedAt", "processes", "read", "write"];
    if node.as_text() == Some("required") {
        settings.sandbox_require = Some(ApprovalLevel::Kernel);
        return;
    }
    let Some(fields) = decoder.fields(node, "`sandbox`", &KEYS) else { return };
    let mut at = |key: &str| fields.get(key).and_then(|node| level(node, key, decoder));
    settings.sandbox_require = at("require");
    settings.critical_unapproved_at = at("criticalUnapprovedAt");
    let choices = [
        ("group", ProcessChoice::Group),
        ("auto", ProcessChoice::Auto),
        ("pidNamespace", ProcessChoice::PidNamespace),
    ];
    let chosen = fields.get("processes");
    let chosen = chosen.and_then(|node| decoder.one_of(node, "processes", &choices));
    settings.processes = chosen.unwrap_or_default();
    let mut paths =
        |key: &str| fields.get(key).map_or_else(Vec::new, |node| decoder.texts(node, key));
    settings.sandbox_read = paths("read");
    settings.sandbox_write = paths("write");
}

fn level(node: &Node, key: &str, decoder: &mut Decoder) -> Option<ApprovalLevel> {
    let choices = [
        ("none", ApprovalLevel::None),
        ("process", ApprovalLevel::Process),
        ("kernel", ApprovalLevel::Kernel),
    ];
    decoder.one_of(node, key, &choices)
}

fn llm(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    const KEYS: [&str; 3] = ["tiers", "prices", "maxInputTokens"];
    let Some(fields) = decoder.fields(node, "`llm`", &KEYS) else { return };
    settings.max_input_tokens = fields
        .get("maxInputTokens")
        .and_then(|node| decoder.integer(node, "maxInputTokens", 100, 10_000_000));
    if let Some(node) = fields.get("tiers")
        && let Some(inner) = decoder.fields(node, "`tiers`", &["small", "medium", "large"])
    {
        for (name, _, node) in inner.iter() {
            if let (Some(tier), Some(found)) = (Tier::parse(name), tier(node, name, decoder)) {
                settings.tiers.insert(tier, found);
            }
        }
    }
    let Some(node) = fields.get("prices") else { return };
    match node.as_map() {
        Some(entries) => {
            for (key, node) in entries {
                if let Some(price) = price(node, decoder) {
                    settings.prices.insert(key.text.to_string(), price);
                }
            }
        }
        None => decoder.wrong_type(node, "prices", "a map from models to `{input, output}`"),
    }
}

fn tier(node: &Node, name: &str, decoder: &mut Decoder) -> Option<TierSettings> {
    const KEYS: [&str; 5] = ["provider", "model", "endpoint", "apiKeyEnv", "price"];
    let what = format!("the tier `{name}`");
    let fields = decoder.fields(node, &what, &KEYS)?;
    let model = decoder.required(&fields, "model", &what).and_then(|n| decoder.text(n, "model"));
    let endpoint = fields.get("endpoint").and_then(|node| endpoint(node, decoder));
    let api_key_env = fields.get("apiKeyEnv").and_then(|node| {
        let text = decoder.text(node, "apiKeyEnv")?;
        if !is_variable(text) {
            decoder.push(
                Diagnostic::error(
                    Code::BAD_SETTING,
                    node.span,
                    "`apiKeyEnv` is not the name of an environment variable",
                )
                .help("write a variable name such as `OPENAI_API_KEY`, never the key itself"),
            );
            return None;
        }
        Some(text.to_owned())
    });
    Some(TierSettings {
        provider: fields
            .get("provider")
            .and_then(|n| decoder.text(n, "provider"))
            .map(str::to_owned),
        model: model?.to_owned(),
        endpoint,
        api_key_env,
        price: fields.get("price").and_then(|node| price(node, decoder)),
    })
}

fn endpoint(node: &Node, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, "endpoint")?;
    if !(text.starts_with("http://") || text.starts_with("https://")) {
        let help = "write the whole URL, such as `http://127.0.0.1:11434/v1`".to_owned();
        decoder.bad_value(node.span, format!("`{text}` is not a URL"), help);
        return None;
    }
    Some(text.to_owned())
}

fn price(node: &Node, decoder: &mut Decoder) -> Option<ModelPrice> {
    let fields = decoder.fields(node, "a price", &["input", "output", "cachedInput"])?;
    let mut dollars = |key: &str, needed: bool| {
        let node = match needed {
            true => decoder.required(&fields, key, "a price")?,
            false => fields.get(key)?,
        };
        decoder.number(node, key, 0.0, f64::INFINITY)
    };
    let (input, output, cached_input) =
        (dollars("input", true), dollars("output", true), dollars("cachedInput", false));
    Some(ModelPrice { input: input?, output: output?, cached_input })
}

/// Decodes `orchestrator.escalation`. Cost limits that are not supported yet refuse the run; the other
/// keys have no effect without escalation.
fn escalation(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    const KEYS: [&str; 6] = [
        "maxEscalationsPerSpecialist",
        "maxLargeTierUsesPerRun",
        "maxCostUsdPerRun",
        "warnCostUsdThreshold",
        "budgetAllocation",
        "defaultLadder",
    ];
    let Some(fields) = decoder.fields(node, "`escalation`", &KEYS) else { return };
    for (name, key, _) in fields.iter() {
        let refuse = ["maxCostUsdPerRun", "warnCostUsdThreshold"].contains(&name);
        decoder.not_yet(name, key.span, refuse.then_some(&mut settings.not_yet));
    }
    let limits = &mut settings.escalation;
    let mut count =
        |key: &str| fields.get(key).and_then(|node| decoder.integer(node, key, 0, u32::MAX));
    limits.per_specialist = count("maxEscalationsPerSpecialist");
    limits.large_uses = count("maxLargeTierUsesPerRun");
    let mut dollars =
        |key: &str| fields.get(key).and_then(|node| decoder.number(node, key, 0.0, f64::INFINITY));
    limits.max_cost_usd = dollars("maxCostUsdPerRun");
    limits.warn_cost_usd = dollars("warnCostUsdThreshold");
    if let Some(node) = fields.get("defaultLadder") {
        match node.as_map() {
            Some(entries) => {
                for (key, node) in entries {
                    let ladder = decoder.ladder(node, &key.text);
                    limits.ladders.insert(key.text.to_string(), ladder);
                }
            }
            None => decoder.wrong_type(node, "defaultLadder", "a map from specialists to tiers"),
        }
    }
}

/// Decodes `verifier.inconclusivePolicy`: a map, or its `action` alone.
fn verifier(node: &Node, decoder: &mut Decoder) -> Option<InconclusivePolicy> {
    const KEYS: [&str; 5] =
        ["action", "retryWithProbes", "maxRetries", "escalateTo", "failOnInconclusive"];
    let fields = decoder.fields(node, "`verifier`", &["inconclusivePolicy"])?;
    let node = fields.get("inconclusivePolicy")?;
    if node.as_map().is_none() {
        return inconclusive(node, decoder);
    }
    let fields = decoder.fields(node, "`inconclusivePolicy`", &KEYS)?;
    for key in ["retryWithProbes", "maxRetries", "escalateTo"] {
        if let Some((at, _)) = fields.entry(key) {
            decoder.comes_later(key, at.span);
        }
    }
    let fail =
        fields.get("failOnInconclusive").and_then(|n| decoder.boolean(n, "failOnInconclusive"));
    let action = fields.get("action").and_then(|node| inconclusive(node, decoder));
    if fail == Some(true) { Some(InconclusivePolicy::Fail) } else { action }
}

fn inconclusive(node: &Node, decoder: &mut Decoder) -> Option<InconclusivePolicy> {
    let choices = [
        ("warn", Some(InconclusivePolicy::Warn)),
        ("fail", Some(InconclusivePolicy::Fail)),
        ("askUser", Some(InconclusivePolicy::AskUser)),
        ("retry", None),
        ("escalate", None),
    ];
    let policy = decoder.one_of(node, "action", &choices)?;
    match policy {
        None => decoder.not_yet(node.as_text().unwrap_or_default(), node.span, None),
        Some(InconclusivePolicy::AskUser) => decoder.push(
            Diagnostic::warning(
                Code::NOT_IMPLEMENTED,
                node.span,
                "`askUser` is not supported yet: an inconclusive verdict fails the step".to_owned(),
            )
            .help("use `warn` or `fail`"),
        ),
        Some(InconclusivePolicy::Warn | InconclusivePolicy::Fail) => {}
    }
    policy
}
