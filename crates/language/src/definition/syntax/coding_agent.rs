//! Decodes coding agents: `agents` of the settings, and `agent` of a specialist.

use super::mcp::{command_of, variables};
use super::{Decoder, Fields, Node};
use crate::definition::keys::KeyType::{self, Map, MapOf, OneOf, Pattern, Text};
use crate::definition::keys::{KeyRule, keys};
use crate::definition::mcp::is_server_name;
use crate::definition::model::{
    AgentTools, CodingAgent, KNOWN_AGENTS, KnownAgent, Located, ServerValue, Specialist,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

keys! {
    /// A coding agent that speaks the Agent Client Protocol.
    struct AgentKeys(): CODING_AGENT = ("codingAgent", "a coding agent") {
        /// Program and arguments. A text is split at its spaces.
        command: Option<Vec<String>> = "command" => command, default("that of the known agent"), example("[opencode, acp]");
        /// Variables of the process. A value is a text, `env:NAME`, `file:PATH` or `{{secrets.NAME}}`.
        env: Vec<(String, ServerValue)> = "env" as MapOf(&Text) => variables,
            example("{ANTHROPIC_API_KEY: \"env:ANTHROPIC_API_KEY\"}");
        /// Mode of the session, as the agent names it.
        mode: Option<String> = "mode", default("that of the agent"), example("default");
        /// Model of the session, as the agent names it.
        model: Option<String> = "model", default("that of the agent"), example("opus");
        /// `kb`: it works with the tools of the specialist, each call of which is recorded. `own`: it works with its own tools.
        tools: Option<AgentTools> = "tools", default("kb");
    }

    /// The coding agent that does the work of a specialist.
    struct AgentItem(): CODING_AGENT_ITEM = ("codingAgentItem", "`agent`", rule KeyRule::AtLeastOne(&["name", "command"])) {
        /// Name of an agent: of the settings, or one that `kb` knows.
        name: Option<Located<String>> = "name" as Pattern("^[a-z][a-z0-9_-]{0,31}$"), example("opencode");
    } with {
        /// What agents of the settings have too.
        agent: AgentKeys,
    }
}

/// `agents` of the settings.
pub(crate) const AGENTS: KeyType = MapOf(const { &Map(&CODING_AGENT) });

/// `agent` of a specialist: a name, or a map.
pub(crate) const AGENT_OF_SPECIALIST: KeyType = OneOf(const { &[Text, Map(&CODING_AGENT_ITEM)] });

/// Keys that say how `kb` itself calls a model, which an agent does in its own way.
const OF_A_MODEL: [&str; 6] =
    ["llm", "brain", "context", "forcedReasoningInterval", "agentLoop", "mcpServers"];

/// Decodes `agents:` of the settings. Call it after `secrets:`, whose names it refers to.
pub(crate) fn agents(
    node: &Node,
    _: &str,
    decoder: &mut Decoder,
) -> Arc<BTreeMap<String, Arc<CodingAgent>>> {
    let mut found = BTreeMap::new();
    let Some(entries) = node.as_map() else {
        decoder.wrong_type(node, "agents", "a map from names to agents");
        return Arc::default();
    };
    for (key, node) in entries {
        if !is_server_name(&key.text) {
            let message = format!("`{}` cannot be the name of an agent", key.text);
            let help =
                "use a lower-case letter, then at most 31 lower-case letters, digits, `_` and `-`";
            decoder.push(Diagnostic::error(Code::BAD_ID, key.span, message).help(help));
            continue;
        }
        let what = format!("the agent `{}`", key.text);
        let Some(fields) = decoder.fields_of(node, &what, &CODING_AGENT) else { continue };
        let Some(own) = AgentKeys::of(&fields, decoder) else { continue };
        let known = KnownAgent::find(&key.text).map(|known| known.agent(key.span));
        if let Some(agent) = with_keys(own, &fields, known, &key.text, decoder) {
            found.insert(agent.name.clone(), Arc::new(agent));
        }
    }
    Arc::new(found)
}

/// Decodes `agent:` of a specialist. Call it before the other keys, whose defaults it changes.
pub(crate) fn coding_agent(fields: &Fields<'_>, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(node) = fields.get("agent") else { return };
    found.limits.timeout = CodingAgent::TIMEOUT;
    found.limits.max_tool_calls = CodingAgent::TOOL_CALLS;
    found.agent = decoded(node, decoder).map(Arc::new);
    for name in OF_A_MODEL {
        let Some((key, _)) = fields.entry(name) else { continue };
        let message = format!("`{}` has no meaning for a specialist with `agent`", key.text);
        let help = match name {
            "llm" | "brain" => {
                "remove it; `agent: {model}` chooses the model of the agent".to_owned()
            }
            _ => "remove it; the agent has an own way of working".to_owned(),
        };
        decoder.push(Diagnostic::error(Code::BAD_SETTING, key.span, message).help(help));
    }
    let limits = fields.get("limits").and_then(Node::as_map).unwrap_or_default();
    for (key, _) in limits {
        if ["maxSteps", "max_steps", "forcedReasoningInterval", "forced_reasoning_interval"]
            .contains(&&*key.text)
        {
            let message = format!("`{}` has no meaning for a specialist with `agent`", key.text);
            let help = "remove it; `timeout` and `maxToolCalls` limit an agent";
            decoder.push(Diagnostic::error(Code::BAD_SETTING, key.span, message).help(help));
        }
    }
}

fn decoded(node: &Node, decoder: &mut Decoder) -> Option<CodingAgent> {
    if let Some(name) = node.as_text() {
        return named(name, node.span, decoder);
    }
    let fields = decoder.fields(node, &CODING_AGENT_ITEM)?;
    let found = AgentItem::of(&fields, decoder)?;
    let has_command = fields.get("command").is_some();
    let base = match &found.name {
        // With a command of its own, any name will do.
        Some(name) if has_command => find(&name.value, name.span, decoder),
        Some(name) => Some(named(&name.value, name.span, decoder)?),
        None if fields.get("name").is_some() => return None,
        None if !has_command => {
            if !fields.was_meant(&["name", "command"]) {
                let message = "`agent` needs a `name` or a `command`";
                let help = "write `agent: opencode`, or `agent: {command: [PROGRAM, ARGUMENT]}`";
                let missing = Diagnostic::error(Code::MISSING_KEY, fields.span, message);
                decoder.push(missing.help(help));
            }
            return None;
        }
        None => None,
    };
    let name = found.name.map_or_else(|| "agent".to_owned(), |name| name.value);
    with_keys(found.agent, &fields, base, &name, decoder)
}

fn command(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Vec<String>> {
    Some(command_of(node, "an agent", decoder))
}

/// The agent of the settings with this name, or the known one.
fn find(name: &str, span: Span, decoder: &Decoder) -> Option<CodingAgent> {
    let of_settings = decoder.agents.get(name);
    let of_settings = of_settings.map(|own| CodingAgent { span, ..(**own).clone() });
    of_settings.or_else(|| KnownAgent::find(name).map(|known| known.agent(span)))
}

/// The same; an unknown name is an error.
fn named(name: &str, span: Span, decoder: &mut Decoder) -> Option<CodingAgent> {
    let (agents, found) = (decoder.agents.clone(), find(name, span, decoder));
    if found.is_none() {
        let known = || KNOWN_AGENTS.iter().map(|known| known.name);
        let message = format!("no agent has the name `{name}`");
        let help = match decoder.nearest(name, agents.keys().map(String::as_str).chain(known())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "known agents are `{}`; write `agent: {{command: [PROGRAM, ARGUMENT]}}` for another one, or define it below `agents` in the settings",
                known().collect::<Vec<_>>().join("`, `")
            ),
        };
        decoder.push(Diagnostic::error(Code::NO_AGENT, span, message).help(help));
    }
    found
}

/// The agent that these keys define, on top of another one.
fn with_keys(
    own: AgentKeys,
    fields: &Fields<'_>,
    base: Option<CodingAgent>,
    name: &str,
    decoder: &mut Decoder,
) -> Option<CodingAgent> {
    let argv = own.command.or_else(|| base.as_ref().map(|base| base.argv.clone()));
    let argv = argv.unwrap_or_default();
    if argv.is_empty() {
        if fields.get("command").is_none() && !fields.was_meant(&["command"]) {
            let message = format!("the agent `{name}` needs a `command`");
            let help = "write `command: [PROGRAM, ARGUMENT]`";
            decoder.push(Diagnostic::error(Code::MISSING_KEY, fields.span, message).help(help));
        }
        return None;
    }
    let mut env = base.as_ref().map(|base| base.env.clone()).unwrap_or_default();
    env.retain(|(name, _)| own.env.iter().all(|(other, _)| other != name));
    env.extend(own.env);
    let before =
        |of: fn(&CodingAgent) -> &Option<String>| base.as_ref().and_then(|b| of(b).clone());
    Some(CodingAgent {
        name: name.to_owned(),
        env,
        reads_itself: base.as_ref().is_some_and(|base| base.reads_itself),
        mode: own.mode.or_else(|| before(|base| &base.mode)),
        model: own.model.or_else(|| before(|base| &base.model)),
        tools: own.tools.or(base.as_ref().map(|base| base.tools)).unwrap_or_default(),
        span: fields.span,
        argv,
    })
}
