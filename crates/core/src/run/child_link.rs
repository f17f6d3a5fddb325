//! The link from a `playbook` step to its last child run.

use crate::evidence::VerdictCounts;
use kb_base::value::{RunId, Usage};

/// The last child run of a `playbook` step.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildLink {
    /// Id of the child run.
    pub run: RunId,
    /// State of the attempt that executed it.
    pub state: ChildLinkState,
    /// The part of its usage that attempts reported.
    pub reported: Usage,
    /// The verdicts of its gates when it ended.
    pub verdicts: VerdictCounts,
}

/// State of the attempt that executed a child run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildLinkState {
    /// The attempt has not ended, or the child run waits.
    Open,
    /// The attempt ended without success. The next attempt may open the child run again.
    Failed,
    /// The attempt ended with success. The next attempt needs a new child run.
    Done,
}

impl ChildLink {
    /// The link of an attempt that executes this child run, after the link of the attempt before.
    pub(super) fn open(run: &RunId, before: Option<&ChildLink>) -> ChildLink {
        let same = before.filter(|before| before.run == *run);
        let reported = same.map_or(Usage::NONE, |before| before.reported);
        let verdicts = same.map_or(VerdictCounts::default(), |before| before.verdicts);
        ChildLink { run: run.clone(), state: ChildLinkState::Open, reported, verdicts }
    }

    /// Notes that the attempt that executed the child run ended.
    pub(super) fn end(&mut self, succeeded: bool, usage: Usage) {
        self.reported += usage;
        self.state = if succeeded { ChildLinkState::Done } else { ChildLinkState::Failed };
    }
}
