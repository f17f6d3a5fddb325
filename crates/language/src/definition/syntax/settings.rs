//! Decodes the project settings. Start at [`settings`].

use super::coding_agent::agents;
use super::environment::is_variable;
use super::mcp::mcp;
use super::memory::memory_settings;
use super::notify::{is_url, notify};
use super::secrets::secrets;
use super::serve::serve;
use super::tool_security::{agent_security, tools};
use super::{Decoder, Key, Node};
use crate::definition::gate_check::judge;
use crate::definition::keys::choices::{
    AUTHOR_SANDBOX, CONTEXT_PROFILE, INCONCLUSIVE_ACTION, ON_INCONCLUSIVE, PROCESSES, PROMPTS,
    REASONING, SANDBOX_LEVEL, SYNC,
};
use crate::definition::keys::sandbox::SANDBOX;
use crate::definition::keys::settings as keys;
use crate::definition::mcp::with_server;
use crate::definition::model::{
    ApprovalLevel, InconclusivePolicy, ModelPrice, Settings, TierSettings,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::Tier;
use std::collections::BTreeMap;

/// Decodes the settings of a project.
pub(crate) fn settings(root: &Node, decoder: &mut Decoder) -> Option<Settings> {
    let fields = decoder.fields(root, &keys::SETTINGS)?;
    let mut settings = Settings::default();
    fields.text("$schema", decoder);
    if let Some(node) = fields.get("llm") {
        llm(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("orchestrator") {
        let inner = decoder.fields(node, &keys::ORCHESTRATOR);
        settings.min_confidence =
            inner.as_ref().and_then(|inner| inner.number("minConfidence", decoder));
        if let Some(node) = inner.and_then(|inner| inner.get("escalation")) {
            escalation(node, &mut settings, decoder);
        }
    }
    if let Some(node) = fields.get("verifier") {
        verifier(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("secrets") {
        secrets(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("mcp") {
        mcp(node, &mut settings, decoder);
        for server in settings.mcp.values() {
            decoder.tools = with_server(&decoder.tools, server, &decoder.pinned);
        }
    }
    if let Some(node) = fields.get("agents") {
        agents(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("tools") {
        tools(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("security") {
        agent_security(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("notify") {
        notify(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("env") {
        let inner = decoder.fields(node, &keys::ENV);
        settings.env_pass = inner.map(|inner| inner.texts("pass", decoder)).unwrap_or_default();
    }
    if let Some(node) = fields.get("sandbox") {
        sandbox(node, &mut settings, decoder);
    }
    settings.test_commands = fields.texts("testCommands", decoder);
    if let Some(node) = fields.get("journal") {
        let inner = decoder.fields(node, &keys::JOURNAL);
        let sync = inner.as_ref().and_then(|inner| inner.choice("sync", SYNC, decoder));
        settings.sync = sync.unwrap_or_default();
        let prompts = inner.as_ref().and_then(|inner| inner.choice("prompts", PROMPTS, decoder));
        let mut mib = |name| inner.as_ref().and_then(|inner| inner.integer(name, decoder));
        settings.logs.step_mib = mib("stepLogMib").unwrap_or(settings.logs.step_mib);
        settings.logs.run_mib = mib("runLogMib").unwrap_or(settings.logs.run_mib);
        settings.retention = inner.and_then(|inner| inner.duration("retention", decoder));
        settings.prompts = prompts.unwrap_or_default();
    }
    if let Some(node) = fields.get("cache") {
        let inner = decoder.fields(node, &keys::CACHE);
        settings.cache_mib = inner.and_then(|inner| inner.integer("maxMib", decoder));
    }
    if let Some(node) = fields.get("memory") {
        memory_settings(node, &mut settings, decoder);
    }
    if let Some(node) = fields.get("limits") {
        let inner = decoder.fields(node, &keys::LIMITS);
        settings.max_parallel = inner.and_then(|inner| inner.integer("maxParallel", decoder));
    }
    if let Some(node) = fields.get("serve") {
        serve(node, &mut settings, decoder);
    }
    decoder.unsupported_keys(&fields, &mut settings.not_yet);
    Some(settings)
}

/// Decodes `sandbox:`. `sandbox: required` is short for `{require: kernel}`.
fn sandbox(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    if node.as_text() == Some("required") {
        settings.sandbox_require = Some(ApprovalLevel::Kernel);
        return;
    }
    let Some(fields) = decoder.fields(node, &SANDBOX) else { return };
    settings.sandbox_require = fields.choice("require", SANDBOX_LEVEL, decoder);
    settings.critical_unapproved_at = fields.choice("criticalUnapprovedAt", SANDBOX_LEVEL, decoder);
    settings.processes = fields.choice("processes", PROCESSES, decoder).unwrap_or_default();
    settings.sandbox_steps = fields.choice("steps", AUTHOR_SANDBOX, decoder).unwrap_or_default();
    settings.sandbox_read = fields.texts("read", decoder);
    settings.sandbox_write = fields.texts("write", decoder);
}

fn llm(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::LLM) else { return };
    settings.max_input_tokens = fields.integer("maxInputTokens", decoder);
    settings.context = fields.choice("context", CONTEXT_PROFILE, decoder);
    settings.reasoning = fields.choice("reasoning", REASONING, decoder);
    if let Some(node) = fields.get("tiers")
        && let Some(inner) = decoder.fields(node, &keys::TIERS)
    {
        for (key, _, node) in inner.iter() {
            if let (Some(tier), Some(found)) =
                (Tier::parse(key.name), tier(node, key.name, decoder))
            {
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
    let what = format!("the tier `{name}`");
    let fields = decoder.fields_of(node, &what, &keys::TIER)?;
    let model = decoder.required_in(&fields, "model", &what).and_then(|n| decoder.text(n, "model"));
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
        provider: fields.text("provider", decoder),
        model: model?.to_owned(),
        endpoint,
        api_key_env,
        price: fields.get("price").and_then(|node| price(node, decoder)),
        context_window: fields.integer("contextWindow", decoder),
        max_output: fields.integer("maxOutputTokens", decoder),
        stream: fields.boolean("stream", decoder),
    })
}

fn endpoint(node: &Node, decoder: &mut Decoder) -> Option<String> {
    let text = decoder.text(node, "endpoint")?;
    if !is_url(text) {
        let help = "write the whole URL, such as `http://127.0.0.1:11434/v1`".to_owned();
        decoder.bad_value(node.span, format!("`{text}` is not a URL"), help);
        return None;
    }
    Some(text.to_owned())
}

fn price(node: &Node, decoder: &mut Decoder) -> Option<ModelPrice> {
    let fields = decoder.fields(node, &keys::PRICE)?;
    let mut dollars = |key: &str| {
        decoder.required(&fields, key)?;
        fields.number(key, decoder)
    };
    let (input, output) = (dollars("input"), dollars("output"));
    let cached_input = fields.number("cachedInput", decoder);
    let cache_write = fields.number("cacheWrite", decoder);
    Some(ModelPrice { input: input?, output: output?, cached_input, cache_write })
}

/// Decodes `orchestrator.escalation`. Cost limits that are not supported yet refuse the run.
fn escalation(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::ESCALATION) else { return };
    decoder.unsupported_keys(&fields, &mut settings.not_yet);
    let limits = &mut settings.escalation;
    limits.per_specialist = fields.integer("maxEscalationsPerSpecialist", decoder);
    limits.large_uses = fields.integer("maxLargeTierUsesPerRun", decoder);
    limits.max_cost_usd = fields.number("maxCostUsdPerRun", decoder);
    limits.warn_cost_usd = fields.number("warnCostUsdThreshold", decoder);
    if let Some(node) = fields.get("budgetAllocation") {
        limits.shares = shares(node, decoder);
        limits.named.extend(names(node).filter(|(name, _)| name != ORCHESTRATOR));
    }
    if let Some(node) = fields.get("defaultLadder") {
        limits.named.extend(names(node));
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

/// The share of calls that no specialist makes.
pub(crate) const ORCHESTRATOR: &str = "orchestrator";

/// The keys of a map, with their positions.
fn names(node: &Node) -> impl Iterator<Item = (String, Span)> {
    let entries = node.as_map().into_iter().flatten();
    entries.map(|(key, _)| (key.text.to_string(), key.span))
}

/// Decodes `budgetAllocation`: percentages that are at most 100 together.
fn shares(node: &Node, decoder: &mut Decoder) -> BTreeMap<String, u32> {
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "budgetAllocation", "a map from specialists to percentages");
        return BTreeMap::new();
    };
    let percent = |(key, node): &(Key, Node)| {
        Some((key.text.to_string(), decoder.integer(node, &key.text, 0, 100)?))
    };
    let shares: BTreeMap<String, u32> = entries.iter().filter_map(percent).collect();
    let sum: u32 = shares.values().sum();
    if sum > 100 {
        let message = format!("the shares of `budgetAllocation` add up to {sum} %");
        decoder.bad_value(node.span, message, "lower them to at most 100 % together".to_owned());
    }
    shares
}

/// Decodes `verifier`.
fn verifier(node: &Node, settings: &mut Settings, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(node, &keys::VERIFIER) else { return };
    settings.strict = fields.boolean("strict", decoder).unwrap_or(false);
    settings.judge_every_answer = fields.boolean("judgeEveryAnswer", decoder).unwrap_or(false);
    if let Some(node) = fields.get("judge") {
        settings.judge = judge(node, decoder).unwrap_or_default();
    }
    if let Some(node) = fields.get("inconclusivePolicy") {
        settings.undecided.inconclusive = inconclusive_policy(node, settings, decoder);
    }
    settings.undecided.unchecked = fields.choice("uncheckedPolicy", ON_INCONCLUSIVE, decoder);
}

/// Decodes `verifier.inconclusivePolicy`: a map, or its `action` alone.
fn inconclusive_policy(
    node: &Node,
    settings: &mut Settings,
    decoder: &mut Decoder,
) -> Option<InconclusivePolicy> {
    if node.as_map().is_none() {
        return inconclusive(node, decoder);
    }
    let fields = decoder.fields(node, &keys::INCONCLUSIVE)?;
    decoder.unsupported_keys(&fields, &mut settings.not_yet);
    let retries = fields.integer("maxRetries", decoder).unwrap_or(1);
    if fields.boolean("retryWithProbes", decoder) == Some(true) {
        settings.probe_retries = retries;
    }
    let fail = fields.boolean("failOnInconclusive", decoder);
    let action = fields.get("action").and_then(|node| inconclusive(node, decoder));
    if fail == Some(true) { Some(InconclusivePolicy::Fail) } else { action }
}

fn inconclusive(node: &Node, decoder: &mut Decoder) -> Option<InconclusivePolicy> {
    let policy = decoder.one_of(node, "action", INCONCLUSIVE_ACTION)?;
    if policy.is_none() {
        let action = node.as_text().unwrap_or_default();
        let row = if action == "retry" { "retry" } else { "escalateModel" };
        let message = format!("the steps decide what `{action}` means, not the settings");
        let help = format!(
            "write `fail` here and `recovery: [{{on: [gate_inconclusive], do: {row}}}]` in the steps; with `askUser` a \
             person decides"
        );
        decoder.push(Diagnostic::error(Code::MISPLACED_KEY, node.span, message).help(help));
    }
    policy
}
