//! Markdown workflows and agent profiles.

use super::*;

fn workflow(name: &str, matter: &str) -> (Catalog, String) {
    said(FileRole::Workflow, &format!("workflows/{name}"), format!("---\n{matter}---\nbody\n"))
}

#[test]
fn parameters_are_inferred_once_and_only_from_bare_names() {
    let (catalog, said) = workflow(
        "w.md",
        "steps:\n  - {id: a, agent: agents/a.md, prompt: \"About {topic} for {who}; {topic} again, ${HOME}, {a b}, {\\\"k\\\": 1}\", outputs: [x]}\n  - {id: b, agent: agents/a.md, prompt: \"Use {a.x} and {topic}\"}\n",
    );
    let found = &catalog.playbooks["w"];
    let names: Vec<&str> = found.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(names, ["topic", "who"], "{said}");
    assert!(found.params.iter().all(|param| param.required && param.inferred));
}

#[test]
fn declared_parameters_are_not_inferred() {
    let (catalog, said) = workflow(
        "w.md",
        "params: [{name: topic, default: x}]\nsteps:\n  - {id: a, agent: agents/a.md, prompt: \"About {topic}, not {else_where}\"}\n",
    );
    assert_eq!(said, "");
    assert_eq!(catalog.playbooks["w"].params.len(), 1);
}

#[test]
fn a_file_name_that_is_no_id_needs_an_id() {
    let steps = "steps: [{id: a, run: echo}]\n";
    let (_, said) = workflow("My Flow.md", steps);
    insta::assert_snapshot!(said, @"error KB0202 2:1 the file's name `My Flow` cannot be the id of a workflow | add `id:`, or rename the file; use a lower-case letter, then up to 63 lower-case letters, digits, `_` and `-`");
    let (catalog, said) = workflow("My Flow.md", &format!("id: my-flow\n{steps}"));
    assert_eq!(said, "");
    assert!(catalog.playbooks.contains_key("my-flow"));
}

#[test]
fn workflows_take_the_keys_of_playbooks() {
    let (catalog, said) = workflow(
        "w.md",
        "name: W\norder: sequential\nlimits: {max_parallel: 2}\nsteps:\n  - {id: a, run: echo}\n  - {id: b, run: [echo, \"{a.output}\"], timeout: 5s}\n",
    );
    assert_eq!(said, "");
    assert_eq!(catalog.playbooks["w"].steps[1].depends_on[0].0.as_str(), "a");
    assert_eq!(catalog.playbooks["w"].limits.max_parallel, Some(2));
}

#[test]
fn a_subagent_file_of_claude_code_is_a_profile() {
    let (found, said) = specialist(
        FileRole::AgentProfile,
        ".kb/agents/code-reviewer.md",
        "---\nname: code-reviewer\ndescription: Reviews code. Use it after changes.\ntools: Read, Grep, Glob, Bash, WebSearch, Bash(git diff:*, git log:*)\nmodel: sonnet\ncolor: blue\npermissionMode: default\n---\n\nYou are a senior reviewer.\n",
    );
    let tools: Vec<&str> = found.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["fs:read", "fs:exists", "fs:search", "fs:list", "shell:exec"]);
    assert_eq!(found.model.tier, kb::value::Tier::Medium);
    assert_eq!(found.role, "You are a senior reviewer.");
    assert_eq!(found.id.as_str(), "agents/code-reviewer.md");
    insta::assert_snapshot!(said, @"
    warning KB0902 4:8 `WebSearch` is not supported yet | it has no effect for now
    warning KB0902 4:8 `Bash(git diff:*, git log:*)` is not supported yet | it has no effect for now
    info KB0903 6:1 `color` has no effect | other programs may use it; it can stay
    warning KB0902 7:1 `permissionMode` is not supported yet | it has no effect for now
    ");
}

#[test]
fn a_narrowed_tool_never_widens() {
    let (found, _) = specialist(
        FileRole::AgentProfile,
        "agents/a.md",
        "---\nname: a\ntools: Bash(git diff:*), Read\ndisallowedTools: Read\n---\nHi\n",
    );
    assert!(found.tools.iter().all(|tool| tool.name == "fs:exists" || tool.name != "shell:exec"));
    assert!(!found.tools.iter().any(|tool| tool.name == "fs:read"));
}

#[test]
fn tool_globs_expand_over_the_known_tools() {
    let (found, _) = specialist(
        FileRole::Specialist,
        "s.yml",
        "schema: kb.specialist/1\nid: s\nrole: Hi\ntools: [\"fs:*\", \"output:*\", fs:read]\n",
    );
    let tools: Vec<&str> = found.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        tools,
        [
            "fs:read",
            "fs:list",
            "fs:search",
            "fs:exists",
            "fs:write",
            "fs:edit",
            "fs:delete",
            "output:read"
        ]
    );
}

#[test]
fn problems_of_a_specialist_are_told_together() {
    let (_, said) = said(
        FileRole::Specialist,
        "s.yml",
        "schema: kb.specialist/1\nid: s\nrol: Hi\ntools: [fs:raed, \"zz:*\"]\nllm: {tier: huge, temperature: 3, max_tokens: 0}\nlimits: {maxSteps: -1, timeoutMs: 5m}\nexamples: [{task: a}]\n",
    );
    insta::assert_snapshot!(said, @"
    error KB0106 3:1 unknown key `rol` in a specialist | did you mean `role`?
    error KB0217 4:9 unknown tool `fs:raed` | did you mean `fs:read`?
    error KB0217 4:18 unknown tool `zz:*` | known tools: fs:read, fs:list, fs:search, fs:exists, code:outline, code:find-definition, code:find-usages, mind:query, mind:outline, fs:write, fs:edit, fs:delete, git:commit, shell:exec, http:request, http:fetch, memory:search, memory:propose, memory:feedback, knowledge_query, knowledge_contribute, faq:search, faq:write, faq:delete, faq:mark-helpful, faq:mark-not-helpful, publish, subscribe, ack, unsubscribe, blackboard_write, blackboard_read, delegate, output:read, artifact:get
    error KB0112 5:13 `huge` is not a value of `tier` | write one of small, medium, large
    error KB0112 5:32 `temperature` cannot be 3 | write a number from 0 to 2
    error KB0112 5:47 `maxTokens` cannot be 0 | write a whole number of at least 1
    error KB0112 6:20 `maxSteps` cannot be -1 | write a whole number from 1 to 10000
    error KB0105 6:35 `timeoutMs` takes milliseconds as a whole number, found a text | write milliseconds as a whole number: `timeoutMs: 500`
    error KB0108 7:12 an example has no `approach` | add `approach:`
    error KB0108 7:12 an example has no `outcome` | add `outcome:`
    ");
}
