//! Capabilities of specialists that steps call by name.

use crate::scratch::Scratch;
use serde_json::json;

const WRITER: &str = "\
schema: kb.specialist/1
id: writer
role: You write.
tools: [fs:read]
capabilities:
  - summarise
  - name: write_article
    input_schema: {type: object, properties: {topic: {type: string}, style: {type: string, default: formal}}, required: [topic]}
    output_schema: {type: object, properties: {text: {type: string}}, required: [text]}
    tools_required: [file_read]
    prompt_template: 'Write about {topic} in a {style} style.'
";

fn project(step: &str, specialist: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: draft, specialist: writer, {step}}}\n\
         outputs: {{text: '{{{{draft.output.text}}}}'}}\n"
    );
    let script = json!({"schema": "kb.script/1", "steps": {"draft": [
        {"output": {"summary": "done", "text": "the article"}},
    ]}});
    Scratch::new(&[
        ("playbooks/p.yml", &playbook),
        (".kb/specialists/writer.yml", specialist),
        ("script.json", &script.to_string()),
    ])
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.json"];

#[test]
fn a_capability_gives_its_task_and_its_schemas() {
    let scratch = project("capability: write_article, input: {topic: tea}", WRITER);
    scratch.kb(&RUN).code(0).says(&["the article"]);
    let prompt = scratch.kb(&["run", "logs", "@last", "draft", "--prompts"]).code(0);
    prompt.says(&["Write about tea in a formal style.", "`text` (string, required)"]);
    // The task of the step follows.
    let both = "capability: write_article, input: {topic: tea, style: short}, task: Be quick.";
    let scratch = project(both, WRITER);
    scratch.kb(&RUN).code(0);
    let prompt = scratch.kb(&["run", "logs", "@last", "draft", "--prompts"]).code(0);
    prompt.says(&["Write about tea in a short style.", "Be quick."]);
}

#[test]
fn a_capability_in_place_of_a_specialist_is_that_of_the_only_one_that_has_it() {
    let step = "\
schema: kb.playbook/1
id: p
steps:
  - {id: draft, capability: write_article, input: {topic: tea}}
outputs: {text: '{{draft.output.text}}'}
";
    let scratch = project("capability: write_article, input: {topic: tea}", WRITER);
    scratch.write("playbooks/p.yml", step);
    scratch.kb(&RUN).code(0).says(&["the article"]);
    scratch.kb(&["playbook", "graph", "p"]).code(0).says(&["specialist writer"]);
    // A name for display is enough to choose, whatever its case, if the step has a task.
    let named = step.replace("write_article, input: {topic: tea}", "Summarise, task: Go");
    scratch.write("playbooks/p.yml", &named);
    scratch.kb(&RUN).code(0);
    scratch.write("playbooks/p.yml", &step.replace("write_article", "write_artcle"));
    let said = scratch.kb(&["playbook", "validate"]).code(2);
    said.says(&["KB0417", "p.yml:4", "did you mean `write_article`?"]);
    // Two that have it are a question to the author.
    scratch.write("playbooks/p.yml", step);
    let other = WRITER.replace("id: writer", "id: second");
    scratch.write(".kb/specialists/second.yml", &other);
    let said = scratch.kb(&["playbook", "validate"]).code(2);
    said.says(&["KB0417", "`second`, `writer`", "add `specialist:`"]);
}

#[test]
fn input_that_does_not_match_is_an_error() {
    let scratch = project("capability: write_article, input: {theme: tea}", WRITER);
    scratch.kb(&RUN).code(1).says(&["topic"]);
}

#[test]
fn an_unknown_capability_and_a_missing_tool_are_reported() {
    let scratch = project("capability: write_artcle, input: {topic: tea}", WRITER);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["did you mean `write_article`?"]);
    let scratch = project("capability: summarise, input: {topic: tea}", WRITER);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["has no capability `summarise`"]);
    let poor = WRITER.replace("tools: [fs:read]", "tools: [fs:list]");
    let scratch = project("capability: write_article, input: {topic: tea}", &poor);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["requires `fs:read`"]);
}
