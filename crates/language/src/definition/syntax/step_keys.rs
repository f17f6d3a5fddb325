//! Keys of steps, and of `defaults`, which sets them for all steps. The keys of one kind are beside its decoder, in
//! `kind`.

use super::cache::cache;
use super::for_each::{FOR_EACH, ITEMS, MATRIX};
use super::hooks::HOOKS;
use super::locks::locks;
use super::policies::{RECOVERY, timeout};
use super::repeat::{LOOP, repeat};
use super::step_output::STEP_OUTPUT;
use super::{Decoder, Node, Unread};
use crate::definition::keys::KeyType::Integer;
use crate::definition::keys::KeyType::{
    Boolean, Duration, Forbidden, List, ListOrOne, Map, MapOf, OneOf, Pattern, ScalarTemplate, Text,
};
use crate::definition::keys::{
    KeyRule, KeyScope, KeySpec, KeyTable, Named, choice, key, keys, table,
};
use crate::definition::kind;
use crate::definition::model::{
    Budget, Cache, EvidenceMode, Loop, MergePolicy, OnError, RetryPolicy, RunIf, StepSandbox,
    Timeout, Verify, WorkspaceMode,
};
use crate::expression::{Expression, Reference, Root, Template};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::StepId;

pub(crate) static STEP: KeyTable = table(
    "step",
    "a step",
    "One step.",
    &[kind::KEYS, ID, kind::OWN_KEYS, StepKeys::KEYS, STEP_HOOKS],
)
.rule(KeyRule::OneOrInherited(kind::NAMES));

pub(crate) static DEFAULTS: KeyTable = table(
    "defaults",
    "`defaults`",
    "Step keys that apply to every step that does not set them.",
    &[kind::KEYS, NO_ID, kind::OWN_KEYS, StepKeys::KEYS, NO_HOOKS],
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

keys! {
    /// What steps of all kinds have.
    pub(super) struct StepKeys() {
        /// Display name.
        name: Option<String> = "name", scope(KeyScope::Name), example("Run the tests");
        /// Steps that must have ended before this one starts.
        depends_on: Box<[(StepId, Span)]> = "dependsOn" as ListOrOne(&Text) => depends_on, scope(KeyScope::Attempts),
            example("[build, lint]"), names(Named::EarlierStep);
        /// The step is skipped if this expression is false.
        condition: Option<Expression> = "condition" => condition, example("\"{{test.output.failed}} > 0\"");
        /// Join: which statuses of the dependencies let the step run.
        run_if: RunIf = "runIf", scope(KeyScope::Attempts), default("allSucceeded");
        /// Structured input of a specialist, or arguments of a tool.
        _input: Unread = "input", example("{path: out.txt, content: \"{{text}}\"}");
        /// Time limit of one attempt.
        timeout: Timeout = "timeout" as OneOf(const { &[Duration, Timeout::MAP] }) => timeout, scope(KeyScope::Attempts),
            example("10m");
        /// Retry policy.
        _retry: Unread = "retry" as RetryPolicy::MAP, scope(KeyScope::Attempts), example("{max: 2}");
        /// Recovery table: ordered rules for failed attempts.
        _recovery: Unread = "recovery" as List(const { &Map(&RECOVERY) }), scope(KeyScope::Attempts),
            default("for specialists a default table, else none"), example("[{on: [transient], do: retry, max: 2}]");
        /// Maximum number of attempts in one iteration.
        max_attempts: Option<u32> = "maxAttempts" as Integer(1, 1000), scope(KeyScope::Attempts),
            default("the sum that the recovery table allows");
        /// Whether the step may run again after a crash during an attempt.
        retry_safe: bool = "retrySafe", scope(KeyScope::Attempts), default("true");
        /// Gate that decides whether the step counts as done.
        _verify: Unread = "verify" as Verify::MAP, scope(KeyScope::Gate), example("{checks: [{file: out.txt}]}");
        /// `continue` tolerates a failure of this step.
        on_error: OnError = "onError", scope(KeyScope::Attempts), default("fail");
        /// Environment variables of its processes.
        _env: Unread = "env" as MapOf(&ScalarTemplate), example("{NAME: \"{{name}}\"}");
        /// Working directory, relative to the project root.
        cwd: Option<Template> = "cwd", default("."), example("packages/app"), names(Named::Folder);
        /// Locks that the step holds while it runs.
        locks: Vec<String> = "locks" => locks, example("[database]");
        /// The files of the step: those of the project, with the `workspace` lock (`exclusive`) or without it (`shared`), or those of a git worktree or a copy.
        workspace: Option<WorkspaceMode> = "workspace", default("`exclusive` for specialists with a writing tool");
        /// How the changes of a step with a worktree or a copy reach the project.
        _merge: Unread = "merge" as choice::<MergePolicy>(), scope(KeyScope::Attempts), default("patch");
        /// Whether file changes of its processes are recorded.
        evidence: Option<EvidenceMode> = "evidence", default("`full` if its checks need them");
        /// Whether its commands run in the sandbox of specialists: with `auto` after the start of a specialist of the run that can write files, until a person has answered an `approve` step, and if they read a foreign value. A map is `always` and opens what it names.
        sandbox: Option<StepSandbox> = "sandbox", only(AUTHOR), default("auto"), example("{network: open}");
        /// Limits of cost, tokens and tool calls of the step.
        budget: Option<Budget> = "budget", scope(KeyScope::Attempts), example("{maxTokens: 50000}");
        /// One step instance per item of a list, map, number, glob or file.
        _for_each: Unread = "forEach" as OneOf(const { &[ITEMS, Map(&FOR_EACH)] }), example("\"{{plan.output.files}}\"");
        /// One step instance per combination of some values; not together with `forEach`.
        _matrix: Unread = "matrix" as Map(&MATRIX), example("{axes: {os: [linux, mac], version: [1, 2]}}");
        /// Runs the step again until a condition is true.
        repeat: Option<Loop> = "loop" as Map(&LOOP) => repeat, example("{until: \"{{review.verdict}} == 'passed'\", max: 3}");
        /// Takes the result of an earlier execution with the same key, and stores the own one.
        cache: Option<Cache> = "cache" as OneOf(const { &[Boolean, Cache::MAP] }) => cache, scope(KeyScope::Attempts),
            only(CACHED), default("false"), example("{inputs: [\"src/**\"], ttl: 24h}");
        /// Output of the step.
        _output: Unread = "output" as Map(&STEP_OUTPUT), example("{schema: {files: \"string[]\"}}");
    }
}

/// Decodes `condition:`. It is evaluated once, before there are items, so it cannot read one.
fn condition(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Expression> {
    let condition = decoder.expression(node, key)?;
    let of_item = |reference: &&Reference| matches!(reference.root, Root::Item | Root::Index);
    if let Some(found) = condition.references().iter().find(of_item) {
        let name = match found.root {
            Root::Index => "index",
            _ => decoder.names.item.as_deref().unwrap_or("item"),
        };
        let message = format!(
            "`{name}` is not available in a condition, which is evaluated once for all items"
        );
        let help = "filter the list itself, such as `forEach: \"{{ files | selectattr('changed') | list }}\"`";
        decoder.push(
            Diagnostic::error(Code::NAME_OUT_OF_SCOPE, found.span, message)
                .caption("evaluated before there are items")
                .help(help),
        );
        return None;
    }
    Some(condition)
}

fn depends_on(node: &Node, key: &str, decoder: &mut Decoder) -> Box<[(StepId, Span)]> {
    let mut found = Vec::new();
    for item in decoder.list(node, key) {
        let Some(text) = decoder.text(item, key) else { continue };
        match StepId::new(text) {
            Ok(id) => found.push((id, item.span)),
            Err(error) => {
                let message = format!("`{text}` cannot be the id of a step");
                let help = format!("use {}", error.expected);
                decoder.push(Diagnostic::error(Code::BAD_ID, item.span, message).help(help));
            }
        }
    }
    found.into()
}
