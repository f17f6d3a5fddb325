//! The budget of the values in a prompt, through the binary.

use crate::scratch::{Said, Scratch};

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - id: make
    run: |
      head -c 200000 /dev/zero | tr '\\0' x
      printf ' THE END'
  - id: use
    specialist: reader
    task: Summarize.
    input: {context: \"{{make.output}}\", question: How long is it?}
    verify: {claims: none, expectChanges: false}
";

const SCRIPT: &str = "schema: kb.script/1
steps:
  use:
    - calls: [{tool: 'output:read', args: {ref: input.context, offset: 199990}}]
    - output: {summary: done}
";

fn project(tools: &str, settings: &str, playbook: &str) -> Scratch {
    let specialist = format!(
        "schema: kb.specialist/1\nid: reader\nrole: You summarize.\ntools: {tools}\n\
         output: {{schema: {{summary: string}}}}\n"
    );
    Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/reader.yml", &specialist),
        (".kb/kb.config.yml", settings),
        ("script.yml", SCRIPT),
    ])
}

fn ran(scratch: &Scratch) -> (Said, Said) {
    let args = ["playbook", "run", "p", "--script", "script.yml", "--json"];
    let live = scratch.kb(&args).code(0);
    (live, scratch.kb(&["run", "logs", "@last", "use", "--prompts"]).code(0))
}

fn warnings(live: &Said) -> Vec<String> {
    let notes = live.events().into_iter().filter(|e| e["type"] == "step:note");
    let warnings = notes.filter(|e| e["level"] == "warning");
    warnings.map(|e| e["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_large_value_of_the_input_is_a_preview_that_can_be_read_on() {
    for tools in ["['fs:read']", "[]"] {
        let (live, logs) = ran(&project(tools, "{}\n", PLAYBOOK));
        assert!(logs.out.len() < 40_000, "{tools}: {} bytes", logs.out.len());
        let shown = logs.out.matches('x').count();
        assert!((10_000..17_000).contains(&shown), "{tools}: {shown} characters of the value");
        assert!(logs.out.contains("of 200008 characters; continue with `output:read`"), "{tools}");
        assert!(logs.out.contains("\\\"ref\\\": \\\"input.context\\\""), "{tools}");
        assert!(logs.out.contains("How long is it?"), "a small value stays whole: {tools}");
        assert!(logs.out.contains("xxxxxxxxxx THE END"), "{tools}: the rest was read");
        let warnings = warnings(&live);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("`llm.maxInputTokens`")
                && warnings[0].contains("`input.context` (200008 characters)"),
            "{warnings:?}"
        );
    }
}

#[test]
fn the_setting_raises_the_budget() {
    let (live, logs) = ran(&project("[]", "llm: {maxInputTokens: 60000}\n", PLAYBOOK));
    assert!(logs.out.matches('x').count() >= 200_000);
    assert_eq!(warnings(&live), Vec::<String>::new());
}

#[test]
fn values_in_the_task_share_the_budget_and_the_author_s_text_stays() {
    let playbook = PLAYBOOK
        .replace("task: Summarize.", "task: \"Summarize {{make.output}} in one line.\"")
        .replace("context: \"{{make.output}}\", ", "");
    let scratch = project("[]", "llm: {maxInputTokens: 1000}\n", &playbook);
    scratch.write("script.yml", &SCRIPT.replace("input.context", "task.1"));
    let (live, logs) = ran(&scratch);
    assert!(logs.out.matches('x').count() < 4_200, "{}", logs.out);
    for part in ["Summarize xxx", "] in one line.", "{\"ref\": \"task.1\"", "xxxx THE END"] {
        assert!(logs.out.contains(part), "`{part}` is missing in:\n{}", logs.out);
    }
    assert_eq!(warnings(&live).len(), 1);
}

#[test]
fn the_warning_comes_once_for_all_attempts_and_items_of_a_step() {
    let playbook = PLAYBOOK.replace("  - id: use\n", "  - id: use\n    forEach: [1, 2, 3]\n");
    let (live, _) = ran(&project("[]", "{}\n", &playbook));
    assert_eq!(warnings(&live).len(), 1);
}
