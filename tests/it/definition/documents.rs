//! The samples of the older documents load unchanged.

use super::*;
use kb::definition::DefinitionForm;
use kb::value::Tier;
use std::time::Duration;

#[test]
fn the_add_feature_sample_loads_unchanged_and_without_diagnostics() {
    let found = playbook(&document("add-feature.yml"));
    assert_eq!(found.id.as_str(), "add-feature");
    assert_eq!(found.name, "Добавление новой фичи");
    assert_eq!(found.triggers, ["добавь фичу", "реализуй функционал", "implement feature"]);
    assert_eq!(found.form, DefinitionForm::Playbook);
    let ids: Vec<&str> = found.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["research", "plan", "implement", "test", "debug", "fix"]);
    let params: Vec<_> = found.params.iter().map(|p| (p.name.as_str(), p.required)).collect();
    assert_eq!(params, [("featureName", true), ("scope", false)]);
    let debug = &found.steps[4];
    let condition = debug.condition.as_ref().expect("a condition");
    assert_eq!(condition.source(), "{{test.output.testResult}} == 'failed'");
    assert_eq!(condition.references().len(), 1);
    assert!(found.not_yet.is_empty());
}

#[test]
fn the_specialist_of_000_9_1_loads() {
    let (found, said) = specialist(
        FileRole::Specialist,
        ".kb/specialists/codebase-expert.yml",
        &document("codebase-expert.yml"),
    );
    assert!(found.role.starts_with("You are a Codebase Expert"));
    assert_eq!(found.model.tier, Tier::Small);
    assert_eq!(found.model.temperature, Some(0.3));
    assert_eq!(names(&found.tools), ["mind:query", "fs:read", "fs:search", "fs:list"]);
    let retrieval = found.retrieval.as_ref().expect("`context.rag`");
    assert_eq!((retrieval.scope.as_deref(), retrieval.max_chunks), (Some("architecture"), 5));
    insta::assert_snapshot!(found.output_schema.as_ref().expect("a schema").json().to_string(), @r#"{"type":"object","properties":{"files":{"type":"array","items":{"type":"string"}},"summary":{"type":"string"},"dependencies":{"type":"array","items":{"type":"string"}}},"required":["files","summary","dependencies"]}"#);
    assert_eq!(said, "");
}

fn names<T: ToString>(tools: &[T]) -> Vec<String> {
    tools.iter().map(T::to_string).collect()
}

#[test]
fn the_researcher_of_000_11_1_loads() {
    let (found, _) = specialist(
        FileRole::Specialist,
        ".kb/specialists/researcher.yml",
        &document("researcher-11-1.yml"),
    );
    assert_eq!((found.limits.max_steps, found.limits.max_tool_calls), (10, 15));
    assert_eq!(found.limits.timeout, Duration::from_secs(120));
    assert_eq!(found.limits.forced_reasoning_interval, Some(3));
    assert_eq!(found.constraints.len(), 2);
    assert_eq!(found.capabilities[0], "Поиск кода через Mind RAG");
    let output = found.output_schema.as_ref().expect("a schema").json();
    assert_eq!(output["properties"]["code"]["additionalProperties"]["type"], "string");
    assert_eq!(output["required"], serde_json::json!(["files", "facts", "summary"]));
}

#[test]
fn a_union_of_quoted_words_is_not_yaml_and_the_help_shows_the_spelling() {
    let text = document("implementer-11-2.yml");
    let (_, told) = said(FileRole::Specialist, ".kb/specialists/implementer.yml", &text);
    insta::assert_snapshot!(told, @"error KB0101 45:27 text after a closing quote | YAML takes no text after a quote; write `testResult?: passed | failed | skipped`");
    let fixed = text.replace("'passed' | 'failed' | 'skipped'", "passed | failed | skipped");
    let (found, told) = specialist(FileRole::Specialist, ".kb/specialists/implementer.yml", &fixed);
    assert_eq!(told, "");
    assert!(found.writes());
    let result =
        &found.output_schema.as_ref().expect("a schema").json()["properties"]["testResult"];
    assert_eq!(*result, serde_json::json!({"enum": ["passed", "failed", "skipped"]}));
}

#[test]
fn the_specialist_of_000_19_2_loads() {
    let (found, _) = specialist(
        FileRole::Specialist,
        ".kb/specialists/researcher.yml",
        &document("researcher-19-2.yml"),
    );
    assert_eq!(found.version.as_deref(), Some("1.0.0"));
    assert_eq!(found.name, "Code Researcher");
    assert_eq!(found.emoji.as_deref(), Some("🔍"));
    assert!(
        found
            .static_context
            .as_ref()
            .is_some_and(|text| text.starts_with("# KB Labs Architecture"))
    );
    assert_eq!(found.examples.len(), 2);
    assert_eq!(found.examples[0].outcome, "Found JWT auth in core-auth package");
    assert_eq!(found.limits.forced_reasoning_interval, Some(3));
    assert_eq!(names(&found.tools), ["mind:query", "fs:read", "fs:list"]);
    assert!(found.unknown_tools.is_empty());
}

#[test]
fn the_agent_of_003_8_loads() {
    let (found, said) =
        specialist(FileRole::Specialist, ".kb/specialists/writer.yml", &document("writer-003.yml"));
    assert_eq!(found.id.as_str(), "agent.writer.001");
    assert_eq!(found.name, "Пушкин");
    assert!(found.role.starts_with("Ты — профессиональный копирайтер."));
    assert_eq!(found.model.model.as_deref(), Some("gpt-4o"));
    assert_eq!(found.model.fallback.as_deref(), Some("gpt-4o-mini"));
    assert_eq!(found.model.max_tokens, Some(4000));
    assert_eq!((found.limits.max_steps, found.limits.max_tool_calls), (24, 10));
    let phases = found.limits.phases.unwrap();
    assert_eq!((phases.rounds, phases.critique), (5, true));
    assert_eq!(found.limits.timeout, Duration::from_secs(300));
    assert_eq!(found.capabilities, ["write_article", "improve_text", "generate_outline"]);
    let tools: Vec<&str> = found.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["memory:search", "memory:propose"]);
    let (refused, rest): (Vec<&str>, Vec<&str>) =
        said.lines().partition(|line| line.starts_with("warning KB0901"));
    assert_eq!(refused, [] as [&str; 0], "{said}");
    let of_others =
        |line: &&str| line.starts_with("warning KB0902") || line.starts_with("info KB0903");
    assert!(rest.iter().all(of_others), "{said}");
}

#[test]
fn the_escalation_of_000_12_5_is_a_setting() {
    let (found, said) = settings(&document("escalation.yml"));
    assert_eq!(found.orchestrator.escalation.per_specialist, Some(2));
    assert_eq!(found.orchestrator.escalation.max_cost_usd, Some(1.0));
    assert_eq!(found.orchestrator.escalation.ladders["implementer"], [Tier::Medium, Tier::Large]);
    insta::assert_snapshot!(said, @r#"
    "#);
}

#[test]
fn the_tool_security_of_003_is_a_setting() {
    let (found, _) = settings(&document("security-003-4-5.yml"));
    let allowed: Vec<&str> = found
        .tools
        .security
        .allowed
        .as_ref()
        .expect("a list")
        .iter()
        .map(|tool| tool.as_str())
        .collect();
    assert_eq!(
        allowed,
        [
            "http:fetch",
            "fs:read",
            "fs:list",
            "fs:search",
            "fs:exists",
            "memory:search",
            "memory:propose"
        ]
    );
    let write = &found.tools.security.tools["fs:write"];
    assert_eq!((write.enabled, write.requires_approval), (Some(false), Some(true)));
    assert_eq!(found.tools.security.tools["fs:read"].denied_paths, ["**/.env", "**/secrets/**"]);

    let (found, _) = settings(&document("security-003-12-3.yml"));
    assert_eq!(found.tools.security.tools["http:request"].enabled, Some(false));
    let allowed = found.tools.security.tools["fs:write"].allowed_paths.clone();
    assert_eq!(allowed, [["/workspace/output/**", "./output/**"]]);
}

#[test]
fn a_quoted_choice_in_settings_is_not_yaml_and_the_help_shows_the_spelling() {
    let (_, said) = settings(&document("inconclusive.yml"));
    insta::assert_snapshot!(said, @"error KB0101 5:20 text after a closing quote | YAML takes no text after a quote; write `action: warn | retry | escalate | fail`");
}

#[test]
fn the_workflow_of_004_loads() {
    let (catalog, said) = said(
        FileRole::Workflow,
        "workflows/research-pipeline.md",
        document("research-pipeline.md"),
    );
    insta::assert_snapshot!(said, @"info KB0218 8:23 `topic` becomes a required parameter | declare it: `params: [{name: topic, required: true}]`");
    let found = &catalog.playbooks["research-pipeline"];
    assert_eq!(found.name, "Research Pipeline");
    assert_eq!(found.form, DefinitionForm::Workflow);
    let review = &found.steps[1];
    assert_eq!(review.depends_on[0].0.as_str(), "research");
    assert!(review.kind.task().is_some(), "{:?}", review.kind);
    assert_eq!(review.kind.specialist().unwrap().as_str(), "agents/reviewer.md");
    let schema = found.steps[0].details().output_schema.as_ref().expect("from `outputs`").json();
    assert_eq!(schema["required"], serde_json::json!(["findings"]));
}

#[test]
fn every_workflow_template_of_004_loads() {
    for name in ["chain.md", "fan-out.md", "debate.md", "review-loop.md"] {
        let (catalog, said) =
            said(FileRole::Workflow, &format!("workflows/{name}"), document(name));
        assert_eq!(catalog.playbooks.len(), 1, "{name}: {said}");
        assert!(said.lines().all(|line| line.starts_with("info KB0218")), "{name}: {said}");
    }
}

#[test]
fn the_agent_profile_of_004_loads_under_its_path() {
    let (found, said) =
        specialist(FileRole::AgentProfile, ".kb/agents/test.md", &document("test-agent.md"));
    assert_eq!(found.id.as_str(), "agents/test.md");
    assert_eq!(found.name, "Test Agent");
    assert_eq!(found.role, "System prompt here");
    insta::assert_snapshot!(said, @"
    warning KB1304 4:5 the tools of the MCP server `vault` are not pinned | `kb mcp pin vault` starts it, shows its tools and pins them in `.kb/mcp.lock`
    warning KB1304 7:5 the tools of the MCP server `db` are not pinned | `kb mcp pin db` starts it, shows its tools and pins them in `.kb/mcp.lock`
    ");
}
