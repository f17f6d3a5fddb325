//! Errors of model calls and the fallback model.

use super::bench::*;
use kb::definition::Specialist;
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
