//! Keys of servers of the Model Context Protocol: `mcp` of the settings, and `mcpServers` of a specialist.

use super::choice;
use super::choice_tables::SERVER_TRANSPORT_NAMES;
use super::table::KeyType::{
    Choice, Duration, Integer, ListOrOne, Map, MapOf, OneOf, Pattern, Text,
};
use super::table::{KeyRule, KeySpec, KeyTable, KeyType, key, table};
use crate::definition::model::NetworkAccess;

pub(crate) static MCP: KeyTable = table(
    "mcp",
    "`mcp`",
    "Servers of the Model Context Protocol, whose tools specialists can call.",
    &[MCP_KEYS],
);

const MCP_KEYS: &[KeySpec] = &[key(
    "servers",
    MapOf(const { &Map(&MCP_SERVER) }),
    "Servers by name; their tools are `mcp:NAME:TOOL`.",
)
.example("{files: {command: [mcp-files, docs]}}")];

pub(crate) static MCP_SERVER: KeyTable =
    table("mcpServer", "an MCP server", "A server of the Model Context Protocol.", &[SERVER_KEYS])
        .rule(KeyRule::ExactlyOne(&["command", "url"]));

/// An entry of `mcpServers` of a specialist: a server, or the name of one of the settings.
pub(crate) const SERVER_ITEM: KeyType = OneOf(const { &[Text, Map(&MCP_SERVER_ITEM)] });

pub(crate) static MCP_SERVER_ITEM: KeyTable = table(
    "mcpServerItem",
    "an MCP server",
    "A server of the Model Context Protocol that a specialist defines.",
    &[NAME_KEY, SERVER_KEYS],
)
.rule(KeyRule::ExactlyOne(&["command", "url"]));

const NAME_KEY: &[KeySpec] = &[key(
    "name",
    Pattern("^[a-z][a-z0-9_-]{0,31}$"),
    "Name of the server; its tools are `mcp:NAME:TOOL`.",
)
.required()
.example("files")];

const SERVER_KEYS: &[KeySpec] = &[
    key(
        "command",
        ListOrOne(&Text),
        "Program and arguments. A text is split at its spaces.",
    )
    .example("npx my-db-server"),
    key("args", ListOrOne(&Text), "Further arguments.").example("[--verbose]"),
    key("url", Pattern("^https?://"), "Address of a server that is spoken to over HTTP.")
        .example("http://localhost:3000")
        .run_refused(),
    key(
        "transport",
        Choice(SERVER_TRANSPORT_NAMES),
        "How the server is spoken to; `http` and `sse` are not supported yet.",
    )
    .default("`stdio`, or `http` with a `url`"),
    key(
        "env",
        MapOf(&Text),
        "Variables of the process. A value is a text, `env:NAME`, `file:PATH` or `{{secrets.NAME}}`.",
    )
    .example("{TOKEN: \"env:DB_TOKEN\"}"),
    key(
        "network",
        choice::<NetworkAccess>(),
        "Network of the process: a private loopback interface, none, or that of this machine.",
    )
    .default("none"),
    key("startTimeout", Duration, "Time from its start until it has listed its tools.")
        .default("10s"),
    key("timeout", Duration, "Time limit of a call.").default("60s").example("90s"),
    key("maxResultKib", Integer(1, 1024), "Maximum size of a result in KiB.").default("256"),
    key("maxTools", Integer(1, 1000), "Maximum number of tools.").default("200"),
];
