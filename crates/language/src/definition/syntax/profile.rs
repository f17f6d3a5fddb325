//! Decodes agent profiles: markdown files with front matter and a system prompt.

use super::specialist::{common, finish_role};
use super::{Decoder, Node};
use crate::definition::keys;
use crate::definition::kind::profile_path;
use crate::definition::model::{ModelChoice, Reasoning, Specialist};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{Digest, SpecialistId, Tier};
use unicode_normalization::UnicodeNormalization;

/// Decodes an agent profile: front matter, and a body that is the system prompt. Subagent files of
/// Claude Code have this form with additional keys.
pub(crate) fn profile(
    root: &Node,
    body: &str,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let fields = decoder.fields(root, &keys::specialist::PROFILE)?;
    let id = id(path, fields.span, decoder)?;
    let mut found = Specialist::bare(id, fields.span, path, digest);
    common(&fields, &mut found, decoder);
    if found.name.is_empty() {
        found.name = super::playbook::file_stem(path).to_owned();
    }
    if let Some(node) = fields.get("model") {
        model(node, &mut found.model, decoder);
    }
    let model = &mut found.model;
    model.temperature = fields.number("temperature", decoder).or(model.temperature);
    model.max_tokens = fields.integer("maxTokens", decoder).or(model.max_tokens);
    model.reasoning = fields.text("effort", decoder).map(|text| effort(&text)).or(model.reasoning);
    if let Some(turns) = fields.integer("maxTurns", decoder) {
        found.limits.max_steps = turns;
    }
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
        let mut denied = Specialist::bare(found.id.clone(), fields.span, path, digest);
        decoder.tools(node, &mut denied);
        found.tools.retain(|tool| !denied.tools.contains(tool));
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

/// Decodes a model name, a tier, or one of Claude Code's model aliases.
fn model(node: &Node, model: &mut ModelChoice, decoder: &mut Decoder) {
    let Some(text) = decoder.text(node, "model") else { return };
    match text {
        "inherit" => {}
        "haiku" => model.tier = Tier::Small,
        "sonnet" => model.tier = Tier::Medium,
        "opus" => model.tier = Tier::Large,
        tier if Tier::parse(tier).is_some() => model.tier = Tier::parse(tier).unwrap_or(model.tier),
        name => model.model = Some(name.to_owned()),
    }
}
