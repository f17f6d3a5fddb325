//! `on:` of playbooks, and `trigger: auto` of workflows.

use kb::definition::{FileRole, InputFile, Playbook, TriggerSource, link_triggers, load};
use kb::diagnostic::render;
use std::sync::Arc;

/// The playbook `p` of a project and all problems as text.
fn loaded(files: &[(&str, &str)]) -> (Option<Arc<Playbook>>, String) {
    let files = files.iter().map(|(path, text)| InputFile {
        path: (*path).to_owned(),
        bytes: text.as_bytes().to_vec().into(),
        role: match *path {
            ".kb/kb.config.yml" => FileRole::Settings,
            path if path.ends_with(".md") => FileRole::Workflow,
            _ => FileRole::Playbook,
        },
    });
    let (mut catalog, mut problems) = load(files.collect());
    problems.extend(link_triggers(&mut catalog));
    let text = |problem| render(problem, &catalog.sources, false, None);
    let text: Vec<String> = problems.iter().map(text).collect();
    (catalog.playbooks.get("p").cloned(), text.join("\n"))
}

fn playbook(on: &str) -> (Option<Arc<Playbook>>, String) {
    let text = format!(
        "schema: kb.playbook/1\nid: p\nparams:\n  - {{name: branch, required: true}}\n  - {{name: count, type: integer, default: 1}}\n  - {{name: key, type: secret, default: \"env:KEY\"}}\non:\n{on}\nsteps: [{{id: a, run: \"true\"}}]\n"
    );
    let settings = "secrets: {HOOK: env:HOOK, NEXT: env:NEXT}\n";
    let other = "schema: kb.playbook/1\nid: build\nsteps: [{id: a, run: \"true\"}]\n";
    loaded(&[
        (".kb/kb.config.yml", settings),
        ("playbooks/p.yml", &text),
        ("playbooks/build.yml", other),
    ])
}

#[test]
fn a_source_in_place_of_the_name_of_a_secret_has_a_help_that_can_be_copied() {
    let (_, said) = playbook("  webhook: {form: github, secret: env:SIGNING_KEY}");
    assert!(said.contains("KB1001"), "{said}");
    let help = "`secret: SIGNING_KEY`, and declare it in the settings: `secrets: {SIGNING_KEY: env:SIGNING_KEY}`";
    assert!(said.contains(help), "{said}");
}

#[test]
fn all_kinds_load() {
    let (found, said) = playbook(
        r#"  schedule:
    - {name: nightly, cron: "30 2 * * MON-FRI", zone: Europe/Berlin, params: {branch: main}, overlap: queueOne, catchUp: {window: 6h, keep: all, max: 3}, jitter: 5m, pauseAfter: 3}
    - {name: hourly, cron: "@hourly", params: {branch: main, count: 2}}
  webhook: {form: github, secret: [HOOK, NEXT], payload: {branch: ref, count: commits.0.size}}
  file: {paths: ["inbox/*.csv"], payload: {branch: path}}
  message: {topic: orders, payload: {branch: message.branch}}
  run: {playbook: build, status: [succeeded, failed], payload: {branch: outputs.branch}}"#,
    );
    assert_eq!(said.matches("KB0").count(), 0, "{said}");
    let found = found.unwrap();
    let names: Vec<_> = found.on.iter().map(|t| (t.name.as_str(), t.source.kind())).collect();
    assert_eq!(
        names,
        [
            ("nightly", "schedule"),
            ("hourly", "schedule"),
            ("webhook", "webhook"),
            ("file", "file"),
            ("message", "message"),
            ("run", "run")
        ]
    );
    let TriggerSource::Webhook(webhook) = &found.on[2].source else { panic!() };
    assert_eq!((webhook.path.as_str(), webhook.secrets.len()), ("p", 2));
}

#[test]
fn mistakes_are_reported_with_their_fix() {
    let cases = [
        ("  schedule: {cron: \"*/60 * * * *\", params: {branch: m}}", "write a step from 1 to 59"),
        ("  schedule: {cron: \"0 0 6 * * *\", params: {branch: m}}", "remove the field of seconds"),
        ("  schedule: {cron: \"0 0 30 2 *\", params: {branch: m}}", "no date matches it"),
        (
            "  schedule: {cron: \"0 6 * * *\", zone: Berlin, params: {branch: m}}",
            "did you mean `Europe/Berlin`?",
        ),
        ("  schedule: \"0 6 * * *\"", "gives the required parameter `branch` no value"),
        ("  schedule: {cron: \"0 6 * * *\", params: {brunch: m}}", "did you mean `branch`?"),
        (
            "  schedule: {cron: \"0 6 * * *\", params: {branch: m, count: many}}",
            "expected a whole number",
        ),
        (
            "  schedule: {cron: \"0 6 * * *\", params: {branch: m}, overlap: queue}",
            "`queue` is not a value of",
        ),
        (
            "  schedule: {cron: \"0 6 * * *\", timezone: UTC, params: {branch: m}}",
            "unknown key `timezone`",
        ),
        ("  schedule: {crom: \"0 6 * * *\", params: {branch: m}}", "did you mean `cron`?"),
        (
            "  schedule: {cron: \"0 6 * * *\", params: {branch: m}, catchUp: {keep: all}}",
            "has no `window`",
        ),
        (
            "  schedule: [{cron: \"@daily\", params: {branch: m}}, {cron: \"@hourly\", params: {branch: m}}]",
            "two triggers have the name `schedule`",
        ),
        ("  cron: \"0 6 * * *\"", "unknown key `cron` in `on`"),
        ("  webhook: {secret: HOK, payload: {branch: ref}}", "did you mean `HOOK`?"),
        ("  webhook: {payload: {branch: ref}}", "has no `secret`"),
        (
            "  webhook: {secret: HOOK, payload: {branch: ref, key: token}}",
            "cannot come from a payload",
        ),
        ("  webhook: {secret: HOOK, payload: {branch: \"$.ref\"}}", "is not a path into a payload"),
        ("  file: {paths: \"../x\", payload: {branch: path}}", "outside of the project"),
        ("  file: {paths: \"a[\", payload: {branch: path}}", "is not a glob"),
        ("  message: {topic: \"a b\", payload: {branch: x}}", "cannot be a topic"),
        ("  run: {playbook: biuld, payload: {branch: run}}", "did you mean `build`?"),
        ("  run: {playbook: p, payload: {branch: run}}", "`p ← p`"),
    ];
    for (on, expected) in cases {
        let (found, said) = playbook(on);
        assert!(said.contains(expected), "{on}\n{said}");
        assert!(found.is_none(), "{on}");
    }
}

#[test]
fn playbooks_that_start_each_other_do_not_load() {
    let text = |id: &str, after: &str| {
        format!(
            "schema: kb.playbook/1\nid: {id}\non: {{run: {after}}}\nsteps: [{{id: a, run: \"true\"}}]\n"
        )
    };
    let (p, q, r) = (text("p", "r"), text("q", "p"), text("r", "q"));
    let files = [("playbooks/p.yml", p.as_str()), ("playbooks/q.yml", &q), ("playbooks/r.yml", &r)];
    let (found, said) = loaded(&files);
    assert!(found.is_none());
    assert_eq!(said.matches("without end").count(), 1, "{said}");
    let (found, said) =
        loaded(&[("playbooks/p.yml", &text("p", "q")), ("playbooks/q.yml", &text("q", "z"))]);
    assert!(found.is_some() && said.contains("there is no playbook `z`"), "{said}");
}

#[test]
fn an_automatic_workflow_listens_to_messages() {
    let text = "---\nid: p\ntrigger: auto\nsteps:\n  - id: w\n    agent: writer\n    prompt: Write about {topic}\n---\n";
    let (found, said) = loaded(&[("workflows/p.md", text)]);
    let found = found.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(found.on[0].source, TriggerSource::Message { topic: "p".to_owned() });
    assert_eq!(found.on[0].payload[0].1.as_str(), "message.topic");
}
