//! `specialist:` and `agent:`: a task for an LLM specialist.

use super::execution::{Execution, OutputForm};
use super::spec::{KindRules, StepType};
use crate::definition::keys::KeyType::{ListOrOne, Text};
use crate::definition::keys::{KeySpec, Named, key, keys};
use crate::definition::model::Located;
use crate::definition::syntax::{Decoder, Fields, Node, Secrets, Unread};
use crate::expression::{Reference, Template};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::{SpecialistId, StepId};
use unicode_normalization::UnicodeNormalization;

/// `specialist:` or `agent:`: a task for an LLM specialist with an allow-list of tools.
#[derive(Debug, Clone)]
pub struct SpecialistStep {
    /// Id of the specialist; resolved when the plan is built. Without meaning while `by_capability` is set.
    pub specialist: SpecialistId,
    /// Position of the id, or of the capability that stands for it.
    pub span: Span,
    /// Whether the step names a capability in place of a specialist, and it is not known yet who has it.
    pub by_capability: bool,
    /// The capability of the specialist, with its position.
    pub capability: Option<(Box<str>, Span)>,
    /// The task; `None` if `input.task` or the capability contains it.
    pub task: Option<TaskText>,
    /// `includeArtifacts`: artifacts of earlier steps whose content is part of the prompt.
    pub artifacts: Box<[IncludedArtifact]>,
    /// `session`: whether the prompt contains the session state.
    pub session: bool,
}

/// An entry of `includeArtifacts`: all artifacts of a step, or one of them.
#[derive(Debug, Clone)]
pub struct IncludedArtifact {
    /// The entry as it is written: `STEP` or `STEP/NAME`.
    pub id: Box<str>,
    /// The step that makes it; this step waits for it.
    pub step: Reference,
}

impl IncludedArtifact {
    /// Whether an artifact with this id is meant.
    pub fn includes(&self, artifact: &str) -> bool {
        let rest = artifact.strip_prefix(&*self.id);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']))
    }
}

/// `task:` or `taskFile:`: the task of a specialist.
#[derive(Debug, Clone)]
pub enum TaskText {
    /// A text with placeholders.
    Inline(Template),
    /// A file of the project, read when the run starts; its text has no placeholders.
    File {
        /// Path relative to the project root.
        path: Box<str>,
        /// Position of the path.
        span: Span,
    },
}

keys! {
    /// The keys that only specialist steps have.
    struct OwnKeys() {
        /// The task of the specialist.
        task: Option<Template> = "task", only(KINDS), example("\"Implement {{feature}}\"");
        /// The same as `task`.
        prompt: Option<Template> = "prompt" => prompt, only(KINDS), example("Review {{file}}");
        /// Path of a file that contains the task; it has no placeholders.
        task_file: Option<TaskText> = "taskFile" as Text => task_file, only(KINDS), example("tasks/implement.md"), names(Named::File);
        /// Capability of the specialist: its task and schemas are used. Without `specialist`, it is that of the only specialist that has it.
        capability: Option<Located<String>> = "capability", only(KINDS), example("write_article");
        /// Required text keys of the output; short for `output.schema`.
        _outputs: Unread = "outputs" as ListOrOne(&Text), only(KINDS), example("[findings]");
        /// Artifacts of earlier steps whose full text is part of the prompt: `STEP` or `STEP/NAME`.
        artifacts: Box<[IncludedArtifact]> = "includeArtifacts" as ListOrOne(&Text) => artifacts, only(KINDS),
            example("[research/api]");
        /// Whether the prompt contains the session state; `true` without it.
        session: Option<bool> = "session", only(KINDS), example("false");
    }
}

const KINDS: &[&str] = &["specialist", "agent"];

/// The key that can stand in place of `specialist`.
pub(crate) const CAPABILITY: &str = "capability";

/// What a step has as the id of its specialist before its capability is resolved.
const UNRESOLVED: &str = "unresolved";

impl StepType for Box<SpecialistStep> {
    const KEYS: &'static [KeySpec] = &[
        key("specialist", Text, "Id of the specialist that does the task.")
            .names(Named::Specialist)
            .example("implementer"),
        key(
            "agent",
            Text,
            "Path of an agent profile; the same as `specialist` with that path as id.",
        )
        .example("agents/reviewer.md"),
    ];
    const OWN_KEYS: &'static [KeySpec] = OwnKeys::KEYS;
    const RULES: KindRules =
        KindRules { is_specialist: true, unused_input: None, ..KindRules::PROCESS };

    fn decode(
        node: &Node,
        fields: &Fields<'_>,
        decoder: &mut Decoder,
    ) -> Option<Box<SpecialistStep>> {
        let by_capability = KINDS.iter().all(|kind| fields.entry(kind).is_none());
        let kind = if fields.entry("agent").is_some() { "agent" } else { "specialist" };
        let id = if by_capability {
            SpecialistId::new(UNRESOLVED).ok()
        } else {
            specialist_id(kind, node, decoder)
        };
        one_task(node, fields, decoder);
        let own = OwnKeys::part(fields, decoder)?;
        let inline = own.task.or(own.prompt).map(TaskText::Inline);
        Some(Box::new(SpecialistStep {
            specialist: id?,
            span: node.span,
            by_capability,
            capability: own.capability.map(|own| (own.value.into(), own.span)),
            task: inline.or(own.task_file),
            artifacts: own.artifacts,
            session: own.session.unwrap_or(true),
        }))
    }

    fn execution(&self) -> Execution<'_> {
        Execution::Specialist(&self.specialist)
    }

    fn references(&self) -> Vec<Vec<&Reference>> {
        let task = match &self.task {
            Some(TaskText::Inline(task)) => vec![task.references().collect()],
            Some(TaskText::File { .. }) | None => Vec::new(),
        };
        let included = self.artifacts.iter().map(|artifact| vec![&artifact.step]);
        task.into_iter().chain(included).collect()
    }

    fn output(&self) -> OutputForm<'_> {
        OutputForm::OfSpecialist
    }

    fn worker(&self) -> String {
        self.specialist.to_string()
    }
}

fn prompt(node: &Node, _: &str, decoder: &mut Decoder) -> Option<Template> {
    decoder.template(node, "task", Secrets::Refused)
}

fn artifacts(node: &Node, key: &str, decoder: &mut Decoder) -> Box<[IncludedArtifact]> {
    let items = decoder.list(node, key).iter();
    items.filter_map(|item| included_artifact(item, decoder)).collect()
}

/// Decodes `STEP` or `STEP/NAME`.
fn included_artifact(node: &Node, decoder: &mut Decoder) -> Option<IncludedArtifact> {
    let text = decoder.text(node, "includeArtifacts")?;
    let step = text.split(['/', '[']).next().unwrap_or(text);
    let known = StepId::new(step).ok().filter(|id| decoder.names.steps.contains(id));
    let Some(id) = known else {
        let names: Vec<String> = decoder.names.steps.iter().map(ToString::to_string).collect();
        let message = format!("`includeArtifacts` names the unknown step `{step}`");
        let help = match decoder.nearest(step, names.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "write the id of a specialist step, or `STEP/NAME` for one artifact".to_owned(),
        };
        decoder.push(Diagnostic::error(Code::UNKNOWN_STEP, node.span, message).help(help));
        return None;
    };
    Some(IncludedArtifact { id: text.into(), step: Reference::to_step(id, node.span) })
}

/// Checks that the step has exactly one task.
fn one_task(node: &Node, fields: &Fields<'_>, decoder: &mut Decoder) {
    let texts: Vec<(&str, Span)> = ["task", "prompt", "taskFile"]
        .into_iter()
        .filter_map(|key| Some((key, fields.entry(key)?.0.span)))
        .collect();
    let input_task = fields.get("input").and_then(|input| input.get("task")).map(|node| node.span);
    let two = |message: String, at: Span, other: Span| {
        Diagnostic::error(Code::TASK_TEXT, at, message)
            .label(other, "the other task")
            .help("keep one of them")
    };
    match (texts.as_slice(), input_task) {
        // The capability has the task.
        ([], None) if fields.entry("capability").is_some() => {}
        ([], None) => decoder.push(
            Diagnostic::error(Code::TASK_TEXT, node.span, "the specialist has no task")
                .help("add `task:`, `taskFile:`, or a `task` in `input`"),
        ),
        ([], Some(_)) | ([_], None) => {}
        ([(first, at), (second, then), ..], _) => decoder.push(two(
            format!("a step cannot have both `{first}` and `{second}`"),
            *then,
            *at,
        )),
        ([(first, at)], Some(other)) => decoder.push(two(
            format!("both `{first}` and `input.task` contain the task"),
            *at,
            other,
        )),
    }
}

/// Decodes `specialist: ID`, or `agent: PATH` of a profile.
fn specialist_id(kind: &str, node: &Node, decoder: &mut Decoder) -> Option<SpecialistId> {
    let text = decoder.text(node, kind)?;
    if text.contains("{{") || text.contains("<<") {
        decoder.push(
            Diagnostic::error(
                Code::VALUE_AS_CODE,
                node.span,
                format!("`{kind}` cannot be a placeholder"),
            )
            .help("write the id literally; to choose, use two steps with a `condition` each"),
        );
        return None;
    }
    let text: String = profile_path(text).nfc().collect();
    match SpecialistId::new(&text) {
        Ok(id) => Some(id),
        Err(error) => {
            let message = format!("`{text}` cannot be the id of a specialist");
            let help = format!("use {}", error.expected);
            decoder.push(Diagnostic::error(Code::BAD_ID, node.span, message).help(help));
            None
        }
    }
}

/// The id of a profile from its path: without `./` and `.kb/`.
pub(crate) fn profile_path(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    path.strip_prefix(".kb/").unwrap_or(path)
}

fn task_file(node: &Node, key: &str, decoder: &mut Decoder) -> Option<TaskText> {
    let path = decoder.text(node, key)?;
    let outside = path.starts_with('/') || path.split(['/', '\\']).any(|part| part == "..");
    if outside || path.is_empty() {
        let message = format!("`{path}` is not a path inside the project");
        let help = "write it relative to the project root".to_owned();
        decoder.bad_value(node.span, message, help);
        return None;
    }
    Some(TaskText::File { path: path.into(), span: node.span })
}
