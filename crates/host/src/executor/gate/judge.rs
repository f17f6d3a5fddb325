//! Asks the judge of a gate, and confirms on disk what it could not.

use super::names::Material;
use crate::executor::JudgeSubject;
use crate::executor::host_access::HostAccess;
use crate::specialist::{JudgeCall, SpecialistRunner, assessment};
use kb_attempt::Recorder;
use kb_base::value::{AttemptPlace, Json, PlacedStep, Usage};
use kb_core::evidence::{Judgement, Record};
use kb_core::verify::{JudgeQuestion, JudgeReply};
use kb_language::definition::JudgeCheck;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What calls a judge and records its reply.
pub struct Judges<'a> {
    /// Starts the conversation of the judge.
    pub runner: &'a SpecialistRunner,
    /// Stores the record of the call.
    pub recorder: &'a dyn Recorder,
    /// The attempts above that started the run, outermost first.
    pub callers: &'a [PlacedStep],
}

/// The question to a judge, with what the specialist received: the names in it are no inventions.
pub(super) struct Answered {
    pub(super) question: JudgeQuestion,
    pub(super) material: Material,
}

/// Timeout of the call, unless the gate has one.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The reply of the judge, and the tokens and cost of its call.
pub(super) async fn ask(
    Answered { question, material }: Answered,
    subject: Option<&JudgeSubject>,
    judges: Option<Judges<'_>>,
    host: &HostAccess,
    cancel: &CancellationToken,
    left: Option<Duration>,
) -> (JudgeReply, Usage) {
    let failed = |reason: &str| JudgeReply {
        judgement: Err(reason.to_owned()),
        confirmed: Vec::new(),
        model: String::new(),
    };
    let (Some(subject), Some(Judges { runner, recorder, callers })) = (subject, judges) else {
        return (failed("there is no model for this run"), Usage::NONE);
    };
    let answer = question.answer.clone();
    let mut usage = used_before(&subject.records);
    let (submitted, model) = match recorded(subject) {
        Some((args, model)) => (Ok(args), model),
        None => {
            let judged =
                runner.judge(call(question, subject, callers, left), recorder, cancel).await;
            usage += judged.usage;
            (judged.submitted, judged.model)
        }
    };
    let judgement = submitted.and_then(|args| Judgement::decode(&args, &answer));
    let unverified = judgement.as_ref().map_or(&[][..], |found| &found.unverified);
    let confirmed = confirmed(host, &material, unverified);
    (JudgeReply { judgement, confirmed, model }, usage)
}

fn call(
    question: JudgeQuestion,
    subject: &JudgeSubject,
    callers: &[PlacedStep],
    left: Option<Duration>,
) -> JudgeCall {
    let own = PlacedStep::new(&subject.instance, subject.iteration, subject.attempt);
    let JudgeQuestion { criterion, answer, calls, files_read, findings } = question;
    JudgeCall {
        tier: criterion.tier.unwrap_or(JudgeCheck::tier_above(subject.tier)),
        model: criterion.model,
        max_tokens: criterion.max_tokens.unwrap_or(JudgeCheck::RESPONSE_TOKENS),
        task: subject.task.clone(),
        answer,
        calls,
        files_read,
        findings,
        run: subject.run.clone(),
        step: subject.instance.step.clone(),
        place: AttemptPlace { callers: callers.to_vec(), own },
        params: subject.params.clone(),
        timeout: left.unwrap_or(TIMEOUT),
    }
}

/// The calls of a process that was killed before the gate ended: replies at their usage, a call that was not
/// answered at its reservation.
fn used_before(records: &[Record]) -> Usage {
    let mut used = Usage::NONE;
    let mut open = None;
    for record in records {
        match record {
            Record::ModelCall { usage, .. } => {
                open = None;
                used += *usage;
            }
            Record::Reservation { usage: Some(usage) } => {
                used += open.replace(*usage).unwrap_or(Usage::NONE);
            }
            Record::Reservation { usage: None } => open = None,
            _ => {}
        }
    }
    used += open.unwrap_or(Usage::NONE);
    used
}

/// The assessment that an earlier process recorded for this attempt.
fn recorded(subject: &JudgeSubject) -> Option<(Json, String)> {
    subject.records.iter().rev().find_map(|record| match record {
        Record::ModelCall { calls, model, .. } => {
            let call = assessment(calls)?;
            Some((call.args.clone(), model.clone()))
        }
        _ => None,
    })
}

/// The names that are paths of the workspace, or in what the specialist received.
fn confirmed(host: &HostAccess, material: &Material, names: &[String]) -> Vec<String> {
    let received = material.names_of(&names.iter().map(String::as_str).collect());
    let exists = |name: &&String| {
        let path = name.trim_start_matches("./");
        !path.is_empty() && host.workspace.symlink_stat(path).is_ok_and(|state| state.is_some())
    };
    names.iter().filter(|name| received.contains(name.as_str()) || exists(name)).cloned().collect()
}
