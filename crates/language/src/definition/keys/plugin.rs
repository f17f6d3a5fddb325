//! Keys of plugins.

use super::choice;
use super::table::KeyType::{
    AnyMap, Boolean, Constant, Duration, Expression, List, Map, OneOf, Pattern, Scalar, Schema,
    Text,
};
use super::table::{KeySpec, KeyTable, key, table};
use crate::definition::model::NetworkAccess;
use crate::toolspec::ToolLevel;

pub(crate) static PLUGIN: KeyTable = table(
    "plugin",
    "a plugin",
    "A plugin: a tool that the project defines, in `.kb/plugins/`. Its name is `plugin:ID`.",
    &[PLUGIN_KEYS],
);

const PLUGIN_KEYS: &[KeySpec] = &[
    key("schema", Constant("kb.plugin/1"), "Kind of the file and version of the format.")
        .required()
        .example("kb.plugin/1"),
    key("id", Pattern("^[a-z][a-z0-9_-]{0,63}$"), "Unique id of the plugin.")
        .required()
        .example("deploy"),
    key("description", Text, "What the tool does and when to use it, for models and people.")
        .required()
        .example("Deploy a build to an environment."),
    key(
        "argv",
        List(&Scalar),
        "Program and arguments, without placeholders. It runs in the project root, reads the input as JSON on stdin and writes the output as JSON on stdout.",
    )
    .required()
    .example("[python3, tools/deploy.py]"),
    key("input", Map(&PLUGIN_INPUT), "Arguments of a call.").default("no arguments"),
    key("output", Map(&PLUGIN_OUTPUT), "Result of a call.").required(),
    key("level", choice::<ToolLevel>(), "Risk level of a call.").default("critical"),
    key("network", choice::<NetworkAccess>(), "The network that the program can use.").default("none"),
    key("timeout", Duration, "Time limit of a call.").default("2m"),
    key(
        "probes",
        List(const { &Map(&PROBE) }),
        "Checks after each successful call that show whether it had its effect.",
    )
    .example("[{tool: fs:exists, input: {path: \"{{output.path}}\"}, expect: \"{{result.exists}}\"}]"),
];

pub(crate) static PLUGIN_MANIFEST: KeyTable = table(
    "pluginManifest",
    "a manifest of tools",
    "The other form of a plugin file: several tools. Each is named `plugin:ID` with its own id.",
    &[MANIFEST_KEYS],
);

const MANIFEST_KEYS: &[KeySpec] = &[
    key("schema", Constant("kb.plugin/1"), "Kind of the file and version of the format.")
        .example("kb.plugin/1"),
    key(
        "argv",
        List(&Scalar),
        "Program of the tools that name none; the variable `KB_TOOL` is the id of the tool.",
    )
    .example("[python3, tools/deploy.py]"),
    key("level", choice::<ToolLevel>(), "Risk level of the tools that name none.")
        .default("critical"),
    key("network", choice::<NetworkAccess>(), "The network of the tools that name none.")
        .default("none"),
    key("timeout", Duration, "Time limit of a call of the tools that name none.").default("2m"),
    key("tools", List(const { &Map(&MANIFEST_TOOL) }), "The tools.")
        .required()
        .example("[{id: deploy, output: {schema: {url: string}}}]"),
];

pub(crate) static MANIFEST_TOOL: KeyTable =
    table("manifestTool", "a tool of a manifest", "A tool of a manifest.", &[MANIFEST_TOOL_KEYS]);

const MANIFEST_TOOL_KEYS: &[KeySpec] = &[
    key("id", Pattern("^[a-z][a-z0-9_-]{0,63}$"), "Unique id of the tool.")
        .required()
        .example("deploy"),
    key("description", Text, "What the tool does and when to use it, for models and people.")
        .example("Deploy a build to an environment."),
    key("argv", List(&Scalar), "As `argv` of a plugin. Without a program a call fails.")
        .default("as in the manifest")
        .example("[python3, tools/deploy.py]"),
    key("input", Map(&PLUGIN_INPUT), "Arguments of a call.").default("any arguments"),
    key(
        "output",
        Map(&PLUGIN_OUTPUT),
        "Result of a call. Without a schema, claims about it are `inconclusive`.",
    )
    .default("any JSON value"),
    key("level", choice::<ToolLevel>(), "Risk level of a call.").default("as in the manifest"),
    key("network", choice::<NetworkAccess>(), "The network that the program can use.")
        .default("as in the manifest"),
    key("timeout", Duration, "Time limit of a call.").default("as in the manifest"),
    key("probes", List(const { &Map(&PROBE) }), "Checks after each successful call.")
        .example("[{tool: fs:list, argsTemplate: {path: build}, expect: {empty: true}}]"),
];

pub(crate) static PLUGIN_INPUT: KeyTable =
    table("pluginInput", "`input`", "Arguments of a plugin.", &[INPUT_KEYS]);

const INPUT_KEYS: &[KeySpec] = &[key("schema", Schema, "Schema of the arguments; a map.")
    .required()
    .example("{environment: string}")];

pub(crate) static PLUGIN_OUTPUT: KeyTable =
    table("pluginOutput", "`output`", "Result of a plugin.", &[OUTPUT_KEYS]);

const OUTPUT_KEYS: &[KeySpec] =
    &[key("schema", Schema, "Schema of the output. A call with another output fails.")
        .required()
        .example("{url: string}")];

pub(crate) static PROBE: KeyTable = table(
    "probe",
    "a probe",
    "A call of a tool that changes nothing, and what its result must be.",
    &[PROBE_KEYS],
);

const PROBE_KEYS: &[KeySpec] = &[
    key("id", Text, "Name of the probe in messages.").default("the tool").example("reachable"),
    key("tool", Text, "The tool to call: one that reads files, or a request with GET or HEAD.")
        .required()
        .example("fs:exists"),
    key("input", AnyMap, "Its arguments; placeholders read `input` and `output` of the call.")
        .example("{url: \"{{output.url}}\"}"),
    key("argsTemplate", AnyMap, "The same as `input`, in the spelling of manifests.")
        .example("{path: build}"),
    key(
        "expect",
        OneOf(const { &[Expression, Map(&PROBE_EXPECT)] }),
        "Condition over `input`, `output` and `result`, the result of the probe; or a map.",
    )
    .required()
    .example("\"{{result.status}} == 200\""),
];

pub(crate) static PROBE_EXPECT: KeyTable = table(
    "probeExpect",
    "the expectation of a probe",
    "What the result of a probe must be.",
    &[EXPECT_KEYS],
);

const EXPECT_KEYS: &[KeySpec] = &[key(
    "empty",
    Boolean,
    "Whether the list or text that the probe finds has nothing in it: the entries, the matches, the content.",
)
.required()
.example("true")];
