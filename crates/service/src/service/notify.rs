//! Notifications: the text of one, and how it is sent to a hook of `notify`.

use super::hook_secrets::{open_triggers, secrets_of, settings_commands, touched_before_hook};
use super::outgoing::{DeliveryFailure, Receiver, Unmasked, secret};
use super::runs::ConfiguredSecrets;
use super::{Project, ServiceError, params};
use crate::trigger::{Fire, NewFire, Notification, sign_standard};
use kb_attempt::Live;
use kb_base::diagnostic::Code;
use kb_base::value::{Json, RunId, Timestamp, one_line};
use kb_core::redaction::{Masked, Redactor};
use kb_core::wire::RunView;
use kb_language::definition::{NotifyEvent, NotifyHook, NotifyPlaybook, NotifyTarget};
use kb_language::plan::Touched;
use kb_process::{ProcessEnd, Spawn};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum number of failures or questions in one notification.
const MOST_STEPS: usize = 10;
/// Maximum number of triggers in one notification.
const MOST_TRIGGERS: usize = 50;
/// Maximum number of characters of one text in a notification.
const LONGEST: usize = 1000;
/// Time that a program has.
const LIMIT: Duration = Duration::from_secs(30);
/// Maximum number of notifications in a row that lead to a run.
const DEEPEST: u32 = 8;
/// The trigger name of runs that a notification started.
const NOTIFY: &str = "notify";

/// In place of the id of a run, in a test of a hook.
pub const TEST_RUN: &str = "test";

/// What happened to one trigger.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerNews {
    /// Id of the trigger.
    pub trigger: String,
    /// Id of its playbook.
    pub playbook: String,
    /// Its state, such as `changed`, or `missed`.
    pub state: &'static str,
    /// Why it starts nothing.
    pub reason: Option<String>,
    /// The first nominal time that was missed, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The last one of several in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// The notification about a run, as JSON: `{type, timestamp, text, data}`. `pages` is the address of the pages.
pub fn notification(
    run: &Masked<RunView>,
    event: NotifyEvent,
    at: Timestamp,
    pages: Option<&str>,
) -> Masked<String> {
    // Its texts are those of the view.
    Masked::composed(about(run, event, at, pages).to_string())
}

/// The notification about triggers, as JSON with the same keys.
pub fn trigger_notification(
    news: &[TriggerNews],
    event: NotifyEvent,
    at: Timestamp,
    pages: Option<&str>,
    redactor: &Redactor,
) -> Masked<String> {
    let what = match news {
        [one] => {
            let reason = one.reason.as_deref().map(|text| format!(": {}", one_line(text, 200)));
            let what = if event == NotifyEvent::Missed { "missed a time" } else { one.state };
            format!("{} {what}{}", one.trigger, reason.unwrap_or_default())
        }
        many => {
            let ids: Vec<&str> = many.iter().map(|one| one.trigger.as_str()).collect();
            let ids = one_line(&ids.join(", "), 200);
            let what = match event {
                NotifyEvent::Recovered => "start runs again",
                NotifyEvent::Missed => "missed times",
                _ => "start nothing any more",
            };
            format!("{} triggers {what}: {ids}", many.len())
        }
    };
    let shown = &news[..news.len().min(MOST_TRIGGERS)];
    let body = json!({
        "type": format!("trigger.{}", event.as_str()),
        "timestamp": at.rfc3339(),
        "text": what,
        "data": {
            "triggers": shown,
            "count": news.len(),
            "link": pages.map(|pages| format!("{pages}/triggers")),
        },
    });
    redactor.mask(body).map(|body| body.to_string())
}

/// The notification with which a hook is tested, about a run or trigger that does not exist.
pub fn test_notification(hook: &NotifyHook, event: NotifyEvent, at: Timestamp) -> Masked<String> {
    let playbook = hook.playbooks.first().map_or("test", String::as_str);
    if matches!(event, NotifyEvent::Stopped | NotifyEvent::Missed) {
        let one = TriggerNews {
            trigger: format!("{playbook}.test"),
            playbook: playbook.to_owned(),
            state: event.as_str(),
            reason: Some("a test of `kb notify`".to_owned()),
            from: None,
            until: None,
        };
        return trigger_notification(&[one], event, at, None, &Redactor::default());
    }
    let body = json!({
        "type": format!("run.{}", event.as_str()),
        "timestamp": at.rfc3339(),
        "text": "a test of `kb notify`",
        "data": {
            "run": TEST_RUN, "playbook": playbook, "status": event.as_str(), "startedAt": at.rfc3339(),
            "endedAt": null, "durationMs": 0, "costUsd": null, "failures": [], "questions": [], "test": true,
        },
    });
    // Its only text is a name of the settings.
    Masked::composed(body.to_string())
}

fn about(run: &RunView, event: NotifyEvent, at: Timestamp, pages: Option<&str>) -> Json {
    let failures: Vec<Json> = run
        .steps
        .iter()
        .filter_map(|step| Some((step, step.error.as_ref().filter(|_| !step.tolerated)?)))
        .take(MOST_STEPS)
        .map(|(step, error)| json!({"step": step.instance, "message": cut(&error.message)}))
        .collect();
    let questions: Vec<Json> = run
        .steps
        .iter()
        .filter_map(|step| Some((step, step.question.as_ref()?)))
        .take(MOST_STEPS)
        .map(|(step, asked)| {
            let due = asked.due.map(Timestamp::rfc3339);
            json!({"step": step.instance, "kind": asked.kind, "question": cut(&asked.text), "expires": due})
        })
        .collect();
    let what = match event {
        NotifyEvent::Waiting => "waits for a person",
        other => other.as_str(),
    };
    let first = failures.first().map(|f| &f["message"]);
    let detail = first.or_else(|| questions.first().map(|q| &q["question"]));
    let detail = detail.and_then(Json::as_str).map(|text| format!(": {}", one_line(text, 200)));
    json!({
        "type": format!("run.{}", event.as_str()),
        "timestamp": at.rfc3339(),
        "text": format!("{} {what}{}", run.definition, detail.unwrap_or_default()),
        "data": {
            "run": run.run,
            "playbook": run.definition,
            "status": event.as_str(),
            "startedAt": run.started_at,
            "endedAt": run.ended_at,
            "durationMs": run.duration_ms,
            "costUsd": run.usage.cost_usd,
            "failures": failures,
            "questions": questions,
            "link": pages.map(|pages| format!("{pages}/runs/{}", run.run)),
        },
    })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Sends a notification to a hook. Secrets are read at each attempt and never appear in a problem.
pub async fn send_notification(
    project: &Project,
    hook: &NotifyHook,
    what: &Notification,
) -> Result<(), DeliveryFailure> {
    let touched = touched_before_hook(project, &what.run);
    let (secrets, redactor) = reading_secrets(project, touched.clone());
    let sent = match &hook.target {
        NotifyTarget::Webhook(webhook) => {
            let now = project.clock().wall();
            post(&secrets, &webhook.url, webhook.secret.as_deref(), what, now).await
        }
        NotifyTarget::Command(argv) => run(project, argv, &touched, what).await,
        NotifyTarget::Playbook(playbook) => queue(project, playbook, what),
    };
    sent.map_err(|failure| failure.masked_by(&redactor))
}

/// The secrets of the settings, and the redactor that masks what was read of them. `touched` could write to the
/// project in the run that they are read for.
pub(super) fn reading_secrets(
    project: &Project,
    touched: Live<Option<Touched>>,
) -> (ConfiguredSecrets, Arc<Redactor>) {
    let redactor = Arc::new(Redactor::default());
    project.context.environment.redactors.register(&redactor);
    let secrets = secrets_of(project, redactor.clone()).after(touched);
    secrets.reveal_all_to_redactor();
    (secrets, redactor)
}

/// Sends a signed request.
async fn post(
    secrets: &ConfiguredSecrets,
    url: &str,
    signed_by: Option<&str>,
    what: &Notification,
    now: Timestamp,
) -> Result<(), Unmasked> {
    let invalid = Unmasked::final_("the address of the webhook is not a URL".to_owned());
    let receiver = Receiver::at(secrets, url, |url| url, invalid).await?;
    let mut headers = Vec::new();
    if let Some(name) = signed_by {
        let key = secret(secrets, name).await?;
        let signed = sign_standard(&key, &what.id, now, what.body.as_bytes());
        headers.extend(signed.map(|(name, value)| (name.to_owned(), value)));
    } else {
        headers.push(("webhook-id".to_owned(), what.id.clone()));
    }
    let response = receiver.post(headers, what.body.to_string()).await?;
    let shown = &receiver.shown;
    match response.status {
        200..=299 => Ok(()),
        300..=399 => Err(Unmasked::final_(format!(
            "`{shown}` answered {}: a redirect is not followed; write its target in the settings",
            response.status
        ))),
        410 => Err(Unmasked::final_(format!("`{shown}` answered 410: it does not exist any more"))),
        status => {
            let after = response.headers.get("retry-after").and_then(Json::as_str);
            let after = after.and_then(|text| text.trim().parse::<u64>().ok());
            let retry_after = after.map(|seconds| Duration::from_secs(seconds.min(3600)));
            Err(DeliveryFailure {
                retry_after,
                ..Unmasked::new(format!("`{shown}` answered {status}"))
            })
        }
    }
}

async fn run(
    project: &Project,
    argv: &[String],
    touched: &Live<Option<Touched>>,
    what: &Notification,
) -> Result<(), Unmasked> {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let spawn = Spawn {
        argv: argv.to_vec(),
        own_program: false,
        cwd: project.context.root.clone(),
        env: vec![
            variable("KB_NOTIFICATION", &what.id),
            variable("KB_RUN", &what.run),
            variable("KB_EVENT", &what.event),
        ],
        stdin: what.body.as_bytes().to_vec(),
        timeout: Some(LIMIT),
        idle: None,
        max_stream: 4096,
    };
    let program = argv.first().map_or("", String::as_str);
    let commands = settings_commands(project)
        .ok_or_else(|| Unmasked::new("the project folder cannot be opened".to_owned()))?;
    let ended = commands.run(spawn, touched, &CancellationToken::new()).await;
    let refused = |why: String| Unmasked::final_(format!("`{program}` was not started: {why}"));
    let (result, note) = ended.map_err(refused)?;
    let why = match result.end {
        ProcessEnd::Code(0) => return Ok(()),
        ProcessEnd::Code(code) => format!("ended with exit code {code}"),
        ProcessEnd::Signal(signal) => format!("was ended by signal {signal}"),
        ProcessEnd::TimedOut | ProcessEnd::Idle => {
            format!("took longer than {}", kb_base::value::format_duration(LIMIT))
        }
        ProcessEnd::Cancelled | ProcessEnd::Lost => "was stopped".to_owned(),
        ProcessEnd::NotStarted(reason) => format!("did not start: {reason}"),
    };
    let said = match result.stderr.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    };
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    Err(Unmasked::new(format!("`{program}` {why}{note}{said}")))
}

/// Why a playbook cannot start, in one line.
fn reason(id: &str, error: &ServiceError) -> String {
    match error {
        ServiceError::Definitions { diagnostics, .. } => {
            let first = diagnostics.iter().find(|problem| problem.is_error());
            let first = first.map(|p| format!(": {}: {}", p.code, p.message)).unwrap_or_default();
            format!("the playbook `{id}` has errors{first}")
        }
        other => other.to_string(),
    }
}

/// Queues a run for the daemon. The id of the notification is its key, so that it starts once.
fn queue(
    project: &Project,
    playbook: &NotifyPlaybook,
    what: &Notification,
) -> Result<(), Unmasked> {
    let NotifyPlaybook { id, params: fixed, payload } = playbook;
    let refused = |error: ServiceError| Unmasked::final_(reason(id, &error));
    let plan = project.runnable_plan(id).map_err(refused)?;
    let body: Json = serde_json::from_str(&what.body).unwrap_or_default();
    let mut values = fixed.clone();
    for (name, path) in payload {
        let Some(value) = path.value(&body) else {
            let path = path.as_str();
            return Err(Unmasked::final_(format!("the notification has no `{path}` for `{name}`")));
        };
        values.insert(name.clone(), value.clone());
    }
    let definition = plan.playbook();
    params::of_child(&definition.params, values.clone()).map_err(|problems| {
        let messages: Vec<String> = problems.into_iter().map(|p| p.message).collect();
        Unmasked::final_(format!("{}: {}", Code::PAYLOAD, messages.join("; ")))
    })?;
    let store = open_triggers(project).map_err(|error| Unmasked::new(error.to_string()))?;
    let source = RunId::new(&what.run).ok().and_then(|run| store.fire_of(&run).ok().flatten());
    let depth = source.map_or(0, |fire| fire.depth) + 1;
    if depth > DEEPEST {
        return Err(Unmasked::final_(format!("more than {DEEPEST} triggers in a row led to it")));
    }
    let fire = NewFire {
        depth,
        ..NewFire::queued(
            NOTIFY,
            Fire::key_after(&what.run, &what.id),
            definition.id.as_str(),
            values,
        )
    };
    store
        .add(&fire, project.clock().wall())
        .map(drop)
        .map_err(|error| Unmasked::new(error.to_string()))
}
