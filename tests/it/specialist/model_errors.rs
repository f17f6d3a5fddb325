//! Errors of model calls and the fallback model.

use super::bench::*;
use crate::scratch::Scratch;
use kb::definition::{LoopPhases, Specialist};
use kb::llm::ModelError;
use std::time::Duration;

fn busy() -> ModelError {
    let retry_after = Some(Duration::from_secs(2));
    ModelError::Transient { message: "busy".to_owned(), status: Some(429), retry_after }
}

#[tokio::test]
async fn a_transient_error_says_when_to_come_back() {
    let ran = check([Reply::Error(busy())], "transient KB0702").await;
    assert_eq!(ran.outcome.retry_after, Some(Duration::from_secs(2)));
    assert_eq!(ran.details()["kind"], "transient");
    check([], "unknown KB0705").await;
}

#[tokio::test]
async fn the_fallback_model_is_tried_once() {
    let spare = |s: &mut Specialist| s.model.fallback = Some("spare".to_owned());
    let first = Bench { fallback: vec![done()], ..bench([Reply::Error(busy())]).with(spare) };
    let ran = first.run().await;
    assert_eq!(ran.end(), DONE);
    assert_eq!(ran.notes(), ["calling the fallback model `spare`: busy"]);
    let second =
        Bench { fallback: vec![Reply::Error(busy())], ..bench([Reply::Error(busy())]).with(spare) };
    assert_eq!(second.run().await.end(), "transient KB0702");
}

#[tokio::test]
async fn the_fallback_model_is_tried_with_phases_too() {
    let refused = ModelError::Refused { message: "no such model".to_owned(), status: Some(404) };
    let understood = Reply::Say("{\"understanding\": \"touch a\", \"complex\": false}");
    let phases = LoopPhases { rounds: 1, critique: false };
    let spare = move |s: &mut Specialist| {
        s.model.fallback = Some("spare".to_owned());
        s.limits.phases = Some(phases);
        s.limits.max_steps = phases.model_calls(s.limits.max_tool_calls);
    };
    let first =
        Bench { fallback: vec![understood, done()], ..bench([Reply::Error(refused)]).with(spare) };
    let ran = first.run().await;
    assert_eq!(ran.end(), DONE);
    let last = ran.notes().pop().unwrap();
    assert_eq!(last, "calling the fallback model `spare`: no such model");
}

#[tokio::test]
async fn a_hypothesis_is_the_one_of_the_model_or_absent() {
    let empty =
        |hypothesis: serde_json::Value| submit(serde_json::json!({"hypothesis": hypothesis}));
    let told = |text: &str| [empty(text.into()), empty(text.into()), empty(text.into())];
    let ran = bench(told("the file is locked")).run().await;
    assert_eq!(ran.details()["hypothesis"], "the file is locked");
    let ran = bench(told(" ")).run().await;
    assert_eq!(ran.details().get("hypothesis"), None);
}

#[test]
fn a_model_that_another_provider_serves_is_not_called() {
    let agent = "agent:\n  name: poet\n  brain: {model: verse, provider: PROVIDER, system_prompt: You write.}\n";
    let run = |provider: &str| {
        let scratch = Scratch::new(&[
            (".kb/specialists/poet.yml", &agent.replace("PROVIDER", provider)),
            (
                ".kb/playbooks/p.yml",
                "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: poet, task: Write., retry: {max: 0}}\n",
            ),
            // Nothing listens there: a call that is made fails.
            (
                ".kb/kb.config.yml",
                "llm: {tiers: {medium: {provider: ollama, endpoint: \"http://127.0.0.1:9/v1\", model: verse}}}\n",
            ),
        ]);
        scratch.kb(&["playbook", "run", "p"])
    };
    let other = run("anthropic");
    other
        .says(&["KB0701", "wants the provider `anthropic`, and `ollama` serves the model `verse`"]);
    let same = run("Ollama");
    assert!(!same.err.contains("wants the provider") && !same.out.contains("wants the provider"));
    same.says(&["127.0.0.1:9"]);
}

#[test]
fn a_fallback_model_of_another_provider_is_not_called() {
    let agent = "agent:\n  name: poet\n  brain: {model: verse, provider: ollama, system_prompt: You write., \
                 fallback: {enabled: true, model: spare}}\n";
    let said = |spare: &str| {
        let tier = |name: &str, provider: &str| {
            format!(
                "{name}: {{provider: {provider}, endpoint: \"http://127.0.0.1:9/v1\", model: {name}}}"
            )
        };
        let scratch = Scratch::new(&[
            (".kb/specialists/poet.yml", agent),
            (
                ".kb/playbooks/p.yml",
                "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: poet, task: Write., retry: {max: 0}}\n",
            ),
            (
                ".kb/kb.config.yml",
                &format!(
                    "llm: {{tiers: {{medium: {{provider: ollama, endpoint: \"http://127.0.0.1:9/v1\", model: verse}}, {}}}}}\n",
                    tier("small", spare).replace("model: small", "model: spare")
                ),
            ),
        ]);
        let said = scratch.kb(&["playbook", "run", "p"]);
        let events = scratch.kb(&["run", "events", "@last"]).code(0).out;
        (said, events)
    };
    let (_, events) = said("ollama");
    assert!(events.contains("calling the fallback model `spare`"), "{events}");
    let (said, events) = said("openai");
    assert!(!events.contains("calling the fallback model"), "{events}");
    assert!(events.contains("the fallback model is not called"), "{events}");
    assert!(events.contains("wants the provider `ollama`, and `openai` serves"), "{events}");
    said.says(&["127.0.0.1:9"]);
}
