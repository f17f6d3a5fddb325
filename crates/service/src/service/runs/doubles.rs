//! [`Doubles`]: what tests of playbooks put in the place of the world.

use kb_clock::{Clock, RunClock};
use kb_engine::engine::WriteFaults;
use kb_host::executor::Stubs;
use kb_host::llm::{CallFault, Fit};
use kb_host::tool::{FailingCall, ToolDoubles};
use kb_language::definition::{FaultKind, TestCase};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What tests of playbooks put in the place of the world. By default, nothing.
#[derive(Debug, Clone, Default)]
pub struct Doubles {
    /// Results in place of the execution of steps.
    pub stubs: Option<Arc<Stubs>>,
    /// Results in place of the execution of tool calls.
    pub tools: Option<Arc<ToolDoubles>>,
    /// Faults of model calls.
    pub calls: Vec<CallFault>,
    /// Faults of model calls and tool calls by their position in the test, and whether they occurred.
    injected: Vec<(usize, Arc<AtomicBool>)>,
    /// Faults of the journal.
    pub writes: Option<Arc<WriteFaults>>,
    /// The virtual time of the run.
    pub clock: Option<RunClock>,
    /// Where a recording no longer fits.
    pub fit: Arc<Fit>,
}

impl Doubles {
    /// The doubles of a test. Its time starts at that of the clock.
    pub fn of(case: &TestCase, clock: &Clock) -> Doubles {
        let stubs = case.stubs.iter().map(|(name, stubs)| (name.clone(), stubs.value.clone()));
        let tools = case.tools.iter().map(|(name, stubs)| (name.clone(), stubs.value.clone()));
        let (mut calls, mut failing, mut killed, mut full) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut injected = Vec::new();
        for (index, fault) in case.faults.iter().enumerate() {
            let occurred = Arc::new(AtomicBool::new(false));
            if matches!(fault.kind, FaultKind::Model { .. } | FaultKind::Tool { .. }) {
                injected.push((index, occurred.clone()));
            }
            let (step, attempts) = (fault.step.value.clone(), fault.attempts);
            match &fault.kind {
                FaultKind::Model { turn, fault } => {
                    calls.push(CallFault { step, attempts, turn: *turn, fault: *fault, occurred });
                }
                FaultKind::Tool { tool, call, message } => {
                    let (tool, message) = (tool.clone(), message.clone());
                    failing.push(FailingCall {
                        step,
                        attempts,
                        tool,
                        call: *call,
                        message,
                        occurred,
                    });
                }
                FaultKind::Kill => killed.push(step),
                FaultKind::DiskFull => full.push(step),
            }
        }
        killed.extend(case.interrupt_after.iter().map(|step| step.value.clone()));
        Doubles {
            stubs: Some(Arc::new(Stubs(stubs.collect()))),
            tools: Some(Arc::new(ToolDoubles::new(tools.collect(), failing))),
            calls,
            injected,
            writes: Some(Arc::new(WriteFaults::new(killed, full))),
            clock: Some(RunClock::virtual_time(clock.clone())),
            fit: Arc::default(),
        }
    }

    /// The positions of the faults of model calls and tool calls that did not occur.
    pub fn unused_faults(&self) -> Vec<usize> {
        let unused = self.injected.iter().filter(|(_, occurred)| !occurred.load(Ordering::Relaxed));
        unused.map(|(index, _)| *index).collect()
    }
}
