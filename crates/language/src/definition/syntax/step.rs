//! Decodes one step: its kind, its common keys, and the playbook's `defaults`. Start at [`step`].

use super::for_each::items;
use super::outline::variables;
use super::repeat::checks_of_loop;
use super::step_keys::{STEP, StepKeys};
use super::step_output::output_schema;
use super::verify::{default_verify, verify};
use super::{Decoder, Fields, Node, Secrets, Value};
use crate::definition::kind::{self, Kind, StepKind, kinds};
use crate::definition::model::{Step, StepDetails, StepPhase, Verify};
use crate::expression::{Template, ValueMap};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::StepId;

/// Decodes one step; `defaults` are those of the playbook.
pub(crate) fn step(
    node: &Node,
    phase: StepPhase,
    defaults: Option<&Fields<'_>>,
    decoder: &mut Decoder,
) -> Option<Step> {
    let mut fields = decoder.fields(node, &STEP)?;
    let id = decoder.required(&fields, "id");
    let id_text = id.and_then(|node| decoder.text(node, "id"));
    let kind = one_kind(&fields, defaults, id_text, decoder);
    if let Some(kind) = &kind {
        misplaced(&fields, kind, decoder);
    }
    let own_env = fields.get("env");
    if let Some(defaults) = defaults {
        inherit(&mut fields, defaults, kind.as_ref());
    }
    let before = enter(&fields, decoder);
    let for_each = items(&fields, decoder);
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

/// The one kind of a step; none or two is an error.
fn one_kind(
    fields: &Fields<'_>,
    defaults: Option<&Fields<'_>>,
    id: Option<&str>,
    decoder: &mut Decoder,
) -> Option<Kind> {
    let of = |fields: &Fields<'_>| -> Vec<(Kind, Span)> {
        kinds().filter_map(|kind| Some((kind, fields.entry(kind.key)?.0.span))).collect()
    };
    let mut found = of(fields);
    if found.is_empty() {
        found = defaults.map(of).unwrap_or_default();
    }
    if let ([], Some((key, _))) = (&*found, fields.entry(kind::CAPABILITY)) {
        found.extend(kinds().take(1).map(|kind| (kind, key.span)));
    }
    let step = id.map_or("a step".to_owned(), |id| format!("the step `{id}`"));
    match found.as_slice() {
        [(kind, _)] => Some(*kind),
        [] if fields.was_meant(kind::NAMES) => None,
        [] => {
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, fields.span, format!("{step} has no kind"))
                    .help(format!("add one of {}", kind::NAMES.join(", "))),
            );
            None
        }
        [(first, at), (second, then), ..] => {
            let message = format!("{step} has two kinds, `{}` and `{}`", first.key, second.key);
            decoder.push(
                Diagnostic::error(Code::STEP_KIND, *then, message)
                    .label(*at, "the other kind")
                    .help("keep one, or write two steps"),
            );
            None
        }
    }
}

/// The indefinite article of a word.
fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// Names in backticks, as a human-readable list.
fn named(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}

/// Reports keys that belong to other kinds, and warns about keys without effect.
fn misplaced(fields: &Fields<'_>, kind: &Kind, decoder: &mut Decoder) {
    for (spec, key, _) in fields.iter() {
        let name = spec.name;
        let own = kind.key;
        let excluded = kind.rules.excluded.iter().find(|(key, _)| *key == name);
        if !belongs(name, spec.only, kind) {
            let message = format!("`{name}` does not belong to {} `{own}` step", article(own));
            let help = match excluded {
                Some((_, help)) => (*help).to_owned(),
                None if name == "with" && own == "tool" => {
                    "the arguments of a tool are `input`: write `input:` in place of `with:`"
                        .to_owned()
                }
                None => format!("it belongs to {} steps", named(spec.only)),
            };
            decoder.push(Diagnostic::error(Code::MISPLACED_KEY, key.span, message).help(help));
        } else if let (Some(help), "input") = (kind.rules.unused_input, name) {
            let message = format!("{} `{own}` step does not read `input`", article(own));
            decoder.push(Diagnostic::warning(Code::NO_EFFECT, key.span, message).help(help));
        } else if has_no_effect(name, kind, fields) {
            let message = format!("`{name}` has no effect in this `{own}` step");
            decoder.push(Diagnostic::warning(Code::NO_EFFECT, key.span, message).help("remove it"));
        }
    }
}

/// Whether a value of `workspace` gives a step a worktree or copy.
fn names_own_files(workspace: &Node) -> bool {
    matches!(workspace.as_text(), Some("worktree" | "copy"))
}

fn belongs(key: &str, only: &[&str], kind: &Kind) -> bool {
    let excluded = kind.rules.excluded.iter().any(|(own, _)| *own == key);
    (only.is_empty() || only.contains(&kind.key)) && !excluded
}

/// Whether a key is about work, processes or locks that the step does not have, not even in its checks.
/// A variable can still be read by the texts of the step.
fn has_no_effect(key: &str, kind: &Kind, fields: &Fields<'_>) -> bool {
    if kind.rules.no_effect.contains(&key) {
        return true;
    }
    if key == "workspace"
        && !kind.rules.has_own_files
        && fields.get(key).is_some_and(names_own_files)
    {
        return true;
    }
    let has_checks = fields.get("verify").is_some() || checks_of_loop(fields).is_some();
    if (kind.rules.starts_process)(fields) || has_checks {
        return false;
    }
    match key {
        "cwd" => true,
        // If the kind comes from `defaults`, so can the text that reads the variable.
        "env" if fields.entry(kind.key).is_none() => false,
        "env" => !fields.iter().any(|(spec, _, node)| spec.name != "env" && mentions_env(node)),
        key => kind.rules.no_effect_without_verify.contains(&key),
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

fn inherit<'n>(fields: &mut Fields<'n>, defaults: &Fields<'n>, kind: Option<&Kind>) {
    let is_kind = |key: &str| kinds().any(|kind| kind.key == key);
    let has_kind = kinds().any(|kind| fields.entry(kind.key).is_some());
    let has_task = ["task", "prompt", "taskFile"].iter().any(|key| fields.entry(key).is_some());
    // A step that chose the files of the project has nothing to merge.
    let in_project = fields.get("workspace").is_some_and(|own| !names_own_files(own));
    fields.inherit(defaults, |key| match key {
        "id" => false,
        "task" | "prompt" | "taskFile" if has_task => false,
        "merge" if in_project => false,
        key if is_kind(key) => !has_kind,
        key => {
            let only = STEP.key(key).map_or(&[][..], |spec| spec.only);
            kind.is_none_or(|kind| belongs(key, only, kind))
        }
    });
}

/// The names that a step changed for its own templates.
struct ChangedNames {
    item: Option<String>,
    added: Vec<String>,
}

fn enter(fields: &Fields<'_>, decoder: &mut Decoder) -> ChangedNames {
    let own = variables(fields.get("env"));
    let added: Vec<String> =
        own.into_iter().filter(|name| decoder.names.env.insert(name.clone())).collect();
    ChangedNames { item: decoder.names.item.take(), added }
}

fn leave(changed: ChangedNames, decoder: &mut Decoder) {
    for name in &changed.added {
        decoder.names.env.remove(name);
    }
    decoder.names.item = changed.item;
}

/// Decodes everything of a step except its id, phase and items.
fn body(
    fields: &Fields<'_>,
    kind: Option<Kind>,
    own_env: Option<&Node>,
    defaults: Option<&Fields<'_>>,
    decoder: &mut Decoder,
) -> Option<Step> {
    let specialist = kind.is_some_and(|kind| kind.rules.is_specialist);
    let decoded_kind = kind.and_then(|kind| {
        let in_place = || fields.get(kind::CAPABILITY).filter(|_| kind.rules.is_specialist);
        let node = match fields.get(kind.key).or_else(in_place) {
            Some(node) => node,
            None => decoder.required(fields, kind.key)?,
        };
        (kind.decode)(node, fields, decoder)
    });
    let secrets = kind.map_or(Secrets::Refused, |kind| kind.rules.input_secrets);
    decoder.unsupported(fields);
    if let Some(node) = fields.get("hooks") {
        decoder.hooks(node);
    }
    let verify = match fields.get("verify") {
        Some(node) => Some(verify(node, specialist, decoder)),
        None => specialist.then(|| default_verify(true)),
    };
    let mut verify = decoder.loop_gate(fields, kind).or(verify);
    if specialist && decoder.judges_answers {
        verify.iter_mut().for_each(Verify::add_judge);
    }
    let own = StepKeys::part(fields, decoder)?;
    let retries_exit = kind.is_some_and(|kind| kind.rules.retries_exit);
    decoder.is_code = is_shell_tool(fields);
    let input = fields.get("input").and_then(|node| decoder.value_template(node, secrets));
    decoder.is_code = false;
    let details = StepDetails {
        name: own.name.map(Into::into),
        input,
        verify: verify.map(Box::new),
        timeout: own.timeout,
        retry: fields.get("retry").and_then(|node| decoder.retry(node, retries_exit)),
        recovery: fields.get("recovery").map(|node| decoder.recovery(node, specialist)),
        budget: own.budget.map(Box::new),
        max_attempts: own.max_attempts,
        cache: own.cache.map(Box::new),
        repeat: own.repeat.map(Box::new),
        retry_safe: own.retry_safe,
        env: environment(own_env, defaults, decoder),
        cwd: own.cwd,
        output_schema: output_schema(fields, decoder),
        evidence: own.evidence,
        sandbox: own.sandbox,
        workspace: own.workspace,
        merge: decoder.merge(fields),
        locks: own.locks,
        hook: None,
        not_yet: std::mem::take(&mut decoder.refused),
    };
    // A step with a reported error takes part in the checks of its dependencies; its definition is refused.
    let stand_in = || decoder.has_errors().then(|| StepKind::Set(ValueMap::default()));
    Some(Step {
        // Replaced by the caller, who reports what is wrong with the real one.
        id: StepId::new("_").ok()?,
        kind: decoded_kind.or_else(stand_in)?,
        phase: StepPhase::Main,
        depends_on: own.depends_on,
        condition: own.condition,
        run_if: own.run_if,
        on_error: own.on_error,
        for_each: None,
        details: details.non_default(),
        span: fields.span,
    })
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

/// Whether the input of the step is for a shell.
fn is_shell_tool(fields: &Fields<'_>) -> bool {
    fields.get("tool").and_then(Node::as_text).is_some_and(|tool| tool.starts_with("shell"))
}
