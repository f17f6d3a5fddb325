//! Keys of coding agents: `agents` of the settings, and `agent` of a specialist.

use super::choice;
use super::table::KeyType::{ListOrOne, Map, MapOf, OneOf, Pattern, Text};
use super::table::{KeyRule, KeySpec, KeyTable, KeyType, key, table};
use crate::definition::model::AgentTools;

/// `agents` of the settings.
pub(crate) const AGENTS: KeyType = MapOf(const { &Map(&CODING_AGENT) });

/// `agent` of a specialist: a name, or a map.
pub(crate) const AGENT_OF_SPECIALIST: KeyType = OneOf(const { &[Text, Map(&CODING_AGENT_ITEM)] });

pub(crate) static CODING_AGENT: KeyTable = table(
    "codingAgent",
    "a coding agent",
    "A coding agent that speaks the Agent Client Protocol.",
    &[AGENT_KEYS],
);

pub(crate) static CODING_AGENT_ITEM: KeyTable = table(
    "codingAgentItem",
    "`agent`",
    "The coding agent that does the work of a specialist.",
    &[NAME_KEY, AGENT_KEYS],
)
.rule(KeyRule::AtLeastOne(&["name", "command"]));

const NAME_KEY: &[KeySpec] = &[key(
    "name",
    Pattern("^[a-z][a-z0-9_-]{0,31}$"),
    "Name of an agent: of the settings, or one that `kb` knows.",
)
.example("opencode")];

const AGENT_KEYS: &[KeySpec] = &[
    key("command", ListOrOne(&Text), "Program and arguments. A text is split at its spaces.")
        .default("that of the known agent")
        .example("[opencode, acp]"),
    key(
        "env",
        MapOf(&Text),
        "Variables of the process. A value is a text, `env:NAME`, `file:PATH` or `{{secrets.NAME}}`.",
    )
    .example("{ANTHROPIC_API_KEY: \"env:ANTHROPIC_API_KEY\"}"),
    key("mode", Text, "Mode of the session, as the agent names it.")
        .default("that of the agent")
        .example("default"),
    key("model", Text, "Model of the session, as the agent names it.")
        .default("that of the agent")
        .example("opus"),
    key(
        "tools",
        choice::<AgentTools>(),
        "`kb`: it works with the tools of the specialist, each call of which is recorded. `own`: it works with its own tools.",
    )
    .default("kb"),
];
