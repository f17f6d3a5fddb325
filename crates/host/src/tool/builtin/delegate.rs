//! `delegate`: gives a task to another specialist, which works in a run of its own, and returns its output.

use crate::tool::call::{Call, CallResult, Caller, Refusal};
use crate::tool::context::{CallContext, Tool, arguments};
use crate::tool::delegates::{DelegateEnd, DelegatedTask};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, cut_to_chars};
use kb_core::evidence::InvocationStatus;
use kb_language::toolspec::DELEGATE;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Characters of the task that the answer repeats.
const REPEATED: usize = 80;

#[derive(Deserialize)]
struct Args {
    agent: String,
    task: String,
    priority: Option<u32>,
    context: Option<String>,
}

pub(super) struct Delegate;

impl Tool for Delegate {
    fn name(&self) -> &'static str {
        DELEGATE
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match arguments::<Args>(call).and_then(|args| admitted(args, call, context)) {
                Ok(task) => {
                    let Some(delegates) = context.delegates else { return not_possible().into() };
                    let (agent, title) = (task.agent.clone(), task.title.clone());
                    ended(&agent, &title, delegates.execute(task, cancel).await)
                }
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// The task, if the limits of the settings allow it.
fn admitted(args: Args, call: &Call, context: &CallContext<'_>) -> Result<DelegatedTask, Refusal> {
    let delegates = context.delegates.ok_or_else(not_possible)?;
    let agent = id_of(&args.agent).to_owned();
    let (limits, depth) = (context.delegation, delegates.depth() + 1);
    if depth > limits.depth {
        let message = format!(
            "the task is not delegated: it would be in level {depth} of runs, and {} are allowed",
            limits.depth
        );
        return Err(refused(message, "do the task yourself, or submit what you have"));
    }
    if !delegates.knows(&agent) {
        let message = format!("there is no specialist `{agent}` to delegate to");
        return Err(refused(message, "name a specialist of the project by its id"));
    }
    if !delegates.take(&call.id, limits.fanout) {
        let message = format!(
            "the task is not delegated: this attempt has delegated {}, its limit",
            limits.fanout
        );
        return Err(refused(message, "do the task yourself, or submit what you have"));
    }
    let Caller::Specialist { id: caller, .. } = &call.caller else { return Err(not_possible()) };
    let task = format!("[Delegated Task from {caller}]\n\n{}", args.task.trim());
    let task = match args.context.filter(|text| !text.trim().is_empty()) {
        Some(more) => format!("{task}\n\nContext:\n{}", more.trim()),
        None => task,
    };
    let priority = args.priority.unwrap_or(depth);
    Ok(DelegatedTask {
        call: call.id.clone(),
        agent,
        task,
        title: title(&args.task),
        depth,
        priority,
    })
}

/// The id of a specialist: of `agents/worker.md` it is `worker`.
fn id_of(agent: &str) -> &str {
    let name = agent.rsplit('/').next().unwrap_or(agent).trim();
    let ends = [".md", ".yml", ".yaml"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The start of a task.
fn title(task: &str) -> String {
    let start = cut_to_chars(task.trim(), REPEATED);
    if start.len() < task.trim().len() { format!("{start}...") } else { start.to_owned() }
}

fn ended(agent: &str, title: &str, end: DelegateEnd) -> CallResult {
    let run = end.run;
    match end.output {
        Ok(output) => {
            let answer = format!("Delegated task to {agent}: \"{title}\"");
            CallResult::success(json!({
                "answer": answer, "status": "succeeded", "run": run, "output": output,
            }))
        }
        Err(failure) => {
            let failure =
                Failure { message: format!("{} (run {run})", failure.message), ..failure };
            CallResult::failed(InvocationStatus::Failed, failure)
        }
    }
}

fn not_possible() -> Refusal {
    let message = "only a specialist of a run with other specialists can delegate a task";
    refused(message.to_owned(), "use a step of the kind `specialist` or `playbook`")
}

fn refused(message: String, help: &str) -> Refusal {
    Refusal::failed(Failure::new(Code::DELEGATION_REFUSED, message).help(help))
}
