//! Decodes one step: its kind, its common keys, and the playbook's `defaults`. Start at [`step`].

use super::checks::{default_verify, verify};
use super::for_each::for_each;
use super::later::later;
use super::outline::variables;
use super::step_kind::{self, KINDS};
use super::templates::Secrets;
use super::{Decoder, Fields, Node, Value};
use crate::definition::model::{
    EvidenceMode, OnError, RunIf, Step, StepDetails, StepPhase, WorkspaceMode,
};
use crate::definition::schema::Schema;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::expression::{Expression, Reference, Root, Template};
use crate::toolspec;
use crate::value::StepId;

/// Every key of a step, kind keys first.
pub(crate) const STEP_KEYS: [&str; 41] = [
    "specialist",
    "agent",
    "run",
    "tool",
    "http",
    "playbook",
    "ask",
    "approve",
    "set",
    "wait",
    "gate",
    "id",
    "name",
    "dependsOn",
    "condition",
    "runIf",
    "task",
    "prompt",
    "taskFile",
    "parse",
    "with",
    "input",
    "timeout",
    "retry",
    "recovery",
    "maxAttempts",
    "retrySafe",
    "verify",
    "onError",
    "env",
    "cwd",
    "locks",
    "workspace",
    "evidence",
    "budget",
    "forEach",
    "loop",
    "cache",
    "output",
    "outputs",
    "includeArtifacts",
];

/// Keys that mean something for some kinds only.
const OWN_KEYS: [(&str, &[&str]); 13] = [
    ("task", &["specialist", "agent"]),
    ("prompt", &["specialist", "agent"]),
    ("taskFile", &["specialist", "agent"]),
    ("outputs", &["specialist", "agent"]),
    ("includeArtifacts", &["specialist", "agent"]),
    ("parse", &["run"]),
    ("with", &["playbook"]),
    ("verify", NOT_WAITING),
    ("retry", NOT_WAITING),
    ("recovery", NOT_WAITING),
    ("maxAttempts", NOT_WAITING),
    ("timeout", NOT_WAITING),
    ("cache", NOT_WAITING),
];

/// Kinds that have attempts: all but `ask`, `approve` and `wait`.
const NOT_WAITING: &[&str] =
    &["specialist", "agent", "run", "tool", "http", "playbook", "set", "gate"];

/// Reads one step; `defaults` are the playbook's.
pub(crate) fn step(
    node: &Node,
    phase: StepPhase,
    defaults: Option<&Fields<'_>>,
    decoder: &mut Decoder,
) -> Option<Step> {
    let mut fields = decoder.fields(node, "a step", &STEP_KEYS)?;
    let id = decoder.required(&fields, "id", "a step");
    let id_text = id.and_then(|node| decoder.text(node, "id"));
    let kind = kind_key(&fields, defaults, id_text, decoder);
    if let Some(kind) = kind {
        misplaced(&fields, kind, decoder);
    }
    let own_env = fields.get("env");
    if let Some(defaults) = defaults {
        inherit(&mut fields, defaults, kind);
    }
    let before = enter(&fields, decoder);
    let for_each = fields.get("forEach").and_then(|node| for_each(node, decoder));
    if let Some(for_each) = &for_each {
        decoder.names.item = Some(for_each.name.clone());
    } else if fields.get("forEach").is_some() {
        decoder.names.item = Some("item".to_owned());
    }
    let decoded = body(&fields, kind, own_env, defaults, decoder);
    leave(before, decoder);
    let (id, span) = (decoder.names.steps.get(id_text?)?.clone(), id?.span);
    let mut step = decoded?;
    step.id = id;
    step.span = span;
    step.phase = phase;
    step.for_each = for_each.map(Box::new);
    Some(step)
}

/// The one kind key of a step; none or two is an error that names them.
fn kind_key(
    fields: &Fields<'_>,
    defaults: Option<&Fields<'_>>,
    id: Option<&str>,
    decoder: &mut Decoder,
) -> Option<&'static str> {
    let of = |fields: &Fields<'_>| -> Vec<(&'static str, Span)> {
        let keys = KINDS.into_iter().filter_map(|kind| Some((kind, fields.entry(kind)?.0.span)));
        keys.collect()
    };
    let mut kinds = of(fields);
    if kinds.is_empty() {
        kinds = defaults.map(of).unwrap_or_default();
    }
    let step = id.map_or("a step".to_owned(), |id| format!("the step `{id}`"));
    match kinds.as_slice() {
        [(kind, _)] => Some(kind),
        [] if fields.was_meant(&KINDS) => None,
        [] => {
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, fields.span, format!("{step} has no kind"))
                    .help(format!("add one of {}", KINDS.join(", "))),
            );
            None
        }
        [(first, at), (second, then), ..] => {
            let message = format!("{step} has two kinds, `{first}` and `{second}`");
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, *then, message)
                    .label(*at, "the other kind")
                    .help("keep one, or write two steps"),
            );
            None
        }
    }
}

/// Keys of another kind are errors; an input that nothing reads is a warning.
fn misplaced(fields: &Fields<'_>, kind: &str, decoder: &mut Decoder) {
    for (name, key, _) in fields.iter() {
        if !belongs(name, kind) {
            let kinds = OWN_KEYS.iter().find(|(own, _)| *own == name).map(|(_, kinds)| kinds);
            let message = format!("`{name}` does not belong to a `{kind}` step");
            let help = match kinds {
                Some(_) if (name, kind) == ("timeout", "approve") => {
                    "write it in `approve: {message: ..., timeout: ...}`".to_owned()
                }
                Some(_) if (name, kind) == ("timeout", "ask") => {
                    "write it in `ask: {question: ..., timeout: ..., default: ...}`".to_owned()
                }
                Some(&NOT_WAITING) => {
                    format!("remove it; a `{kind}` step has no attempts, it only waits")
                }
                Some(kinds) => format!("it belongs to {}", kinds.join(" and ")),
                None if kind == "ask" => "write `ask: {question: ..., schema: ...}`".to_owned(),
                None => format!("remove it; the output of a `{kind}` step has a fixed form"),
            };
            decoder.push(Diagnostic::error(Code::MISPLACED_KEY, key.span, message).help(help));
        } else if name == "input" && !matches!(kind, "specialist" | "agent" | "tool") {
            let message = format!("a `{kind}` step does not read `input`");
            let help = match kind {
                "run" => "pass values in `env:` or as arguments",
                "playbook" => "pass values in `with:`",
                _ => "remove it",
            };
            decoder.push(Diagnostic::warning(Code::NO_EFFECT, key.span, message).help(help));
        } else if is_idle(name, kind, fields) {
            let message = format!("`{name}` has no effect in this `{kind}` step");
            decoder.push(Diagnostic::warning(Code::NO_EFFECT, key.span, message).help("remove it"));
        }
    }
}

fn belongs(key: &str, kind: &str) -> bool {
    let own = OWN_KEYS.iter().find(|(own, _)| *own == key);
    own.is_none_or(|(_, kinds)| kinds.contains(&kind))
        && !(key == "output" && matches!(kind, "gate" | "ask" | "approve" | "wait"))
}

/// Whether a key shapes work, processes or locks in a step that has none, not even in its checks. A
/// variable may still be read by the step's texts.
fn is_idle(key: &str, kind: &str, fields: &Fields<'_>) -> bool {
    let only_waits = matches!(kind, "ask" | "approve" | "wait");
    if matches!((key, kind), ("retrySafe" | "evidence", "set" | "gate"))
        || only_waits && matches!(key, "retrySafe" | "evidence")
    {
        return true;
    }
    let spec = || toolspec::find(fields.get("tool").and_then(Node::as_text)?);
    let spawns = match kind {
        "set" | "http" | "ask" | "approve" | "wait" => false,
        "tool" => spec().is_some_and(|spec| spec.runs_processes),
        _ => true,
    };
    if spawns || fields.get("verify").is_some() {
        return false;
    }
    match key {
        "cwd" => true,
        "workspace" => kind == "set" || only_waits,
        // Where the kind comes from `defaults`, so may the text that reads the variable.
        "env" if fields.entry(kind).is_none() => false,
        "env" => !fields.iter().any(|(name, _, node)| name != "env" && mentions_env(node)),
        _ => false,
    }
}

fn mentions_env(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar.text.contains("env"),
        Value::Seq(items) => items.iter().any(mentions_env),
        Value::Map(entries) => entries.iter().any(|(_, item)| mentions_env(item)),
        Value::Invalid => false,
    }
}

fn inherit<'n>(fields: &mut Fields<'n>, defaults: &Fields<'n>, kind: Option<&str>) {
    let has_kind = KINDS.into_iter().any(|kind| fields.entry(kind).is_some());
    let has_task = ["task", "prompt", "taskFile"].iter().any(|key| fields.entry(key).is_some());
    fields.inherit(defaults, |key| match key {
        "id" => false,
        "task" | "prompt" | "taskFile" if has_task => false,
        key if KINDS.contains(&key) => !has_kind,
        key => kind.is_none_or(|kind| belongs(key, kind)),
    });
}

/// What of the names a step changes for its own texts.
struct Scope {
    item: Option<String>,
    added: Vec<String>,
}

fn enter(fields: &Fields<'_>, decoder: &mut Decoder) -> Scope {
    let own = variables(fields.get("env"));
    let added: Vec<String> =
        own.into_iter().filter(|name| decoder.names.env.insert(name.clone())).collect();
    Scope { item: decoder.names.item.take(), added }
}

fn leave(scope: Scope, decoder: &mut Decoder) {
    for name in &scope.added {
        decoder.names.env.remove(name);
    }
    decoder.names.item = scope.item;
}

/// Everything of a step but its id and place, which the caller fills in.
fn body(
    fields: &Fields<'_>,
    kind: Option<&'static str>,
    own_env: Option<&Node>,
    defaults: Option<&Fields<'_>>,
    decoder: &mut Decoder,
) -> Option<Step> {
    let mut not_yet = Vec::new();
    let specialist = matches!(kind, Some("specialist" | "agent"));
    let decoded_kind = kind.and_then(|kind| step_kind::read(kind, fields, decoder, &mut not_yet));
    let secrets = if kind == Some("tool") { Secrets::Allowed } else { Secrets::Refused };
    later(fields, decoder, &mut not_yet);
    let verify = match fields.get("verify") {
        Some(node) => Some(verify(node, specialist, decoder, &mut not_yet)),
        None => specialist.then(|| default_verify(true)),
    };
    let depends_on = depends_on(fields, decoder);
    let condition = fields.get("condition").and_then(|node| condition(node, decoder));
    let run_if = fields.get("runIf").and_then(|node| run_if(node, decoder)).unwrap_or_default();
    let on_error = fields
        .get("onError")
        .and_then(|node| on_error(node, "onError", decoder))
        .unwrap_or_default();
    let details = StepDetails {
        name: fields.get("name").and_then(|n| decoder.text(n, "name")).map(Into::into),
        input: fields.get("input").and_then(|node| decoder.value_template(node, secrets)),
        timeout: fields.get("timeout").map(|node| decoder.timeout(node)).unwrap_or_default(),
        retry: fields.get("retry").and_then(|node| decoder.retry(node, kind == Some("run"))),
        max_attempts: fields
            .get("maxAttempts")
            .and_then(|node| decoder.integer(node, "maxAttempts", 1, 1000)),
        retry_safe: fields
            .get("retrySafe")
            .and_then(|n| decoder.boolean(n, "retrySafe"))
            .unwrap_or(true),
        env: environment(own_env, defaults, decoder),
        cwd: fields.get("cwd").and_then(|node| decoder.template(node, "cwd", Secrets::Refused)),
        output_schema: output_schema(fields, decoder),
        evidence: fields.get("evidence").and_then(|node| {
            let choices = [("full", EvidenceMode::Full), ("none", EvidenceMode::None)];
            decoder.one_of(node, "evidence", &choices)
        }),
        workspace: fields.get("workspace").and_then(|node| {
            let choices =
                [("exclusive", WorkspaceMode::Exclusive), ("shared", WorkspaceMode::Shared)];
            decoder.one_of(node, "workspace", &choices)
        }),
        not_yet,
    };
    Some(Step {
        // Replaced by the caller, who reports what is wrong with the real one.
        id: StepId::new("_").ok()?,
        kind: decoded_kind?,
        phase: StepPhase::Main,
        depends_on,
        condition,
        run_if,
        verify: verify.map(Box::new),
        on_error,
        for_each: None,
        details: details.non_default(),
        span: fields.span,
    })
}

/// A condition is asked once, before there are items, so it cannot read one.
fn condition(node: &Node, decoder: &mut Decoder) -> Option<Expression> {
    let condition = decoder.expression(node, "condition")?;
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

fn depends_on(fields: &Fields<'_>, decoder: &mut Decoder) -> Box<[(StepId, Span)]> {
    let Some(node) = fields.get("dependsOn") else { return Box::default() };
    let mut found = Vec::new();
    for item in decoder.list(node, "dependsOn") {
        let Some(text) = decoder.text(item, "dependsOn") else { continue };
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

fn run_if(node: &Node, decoder: &mut Decoder) -> Option<RunIf> {
    let choices = [
        ("allSucceeded", RunIf::AllSucceeded),
        ("noneFailed", RunIf::NoneFailed),
        ("anySucceeded", RunIf::AnySucceeded),
        ("allDone", RunIf::AllDone),
    ];
    decoder.one_of(node, "runIf", &choices)
}

pub(crate) fn on_error(node: &Node, key: &str, decoder: &mut Decoder) -> Option<OnError> {
    decoder.one_of(node, key, &[("fail", OnError::Fail), ("continue", OnError::Continue)])
}

/// The defaults' variables that the step does not set itself, then its own.
fn environment(
    own: Option<&Node>,
    defaults: Option<&Fields<'_>>,
    decoder: &mut Decoder,
) -> Vec<(String, Template)> {
    let inherited = defaults.and_then(|fields| fields.get("env"));
    let mut env = inherited.map(|node| decoder.environment(node, "env")).unwrap_or_default();
    let own = own.map(|node| decoder.environment(node, "env")).unwrap_or_default();
    env.retain(|(name, _)| !own.iter().any(|(own, _)| own == name));
    env.extend(own);
    env
}

fn output_schema(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Schema> {
    let short = fields.get("outputs").map(|node| decoder.texts(node, "outputs"));
    match fields.get("output") {
        Some(node) => {
            let inner = decoder.fields(node, "`output`", &["schema"])?;
            inner.get("schema").and_then(|node| Schema::decode(node, decoder))
        }
        None => short.map(|keys| Schema::of_texts(keys.iter().map(String::as_str))),
    }
}
