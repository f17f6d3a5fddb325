//! [`Doubles`]: what tests of playbooks put in the place of the world.

use crate::clock::RunClock;
use crate::definition::{FaultKind, TestCase};
use crate::engine::WriteFaults;
use crate::executor::Stubs;
use crate::llm::{CallFault, Fit};
use crate::tool::{FailingCall, ToolDoubles};
use std::sync::Arc;

/// What tests of playbooks put in the place of the world. By default, nothing.
#[derive(Debug, Clone, Default)]
pub struct Doubles {
    /// Results in place of the execution of steps.
    pub stubs: Option<Arc<Stubs>>,
    /// Results in place of the execution of tool calls.
    pub tools: Option<Arc<ToolDoubles>>,
    /// Faults of model calls.
    pub calls: Vec<CallFault>,
    /// Faults of the journal.
    pub writes: Option<Arc<WriteFaults>>,
    /// The time of the run.
    pub clock: RunClock,
    /// Where a recording no longer fits.
    pub fit: Arc<Fit>,
}

impl Doubles {
    /// The doubles of a test.
    pub fn of(case: &TestCase) -> Doubles {
        let stubs = case.stubs.iter().map(|(name, stubs)| (name.clone(), stubs.value.clone()));
        let tools = case.tools.iter().map(|(name, stubs)| (name.clone(), stubs.value.clone()));
        let (mut calls, mut failing, mut killed, mut full) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for fault in &case.faults {
            let (step, attempts) = (fault.step.value.clone(), fault.attempts);
            match &fault.kind {
                FaultKind::Model { turn, fault } => {
                    calls.push(CallFault { step, attempts, turn: *turn, fault: *fault });
                }
                FaultKind::Tool { tool, call, message } => {
                    let (tool, message) = (tool.clone(), message.clone());
                    failing.push(FailingCall { step, attempts, tool, call: *call, message });
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
            writes: Some(Arc::new(WriteFaults::new(killed, full))),
            clock: RunClock::virtual_time(),
            fit: Arc::default(),
        }
    }
}
