//! The loop with a real model that is far too small to call tools.

use super::bench::*;
use crate::real_model::lab;
use kb::run::Record;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_model_of_135_million_parameters_hands_in_a_structured_output() {
    let Some(server) = lab() else { return };
    let small = bench([]).with(|s| {
        s.model.temperature = Some(0.0);
        s.model.max_tokens = Some(160);
        s.limits.timeout = Duration::from_secs(240);
    });
    let ran = Bench { provider: Some(Arc::new(server.provider())), ..small }.run().await;
    let told = || format!("{:?} {:?}", ran.outcome, ran.records);
    let output = ran.outcome.output.as_ref().unwrap_or_else(|| panic!("{}", told()));
    assert!(output["summary"].as_str().is_some_and(|text| !text.is_empty()), "{}", told());
    assert!(ran.outcome.usage.total_tokens() > 0);
    assert!(ran.records.iter().any(|record| matches!(record, Record::ModelCall { .. })));
}
