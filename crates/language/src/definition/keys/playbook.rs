//! Keys of playbooks and workflows.

use super::choice;
use super::choice_tables::TRIGGER_NAMES;
use super::step::{DEFAULTS, STEP};
use super::step_parts::HOOKS;
use super::table::KeyType::{
    Any, Boolean, Choice, Constant, List, ListOrOne, Map, MapOf, Number, OneOf, Pattern, Scalar,
    ScalarTemplate, Schema, Template, Text,
};
use super::table::{KeySpec, KeyTable, key, table};
use super::trigger::TRIGGERS;
use crate::definition::model::{
    Budget, ConflictPolicy, Limits, MergePolicy, Order, ParamType, Requirements, WorkspaceMode,
};

const ID_PATTERN: &str = "^[a-z][a-z0-9_-]{0,63}$";
const NAME_PATTERN: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

pub(crate) static PLAYBOOK: KeyTable = table(
    "playbook",
    "a playbook",
    "A playbook: YAML in `.kb/playbooks/` or `playbooks/`.",
    &[PLAYBOOK_ID, COMMON],
);

pub(crate) static WORKFLOW: KeyTable = table(
    "workflow",
    "a workflow",
    "A workflow: the front matter of a markdown file in `.kb/workflows/` or `workflows/`. The body is its documentation.",
    &[WORKFLOW_ID, COMMON],
);

const PLAYBOOK_ID: &[KeySpec] = &[
    key("schema", Constant("kb.playbook/1"), "Kind of the file and version of the language.")
        .required()
        .example("kb.playbook/1"),
    key("id", Pattern(ID_PATTERN), "Unique id of the playbook.").required().example("add-feature"),
];

const WORKFLOW_ID: &[KeySpec] = &[
    key("schema", Constant("kb.playbook/1"), "Version of the language.").example("kb.playbook/1"),
    key("id", Pattern(ID_PATTERN), "Unique id of the workflow.")
        .default("the file name")
        .example("add-feature"),
    key(
        "trigger",
        Choice(TRIGGER_NAMES),
        "Whether a person starts the workflow; `auto` also starts it for each message whose topic is its id.",
    )
    .default("manual"),
];

const COMMON: &[KeySpec] = &[
    key("name", Text, "Display name.").default("the id").example("Add a feature"),
    key("description", Text, "Description shown in lists.")
        .example("Adds a function with its tests"),
    key("version", Scalar, "Version of the playbook; a `playbook` step can ask for it.").example("\"1.2\""),
    key("triggers", ListOrOne(&Text), "Phrases by which a request finds this playbook.")
        .example("[add a feature, implement feature]"),
    key("params", List(const { &Map(&PARAM) }), "Parameters of a run.")
        .example("[{name: topic, required: true}]"),
    key("steps", List(const { &Map(&STEP) }), "Steps of the playbook; at least one.")
        .required()
        .example("[{id: hello, run: echo hello}]"),
    key(
        "finally",
        List(const { &Map(&STEP) }),
        "Steps that run once after all others; their failures only warn.",
    )
    .example("[{id: cleanup, run: rm -rf build}]"),
    key("hooks", Map(&HOOKS), "Steps that follow an event of the run; their failures only warn.")
        .example("{onFailure: [{id: report, run: ./report.sh}]}"),
    key("requires", Requirements::MAP, "What must hold before a run starts.")
        .example("{tools: [git], git: clean}"),
    key("outputs", MapOf(&Any), "Outputs of the run, with placeholders.")
        .example("{summary: \"{{test.output.summary}}\"}"),
    key("env", MapOf(&ScalarTemplate), "Environment variables of every process of the run.")
        .example("{CI: \"true\"}"),
    key("defaults", Map(&DEFAULTS), "Values of step keys for every step that does not set them.")
        .example("{timeout: 10m}"),
    key(
        "workspace",
        choice::<WorkspaceMode>(),
        "The files of every step that does not set `workspace` itself.",
    )
    .example("worktree"),
    key(
        "merge",
        choice::<MergePolicy>(),
        "How the changes of every step that does not set `merge` itself reach the project.",
    )
    .example("rebase"),
    key("limits", Limits::MAP, "Limits of the run.").example("{maxParallel: 4}"),
    key("order", choice::<Order>(), "`sequential` makes each step depend on the step before it.")
        .default("graph"),
    key("budget", Budget::MAP, "Limits of cost, tokens and tool calls of the run.")
        .example("{maxCostUsd: 1.5}"),
    key(
        "concurrency",
        OneOf(const { &[Template, Map(&CONCURRENCY)] }),
        "Group of runs that do not execute at the same time.",
    )
    .example("{group: deploy, onConflict: queue}"),
    key("on", Map(&TRIGGERS), "Triggers that start a run without a person.")
        .example("{schedule: \"0 6 * * *\"}"),
    key(
        "script",
        Text,
        "File with responses that are used in place of a model, for demonstrations; relative to the project root.",
    )
    .example(".kb/scripts/demo.yml"),
];

pub(crate) static PARAM: KeyTable =
    table("param", "a parameter", "One parameter of a playbook.", &[PARAM_KEYS]);

const PARAM_KEYS: &[KeySpec] = &[
    key("name", Pattern(NAME_PATTERN), "Name of the parameter.").required().example("topic"),
    key("type", choice::<ParamType>(), "Type of the value.").default("string"),
    key("required", Boolean, "Whether a run needs a value.").default("false"),
    key("default", Any, "Value if none is given.").example("\".\""),
    key("prompt", Text, "Question that asks for the value on a terminal.").example("Which file?"),
    key("description", Text, "Description shown by `kb playbook info`.")
        .example("The file to change"),
    key("enum", ListOrOne(&Any), "The allowed values.").example("[small, large]"),
    key("pattern", Text, "Regular expression that must match the whole text.")
        .example("\"[a-z]+\""),
    key(
        "min",
        Number(f64::NEG_INFINITY, f64::INFINITY),
        "Minimum number, text length or item count.",
    ),
    key(
        "max",
        Number(f64::NEG_INFINITY, f64::INFINITY),
        "Maximum number, text length or item count.",
    ),
    key("schema", Schema, "Schema of the value.").example("{files: \"string[]\"}"),
];

pub(crate) static CONCURRENCY: KeyTable =
    table("concurrency", "`concurrency`", "The concurrency group of a run.", &[CONCURRENCY_KEYS]);

const CONCURRENCY_KEYS: &[KeySpec] = &[
    key("group", Template, "Name of the group; it can read parameters.")
        .default("the id of the playbook")
        .example("\"deploy-{{target}}\""),
    key(
        "onConflict",
        choice::<ConflictPolicy>(),
        "`queue` waits for the other run, `skip` does not start, `cancelRunning` cancels the other run.",
    )
    .default("queue"),
];
