//! Settings, as YAML and as JSON.

use super::*;
use kb::definition::{ApprovalLevel, InconclusivePolicy, SecretSource, SyncMode};
use kb::value::Tier;

const FULL: &str = r#"{
  "llm": {
    "tiers": {
      "small": {"provider": "openai-compatible", "model": "smol", "endpoint": "http://127.0.0.1:8080/v1"},
      "large": {"model": "claude", "apiKeyEnv": "ANTHROPIC_API_KEY", "price": {"input": 3, "output": 15, "cachedInput": 0.3}}
    },
    "prices": {"smol": {"input": 0, "output": 0}}
  },
  "verifier": {"inconclusivePolicy": {"action": "fail"}},
  "tools": {"security": {"shell:exec": {"enabled": false}, "fs:*": {"denied_paths": ["**/.env"]}}, "http": {"allowPrivate": ["localhost:8080"]}},
  "secrets": {"TOKEN": "env:GITHUB_TOKEN", "FILE": "file:.secret", "CMD": {"command": ["pass", "show", "x"]}},
  "env": {"pass": ["CI"]},
  "sandbox": {"require": "process", "criticalUnapprovedAt": "kernel"},
  "journal": {"sync": "full"},
  "limits": {"maxParallel": 4}
}
"#;

#[test]
fn json_settings_are_read_whole() {
    let (found, said) = settings(FULL);
    assert_eq!(said, "");
    assert_eq!(found.llm.tiers[&Tier::Small].endpoint.as_deref(), Some("http://127.0.0.1:8080/v1"));
    assert_eq!(found.llm.tiers[&Tier::Large].price.expect("a price").cached_input, Some(0.3));
    assert_eq!(found.undecided().inconclusive, Some(InconclusivePolicy::Fail));
    assert_eq!(found.tools.security.tools["shell:exec"].enabled, Some(false));
    assert_eq!(found.tools.security.tools["fs:delete"].denied_paths, ["**/.env"]);
    assert_eq!(found.tools.http.allow_private, ["localhost:8080"]);
    assert_eq!(found.secrets["TOKEN"], SecretSource::Env("GITHUB_TOKEN".into()));
    assert_eq!(
        found.secrets["CMD"],
        SecretSource::Command(vec!["pass".into(), "show".into(), "x".into()])
    );
    assert_eq!(found.env.pass, ["CI"]);
    assert_eq!(found.sandbox.require, Some(ApprovalLevel::Process));
    assert_eq!(found.journal.sync, SyncMode::Full);
    assert_eq!(found.limits.max_parallel, Some(4));
}

#[test]
fn all_problems_of_settings_are_reported_with_their_positions() {
    let (_, said) = settings(
        "llm:\n  tiers:\n    tiny: {model: a}\n    small: {endpoint: localhost}\n    large: {model: b, apiKeyEnv: sk-123-abc}\nsecrets: {TOKEN: hunter2}\nsandbox: {require: kernal}\norchestrator: {escalation: {defaultLadder: {a: [large, small]}}}\njournal: {sync: always}\n",
    );
    insta::assert_snapshot!(said, @r#"
    error KB0106 3:5 unknown key `tiny` in `tiers` | known keys: small, medium, large
    error KB0108 4:12 the tier `small` has no `model` | add `model:`
    error KB0112 4:23 `localhost` is not a URL | write the whole URL, such as `http://127.0.0.1:11434/v1`
    error KB0221 5:34 `apiKeyEnv` is not the name of an environment variable | write a variable name such as `OPENAI_API_KEY`, never the key itself
    error KB0221 6:18 the secret `TOKEN` is not a reference | write `env:NAME`, `file:PATH` or `{command: [...]}`; never the value itself
    error KB0112 7:20 `kernal` is not a value of `require` | did you mean `kernel`?
    error KB0221 8:48 the tiers of a ladder must be in ascending order | write `[small, medium, large]` or a part of it
    error KB0112 9:17 `always` is not a value of `sync` | write one of normal, full
    "#);
    assert!(!said.contains("hunter2"), "a secret is never repeated");
}

#[test]
fn secrets_of_the_settings_are_known_to_playbooks() {
    let steps = with_steps("  - {id: a, run: [curl], env: {T: \"{{secrets.TOKEN}}\"}}");
    let (catalog, found) = definition::load(vec![
        file("playbooks/p.yml", FileRole::Playbook, steps),
        file(".kb/kb.config.yml", FileRole::Settings, "secrets: {TOKEN: env:X}\n"),
    ]);
    assert_eq!(lines(&catalog, &found), "");
    assert_eq!(catalog.playbooks.len(), 1);
}

#[test]
fn settings_with_an_error_still_say_which_secrets_there_are() {
    let steps = with_steps("  - {id: a, run: [curl], env: {T: \"{{secrets.TOKEN}}\"}}");
    let (catalog, found) = definition::load(vec![
        file("playbooks/p.yml", FileRole::Playbook, steps),
        file(
            ".kb/kb.config.yml",
            FileRole::Settings,
            "secrets: {TOKEN: env:X}\nlimits: {maxParallel: no}\n",
        ),
    ]);
    insta::assert_snapshot!(lines(&catalog, &found), @r#"
    error KB0105 2:23 `maxParallel` takes a whole number, found a text | write a whole number: `maxParallel: 3`
    "#);
}

#[test]
fn a_specialist_has_a_ladder() {
    let text =
        "schema: kb.specialist/1\nid: s\nrole: x\nllm: {tier: small, ladder: [small, large]}\n";
    let (catalog, said) = said(FileRole::Specialist, ".kb/specialists/s.yml", text);
    assert_eq!(said, "");
    assert_eq!(catalog.specialists.len(), 1, "and it is used");
}

#[test]
fn a_playbook_is_in_one_queue() {
    let (_, said) = settings("serve: {queues: {a: {playbooks: [x, y]}, b: {playbooks: [y]}}}\n");
    assert_eq!(
        said.trim(),
        "error KB0221 1:57 the playbook `y` is in the queues `a` and `b` | name it in one queue"
    );
}

/// The default that the reference shows is the value: both come from one text.
#[test]
fn the_default_of_an_absent_key_is_the_one_that_the_reference_shows() {
    let settings = kb::definition::Settings::default();
    assert_eq!(settings.cache.max_mib, 1024);
    assert_eq!((settings.journal.step_log_mib, settings.journal.run_log_mib), (64, 4096));
    assert_eq!(settings.llm.max_input_tokens, 4000);
    assert_eq!((settings.memory.max_tokens, settings.memory.max_entries), (1200, 2000));
    assert_eq!(settings.memory.archive_after.as_secs(), 90 * 24 * 3600);
    assert_eq!(settings.sandbox.critical_unapproved_at.as_str(), "kernel");
    assert_eq!(settings.sandbox.processes.as_str(), "auto");
    assert_eq!(settings.verifier.inconclusive.max_retries, 1);
}
