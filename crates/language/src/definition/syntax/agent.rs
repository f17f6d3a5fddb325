//! Decodes specialists in the `agent:` form.

use super::allow_list::AllowList;
use super::memory::{MEMORY_USE, memory_use};
use super::model_choice::BrainKeys;
use super::specialist::{AllForms, CAPABILITIES, finish_role, scalar};
use super::specialist_parts::{AgentLoop, Display, capabilities};
use super::tool_security::{add_rules, specialist_security};
use super::{Decoder, Node, Unread};
use crate::definition::keys::KeyType::{AnyMap, Integer, List, Map, OneOf, Scalar, Text};
use crate::definition::keys::{Named, keys};
use crate::definition::model::{ContextProfile, NetworkAccess, Specialist};
use crate::definition::settings::{ToolRules, tool_rules};
use kb_base::value::{Digest, SpecialistId};
use std::time::Duration;

keys! {
    /// A specialist in the `agent:` form.
    struct FileKeys(): AGENT_FILE = ("agentFile", "the file") {
        /// Not used in this form.
        _schema: Unread = "schema", example("kb.specialist/1");
        /// The specialist.
        _agent: Unread = "agent" as Map(&AGENT), required;
    }

    /// A specialist in the `agent:` form: everything is below the key `agent`.
    struct AgentKeys(): AGENT = ("agent", "an agent") {
        /// Unique id of the specialist.
        _name: Unread = "name" as Text, required, example("agent.writer.001");
        /// Type of the agent.
        _type: Option<String> = "type", example("writer"), unused;
        /// Version, for display.
        version: Option<String> = "version" as Scalar => scalar, example("\"1.0\"");
        /// How the specialist is shown.
        display: Option<Display> = "display", example("{name: Writer}");
        /// Model and system prompt in one map; the same as `llm` and `role`.
        brain: Option<BrainKeys> = "brain", example("{model: gpt-4o}");
        /// Allow-list of tools.
        tools: AgentTools = "tools" as OneOf(const { &[Text, List(&Text), Map(&AGENT_TOOLS)] }) => tools,
            default("no tools"), example("[fs:read]"), names(Named::Tool);
        /// Network of its commands and of the commands that check its work: a private loopback interface, none, or that of this machine.
        network: NetworkAccess = "network", default("loopback");
        /// What the specialist can do. A step calls an entry that is a map by its name (`capability`).
        _capabilities: Unread = "capabilities" as CAPABILITIES, example("[review code]");
        /// How much of its conversation the model sees.
        context: Option<ContextProfile> = "context", default("`llm.context` of the settings");
        /// Gives an attempt phases: understand, plan, execute, critique, finish.
        agent_loop: Option<AgentLoop> = "agentLoop", example("{maxIterations: 3}");
        /// Limits of one attempt.
        limits: Option<AgentLimits> = "limits", example("{max_execution_time_seconds: 300}");
        /// How it uses what is remembered across runs.
        _memory: Unread = "memory" as Map(&MEMORY_USE), example("{read: [fact, pitfall], propose: true}");
        /// Registration of the agent.
        _registry: Unread = "registry", example("{id: reviewer}"), planned;
    } with {
        /// What all forms have.
        all: AllForms,
    }

    /// Tools of a specialist in the `agent:` form.
    struct AgentTools(Default): AGENT_TOOLS = ("agentTools", "`tools`") {
        /// Allow-list of tools.
        enabled: AllowList = "enabled", default("no tools"), example("[file_read]");
        /// Restrictions of its tools, in addition to those of the settings.
        security: ToolRules = "security" as AnyMap => tool_rules, example("{fs:write: {requires_approval: true}}");
    }

    /// Limits of a specialist in the `agent:` form.
    struct AgentLimits(): AGENT_LIMITS = ("agentLimits", "`limits`") {
        /// Time limit of one attempt in seconds.
        seconds: Option<u32> = "maxExecutionTimeSeconds" as Integer(1, 1_000_000), default("300");
        /// Maximum number of further attempts of a step or item after the first one, whatever their reason.
        max_retries: Option<u32> = "maxRetries" as Integer(0, 100), default("as the step allows");
    }
}

/// Decodes the form in which everything is below one key `agent`.
pub(crate) fn agent(
    root: &Node,
    path: &str,
    digest: Digest,
    decoder: &mut Decoder,
) -> Option<Specialist> {
    let outer = decoder.fields(root, &AGENT_FILE)?;
    let inner = decoder.required(&outer, "agent")?;
    let fields = decoder.fields(inner, &AGENT)?;
    let name = decoder.required(&fields, "name");
    let id = name.and_then(|node| Some((decoder.specialist_id(node)?, node.span)));
    let own = AgentKeys::of(&fields, decoder)?;
    let (id, span) = match id {
        Some(id) => id,
        // The rest is still decoded, so that all of its problems are reported.
        None => (SpecialistId::new("unnamed").ok()?, fields.span),
    };
    let mut found = Specialist::bare(id, span, path, digest);
    found.version = own.version;
    if let Some(display) = own.display {
        display.set(&mut found);
    }
    if let Some(brain) = own.brain {
        brain.set(&mut found);
    }
    own.tools.enabled.add_to(&mut found);
    add_rules(&own.tools.security, &mut found);
    if let Some(node) = fields.get("memory") {
        memory_use(node, &mut found, decoder);
    }
    if let Some(node) = fields.get("security") {
        specialist_security(node, &mut found, decoder);
    }
    found.network = own.network;
    if let Some(node) = fields.get("capabilities") {
        capabilities(node, &mut found, decoder);
    }
    found.context = own.context;
    if let Some(phases) = own.agent_loop {
        phases.set(&mut found.limits, false);
    }
    if let Some(limits) = own.limits {
        let seconds = limits.seconds.map(|seconds| Duration::from_secs(seconds.into()));
        found.limits.timeout = seconds.unwrap_or(found.limits.timeout);
        found.limits.max_retries = limits.max_retries;
    }
    own.all.set(&mut found);
    found.not_yet.append(&mut decoder.refused);
    name?;
    finish_role(&mut found);
    Some(found)
}

/// `tools`: an allow-list, or `{enabled, security}`.
fn tools(node: &Node, _: &str, decoder: &mut Decoder) -> AgentTools {
    if node.as_map().is_none() {
        let enabled = decoder.allow_list(node);
        return AgentTools { enabled, ..AgentTools::default() };
    }
    AgentTools::from_node(node, decoder).unwrap_or_default()
}
