//! The loop with a real model that is far too small to call tools.

use super::bench::*;
use crate::real_model::lab;
use kb::definition::Schema;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Its last repair turn is held to the schema by the sampler, so even this model gets there.
#[tokio::test]
async fn a_model_of_135_million_parameters_hands_in_a_structured_output() {
    let Some(server) = lab() else { return };
    let schema = json!({
        "type": "object",
        "properties": {
            "kind": {"enum": ["code", "text"]},
            "summary": {"type": "string", "maxLength": 30},
        },
        "required": ["kind", "summary"],
        "additionalProperties": false,
    });
    let small = bench([]).with(|s| {
        s.model.temperature = Some(0.0);
        s.model.max_tokens = Some(48);
        s.limits.timeout = Duration::from_secs(600);
    });
    let provider: Option<Arc<dyn kb::llm::ModelProvider>> = Some(Arc::new(server.provider()));
    let output_schema = Some(Schema::new(schema).unwrap());
    let ran = Bench { provider, output_schema, ..small }.run().await;
    let told = || format!("{:?} {:?}", ran.outcome, ran.records);
    let output = ran.outcome.output.as_ref().unwrap_or_else(|| panic!("{}", told()));
    assert!(output["kind"] == "code" || output["kind"] == "text", "{}", told());
    assert!(output["summary"].as_str().is_some_and(|text| !text.is_empty()), "{}", told());
    assert!(ran.outcome.usage.total_tokens() > 0);
}
