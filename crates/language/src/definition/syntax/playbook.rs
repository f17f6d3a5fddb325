//! Decodes playbooks, and the front matter of workflows. Start at [`playbook`].

use super::hooks::{self, HookNode};
use super::outline::Outline;
use super::step::step;
use super::{Decoder, Fields, Node, Secrets, params, trigger};
use crate::definition::check::{dependencies, duplicates, name_clash, name_form, secret_variables};
use crate::definition::keys;
use crate::definition::keys::choice_tables::TRIGGER;
use crate::definition::model::{
    Budget, DefinitionForm, Limits, Order, Param, ParamType, Playbook, Requirements, Step,
    StepPhase, Trigger,
};
use crate::expression::Style;
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{DefinitionId, Digest};
use std::sync::Arc;

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
    let table = if workflow { &keys::playbook::WORKFLOW } else { &keys::playbook::PLAYBOOK };
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
    decoder.unsupported(&fields);
    let not_yet = std::mem::take(&mut decoder.refused);
    let params = match fields.get("params") {
        Some(node) => params::params(node, decoder),
        None => inferred(&outline, decoder),
    };
    let own_id = id.as_ref().map(|(id, _)| id);
    let on = on(&fields, own_id, &params, workflow, decoder);
    // `workspace` and `merge` of the playbook are defaults of its steps.
    let shared = |key: &str| matches!(key, "workspace" | "merge");
    let own = fields.only(&keys::step::DEFAULTS, shared);
    let defaults = match fields.get("defaults").and_then(|node| defaults(node, decoder)) {
        Some(mut defaults) => {
            defaults.inherit(&own, |_| true);
            Some(defaults)
        }
        None => Some(own).filter(|own| own.iter().next().is_some()),
    };
    let order = fields.choice("order", decoder);
    let lists = StepLists { fields: &fields, defaults: defaults.as_ref() };
    let mut main = lists.main(steps, what, decoder);
    let mut last = lists.read("finally", finally, StepPhase::Finally, decoder);
    last.extend(lists.hooks(hooks, decoder));
    if let Some(node) = fields.get("hooks") {
        decoder.hooks(node);
    }
    let concurrency = fields.get("concurrency").and_then(|node| decoder.concurrency(node));
    let requires = fields.get("requires").and_then(|node| Requirements::from_node(node, decoder));
    dependencies::check(&outline, &main, &last, decoder);
    if order == Some(Order::Sequential) {
        chain(&mut main);
    }
    let outputs = fields
        .get("outputs")
        .map(|node| decoder.value_map(node, "outputs", Secrets::Refused))
        .unwrap_or_default();
    let env = fields.get("env").map(|node| decoder.environment(node, "env")).unwrap_or_default();
    secret_variables::check(decoder);
    let name = fields.text("name", decoder);
    let description = fields.text("description", decoder);
    let version = fields.get("version").and_then(|node| decoder.scalar(node, "version"));
    let triggers = triggers(&fields, decoder);
    let limits =
        fields.get("limits").and_then(|node| Limits::from_node(node, decoder)).unwrap_or_default();
    let budget =
        fields.get("budget").and_then(|node| Budget::from_node(node, decoder)).unwrap_or_default();
    let script = fields.text("script", decoder);
    let (id, span) = id?;
    Some(Playbook {
        name: name.unwrap_or_else(|| id.to_string()),
        id,
        form: origin.form,
        description,
        version: version.map(str::to_owned),
        triggers,
        params,
        steps: main,
        finally: last,
        concurrency: concurrency.map(Box::new),
        requires: requires.unwrap_or_default().into(),
        outputs,
        env,
        limits,
        order: order.unwrap_or_default(),
        on,
        script,
        span,
        path: origin.path.to_owned(),
        digest: origin.digest,
        budget,
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
    let fields = decoder.fields(node, &keys::step::DEFAULTS)?;
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
fn triggers(fields: &Fields<'_>, decoder: &mut Decoder) -> Vec<String> {
    let nodes =
        fields.get("triggers").map(|node| decoder.list(node, "triggers")).unwrap_or_default();
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
    fields.texts("triggers", decoder)
}

/// The triggers: `on:`, and `trigger: auto` of a workflow.
fn on(
    fields: &Fields<'_>,
    id: Option<&DefinitionId>,
    params: &[Param],
    workflow: bool,
    decoder: &mut Decoder,
) -> Vec<Trigger> {
    let mut found = match fields.get("on") {
        Some(node) => trigger::triggers(node, id, params, decoder),
        None => Vec::new(),
    };
    if workflow
        && fields.one_of("trigger", TRIGGER, decoder) == Some(true)
        && let (Some((_, node)), Some(id)) = (fields.entry("trigger"), id)
    {
        found.push(trigger::automatic(id, params, node.span));
    }
    found
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
            kind: ParamType::String,
            required: true,
            default: None,
            prompt: None,
            description: None,
            one_of: Vec::new(),
            pattern: None,
            min: None,
            max: None,
            schema: None,
            inferred: true,
            span: name.span,
        });
    }
    params
}
