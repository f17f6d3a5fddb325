//! Decodes playbooks, and the front matter of workflows. Start at [`playbook`].

use super::hooks::{self, HOOKS, HookNode};
use super::outline::Outline;
use super::params::params;
use super::specialist::scalar;
use super::step::step;
use super::step_keys::{DEFAULTS, STEP};
use super::trigger::{self, TRIGGERS};
use super::{Decoder, Fields, Node, Secrets, Unread};
use crate::definition::check::{dependencies, duplicates, name_clash, name_form, secret_variables};
use crate::definition::keys::KeyType::{
    self, Any, Choice, Constant, List, Map, MapOf, OneOf, Pattern, Scalar, ScalarTemplate,
};
use crate::definition::keys::{Named, choice, choice_table, keys};
use crate::definition::model::concurrency::concurrency;
use crate::definition::model::{
    Budget, Concurrency, DefinitionForm, Limits, MergePolicy, Order, Param, Playbook, Requirements,
    Step, StepPhase, Trigger, WorkspaceMode,
};
use crate::expression::{Style, Template, ValueMap};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{DefinitionId, Digest};
use std::sync::Arc;

keys! {
    /// A playbook: YAML in `.kb/playbooks/` or `playbooks/`.
    struct PlaybookKeys(): PLAYBOOK = ("playbook", "a playbook") {
        /// Kind of the file and version of the language.
        _schema: Unread = "schema" as Constant("kb.playbook/1"), required, example("kb.playbook/1");
        /// Unique id of the playbook.
        _id: Unread = "id" as Pattern(ID_PATTERN), required, example("add-feature");
    } with {
        /// What workflows have too.
        common: CommonKeys,
    }

    /// A workflow: the front matter of a markdown file in `.kb/workflows/` or `workflows/`. The body is its documentation.
    struct WorkflowKeys(): WORKFLOW = ("workflow", "a workflow") {
        /// Version of the language.
        _schema: Unread = "schema" as Constant("kb.playbook/1"), example("kb.playbook/1");
        /// Unique id of the workflow.
        _id: Unread = "id" as Pattern(ID_PATTERN), default("the file name"), example("add-feature");
        /// Whether a person starts the workflow; `auto` also starts it for each message whose topic is its id.
        is_automatic: bool = "trigger" as Choice(TRIGGER_NAMES) => is_automatic, default("manual");
    } with {
        /// What playbooks have too.
        common: CommonKeys,
    }

    /// What playbooks and workflows share.
    struct CommonKeys() {
        /// Display name.
        name: Option<String> = "name", default("the id"), example("Add a feature");
        /// Description shown in lists.
        description: Option<String> = "description", example("Adds a function with its tests");
        /// Version of the playbook; a `playbook` step can ask for it.
        version: Option<String> = "version" as Scalar => scalar, example("\"1.2\"");
        /// Phrases by which a request finds this playbook.
        triggers: Vec<String> = "triggers" => triggers, example("[add a feature, implement feature]");
        /// Parameters of a run.
        params: Option<Vec<Param>> = "params" as List(const { &Param::MAP }) => params, example("[{name: topic, required: true}]");
        /// Steps of the playbook; at least one.
        _steps: Unread = "steps" as List(const { &Map(&STEP) }), required, example("[{id: hello, run: echo hello}]");
        /// Steps that run once after all others; their failures only warn.
        _finally: Unread = "finally" as List(const { &Map(&STEP) }), example("[{id: cleanup, run: rm -rf build}]");
        /// Steps that follow an event of the run; their failures only warn.
        _hooks: Unread = "hooks" as Map(&HOOKS), example("{onFailure: [{id: report, run: ./report.sh}]}");
        /// What must hold before a run starts.
        requires: Requirements = "requires", example("{tools: [git], git: clean}");
        /// Outputs of the run, with placeholders.
        outputs: ValueMap = "outputs" as MapOf(&Any) => outputs, example("{summary: \"{{test.output.summary}}\"}");
        /// Environment variables of every process of the run.
        env: Vec<(String, Template)> = "env" as MapOf(&ScalarTemplate) => env, example("{CI: \"true\"}");
        /// Values of step keys for every step that does not set them.
        _defaults: Unread = "defaults" as Map(&DEFAULTS), example("{timeout: 10m}");
        /// The files of every step that does not set `workspace` itself.
        _workspace: Unread = "workspace" as choice::<WorkspaceMode>(), example("worktree");
        /// How the changes of every step that does not set `merge` itself reach the project.
        _merge: Unread = "merge" as choice::<MergePolicy>(), example("rebase");
        /// Limits of the run.
        limits: Limits = "limits", example("{maxParallel: 4}");
        /// `sequential` makes each step depend on the step before it.
        order: Order = "order", default("graph");
        /// Limits of cost, tokens and tool calls of the run.
        budget: Budget = "budget", example("{maxCostUsd: 1.5}");
        /// Group of runs that do not execute at the same time.
        concurrency: Option<Concurrency> = "concurrency" as OneOf(const { &[KeyType::Template, Concurrency::MAP] }) => concurrency,
            example("{group: deploy, onConflict: queue}");
        /// Triggers that start a run without a person.
        _on: Unread = "on" as Map(&TRIGGERS), example("{schedule: \"0 6 * * *\"}");
        /// File with responses that are used in place of a model, for demonstrations; relative to the project root.
        script: Option<String> = "script", example(".kb/scripts/demo.yml"), names(Named::File);
    }
}

const ID_PATTERN: &str = "^[a-z][a-z0-9_-]{0,63}$";

choice_table! {
    /// `trigger` of a workflow: whether it starts without a person.
    TRIGGER, TRIGGER_NAMES: bool = {
        "manual" => false,
        "auto" => true,
    }
}

/// Where a definition comes from.
pub(crate) struct Origin<'o> {
    pub(crate) form: DefinitionForm,
    pub(crate) path: &'o str,
    pub(crate) digest: Digest,
}

/// Decodes a playbook, or the front matter of a workflow. The tree of each step is dropped after it is
/// decoded, which halves the peak memory of large playbooks.
pub(crate) fn playbook(
    mut root: Node,
    origin: &Origin<'_>,
    decoder: &mut Decoder,
) -> Option<Playbook> {
    let workflow = origin.form == DefinitionForm::Workflow;
    let what = if workflow { "a workflow" } else { "a playbook" };
    let table = if workflow { &WORKFLOW } else { &PLAYBOOK };
    let hooks = hooks::take(&mut root);
    let outline = Outline::of(&root, &hooks, workflow);
    outline.declare(&root, decoder);
    let [steps, finally] = ["steps", "finally"].map(|key| root.take_items(key));
    let fields = decoder.fields(&root, table)?;
    if !workflow || fields.get("schema").is_some() {
        decoder.schema_version(&fields, "kb.playbook/1", what);
    }
    decoder.style = if workflow { Style::Workflow } else { Style::Playbook };
    name_form::check(&outline, decoder);
    duplicates::check(&outline, decoder);
    name_clash::check(&outline, decoder);

    let id = id(&fields, origin, decoder);
    let (own, is_automatic) = if workflow {
        let own = WorkflowKeys::of(&fields, decoder)?;
        (own.common, own.is_automatic)
    } else {
        (PlaybookKeys::of(&fields, decoder)?.common, false)
    };
    let not_yet = std::mem::take(&mut decoder.refused);
    let params = own.params.unwrap_or_else(|| inferred(&outline, decoder));
    let own_id = id.as_ref().map(|(id, _)| id);
    let on = on(&fields, own_id, &params, is_automatic, decoder);
    // `workspace` and `merge` of the playbook are defaults of its steps.
    let shared = |key: &str| matches!(key, "workspace" | "merge");
    let shared = fields.only(&DEFAULTS, shared);
    let defaults = match fields.get("defaults").and_then(|node| defaults(node, decoder)) {
        Some(mut defaults) => {
            defaults.inherit(&shared, |_| true);
            Some(defaults)
        }
        None => Some(shared).filter(|shared| shared.iter().next().is_some()),
    };
    let lists = StepLists { fields: &fields, defaults: defaults.as_ref() };
    let mut main = lists.main(steps, what, decoder);
    let mut last = lists.read("finally", finally, StepPhase::Finally, decoder);
    last.extend(lists.hooks(hooks, decoder));
    if let Some(node) = fields.get("hooks") {
        decoder.hooks(node);
    }
    dependencies::check(&outline, &main, &last, decoder);
    if own.order == Order::Sequential {
        chain(&mut main);
    }
    secret_variables::check(decoder);
    let (id, span) = id?;
    Some(Playbook {
        name: own.name.unwrap_or_else(|| id.to_string()),
        id,
        form: origin.form,
        description: own.description,
        version: own.version,
        triggers: own.triggers,
        params,
        steps: main,
        finally: last,
        concurrency: own.concurrency.map(Box::new),
        requires: own.requires.into(),
        outputs: own.outputs,
        env: own.env,
        limits: own.limits,
        order: own.order,
        on,
        script: own.script,
        span,
        path: origin.path.to_owned(),
        digest: origin.digest,
        budget: own.budget,
        not_yet,
    })
}

/// The written id, or the file name of a workflow.
fn id(
    fields: &Fields<'_>,
    origin: &Origin<'_>,
    decoder: &mut Decoder,
) -> Option<(DefinitionId, Span)> {
    let from_file = origin.form == DefinitionForm::Workflow && fields.get("id").is_none();
    let (text, span) = if from_file {
        (file_stem(origin.path), fields.span)
    } else {
        let node = decoder.required_in(fields, "id", "a playbook")?;
        (decoder.text(node, "id")?, node.span)
    };
    match DefinitionId::new(text) {
        Ok(id) => Some((id, span)),
        Err(error) => {
            let (message, help) = if from_file {
                (
                    format!("the file's name `{text}` cannot be the id of a workflow"),
                    format!("add `id:`, or rename the file; use {}", error.expected),
                )
            } else {
                (
                    format!("`{text}` cannot be the id of a playbook"),
                    format!("use {}", error.expected),
                )
            };
            decoder.push(Diagnostic::error(Code::BAD_ID, span, message).help(help));
            None
        }
    }
}

/// The file name without its last extension.
pub(crate) fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Decodes the lists of steps, whose items were taken out of the tree.
struct StepLists<'n> {
    fields: &'n Fields<'n>,
    defaults: Option<&'n Fields<'n>>,
}

impl StepLists<'_> {
    fn main(&self, items: Vec<Node>, what: &str, decoder: &mut Decoder) -> Vec<Arc<Step>> {
        let Some((key, node)) = self.fields.entry("steps") else {
            decoder.required(self.fields, "steps");
            return Vec::new();
        };
        if node.is_null() || node.as_seq().is_some() && items.is_empty() {
            decoder.push(
                Diagnostic::error(Code::NO_STEPS, key.span, format!("{what} has no steps"))
                    .help("write at least one step: `- {id: hello, run: echo hello}`"),
            );
            return Vec::new();
        }
        self.read("steps", items, StepPhase::Main, decoder)
    }

    /// The steps of all `hooks`.
    fn hooks(&self, hooks: Vec<HookNode>, decoder: &mut Decoder) -> Vec<Arc<Step>> {
        let decoded = hooks.into_iter().filter_map(|HookNode { hook, node }| {
            let mut step = step(&node, StepPhase::Finally, self.defaults, decoder)?;
            step.details_mut().hook = Some(Box::new(hook));
            Some(Arc::new(step))
        });
        decoded.collect()
    }

    fn read(
        &self,
        key: &str,
        items: Vec<Node>,
        phase: StepPhase,
        decoder: &mut Decoder,
    ) -> Vec<Arc<Step>> {
        let Some(node) = self.fields.get(key) else { return Vec::new() };
        if node.as_seq().is_none() {
            let message = format!("`{key}` takes a list of steps, found {}", node.kind());
            decoder.push(
                Diagnostic::error(Code::WRONG_TYPE, node.span, message)
                    .help("start each step with `- id: …`"),
            );
        }
        let mut steps = Vec::with_capacity(items.len());
        for item in items {
            // Plans share the steps.
            steps.extend(step(&item, phase, self.defaults, decoder).map(Arc::new));
        }
        steps
    }
}

fn defaults<'n>(node: &'n Node, decoder: &mut Decoder) -> Option<Fields<'n>> {
    let fields = decoder.fields(node, &DEFAULTS)?;
    if let Some((key, _)) = fields.entry("id") {
        decoder.push(
            Diagnostic::error(Code::MISPLACED_KEY, key.span, "`id` cannot be shared by all steps")
                .help("remove it"),
        );
    }
    Some(fields)
}

/// Applies `order: sequential`: each step depends on the step before it.
fn chain(steps: &mut [Arc<Step>]) {
    for index in 1..steps.len() {
        let before = steps[index - 1].id.clone();
        let step = Arc::make_mut(&mut steps[index]);
        if !step.depends_on.iter().any(|(id, _)| *id == before) {
            let after = [(before, step.span)];
            step.depends_on = step.depends_on.iter().cloned().chain(after).collect();
        }
    }
}

/// `triggers:`; a name in braces must be a parameter.
fn triggers(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<String> {
    let nodes = node.as_seq().unwrap_or(std::slice::from_ref(node));
    for node in nodes {
        let text = node.as_text().unwrap_or_default();
        for part in text.split('{').skip(1).filter_map(|part| part.split_once('}')) {
            let name = part.0.trim();
            let known: Vec<String> = decoder.names.params.iter().cloned().collect();
            if name.is_empty() || known.iter().any(|known| known == name) {
                continue;
            }
            let message = format!("`{name}` in a trigger is not a parameter");
            let help = match decoder.nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("declare it: `params: [{{name: {name}}}]`"),
            };
            decoder.push(Diagnostic::warning(Code::UNKNOWN_NAME, node.span, message).help(help));
        }
    }
    decoder.texts(node, key)
}

/// The triggers: `on:`, and `trigger: auto` of a workflow.
fn on(
    fields: &Fields<'_>,
    id: Option<&DefinitionId>,
    params: &[Param],
    is_automatic: bool,
    decoder: &mut Decoder,
) -> Vec<Trigger> {
    let mut found = match fields.get("on") {
        Some(node) => trigger::triggers(node, id, params, decoder),
        None => Vec::new(),
    };
    if is_automatic && let (Some((_, node)), Some(id)) = (fields.entry("trigger"), id) {
        found.push(trigger::automatic(id, params, node.span));
    }
    found
}

fn is_automatic(node: &Node, key: &str, decoder: &mut Decoder) -> bool {
    decoder.one_of(node, key, TRIGGER).unwrap_or(false)
}

fn outputs(node: &Node, key: &str, decoder: &mut Decoder) -> ValueMap {
    decoder.value_map(node, key, Secrets::Refused)
}

fn env(node: &Node, key: &str, decoder: &mut Decoder) -> Vec<(String, Template)> {
    decoder.environment(node, key)
}

/// The parameters that the prompts of a workflow imply.
fn inferred(outline: &Outline, decoder: &mut Decoder) -> Vec<Param> {
    let mut params = Vec::new();
    for name in &outline.inferred {
        decoder.push(
            Diagnostic::info(
                Code::INFERRED_PARAM,
                name.span,
                format!("`{}` becomes a required parameter", name.text),
            )
            .help(format!("declare it: `params: [{{name: {}, required: true}}]`", name.text)),
        );
        params.push(Param {
            name: name.text.to_string(),
            required: true,
            inferred: true,
            span: name.span,
            ..Param::default()
        });
    }
    params
}
