//! Decodes agent profiles: markdown files with front matter and a system prompt.

use super::allow_list::AllowList;
use super::specialist::{AllForms, CommonKeys, finish_role, with_tools};
use super::{Decoder, KeyValue, Node, Unread};
use crate::definition::keys::KeyType::{Integer, Number};
use crate::definition::keys::keys;
use crate::definition::kind::profile_path;
use crate::definition::model::{ModelChoice, Reasoning, Specialist};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{Digest, SpecialistId, Tier};
use unicode_normalization::UnicodeNormalization;

keys! {
    /// An agent profile: the front matter of a markdown file in `.kb/agents/` or `agents/`. The body is the system prompt, the path is the id. Subagent files of Claude Code have this form.
    struct FrontMatter(): PROFILE = ("profile", "an agent profile") {
        /// Not used: a profile is recognised by its folder.
        _schema: Unread = "schema", example("kb.specialist/1");
        /// Another id; the path is the id.
        _id: Unread = "id", example("reviewer"), unused;
    } with {
        /// What specialists have too.
        common: CommonKeys,
        /// What profiles and files of Claude Code have.
        own: ProfileKeys,
        /// What all forms have.
        all: AllForms,
    }

    /// The keys that only profiles have.
    struct ProfileKeys() {
        /// Name of a model, a tier, or one of `haiku`, `sonnet`, `opus` and `inherit`.
        model: Option<String> = "model", example("sonnet");
        /// Sampling temperature.
        temperature: Option<f64> = "temperature" as Number(0.0, 2.0), default("that of the provider");
        /// Maximum tokens of one response, without its reasoning.
        max_tokens: Option<u32> = "maxTokens" as Integer(1, u32::MAX), default("the limit of the model, at most 16,384");
        /// Maximum number of model calls.
        max_turns: Option<u32> = "maxTurns" as Integer(1, 10_000), default("15");
        /// Tools to remove from `tools`.
        _disallowed_tools: Unread = "disallowedTools" as AllowList::TYPE, example("[Bash]");
        /// Color for display.
        _color: Unread = "color", example("blue"), unused;
        /// Type of the agent.
        _type: Unread = "type", example("reviewer"), unused;
        /// Tags.
        _labels: Unread = "tags", example("[review, rust]"), unused;
        /// Permission mode of Claude Code. Runs with `plan` are refused; other values have no effect.
        _permission_mode: Unread = "permissionMode", example("default");
        /// Skills of Claude Code.
        _skills: Unread = "skills", example("[rust]"), planned;
        /// Hooks of Claude Code, which can deny tool calls.
        _hooks: Unread = "hooks", example("{PreToolUse: []}"), run_refused;
        /// Reasoning effort: `low`, `medium` or `high`; others count as `high`.
        effort: Option<String> = "effort", example("high");
        /// Whether the agent runs in the background.
        _background: Unread = "background", example("true"), planned;
        /// Isolation of the agent. Use `workspace` of the step.
        _isolation: Unread = "isolation", example("worktree"), run_refused;
    }
}

/// Decodes an agent profile: front matter, and a body that is the system prompt. Subagent files of
/// Claude Code have this form with additional keys.
pub(crate) fn profile(
    root: &Node,
    body: &str,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let fields = decoder.fields(root, &PROFILE)?;
    let id = id(path, fields.span, decoder);
    let found = FrontMatter::of(&fields, decoder);
    let FrontMatter { common, own, all, .. } = found?;
    let mut found = Specialist::bare(id?, fields.span, path, digest);
    common.set(&mut found);
    all.set(&mut found);
    with_tools(&fields, &mut found, decoder);
    if found.name.is_empty() {
        found.name = super::playbook::file_stem(path).to_owned();
    }
    let model = &mut found.model;
    if let Some(text) = &own.model {
        choose(text, model);
    }
    model.temperature = own.temperature.or(model.temperature);
    model.max_tokens = own.max_tokens.or(model.max_tokens);
    model.reasoning = own.effort.map(|text| effort(&text)).or(model.reasoning);
    found.limits.max_steps = own.max_turns.unwrap_or(found.limits.max_steps);
    if let Some((key, node)) = fields.entry("permissionMode") {
        // Only this mode restricts what the agent may do.
        match node.as_text() {
            Some("plan") => {
                decoder.not_yet("permissionMode: plan", node.span);
                found.not_yet.append(&mut decoder.refused);
            }
            _ => decoder.comes_later("permissionMode", key.span),
        }
    }
    if let Some(node) = fields.get("disallowedTools") {
        // Tools that are not supported yet are also allowed here.
        let denied = decoder.allow_list(node).tools;
        found.tools.retain(|tool| !denied.contains(tool));
    }
    prompt(body, &mut found, fields.span, decoder);
    Some(found)
}

/// The id of a profile: its path as `agent:` writes it.
pub(crate) fn path_id(path: &str) -> String {
    profile_path(path).nfc().collect()
}

fn id(path: &str, span: Span, decoder: &mut Decoder) -> Option<SpecialistId> {
    let text = path_id(path);
    match SpecialistId::new(&text) {
        Ok(id) => Some(id),
        Err(error) => {
            let message = format!("the path `{text}` cannot be the id of a specialist");
            let help = format!("rename the file; use {}", error.expected);
            decoder.push(Diagnostic::error(Code::BAD_ID, span, message).help(help));
            None
        }
    }
}

fn prompt(body: &str, found: &mut Specialist, span: Span, decoder: &mut Decoder) {
    let body = body.trim();
    if !body.is_empty() {
        let given = std::mem::take(&mut found.role);
        found.role = if given.is_empty() { body.to_owned() } else { format!("{given}\n\n{body}") };
    } else if found.role.is_empty() {
        decoder.push(
            Diagnostic::warning(Code::NO_EFFECT, span, "the profile has no system prompt")
                .help("write it below the front matter"),
        );
    }
    finish_role(found);
}

/// The effort of Claude Code; `xhigh` and `max` are its further levels.
fn effort(text: &str) -> Reasoning {
    match text {
        "low" => Reasoning::Low,
        "medium" => Reasoning::Medium,
        _ => Reasoning::High,
    }
}

/// Chooses a model by its name, a tier, or one of Claude Code's model aliases.
fn choose(text: &str, model: &mut ModelChoice) {
    match text {
        "inherit" => {}
        "haiku" => model.tier = Tier::Small,
        "sonnet" => model.tier = Tier::Medium,
        "opus" => model.tier = Tier::Large,
        tier if Tier::parse(tier).is_some() => model.tier = Tier::parse(tier).unwrap_or(model.tier),
        name => model.model = Some(name.to_owned()),
    }
}
