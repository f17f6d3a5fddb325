//! What `kb playbook validate` finds although it loads: mistakes that a run would show, or that a person only notices
//! when nothing starts.

use crate::scratch::Scratch;

/// The place, the reason and the fix of the one problem of a project.
#[track_caller]
fn says(files: &[(&str, &str)], code: i32, parts: &[&str]) {
    let scratch = Scratch::new(files);
    let said = scratch.kb(&["playbook", "validate"]).code(code);
    said.says(parts);
}

const STEPS: &str = "steps:\n  - {id: a, run: \"true\"}\n";

#[test]
fn the_pass_before_needs_a_guard_in_the_first_pass() {
    let playbook = |value: &str| {
        format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  - id: fix\n    set: {{n: \"{value}\"}}\n    loop: {{until: \"{{{{fix.output.n == 'x'}}}}\", max: 2}}\n"
        )
    };
    let path = ".kb/playbooks/p.yml";
    says(
        &[(path, &playbook("{{loop.previous.output.n}}"))],
        2,
        &[
            "KB0405",
            "p.yml:5:",
            "`fix` reads `loop.previous.output.n`",
            "loop.previous.output.n | default('')",
        ],
    );
    for fine in [
        "{{loop.previous.output.n | default('x')}}",
        "{{loop.previous.output.n if loop.iteration > 1 else 'x'}}",
        "{{loop.previous.output.n if loop.previous else 'x'}}",
        "{{loop.iteration}}",
    ] {
        let scratch = Scratch::new(&[(path, &playbook(fine))]);
        scratch.kb(&["playbook", "validate"]).code(0);
    }
}

#[test]
fn an_unknown_provider_is_a_warning_with_the_one_that_was_meant() {
    let specialist =
        "schema: kb.specialist/1\nid: s\nrole: Writes\ntools: [fs:read]\nllm: {provider: openia}\n";
    let path = ".kb/specialists/s.yml";
    says(
        &[(path, specialist)],
        0,
        &["s.yml:5:17", "unknown provider `openia`", "did you mean `openai`?"],
    );
    let settings =
        "schema: kb.settings/1\nllm: {tiers: {small: {provider: olama, model: qwen3}}}\n";
    says(&[(".kb/kb.config.yml", settings)], 0, &["kb.config.yml:2:", "did you mean `ollama`?"]);
    let own = "schema: kb.settings/1\nllm: {tiers: {small: {provider: openia, model: m, endpoint: \"http://127.0.0.1:9/v1\"}}}\n";
    let scratch = Scratch::new(&[(".kb/kb.config.yml", own), (path, specialist)]);
    let said = scratch.kb(&["playbook", "validate"]).code(0);
    assert!(!said.err.contains("unknown provider"), "{}", said.err);
}

#[test]
fn an_id_that_is_not_the_name_of_the_file_is_a_warning() {
    let text = format!("schema: kb.playbook/1\nid: other\n{STEPS}");
    says(
        &[(".kb/playbooks/deploy.yml", &text)],
        0,
        &[
            "deploy.yml:2:",
            "the id `other` is not the name of the file, `deploy`",
            "kb playbook run other",
        ],
    );
}

#[test]
fn a_schedule_whose_times_are_over_is_a_warning() {
    let text = |at: &str| {
        format!("schema: kb.playbook/1\nid: p\non: {{schedule: {{at: [{at}]}}}}\n{STEPS}")
    };
    let path = ".kb/playbooks/p.yml";
    says(
        &[(path, &text("\"2024-03-01T09:00\""))],
        0,
        &["p.yml:3:", "is over", "write a later time"],
    );
    let scratch = Scratch::new(&[(path, &text("\"2024-03-01T09:00\", \"2199-03-01T09:00\""))]);
    let said = scratch.kb(&["playbook", "validate"]).code(0);
    assert!(!said.err.contains("is over"), "{}", said.err);
}
