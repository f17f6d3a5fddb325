//! Webhooks: signed requests that start runs.

use crate::serve::{LoadedTrigger, deliver, webhook_at};
use crate::web::call::Call;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Method, Route, waiting};
use crate::web::state::WebProject;
use axum::body::Bytes;
use axum::http::StatusCode;
use futures::FutureExt;
use futures::future::BoxFuture;
use kb_base::value::Json;
use kb_language::definition::{TriggerSource, WebhookForm};
use kb_service::service::hook_secrets;
use kb_service::trigger::{FireFilter, Role, SignatureError, VerifiedWebhook, verify_webhook};
use serde_json::json;
use std::sync::Arc;

/// Maximum number of runs of one webhook that wait.
const MOST_WAITING: usize = 1000;

pub(super) const ROUTES: &[Route] = &[waiting(
    Method::Post,
    "/hooks/{name}",
    Role::Read,
    hook,
    "Starts a run of the webhook trigger with this path. The sender signs it (Standard Webhooks, or GitHub's form).",
)
.signed()
.answers(&[
    (202, "The delivery is recorded."),
    (200, "The same delivery was recorded before."),
    (401, "The signature is missing, wrong or too old, or nothing has this name."),
    (404, "The trigger is not enabled."),
    (413, "The body is larger than 1 MiB."),
    (429, "Too many failed deliveries, or too many runs wait."),
])];

fn hook(call: Call) -> BoxFuture<'static, Answer> {
    receive(call).boxed()
}

async fn receive(mut call: Call) -> Answer {
    // An unsigned request is refused before its body is read.
    let is_signed = ["webhook-signature", "x-hub-signature-256"];
    if !is_signed.iter().any(|name| call.headers.contains_key(*name)) {
        return Err(refused(SignatureError::Unsigned));
    }
    let body = call.read_body().await?;
    let answer = tokio::task::spawn_blocking(move || record(&call, &body)).await;
    answer.unwrap_or_else(|_| Err(Problem::internal("the delivery failed")))
}

fn record(call: &Call, body: &Bytes) -> Answer {
    let name = call.path("name");
    // The same answer for a name that does not exist: names cannot be tried out.
    let (project, loaded) = find(call, name).ok_or_else(|| failed(call, SignatureError::Wrong))?;
    let verified = verify(call, &project, &loaded, body).map_err(|error| failed(call, error))?;
    let payload: Json = serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))?;
    let store = &project.shared.store;
    let filter = FireFilter { trigger: Some(loaded.id.clone()), open: true, limit: MOST_WAITING };
    if store.fires(&filter)?.len() >= MOST_WAITING {
        return Err(Problem::too_many("too many runs of this webhook wait", 30));
    }
    project.shared.learn_secrets();
    let Some(delivery) = deliver(store, &loaded, &verified, &payload, call.now())? else {
        return Err(Problem::not_found("the trigger is not enabled"));
    };
    project.shared.daemon.wake();
    let status = if delivery.repeated { StatusCode::OK } else { StatusCode::ACCEPTED };
    reply::json_with(status, &json!({"trigger": loaded.id, "repeated": delivery.repeated}))
}

fn find(call: &Call, name: &str) -> Option<(Arc<WebProject>, LoadedTrigger)> {
    call.state.projects().iter().find_map(|project| {
        let loaded = webhook_at(&project.state().triggers, name)?.clone();
        Some((project.clone(), loaded))
    })
}

fn verify(
    call: &Call,
    project: &WebProject,
    loaded: &LoadedTrigger,
    body: &[u8],
) -> Result<VerifiedWebhook, SignatureError> {
    let TriggerSource::Webhook(webhook) = &loaded.trigger.source else {
        return Err(SignatureError::Wrong);
    };
    let secrets = hook_secrets(&project.state().project, &webhook.secrets);
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    // A header that is given twice is no header: another reader could take the other one.
    let header = |name: &str| {
        let mut all = call.headers.get_all(name).iter();
        let first = all.next()?.to_str().ok()?.to_owned();
        all.next().is_none().then_some(first)
    };
    let form: WebhookForm = webhook.form;
    verify_webhook(form, &secrets, header, body, call.now())
}

/// Only what is not signed well is throttled: others behind the same proxy have the same address.
fn failed(call: &Call, error: SignatureError) -> Problem {
    let now = call.now();
    let mut failures = call.state.hook_failures();
    let wait = failures.must_wait(call.peer, now);
    failures.has_failed(call.peer, now);
    match wait {
        0 => refused(error),
        wait => Problem::too_many("too many failed requests", wait),
    }
}

fn refused(error: SignatureError) -> Problem {
    let code = kb_base::diagnostic::Code::UNAUTHENTICATED;
    Problem::new(StatusCode::UNAUTHORIZED, code, error.to_string())
}
