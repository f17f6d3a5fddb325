//! What answered model calls cost: prices, models without one, and the warning.

use crate::scratch::Scratch;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

/// A server whose model submits an output; each call uses 1,000 tokens.
pub(crate) struct Provider {
    pub(crate) server: MockServer,
    _runtime: tokio::runtime::Runtime,
}

impl Provider {
    pub(crate) fn start() -> Provider {
        Provider::calling(&[])
    }

    /// The same for a model that makes these tool calls before, one in each turn.
    pub(crate) fn calling(calls: &[(&str, Value)]) -> Provider {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let submit = ("submit_output", json!({"summary": "done"}));
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            for (at, (name, arguments)) in calls.iter().chain([&submit]).enumerate() {
                let call = json!({"id": format!("c{at}"), "type": "function",
                    "function": {"name": name, "arguments": arguments.to_string()}});
                let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
                let reply = json!({"id": "r", "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
                    "usage": {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}});
                let answer = ResponseTemplate::new(200).set_body_json(reply);
                let mock = Mock::given(method("POST")).respond_with(answer);
                let most = if at < calls.len() { 1 } else { u64::MAX };
                mock.up_to_n_times(most).mount(&server).await;
            }
            server
        });
        Provider { server, _runtime: runtime }
    }

    /// A project whose two steps call the model one after the other. In this spelling the address is not known
    /// as one of this machine, whose models are free.
    fn project(&self, budget: &str, price: &str) -> Scratch {
        let uri = self.server.uri().replace("127.0.0.1", "[::ffff:127.0.0.1]");
        let settings = format!(
            "llm: {{tiers: {{medium: {{endpoint: \"{uri}/v1\", model: m, stream: false, contextWindow: 32000{price}}}}}}}\n"
        );
        let playbook = format!(
            "schema: kb.playbook/1\nid: p\norder: sequential\n{budget}steps:\n  - {{id: a, specialist: reader, task: Look.}}\n  - {{id: b, specialist: reader, task: Look.}}\n"
        );
        Scratch::new(&[
            (
                ".kb/specialists/reader.yml",
                "schema: kb.specialist/1\nid: reader\nrole: You read.\nllm: {maxTokens: 3000}\n",
            ),
            (".kb/playbooks/p.yml", &playbook),
            (".kb/kb.config.yml", &settings),
        ])
    }
}

const PRICE: &str = ", price: {input: 10, output: 10}";

fn of_type(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

#[test]
fn a_run_warns_once_when_its_cost_reaches_the_threshold() {
    let provider = Provider::start();
    // Each of the two calls costs a cent.
    for (threshold, warnings) in [("0.005", 1), ("0.015", 1), ("0.5", 0)] {
        let scratch = provider.project(&format!("budget: {{warnCostUsd: {threshold}}}\n"), PRICE);
        let events = scratch.kb(&["playbook", "run", "p", "--json"]).code(0).events();
        assert_eq!(of_type(&events, "budget:warning"), warnings, "{threshold}");
    }
}

#[test]
fn calls_of_a_model_without_a_price_count_with_their_tokens_and_not_with_a_cost() {
    let provider = Provider::start();
    let usage =
        |scratch: &Scratch| scratch.json(&["run", "show", "@last", "--json"])["usage"].clone();
    let scratch = provider.project("budget: {maxCostUsd: 1}\n", PRICE);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let priced = usage(&scratch);
    assert!((priced["costUsd"].as_f64().unwrap() - 0.02).abs() < 1e-9, "{priced}");
    // One permission is enough for both steps.
    let scratch = provider.project("budget: {maxCostUsd: 1}\n", "");
    scratch.kb(&["playbook", "run", "p"]).code(3).says(&["the price of the model `m`"]);
    scratch.kb(&["run", "approve", "@last"]).code(0);
    let unpriced = usage(&scratch);
    for count in ["promptTokens", "completionTokens", "modelCalls"] {
        assert_eq!(unpriced[count], priced[count], "{unpriced}");
    }
    assert_eq!(unpriced["costUsd"].as_f64().unwrap_or_default(), 0.0, "{unpriced}");
    // The tokens are within a budget of tokens or not.
    let scratch = provider.project("budget: {maxTokens: 4200}\n", "");
    scratch.kb(&["playbook", "run", "p"]).code(3).says(&["1000 tokens spent"]);
}
