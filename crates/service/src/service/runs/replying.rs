//! Replies of people: answers to questions, approvals and rejections.

use super::Overrides;
use super::context::ProjectContext;
use super::prepared::Prepared;
use super::reopen::{find, reopen};
use crate::service::{Difference, Seen, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, RunId, Timestamp, json_text};
use kb_core::evidence::Payload;
use kb_core::run::{InstanceIx, Reply, Rules, RunStatus, State, StepStatus};
use kb_engine::engine::StartMode;
use kb_engine::inspect::{Frozen, find_run, require_step};
use kb_engine::journal::Journal;
use kb_language::definition::AnswerRule;
use kb_language::plan::Plan;
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A person's reply to what a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyRequest {
    /// The step or item; without one, everything that waits for this kind of reply.
    pub step: Option<String>,
    /// What the person decided.
    pub decision: Decision,
    /// A remark, recorded with it.
    pub comment: Option<String>,
    /// Who replies, as recorded.
    pub by: String,
    /// The text of the question that the person saw, or the beginning of the digest in it; a reply to
    /// another question is refused.
    pub about: Option<String>,
    /// The changes that the person was shown.
    pub seen: Option<Seen>,
}

/// What a person decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The step continues.
    Approve,
    /// The step fails with the comment as the reason.
    Reject,
    /// The answer to a question, as typed.
    Answer(String),
}

/// What became of a reply.
pub enum Replied {
    /// The process that owns the run was notified.
    Delivered(RunId),
    /// No process owns the run: drive this to continue it.
    Ready(Box<Prepared>),
}

/// Something of a run that waits for a person.
struct Waiting<'a> {
    ix: InstanceIx,
    name: String,
    /// The accepted answers; `None`: it waits for an approval.
    answer: Option<Cow<'a, AnswerRule>>,
}

/// Delivers a reply. Where no process owns the run, the result is to be driven.
pub fn reply(
    context: ProjectContext,
    name: &str,
    request: ReplyRequest,
) -> Result<Replied, ServiceError> {
    let (journal, run, status) = find(&context, name)?;
    let now = context.clock().wall();
    let fitting = Fitting::of(&*journal, &run, status, &request, now)?;
    require_shown((&journal, &context.root), run.as_str(), &request, now)?;
    if journal.is_leased(&run)? {
        fitting.post(&*journal, &run, &request)?;
        if journal.is_leased(&run)? {
            return Ok(Replied::Delivered(run));
        }
        let resumed = |_: &Plan| Ok(StartMode::Resume);
        let prepared = reopen(context, &*journal, run, &Overrides::default(), resumed)?;
        return Ok(Replied::Ready(Box::new(prepared)));
    }
    let (step, call) = match fitting.targets.as_slice() {
        [one] => (Some(one.name.clone()), one.call.clone()),
        _ => (None, None),
    };
    let ReplyRequest { decision, comment, by, seen, .. } = request;
    let approved = decision != Decision::Reject;
    let answer = fitting.answer.map(Payload::inline);
    let seen = seen.map(|seen| seen.event);
    let reply = Reply { approved, by, answer, comment, call, seen };
    let opening = StartMode::Answer { step, reply };
    let prepared = reopen(context, &*journal, run, &Overrides::default(), |_| Ok(opening))?;
    Ok(Replied::Ready(Box::new(prepared)))
}

/// Refuses a reply of a person who was not shown all changes, or before the last of them.
pub fn require_shown(
    (journal, root): (&Arc<dyn Journal>, &Path),
    run: &str,
    request: &ReplyRequest,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let Some(seen) = &request.seen else { return Ok(()) };
    let difference = Difference::of(journal, root, run, now)?;
    let message = match (difference.unshown(), difference.seen()) {
        (Some(why), _) => why.as_str(),
        (None, Some(now)) if now.files == seen.files => return Ok(()),
        (None, _) => "files of the project changed after these changes were shown",
    };
    let help =
        format!("`kb run diff {run}` shows them; an approval without `--seen` releases nothing");
    Err(ServiceError::refused(Failure::new(Code::BAD_ANSWER, message).help(help)))
}

/// What became of [`post_reply`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Id of the run that asked.
    pub run: RunId,
    /// Whether this is the first reply to the question, which counts.
    pub is_first: bool,
    /// Whether a process drives the run and reads it. Without one, the next that resumes the run does.
    pub is_driven: bool,
}

/// Stores a reply for the process that drives the run, or for the next one.
pub fn post_reply(
    journal: &dyn Journal,
    name: &str,
    request: &ReplyRequest,
    now: Timestamp,
) -> Result<Posted, ServiceError> {
    let run = find_run(journal, name)?;
    let status = journal.run(&run)?.status;
    let fitting = Fitting::of(journal, &run, status, request, now)?;
    let is_first = fitting.post(journal, &run, request)?;
    Ok(Posted { is_first, is_driven: journal.is_leased(&run)?, run })
}

/// The questions that a reply fits.
struct Fitting {
    targets: Vec<Target>,
    answer: Option<Json>,
}

/// A question that a reply is for.
struct Target {
    name: String,
    /// Another reply to the same question has the same key.
    key: String,
    call: Option<String>,
}

impl Fitting {
    fn of(
        journal: &dyn Journal,
        run: &RunId,
        status: RunStatus,
        request: &ReplyRequest,
        now: Timestamp,
    ) -> Result<Fitting, ServiceError> {
        if status.has_ended() {
            let (verb, state) = status.words();
            let message = format!("run `{run}` {verb} {state}: nothing of it waits");
            let help = format!("`kb run logs {run}` shows what was answered, by whom and when");
            let failure = Failure::new(Code::NOT_RESUMABLE, message).help(help);
            return Err(ServiceError::refused(failure));
        }
        let (catalog, plan) = Frozen::of_run(journal, run)?.load()?;
        if let Some(step) = &request.step {
            require_step(&plan, step)?;
        }
        let rules = Rules { undecided: catalog.settings.undecided(), ..Rules::default() };
        let mut state = State::new(&plan, rules);
        for stored in journal.events(run, 0)? {
            state.apply(&plan, stored.at, &stored.event);
        }
        let (waiting, answer) = targets(run, &plan, &state, request)?;
        for target in &waiting {
            require_same_question(run, &state, target, request.about.as_deref())?;
            require_in_time(run, &state, target, now)?;
        }
        let targets = waiting.iter().map(|target| Target::of(&state, target)).collect();
        Ok(Fitting { targets, answer })
    }

    /// Sends the reply to the process that drives the run. Returns whether it is the first one.
    fn post(
        &self,
        journal: &dyn Journal,
        run: &RunId,
        request: &ReplyRequest,
    ) -> Result<bool, ServiceError> {
        let approved = request.decision != Decision::Reject;
        let mut is_first = true;
        for target in &self.targets {
            let mut body = json!({"by": request.by, "step": target.name, "approved": approved});
            body["answer"] = self.answer.clone().unwrap_or(Json::Null);
            body["comment"] = request.comment.clone().map_or(Json::Null, Json::from);
            body["call"] = target.call.clone().map_or(Json::Null, Json::from);
            body["seen"] = request.seen.as_ref().map_or(Json::Null, |seen| seen.event.into());
            if let Some(map) = body.as_object_mut() {
                map.retain(|_, value| !value.is_null());
            }
            is_first &= journal.post(run, &target.key, "approve", body)?;
        }
        Ok(is_first)
    }
}

impl Target {
    fn of(state: &State, waiting: &Waiting<'_>) -> Target {
        let instance = state.instance(waiting.ix);
        let call = instance.question().and_then(|asked| Some(asked.call.as_ref()?.id.clone()));
        // The first reply to a question counts: another one has the same key.
        let mut key = format!("reply-{}-{}-{}", waiting.name, instance.iteration, instance.attempt);
        // One attempt can ask about several calls.
        if let Some(call) = &call {
            key.push_str(&format!("-{call}"));
        }
        Target { name: waiting.name.clone(), key, call: call.map(|call| call.to_string()) }
    }
}

/// Refuses a reply to a question that is no longer open, because another one has taken its place.
fn require_same_question(
    run: &RunId,
    state: &State,
    target: &Waiting<'_>,
    about: Option<&str>,
) -> Result<(), ServiceError> {
    let (Some(about), Some(open)) = (about, state.instance(target.ix).question()) else {
        return Ok(());
    };
    let hash = open.call.as_ref().map(|call| call.args_hash.to_string());
    let is_hash = about.len() >= 8 && hash.is_some_and(|hash| hash.starts_with(about));
    if open.text == about || is_hash {
        return Ok(());
    }
    let message = format!("`{}` of run `{run}` waits for another decision now", target.name);
    let help = format!("`kb run show {run}` shows what it waits for");
    Err(ServiceError::refused(Failure::new(Code::NOT_WAITING, message).help(help)))
}

/// Refuses a reply after the timeout of a question that no process has noticed yet. What follows is what the
/// step says, as it is for a process that drives the run.
fn require_in_time(
    run: &RunId,
    state: &State,
    target: &Waiting<'_>,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let due = state.instance(target.ix).question().and_then(|asked| asked.due);
    let Some(due) = due.filter(|due| *due <= now) else { return Ok(()) };
    let until = due.rfc3339().chars().take(19).collect::<String>().replace('T', " ");
    let message =
        format!("the time for a reply to `{}` of run `{run}` ended at {until} UTC", target.name);
    let help = format!("`kb run resume {run}` continues with what the step says for its timeout");
    Err(ServiceError::refused(Failure::new(Code::NOT_WAITING, message).help(help)))
}

/// The instances that a reply is for, and the answer as a value. Refused where nothing fits.
fn targets<'p>(
    run: &RunId,
    plan: &'p Plan,
    state: &State,
    request: &ReplyRequest,
) -> Result<(Vec<Waiting<'p>>, Option<Json>), ServiceError> {
    let waiting: Vec<Waiting<'p>> = state
        .instances()
        .map(|(ix, _)| ix)
        .filter(|ix| state.waits_for_person(plan, *ix))
        .map(|ix| {
            let kind = &plan.step(state.instance(ix).step).step.kind;
            let own = state.instance(ix).question().filter(|asked| asked.call.is_some());
            let answer = match own {
                Some(asked) => asked.input_rule().map(Cow::Owned),
                None => kind.question().and_then(|question| question.answer).map(Cow::Borrowed),
            };
            Waiting { ix, name: state.key(plan, ix).to_string(), answer }
        })
        .collect();
    let refused = |message: String, help: String| {
        let failure = Failure::new(Code::NOT_WAITING, message).help(help);
        Err(ServiceError::refused(failure))
    };
    let is_question = |waiting: &Waiting<'_>| waiting.answer.is_some();
    let wants_answer = matches!(request.decision, Decision::Answer(_));
    let named: Vec<Waiting<'p>> = match &request.step {
        Some(step) => {
            let names = names(&waiting);
            let found: Vec<_> = waiting.into_iter().filter(|w| w.name == *step).collect();
            if found.is_empty() {
                let why = why_not_waiting(plan, state, step);
                let message = format!("`{step}` of run `{run}` does not wait for a person{why}");
                return refused(message, those_that_wait(run, &names));
            }
            found
        }
        None => {
            let fits = |w: &Waiting<'_>| match request.decision {
                Decision::Answer(_) => is_question(w),
                Decision::Approve => !is_question(w),
                Decision::Reject => true,
            };
            let (found, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(fits);
            if found.is_empty() && wants_answer {
                let message = format!("no question of run `{run}` is open");
                return refused(message, format!("`kb run show {run}` shows its steps"));
            }
            if let (true, Some(other)) = (found.is_empty(), others.first()) {
                let message = format!("nothing of run `{run}` waits for an approval");
                let help = format!(
                    "`{0}` asks a question: `kb run answer {run} {0} {1}`",
                    other.name,
                    other.example()
                );
                return refused(message, help);
            }
            found
        }
    };
    let Some(first) = named.first() else { return Ok((named, None)) };
    let Decision::Answer(text) = &request.decision else {
        if let (Decision::Approve, true) = (&request.decision, is_question(first)) {
            let message =
                format!("`{}` asks a question: an approval does not answer it", first.name);
            let example = first.example();
            return refused(message, format!("`kb run answer {run} {} {example}`", first.name));
        }
        return Ok((named, None));
    };
    if named.len() > 1 {
        let message = format!("{} questions of run `{run}` are open", named.len());
        return refused(message, format!("name one of them: {}", names(&named)));
    }
    let Some(rule) = &first.answer else {
        let message = format!("`{}` needs an approval, not an answer", first.name);
        let help = format!("`kb run approve {run} {0}` or `kb run reject {run} {0}`", first.name);
        return refused(message, help);
    };
    match rule.read(text) {
        Ok(value) => Ok((named, Some(value))),
        Err(expected) => {
            let message = format!("the answer to `{}` does not fit: {expected}", first.name);
            let schema = rule.schema.as_ref().map(|schema| json_text(schema.json()));
            let help = match schema {
                Some(schema) => format!("answer with JSON of this schema: {schema}"),
                None => format!("`kb run answer {run} {} {}`", first.name, first.example()),
            };
            let failure = Failure::new(Code::BAD_ANSWER, message).help(help);
            Err(ServiceError::refused(failure))
        }
    }
}

impl Waiting<'_> {
    /// An answer that is accepted, or a word for one.
    fn example(&self) -> &str {
        self.answer.as_ref().and_then(|rule| rule.options.first()).map_or("TEXT", String::as_str)
    }
}

/// The steps that wait, as a help; `names` lists them.
fn those_that_wait(run: &RunId, names: &str) -> String {
    if names.is_empty() {
        format!("nothing of the run does; `kb run show {run}` shows its steps")
    } else {
        format!("these do: {names}")
    }
}

/// Why a step or item does not wait for a person, as the end of a sentence.
fn why_not_waiting(plan: &Plan, state: &State, name: &str) -> String {
    let found = state.instances().filter(|(ix, _)| state.key(plan, *ix).to_string() == name).last();
    let Some((_, instance)) = found else { return String::new() };
    let asks = plan.step(instance.step).step.kind.question().is_some();
    match instance.status {
        StepStatus::Pending | StepStatus::Ready => ": it has not started".to_owned(),
        StepStatus::Running | StepStatus::Verifying => ": it is running".to_owned(),
        StepStatus::Waiting => String::new(),
        StepStatus::Succeeded | StepStatus::Failed if asks => match instance.failure() {
            Some(failure) => format!(": it has ended, {}", failure.message),
            None => ": it has been answered already".to_owned(),
        },
        status @ (StepStatus::Succeeded
        | StepStatus::Failed
        | StepStatus::Skipped
        | StepStatus::Blocked
        | StepStatus::Cancelled) => format!(": it has ended as {}", status.as_str()),
    }
}

fn names(waiting: &[Waiting<'_>]) -> String {
    waiting.iter().map(|w| format!("`{}`", w.name)).collect::<Vec<_>>().join(", ")
}
