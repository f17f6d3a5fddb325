//! [`ToolDoubles`]: results in place of the execution of tool calls, for tests of playbooks.

use super::call::{Call, CallResult};
use super::kept_calls::KeptCalls;
use kb_attempt::in_variable;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, JsonMap};
use kb_core::evidence::InvocationStatus;
use kb_language::definition::ToolStub;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A call of a tool that fails.
#[derive(Debug, Clone)]
pub struct FailingCall {
    /// Step or item.
    pub step: String,
    /// How many attempts have the fault, from the first.
    pub attempts: u32,
    /// Name of the tool.
    pub tool: String,
    /// Number of the call of the tool in the attempt, from 1.
    pub call: u32,
    /// The message of the failure.
    pub message: String,
    /// Set when the fault occurs.
    pub occurred: Arc<AtomicBool>,
}

/// Results in place of the execution of calls, by tool. Calls are counted for each attempt of a step.
#[derive(Debug, Default)]
pub struct ToolDoubles {
    stubs: BTreeMap<String, Vec<ToolStub>>,
    failing: Vec<FailingCall>,
    counts: Mutex<BTreeMap<[String; 4], u32>>,
    /// Where the results of executed calls are kept.
    kept: Option<Arc<KeptCalls>>,
}

impl ToolDoubles {
    /// These results and failures.
    pub fn new(stubs: BTreeMap<String, Vec<ToolStub>>, failing: Vec<FailingCall>) -> ToolDoubles {
        ToolDoubles { stubs, failing, ..ToolDoubles::default() }
    }

    /// No results in place of others: calls are executed, and some results are kept.
    pub fn keeping(kept: Arc<KeptCalls>) -> ToolDoubles {
        ToolDoubles { kept: Some(kept), ..ToolDoubles::default() }
    }

    /// Where the results of executed calls are kept, of a run that is recorded.
    pub(super) fn kept(&self) -> Option<&KeptCalls> {
        self.kept.as_deref()
    }

    /// The result of a permitted call of a tool; `None` if the call is to be executed.
    pub(super) fn result_of(&self, tool: &str, call: &Call) -> Option<CallResult> {
        // The variables of a call name its step.
        let variable = |name: &str| {
            let found = call.env.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let (step, attempt) = (variable("KB_STEP"), variable("KB_ATTEMPT"));
        let place = [variable("KB_RUN"), step.clone(), attempt.clone(), tool.to_owned()];
        let number = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(place).or_default();
            *count += 1;
            *count
        };
        let own = |name: &str| in_variable(name) == step || step.split('[').next() == Some(name);
        let attempt: u32 = attempt.parse().unwrap_or(1);
        let failing = self.failing.iter().find(|fault| {
            fault.tool == tool
                && own(&fault.step)
                && fault.call == number
                && attempt <= fault.attempts
        });
        if let Some(fault) = failing {
            fault.occurred.store(true, Ordering::Relaxed);
            return Some(failed(&fault.message));
        }
        let stubs = self.stubs.get(tool)?;
        let fits =
            |stub: &&ToolStub| stub.args.as_ref().is_some_and(|wanted| has_all(&call.args, wanted));
        let stub = stubs.iter().find(fits).or_else(|| {
            let any: Vec<&ToolStub> = stubs.iter().filter(|stub| stub.args.is_none()).collect();
            any.get(number as usize - 1).or(any.last()).copied()
        });
        let Some(stub) = stub else {
            return Some(failed(&format!("the test has no stub of `{tool}` for these arguments")));
        };
        Some(match &stub.error {
            None => CallResult::success(stub.output.clone().unwrap_or_default()),
            Some(message) => failed(message),
        })
    }
}

fn failed(message: &str) -> CallResult {
    CallResult::failed(InvocationStatus::Failed, Failure::new(Code::ATTEMPT_FAILED, message))
}

/// Whether a value has all the listed keys with these values.
fn contains(found: &Json, wanted: &Json) -> bool {
    match (found, wanted) {
        (found, Json::Object(wanted)) if found.is_object() => has_all(found, wanted),
        (found, wanted) => found == wanted,
    }
}

fn has_all(found: &Json, wanted: &JsonMap) -> bool {
    wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| contains(found, wanted)))
}
