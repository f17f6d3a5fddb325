//! Decodes specialists (`kb.specialist/1`), and the keys that all forms of a specialist share.

use super::allow_list::AllowList;
use super::coding_agent::{AGENT_OF_SPECIALIST, coding_agent};
use super::mcp::{SERVER_ITEM, allow_own, mcp_servers};
use super::memory::{MEMORY_USE, memory_use};
use super::model_choice::{BrainKeys, LlmKeys};
use super::singleton::{SINGLETON, singleton};
use super::specialist_parts::{
    AgentLoop, CAPABILITY, CONTEXT, Context, Display, Input, Limits, Output, capabilities, context,
};
use super::tool_security::specialist_security;
use super::{Decoder, Fields, KeyValue, Node, Unread};
use crate::definition::keys::KeyType::{
    self, Boolean, Choice, Constant, Integer, List, Map, OneOf, Scalar, Text,
};
use crate::definition::keys::{Named, choice, choice_table, keys};
use crate::definition::kind::profile_path;
use crate::definition::model::{ContextProfile, Example, NetworkAccess, Specialist};
use crate::definition::settings::{GlobalLimits, SECURITY};
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{Digest, SpecialistId};
use unicode_normalization::UnicodeNormalization;

keys! {
    /// A specialist: YAML in `.kb/specialists/ID.yml` or `.kb/specialists/ID/specialist.yml`.
    struct SpecialistKeys(): SPECIALIST = ("specialist", "a specialist") {
        /// Kind of the file and version of the language.
        _schema: Unread = "schema" as Constant("kb.specialist/1"), required, example("kb.specialist/1");
        /// Unique id of the specialist.
        _id: Unread = "id" as Text, required, example("implementer");
        /// The coding agent that does the work in place of a model that `kb` calls: a name, or a map.
        _agent: Unread = "agent" as AGENT_OF_SPECIALIST, example("opencode");
    } with {
        /// What profiles have too.
        common: CommonKeys,
        /// What all forms have.
        all: AllForms,
    }

    /// What specialists and profiles share.
    pub(super) struct CommonKeys() {
        /// Display name.
        name: Option<String> = "name", default("the id"), example("Reviewer");
        /// Version, for display.
        version: Option<String> = "version" as Scalar => scalar, example("\"1.0\"");
        /// Description shown in lists.
        description: Option<String> = "description", example("Reviews Rust code");
        /// How the specialist is shown.
        display: Option<Display> = "display", example("{name: Writer}");
        /// System prompt.
        prompt: Option<String> = "role", example("You review Rust code.");
        /// How much of its conversation the model sees: lengths of tool results, and when older messages become a summary. A map sets more context.
        context: Context = "context" as OneOf(const { &[choice::<ContextProfile>(), Map(&CONTEXT)] }) => context,
            default("`llm.context` of the settings"), example("standard");
        /// Context that is part of every prompt.
        static_context: Option<String> = "staticContext", example("The project uses Rust 2024.");
        /// Examples of past tasks for the prompt.
        examples: Vec<Example> = "examples" as List(const { &Example::MAP }) => examples,
            example("[{task: Rename a flag, approach: Search and edit, outcome: 3 files changed}]");
        /// Choice of the model.
        llm: Option<LlmKeys> = "llm", example("{tier: small}");
        /// Limits of one attempt.
        limits: Option<Limits> = "limits", example("{maxSteps: 10}");
        /// Number of calls after which one turn must answer without tools.
        forced_reasoning: Option<u32> = "forcedReasoningInterval" as Integer(1, 100), default("never");
        /// Gives an attempt phases: understand, plan, execute, critique, finish.
        agent_loop: Option<AgentLoop> = "agentLoop", example("{maxIterations: 3}");
        /// Allow-list of tools; globs such as `fs:*` are allowed.
        _tools: Unread = "tools" as AllowList::TYPE, default("no tools"), example("[fs:read, \"fs:*\"]"), names(Named::Tool);
        /// Network of its commands and of the commands that check its work: a private loopback interface, none, or that of this machine.
        network: NetworkAccess = "network", default("loopback");
        /// Rules for the prompt.
        constraints: Vec<String> = "constraints", example("[Do not change public names]");
        /// What the specialist can do. A step calls an entry that is a map by its name (`capability`).
        _capabilities: Unread = "capabilities" as CAPABILITIES, example("[review code]");
        /// Input of the specialist.
        input: Option<Input> = "input";
        /// `strict` makes invalid input an error.
        strict_input: bool = "inputPolicy" as Choice(INPUT_POLICY_NAMES) => input_policy, default("warn");
        /// Output of the specialist.
        output: Option<Output> = "output", example("{schema: {files: \"string[]\"}}");
        /// Model and system prompt in one map; the same as `llm` and `role`.
        brain: Option<BrainKeys> = "brain", example("{model: gpt-4o}");
        /// MCP servers whose tools it can call: definitions, or names of servers of the settings. Without an entry in `tools`, all tools of a server are on its allow-list.
        _mcp_servers: Unread = "mcpServers" as List(const { &SERVER_ITEM }), example("[{name: files, command: mcp-files}]");
        /// How it uses what is remembered across runs.
        _memory: Unread = "memory" as Map(&MEMORY_USE), example("{read: [fact, pitfall], propose: true}");
    }

    /// What all forms of a specialist share.
    pub(super) struct AllForms() {
        /// Restrictions of its tools, in addition to those of the settings.
        _security: Unread = "security" as Map(&SECURITY), example("{tools: {fs:write: {allowed_paths: [\"docs/**\"]}}}");
        /// Limits of tool calls and model calls, in addition to those of the settings.
        global_limits: Option<GlobalLimits> = "globalLimits", example("{maxToolCallsPerTask: 20}");
        /// Progress events at an interval.
        _progress_heartbeat: Unread = "progressHeartbeat", example("30s"), planned;
        /// Whether at most one attempt of the specialist runs at a time, in all runs of the project. A step waits for its turn.
        singleton: Option<String> = "singleton" as OneOf(const { &[Boolean, Map(&SINGLETON)] }) => singleton,
            default("false"), example("true");
    }
}

choice_table! {
    /// `inputPolicy`: whether invalid input is an error.
    INPUT_POLICY, INPUT_POLICY_NAMES: bool = {
        "warn" => false,
        "strict" => true,
    }
}

/// `capabilities`: names, and maps that steps can call.
pub(super) const CAPABILITIES: KeyType =
    OneOf(const { &[Text, List(const { &OneOf(const { &[Text, Map(&CAPABILITY)] }) })] });

/// Decodes a specialist file (`kb.specialist/1`).
pub(crate) fn specialist(
    root: &Node,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let fields = decoder.fields(root, &SPECIALIST)?;
    decoder.schema_version(&fields, "kb.specialist/1", "a specialist");
    let node = decoder.required(&fields, "id");
    let id = node.and_then(|node| Some((decoder.specialist_id(node)?, node.span)));
    let placeholder = SpecialistId::new("_").or_else(|_| SpecialistId::new("a")).ok()?;
    let mut found = Specialist::bare(placeholder, fields.span, path, digest);
    let own = SpecialistKeys::of(&fields, decoder);
    coding_agent(&fields, &mut found, decoder);
    with_tools(&fields, &mut found, decoder);
    limits_of_texts(&fields, decoder);
    let ((id, span), own) = (id?, own?);
    own.common.set(&mut found);
    own.all.set(&mut found);
    if found.name.is_empty() {
        found.name = id.to_string();
    }
    found.id = id;
    found.span = span;
    finish_role(&mut found);
    Some(found)
}

/// Reports a version that is none, and names and a role that say nothing. Files of other programs may have them.
fn limits_of_texts(fields: &Fields<'_>, decoder: &mut Decoder) {
    if let Some(node) = fields.get("version")
        && let super::Value::Scalar(super::Scalar { text, .. }) = &node.value
        && !text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    {
        let message = format!("`{text}` is no version");
        decoder.bad_value(node.span, message, "write numbers with dots, such as 1.0.0".to_owned());
    }
    let display = fields.get("display").and_then(|display| display.get("name"));
    let texts = [("role", fields.get("role")), ("name", fields.get("name")), ("name", display)];
    for (key, node) in texts.into_iter().filter_map(|(key, node)| Some((key, node?))) {
        if node.as_text().is_some_and(|text| text.trim().is_empty()) {
            let help = format!("write a text, or remove `{key}`");
            decoder.bad_value(node.span, format!("`{key}` is empty"), help);
        }
    }
}

/// Decodes the keys that depend on the tools of the specialist: its servers, its allow-list, and what refers to them.
pub(super) fn with_tools(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    if let Some(node) = fields.get("mcpServers") {
        mcp_servers(node, found, decoder);
    }
    if let Some(node) = fields.get("tools") {
        decoder.allow_list(node).add_to(found);
    }
    allow_own(fields.get("tools"), found, decoder);
    if let Some(node) = fields.get("memory") {
        memory_use(node, found, decoder);
    }
    if let Some(node) = fields.get("security") {
        specialist_security(node, found, decoder);
    }
    if let Some(node) = fields.get("capabilities") {
        capabilities(node, found, decoder);
    }
    found.not_yet.append(&mut decoder.refused);
}

impl CommonKeys {
    /// Applies the keys that have values of their own.
    pub(super) fn set(self, found: &mut Specialist) {
        found.name = self.name.unwrap_or_default();
        found.version = self.version;
        found.description = self.description;
        if let Some(display) = self.display {
            display.set(found);
        }
        found.role = self.prompt.unwrap_or_default();
        found.static_context = self.static_context;
        self.context.set(found);
        found.examples = self.examples;
        if let Some(llm) = self.llm {
            llm.set(&mut found.model);
        }
        if let Some(brain) = self.brain {
            brain.set(found);
        }
        let steps_given = self.limits.as_ref().is_some_and(|limits| limits.max_steps.is_some());
        if let Some(limits) = self.limits {
            limits.set(&mut found.limits);
        }
        if let Some(phases) = self.agent_loop {
            phases.set(&mut found.limits, steps_given);
        }
        let interval = self.forced_reasoning.or(found.limits.forced_reasoning_interval);
        found.limits.forced_reasoning_interval = interval;
        found.network = self.network;
        found.constraints = self.constraints;
        found.input_schema = self.input.and_then(|input| input.schema);
        found.strict_input = self.strict_input;
        found.output_schema = self.output.and_then(|output| output.schema);
    }
}

impl AllForms {
    /// Applies the keys that have values of their own.
    pub(super) fn set(self, found: &mut Specialist) {
        if let Some(limits) = self.global_limits {
            found.global = found.global.narrowed_by(&limits);
        }
        found.singleton = self.singleton;
    }
}

/// Sets the system prompt of a specialist without one from its name and description.
pub(crate) fn finish_role(found: &mut Specialist) {
    if found.role.trim().is_empty() {
        found.role = match &found.description {
            Some(description) => format!("You are {}. {description}", found.name),
            None => format!("You are {}.", found.name),
        };
    }
}

impl Decoder {
    /// Decodes the id of a specialist.
    pub(crate) fn specialist_id(&mut self, node: &Node) -> Option<SpecialistId> {
        let text = self.text(node, "id")?;
        let normal: String = profile_path(text).nfc().collect();
        match SpecialistId::new(&normal) {
            Ok(id) => Some(id),
            Err(error) => {
                let message = format!("`{text}` cannot be the id of a specialist");
                let help = format!("use {}", error.expected);
                self.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
                None
            }
        }
    }
}

fn examples(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<Example> {
    let Some(items) = node.as_seq() else {
        decoder.wrong_type(node, key, "a list of `{task, approach, outcome}`");
        return Vec::new();
    };
    items.iter().filter_map(|item| Example::from_node(item, decoder)).collect()
}

fn input_policy(node: &Node, key: &str, decoder: &mut Decoder) -> bool {
    decoder.one_of(node, key, INPUT_POLICY).unwrap_or(false)
}

/// Decodes a text, number or boolean as text.
pub(super) fn scalar(node: &Node, key: &str, decoder: &mut Decoder) -> Option<String> {
    decoder.scalar(node, key).map(str::to_owned)
}
