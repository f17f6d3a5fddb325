//! Webhooks: signed requests that start runs.

use crate::serve::{LoadedTrigger, deliver, webhook_at};
use crate::web::answers::DeliveryAnswer;
use crate::web::call::Call;
use crate::web::gate::is_form;
use crate::web::problem::Problem;
use crate::web::reply::{self, Answer};
use crate::web::route::{Method, Route, waiting};
use crate::web::state::WebProject;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use futures::FutureExt;
use futures::future::BoxFuture;
use kb_base::value::{Json, JsonMap};
use kb_language::definition::{NamedForm, TriggerSource, Webhook, WebhookForm};
use kb_service::service::{hook_secrets, unset_hook_secret};
use kb_service::trigger::{
    FireFilter, Role, SignatureError, VerifiedWebhook, has_signature, verify_webhook,
};
use std::sync::Arc;

/// Maximum number of runs of one webhook that wait.
const MOST_WAITING: usize = 1000;

pub(super) const ROUTES: &[Route] = &[waiting(
    Method::Post,
    "/hooks/{hook}",
    Role::Read,
    hook,
    "Starts a run of the webhook trigger with this path. The sender signs it in the form of the trigger.",
)
.signed()
.answers(&[
    (202, "The delivery is recorded."),
    (200, "The same delivery was recorded before."),
    (401, "The signature is missing, wrong or too old, or nothing has this name."),
    (404, "The trigger is not enabled."),
    (413, "The body is larger than 1 MiB."),
    (429, "Too many failed deliveries, or too many runs wait."),
])
.body(|all| all.subschema_for::<Json>())
.returns(|all| all.subschema_for::<DeliveryAnswer>())];

fn hook(call: Call) -> BoxFuture<'static, Answer> {
    receive(call).boxed()
}

async fn receive(mut call: Call) -> Answer {
    // A request that is signed in no form is refused before its body is read.
    if !may_be_signed(&call) {
        return Err(refused(SignatureError::Unsigned));
    }
    let body = call.read_body().await?;
    let answer = tokio::task::spawn_blocking(move || record(&call, &body)).await;
    answer.unwrap_or_else(|_| Err(Problem::internal("the delivery failed")))
}

/// Whether the request has the header of the form of any webhook. It does not depend on the name in the
/// address, so that names cannot be tried out.
fn may_be_signed(call: &Call) -> bool {
    let has = |name: &str| call.headers.contains_key(name);
    call.state.projects().iter().any(|project| {
        project.state().triggers.values().any(|loaded| match &loaded.trigger.source {
            TriggerSource::Webhook(webhook) => has_signature(&webhook.form, has),
            _ => false,
        })
    })
}

fn record(call: &Call, body: &Bytes) -> Answer {
    let name = call.path("hook");
    // The same answer for a name that does not exist.
    let (project, loaded, webhook) =
        find(call, name).ok_or_else(|| failed(call, SignatureError::Wrong))?;
    let secrets = hook_secrets(&project.state().project, &webhook.secrets);
    let verified = verify(call, &secrets, &webhook, body).map_err(|error| {
        match unset_hook_secret(&project.state().project, &webhook.secrets) {
            Some(why) => tracing::warn!(trigger = loaded.id, "a delivery is refused: {why}"),
            None => tracing::info!(trigger = loaded.id, "a delivery is refused: {error}"),
        }
        // Only the time of a request with a valid signature is told to its sender.
        let told = if error == SignatureError::Stale { error } else { SignatureError::Wrong };
        failed(call, told)
    })?;
    let (payload, headers) = (payload(call, body)?, headers(call, &secrets));
    if let Some(challenge) = challenge(&webhook.form, &payload) {
        return reply::json(&DeliveryAnswer::Asked { challenge: challenge.to_owned() });
    }
    let store = &project.shared.store;
    let filter = FireFilter { trigger: Some(loaded.id.clone()), open: true, limit: MOST_WAITING };
    if store.fires(&filter)?.len() >= MOST_WAITING {
        return Err(Problem::too_many("too many runs of this webhook wait", 30));
    }
    project.shared.learn_secrets();
    let Some(delivery) = deliver(store, &loaded, &verified, &payload, &headers, call.now())? else {
        return Err(Problem::not_found("the trigger is not enabled"));
    };
    project.shared.daemon.wake();
    let received = DeliveryAnswer::Recorded { trigger: loaded.id, repeated: delivery.repeated };
    let status = if delivery.repeated { StatusCode::OK } else { StatusCode::ACCEPTED };
    reply::json_with(status, &received)
}

/// The body: JSON, or a form. A form with only a field `payload` is the JSON in it, as GitHub and Slack send it.
fn payload(call: &Call, body: &[u8]) -> Result<Json, Problem> {
    let json = |text: &[u8]| {
        serde_json::from_slice(text)
            .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))
    };
    if !is_form(&call.headers) {
        return json(body);
    }
    let mut fields = JsonMap::new();
    for (name, value) in form_urlencoded::parse(body) {
        fields.insert(name.into_owned(), Json::String(value.into_owned()));
    }
    match fields.get("payload") {
        Some(Json::String(text)) if fields.len() == 1 => json(text.as_bytes()),
        _ => Ok(Json::Object(fields)),
    }
}

/// What Slack wants to read back when an address is entered there.
fn challenge<'p>(form: &WebhookForm, payload: &'p Json) -> Option<&'p str> {
    let is_asked = *form == WebhookForm::Named(NamedForm::Slack)
        && payload["type"].as_str() == Some("url_verification");
    payload["challenge"].as_str().filter(|_| is_asked)
}

fn find(call: &Call, name: &str) -> Option<(Arc<WebProject>, LoadedTrigger, Webhook)> {
    call.state.projects().iter().find_map(|project| {
        let (loaded, webhook) = webhook_at(&project.state().triggers, name)
            .map(|(loaded, webhook)| (loaded.clone(), webhook.clone()))?;
        Some((project.clone(), loaded, webhook))
    })
}

fn verify(
    call: &Call,
    secrets: &[String],
    webhook: &Webhook,
    body: &[u8],
) -> Result<VerifiedWebhook, SignatureError> {
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let header = |name: &str| only_value(&call.headers, name).map(str::to_owned);
    verify_webhook(&webhook.form, &secrets, header, body, call.now())
}

/// The headers that a condition may read: those with one value that is a text and has no secret in it.
fn headers(call: &Call, secrets: &[String]) -> Json {
    let names = call.headers.keys().map(HeaderName::as_str);
    let named = names.filter_map(|name| Some((name, only_value(&call.headers, name)?)));
    let is_public =
        |value: &str| !secrets.iter().any(|secret| !secret.is_empty() && value.contains(secret));
    let public = named.filter(|(_, value)| is_public(value));
    Json::Object(public.map(|(name, value)| (name.to_owned(), Json::from(value))).collect())
}

/// A header that is given twice is no header: another reader could take the other one.
fn only_value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
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
