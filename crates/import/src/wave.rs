//! Wave pipelines.

use super::draft::{Draft, literal, playbook_id, step_id};
use super::fields::{Fields, words};
use super::output::Out;
use super::placeholders::kept;
use super::shell::look_at;
use super::tools::readers;
use kb_base::value::Json;
use kb_language::definition::Positioned;

pub(super) fn convert(root: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(root, "", draft);
    fields.take("kind");
    if let Some(metadata) = fields.take("metadata") {
        let own = Fields::of(metadata, "metadata.", draft);
        own.title(draft);
    }
    if let Some(input) = fields.take("input") {
        let own = Fields::of(input, "input.", draft);
        own.agrees("source", &["cli"], draft);
    }
    draft.params.push(Out::map(vec![("name", "input".into()), ("default", "".into())]));
    let steps = fields.take("steps").map(Positioned::items).unwrap_or_default();
    for step in steps {
        let id = Fields::ahead(step).text("id").unwrap_or_else(|| "step".to_owned());
        draft.scope(&id, Some(step), |draft| self::step(step, draft));
    }
}

fn step(step: &Positioned, draft: &mut Draft) {
    let fields = Fields::of(step, "steps.", draft);
    let written = fields.text("id").unwrap_or_else(|| format!("step-{}", draft.steps.len() + 1));
    let mut map: Vec<(&'static str, Out)> = vec![("id", step_id(&written).into())];
    map.extend(fields.depends_on("dependencies", draft));
    draft.place(&map);
    if let Some(child) = fields.text("pipeline") {
        if child.contains("{{") {
            draft.fails(step.line, format!("the pipeline `{child}` is computed and is not mapped"));
            map.push(("run", "exit 1\n".into()));
            fields.take_rest();
            return draft.steps.push(Out::map(map));
        }
        map.push(("playbook", playbook_id(&child).into()));
        if let Some(input) = fields.text("input") {
            map.push((
                "with",
                Out::map(vec![("input", template(&input, step.line, draft).into())]),
            ));
        }
        return draft.steps.push(Out::map(map));
    }
    if fields.take("exec").is_none() && approval(&fields, &mut map, draft) {
        return draft.steps.push(Out::map(map));
    }
    let exec = fields.take("exec");
    let own = exec.map(|exec| Fields::of(exec, "steps.exec.", draft));
    let kind = own.as_ref().and_then(|own| own.text("type"));
    let source = own.as_ref().and_then(|own| own.take("source").or_else(|| own.take("command")));
    let file = own.as_ref().and_then(|own| own.text("source_path"));
    let text = source.and_then(|text| words(text, "steps.exec", draft)).unwrap_or_default();
    let line = source.map_or(step.line, |source| source.line);
    drop(own);
    if let Some(kind) = kind.as_deref().filter(|kind| !["command", "prompt"].contains(kind)) {
        draft.fails(line, format!("`steps.exec.type: {kind}` is not mapped"));
    }
    if kind.as_deref() == Some("command") {
        look_at(&text, line, draft);
        let run = text.replace("{{ input }}", "${INPUT}").replace("{{input}}", "${INPUT}");
        let reads = run != text;
        map.push(("run", run.into()));
        if reads {
            map.push(("env", Out::map(vec![("INPUT", "{{input}}".into())])));
        }
        fields.replaced("persona", "a command has no specialist", draft);
    } else if let Some(file) =
        file.as_ref().filter(|file| source.is_none() && !draft.around.has_file(file))
    {
        fields.take_rest();
        let why = format!("the project has no file `{file}`");
        draft.without_work(step.line, why, step, &mut map);
        return draft.steps.push(Out::map(map));
    } else {
        let persona = fields.text("persona").unwrap_or_else(|| "agent".to_owned());
        let id = step_id(&persona);
        let role = format!("You are the {persona} of a team that works in steps.");
        let id = draft.specialist(&id, &role, &readers(), Vec::new());
        draft.left_out(step.line, format!(
            "the role and the permissions of the persona `{persona}` are in `wave.yaml`; `.kb/specialists/{id}.yml` has a \
             general role and may only read files"
        ));
        map.push(("specialist", id.into()));
        match file.filter(|_| source.is_none()) {
            Some(file) => {
                draft.hint(
                    step.line,
                    format!("`{file}` became `taskFile`, which is taken literally"),
                );
                map.push(("taskFile", file.into()));
            }
            None => map.push(("task", template(&text, line, draft).into())),
        }
    }
    workspace(&fields, &mut map, draft);
    checks(&fields, &mut map, draft);
    if let Some(memory) = fields.take("memory") {
        let own = Fields::of(memory, "steps.memory.", draft);
        // Each step is a conversation of its own.
        own.agrees("strategy", &["fresh"], draft);
    }
    draft.steps.push(Out::map(map));
}

/// A gate that waits for an approval; any other gate is reported.
fn approval(fields: &Fields<'_>, map: &mut Vec<(&'static str, Out)>, draft: &mut Draft) -> bool {
    let Some(gate) = fields.take("gate") else { return false };
    let own = Fields::of(gate, "steps.gate.", draft);
    let kind = own.text("type").unwrap_or_default();
    if kind != "approval" {
        own.take_rest();
        let text = format!("a gate of the type `{kind}` is not mapped");
        draft.without_work(gate.line, text, gate, map);
        return true;
    }
    let message = own.text("message").unwrap_or_else(|| "Continue?".to_owned());
    let mut request = vec![("message", template(&message, gate.line, draft).into())];
    request.extend(own.text("timeout").map(|timeout| ("timeout", timeout.into())));
    map.push(("approve", Out::map(request)));
    fields.take("type");
    true
}

fn workspace(fields: &Fields<'_>, map: &mut Vec<(&'static str, Out)>, draft: &mut Draft) {
    let Some(workspace) = fields.take("workspace") else { return };
    let own = Fields::of(workspace, "steps.workspace.", draft);
    let is_worktree = own.take("type").is_some_and(|kind| {
        let words = words(kind, "steps.workspace.type", draft).unwrap_or_default();
        if words != "worktree" {
            draft.fails(kind.line, format!("`steps.workspace.type: {words}` is not mapped"));
        }
        words == "worktree"
    });
    if is_worktree {
        map.push(("workspace", "worktree".into()));
        if own.take("branch").is_some() {
            draft.hint(
                workspace.line,
                "each step has a worktree of its own, which is merged when its gate has passed",
            );
        }
    }
}

/// Artifacts and contracts become checks.
fn checks(fields: &Fields<'_>, map: &mut Vec<(&'static str, Out)>, draft: &mut Draft) {
    let mut checks = Vec::new();
    for artifact in fields.take("output_artifacts").map(Positioned::items).unwrap_or_default() {
        let own = Fields::of(artifact, "steps.output_artifacts.", draft);
        own.replaced("name", "steps read the file by its path", draft);
        own.replaced("type", "the file is checked for its existence only", draft);
        if let Some(path) = own.text("path") {
            let file = Out::map(vec![("path", literal(&path).into())]);
            checks.push(Out::map(vec![("file", file)]));
        }
    }
    let mut policy: Vec<(&'static str, Out)> = Vec::new();
    if let Some(handover) = fields.take("handover") {
        let outer = Fields::of(handover, "steps.handover.", draft);
        if let Some(contract) = outer.take("contract") {
            let own = Fields::of(contract, "steps.handover.contract.", draft);
            let kind = own.text("type").unwrap_or_default();
            own.agrees("must_pass", &["true"], draft);
            match (kind.as_str(), own.text("command")) {
                (_, Some(command)) if command.contains("{{") => draft.fails(
                    contract.line,
                    format!("the command `{command}` has a placeholder and is not mapped"),
                ),
                (_, Some(command)) => checks.push(Out::map(vec![(
                    "command",
                    Out::texts(&["bash".to_owned(), "-c".to_owned(), command]),
                )])),
                (kind, None) => {
                    draft.fails(
                        contract.line,
                        format!("a contract of the type `{kind}` is not mapped"),
                    );
                }
            }
            match own
                .take("on_failure")
                .map(|on| (on.line, words(on, "on_failure", draft).unwrap_or_default()))
            {
                Some((_, on)) if on == "retry" => policy.push(("onFailed", "rework".into())),
                Some((_, on)) if on == "warn" || on == "continue" => {
                    policy.push(("onFailed", "warn".into()))
                }
                Some((line, on)) if on != "fail" => {
                    draft.fails(line, format!("`on_failure: {on}` is not mapped"));
                }
                _ => {}
            }
            if let Some(max) = own.take("max_retries") {
                policy.push(("maxReworks", max.json().into()));
            }
        }
    }
    if !checks.is_empty() {
        let is_command = map.iter().any(|(key, _)| *key == "run");
        let mut verify = vec![("checks", Out::List(checks))];
        // Rework belongs to specialists; a command is repeated.
        verify.extend(policy.into_iter().map(|(key, value)| match (key, is_command) {
            ("onFailed", true) if value == Out::Value(Json::from("rework")) => {
                (key, "retry".into())
            }
            _ => (key, value),
        }));
        map.push(("verify", Out::map(verify)));
    }
}

/// A prompt, in which only `{{ input }}` is a placeholder.
fn template(text: &str, line: u32, draft: &mut Draft) -> String {
    kept(text, line, draft, |inner| (inner == "input").then(|| "{{input}}".to_owned()))
}
