//! Keys that this version does not support: what restricts a run refuses it, the rest only warns.

use super::*;

fn specialist_said(text: &str) -> (Vec<String>, String) {
    let text = format!("schema: kb.specialist/1\nid: s\nrole: x\n{text}\n");
    let (found, said) = specialist(FileRole::Specialist, ".kb/specialists/s.yml", &text);
    (found.not_yet.iter().map(|not_yet| not_yet.what.clone()).collect(), said)
}

#[test]
fn restrictions_of_a_specialist_load() {
    let (refused, said) = specialist_said("security: {tools: {file_write: {enabled: false}}}");
    assert!(refused.is_empty() && said.is_empty(), "{said}");
    let (refused, said) = specialist_said("global_limits: {max_tool_calls_per_task: 3}");
    assert!(refused.is_empty() && said.is_empty(), "{said}");
    let (refused, _) = specialist_said(
        "capabilities: [{name: a, input_schema: {}, output_schema: {}, tools_required: [], prompt_template: x}]",
    );
    assert!(refused.is_empty());
    let (found, said) = specialist(
        FileRole::Specialist,
        ".kb/specialists/s.yml",
        "agent: {name: a, tools: {security: {file_read: {enabled: false}}}, security: {global_limits: {}}}\n",
    );
    assert!(found.not_yet.is_empty(), "{said}");
    assert!(found.security.is_some());
}

#[test]
fn what_restricts_an_agent_of_claude_code_refuses_the_run() {
    let said = |keys: &str| {
        let text = format!("---\nname: a\n{keys}\n---\nYou review.\n");
        let (found, said) = specialist(FileRole::AgentProfile, ".kb/agents/a.md", &text);
        let refused: Vec<String> = found.not_yet.iter().map(|n| n.what.clone()).collect();
        (refused.join(", "), said)
    };
    let (refused, text) =
        said("hooks: {PreToolUse: []}\nisolation: worktree\npermissionMode: plan");
    assert_eq!(refused, "hooks, isolation, permissionMode: plan", "{text}");
    assert_eq!(text.matches("warning KB0901").count(), 3, "{text}");
    let (refused, text) = said("permissionMode: acceptEdits\nskills: [a]\nbackground: true");
    assert_eq!(refused, "", "{text}");
    assert_eq!(text.matches("warning KB0902").count(), 3, "{text}");
}

#[test]
fn global_limits_of_the_settings_are_limits() {
    let (found, said) = settings("security: {global_limits: {max_api_calls_per_minute: 60}}\n");
    assert!(found.not_yet.is_empty() && said.is_empty(), "{said}");
    assert_eq!(found.security.global_limits.calls_per_minute, Some(60));
}

#[test]
fn keys_of_other_tools_load_with_a_warning() {
    let text = "agent: {name: a, progress_heartbeat: {enabled: true, interval_seconds: 30}}\n";
    let (found, said) = specialist(FileRole::Specialist, ".kb/specialists/s.yml", text);
    assert!(found.not_yet.is_empty());
    insta::assert_snapshot!(said, @"
    warning KB0902 1:18 `progress_heartbeat` is not supported yet | it has no effect for now
    ");
    let (refused, said) = specialist_said("progressHeartbeat: {enabled: true}");
    assert!(refused.is_empty() && said.lines().count() == 1, "{said}");
    let text =
        "memory: {short_term: {enabled: true}}\nagent_loop: {max_iterations: 5}\n$schema: x\n";
    let (found, said) = settings(text);
    assert!(found.not_yet.is_empty());
    insta::assert_snapshot!(said, @"
    info KB0903 1:10 `memory.short_term` has no effect | other programs may use it; it can stay
    warning KB0902 2:1 `agent_loop` is not supported yet | it has no effect for now
    ");
}

#[test]
fn rows_of_a_recovery_table_are_checked() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: x, recovery: [{on: [bogus], do: fly}, {on: [transiemt], do: retri}]}
  - {id: b, run: x, recovery: [{on: [timeout], do: rework}, {do: retry}, {on: exit}]}
  - {id: c, specialist: s, task: x, recovery: [{on: stuck, do: switchSpecialist}, {on: stuck, do: retry, to: s}]}
  - {id: d, run: x, recovery: [{on: [\"*\"], do: retry, max: 2, backoff: linear, initial: soon}]}
"
    ), @"
    error KB0112 5:38 `bogus` is not an outcome | write one of *, transient, timeout, exit, exit:N, tool_error, validation_failed, gate_failed, gate_inconclusive, gate_unchecked, stuck, policy_denied, unknown
    error KB0112 5:50 `fly` is not a value of `do` | write one of retry, rework, escalateModel, changeStrategy, switchSpecialist, askUser, fail
    error KB0112 5:62 `transiemt` is not an outcome | did you mean `transient`?
    error KB0112 5:78 `retri` is not a value of `do` | did you mean `retry`?
    error KB0211 6:52 `rework` is only available for specialist steps | use `retry`, `askUser` or `fail`
    error KB0108 6:61 a row of `recovery` has no `on` | add `on:`
    error KB0108 6:74 a row of `recovery` has no `do` | add `do:`
    error KB0108 7:48 a row with `switchSpecialist` has no `to` | add `to:`
    error KB0211 7:110 `to` is not available for `retry` | remove it, or use `switchSpecialist`
    error KB0112 8:89 `soon` is not a duration | write a number with a unit, such as `250ms`, `90s`, `5m` or `1h30m`
    ");
}

#[test]
fn forms_of_a_singleton() {
    let lock = |form: &str, text: &str| {
        let text = match form {
            "agent" => format!("agent: {{name: s, singleton: {text}}}\n"),
            _ => format!("schema: kb.specialist/1\nid: s\nrole: x\nsingleton: {text}\n"),
        };
        let (found, said) = specialist(FileRole::Specialist, ".kb/specialists/s.yml", &text);
        (found.lock().unwrap_or_default(), said)
    };
    for form in ["agent", "specialist"] {
        assert_eq!(lock(form, "true"), ("singleton:s".to_owned(), String::new()));
        assert_eq!(lock(form, "{enabled: true, queue_prefix: q}").0, "q:s");
        assert_eq!(lock(form, "{}").0, "singleton:s");
        for off in ["false", "{enabled: false}"] {
            assert_eq!(lock(form, off), (String::new(), String::new()));
        }
    }
    let refused = |text: &str| {
        let text = format!("schema: kb.specialist/1\nid: s\nrole: x\nsingleton: {text}\n");
        said(FileRole::Specialist, ".kb/specialists/s.yml", text).1
    };
    insta::assert_snapshot!(refused("{queue_prefix: a b}"), @"error KB0112 4:27 this cannot be the name of a lock | use up to 64 letters, digits, `_`, `-`, `.` and `/`");
    assert!(
        refused("once").starts_with("error KB0105 4:12 `singleton` takes"),
        "{}",
        refused("once")
    );
}
