//! Keys of steps, and of `defaults`, which sets them for all steps. The keys of one kind are beside its
//! decoder, in `kind`.

use super::checks::VERIFY;
use super::choice;
use super::items::{FOR_EACH, ITEMS, MATRIX};
use super::step_parts::{HOOKS, LOOP, RECOVERY, RETRY, STEP_OUTPUT};
use super::table::KeyType::{
    Any, Boolean, Duration, Expression, Forbidden, Integer, List, ListOrOne, Map, MapOf, OneOf,
    Pattern, ScalarTemplate, Template, Text,
};
use super::table::{KeyRule, KeyScope, KeySpec, KeyTable, key, table};
use crate::definition::kind;
use crate::definition::model::{
    AuthorSandbox, Budget, Cache, EvidenceMode, MergePolicy, OnError, RunIf, SandboxOpening,
    Timeout, WorkspaceMode,
};

pub(crate) static STEP: KeyTable =
    table("step", "a step", "One step.", &[kind::KEYS, ID, kind::OWN_KEYS, COMMON, STEP_HOOKS])
        .rule(KeyRule::OneOrInherited(kind::NAMES));

pub(crate) static DEFAULTS: KeyTable = table(
    "defaults",
    "`defaults`",
    "Step keys that apply to every step that does not set them.",
    &[kind::KEYS, NO_ID, kind::OWN_KEYS, COMMON, NO_HOOKS],
);

/// What a key of a step decides, in either spelling. An unknown key counts as a part of the work.
pub fn step_key_scope(written: &str) -> KeyScope {
    let is_it =
        |key: &&KeySpec| key.name == written || key.snake_case().as_deref() == Some(written);
    STEP.keys().find(is_it).map_or(KeyScope::Work, |key| key.scope)
}

const ID: &[KeySpec] =
    &[key("id", Pattern("^[A-Za-z_][A-Za-z0-9_-]*$"), "Id of the step, unique in its playbook.")
        .scope(KeyScope::Name)
        .required()
        .example("build")];

const NO_ID: &[KeySpec] = &[key("id", Forbidden, "Not allowed: steps cannot share an id.")];

const STEP_HOOKS: &[KeySpec] = &[key(
    "hooks",
    Map(&HOOKS),
    "Steps that follow an event of this step; their failures only warn.",
)
.example("{onFailure: [{id: report, run: ./report.sh}]}")];

const NO_HOOKS: &[KeySpec] =
    &[key("hooks", Forbidden, "Not allowed: steps of hooks belong to one step.")];

/// The kinds of steps that execute commands of the author.
const AUTHOR: &[&str] = &["run", "tool", "gate"];
/// The kinds of steps that can have a cached result.
const CACHED: &[&str] = &["specialist", "agent", "run", "tool", "http"];

const COMMON: &[KeySpec] = &[
    key("name", Text, "Display name.").example("Run the tests").scope(KeyScope::Name),
    key("dependsOn", ListOrOne(&Text), "Steps that must have ended before this one starts.")
        .scope(KeyScope::Attempts)
        .example("[build, lint]"),
    key("condition", Expression, "The step is skipped if this expression is false.")
        .example("\"{{test.output.failed}} > 0\""),
    key(
        "runIf",
        choice::<RunIf>(),
        "Join: which statuses of the dependencies let the step run.",
    )
    .scope(KeyScope::Attempts)
    .default("allSucceeded"),
    key("input", Any, "Structured input of a specialist, or arguments of a tool.")
        .example("{path: out.txt, content: \"{{text}}\"}"),
    key("timeout", OneOf(const { &[Duration, Timeout::MAP] }), "Time limit of one attempt.")
        .scope(KeyScope::Attempts)
        .example("10m"),
    key("retry", Map(&RETRY), "Retry policy.").scope(KeyScope::Attempts).example("{max: 2}"),
    key(
        "recovery",
        List(const { &Map(&RECOVERY) }),
        "Recovery table: ordered rules for failed attempts.",
    )
    .scope(KeyScope::Attempts)
    .default("for specialists a default table, else none")
    .example("[{on: [transient], do: retry, max: 2}]"),
    key("maxAttempts", Integer(1, 1000), "Maximum number of attempts in one iteration.")
        .scope(KeyScope::Attempts)
        .default("the sum that the recovery table allows"),
    key("retrySafe", Boolean, "Whether the step may run again after a crash during an attempt.")
        .scope(KeyScope::Attempts)
        .default("true"),
    key("verify", Map(&VERIFY), "Gate that decides whether the step counts as done.")
        .scope(KeyScope::Gate)
        .example("{checks: [{file: out.txt}]}"),
    key("onError", choice::<OnError>(), "`continue` tolerates a failure of this step.")
        .scope(KeyScope::Attempts)
        .default("fail"),
    key("env", MapOf(&ScalarTemplate), "Environment variables of its processes.")
        .example("{NAME: \"{{name}}\"}"),
    key("cwd", Template, "Working directory, relative to the project root.").example("packages/app").default("."),
    key("locks", ListOrOne(&Text), "Locks that the step holds while it runs.")
        .example("[database]"),
    key(
        "workspace",
        choice::<WorkspaceMode>(),
        "The files of the step: those of the project, with the `workspace` lock (`exclusive`) or without \
         it (`shared`), or those of a git worktree or a copy.",
    )
    .default("`exclusive` for specialists with a writing tool"),
    key(
        "merge",
        choice::<MergePolicy>(),
        "How the changes of a step with a worktree or a copy reach the project.",
    )
    .scope(KeyScope::Attempts)
    .default("patch"),
    key("evidence", choice::<EvidenceMode>(), "Whether file changes of its processes are recorded.")
        .default("`full` if its checks need them"),
    key(
        "sandbox",
        OneOf(const { &[choice::<AuthorSandbox>(), SandboxOpening::MAP] }),
        "Whether its commands run in the sandbox of specialists: with `auto` after the start of a specialist \
         of the run that can write files, until a person has answered an `approve` step, and if they read a \
         foreign value. A map is `always` and opens what it names.",
    )
    .only(AUTHOR)
    .default("auto")
    .example("{network: open}"),
    key("budget", Budget::MAP, "Limits of cost, tokens and tool calls of the step.")
        .scope(KeyScope::Attempts)
        .example("{maxTokens: 50000}"),
    key(
        "forEach",
        OneOf(const { &[ITEMS, Map(&FOR_EACH)] }),
        "One step instance per item of a list, map, number, glob or file.",
    )
    .example("\"{{plan.output.files}}\""),
    key(
        "matrix",
        Map(&MATRIX),
        "One step instance per combination of some values; not together with `forEach`.",
    )
    .example("{axes: {os: [linux, mac], version: [1, 2]}}"),
    key("loop", Map(&LOOP), "Runs the step again until a condition is true.")
        .example("{until: \"{{review.verdict}} == 'passed'\", max: 3}"),
    key(
        "cache",
        OneOf(const { &[Boolean, Cache::MAP] }),
        "Takes the result of an earlier execution with the same key, and stores the own one.",
    )
    .scope(KeyScope::Attempts)
    .only(CACHED)
    .default("false")
    .example("{inputs: [\"src/**\"], ttl: 24h}"),
    key("output", Map(&STEP_OUTPUT), "Output of the step.")
        .example("{schema: {files: \"string[]\"}}"),
];
