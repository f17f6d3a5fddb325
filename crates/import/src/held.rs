//! Steps that run after failures, where the failure can be that of a part without a translation.
//!
//! A step that stands for such a part fails in each run, and that is no failure of the original. So it starts no
//! work: each step after it that runs in other cases than after a success, and each handler, also requires that
//! it has not failed. A child run can fail for such a part of its playbook: its error says so.

use super::names::reference;
use super::output::Out;
use std::collections::{BTreeMap, BTreeSet};

/// How the message of a step in the place of a part without a translation begins.
pub(super) const NOT_TRANSLATED: &str = "not translated: ";
/// The most steps that a condition names. A step after more of them does not run.
const MAX_NAMED: usize = 50;

/// The steps of a playbook that stand for parts without a translation.
pub(super) struct Failing<'a> {
    steps: &'a mut [Out],
    /// The places of those steps.
    own: BTreeSet<usize>,
}

impl Failing<'_> {
    /// Finds the steps with these ids, and the child runs.
    pub(super) fn among<'a>(steps: &'a mut [Out], ids: &BTreeSet<String>) -> Failing<'a> {
        let is = |step: &Out| is_child(step) || id_of(step).is_some_and(|id| ids.contains(&id));
        let own = steps.iter().enumerate().filter(|(_, step)| is(step)).map(|(at, _)| at);
        Failing { own: own.collect(), steps }
    }

    /// Holds the steps after them that run in other cases than after a success.
    pub(super) fn hold(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let before = self.before();
        for (at, before) in before.into_iter().enumerate() {
            let step = &self.steps[at];
            if step.get("runIf").is_some() {
                // A part of the step itself holds it already.
                let own = step.get("condition").and_then(Out::words).unwrap_or_default();
                let condition = self.condition(&before, &own);
                require(&mut self.steps[at], condition);
            }
        }
    }

    /// Holds steps that run after all others.
    pub(super) fn hold_after(&self, steps: &mut [Out]) {
        for step in steps {
            require(step, self.condition(&self.own, ""));
        }
    }

    /// The places of those steps before each step. A set with more than [`MAX_NAMED`] is not complete.
    fn before(&self) -> Vec<BTreeSet<usize>> {
        let ids: Vec<Option<String>> = self.steps.iter().map(id_of).collect();
        let places: BTreeMap<&str, usize> =
            ids.iter().enumerate().filter_map(|(at, id)| Some((id.as_deref()?, at))).collect();
        let (mut followers, mut open) = (vec![Vec::new(); ids.len()], vec![0; ids.len()]);
        for (at, step) in self.steps.iter().enumerate() {
            let on = step.get("dependsOn").map(Out::listed).unwrap_or_default();
            for on in on.iter().filter_map(|on| places.get(on.as_str())) {
                followers[*on].push(at);
                open[at] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..ids.len()).filter(|at| open[*at] == 0).collect();
        let mut before = vec![BTreeSet::new(); ids.len()];
        while let Some(at) = ready.pop() {
            let mut passed = before[at].clone();
            passed.extend(self.own.get(&at));
            for follower in &followers[at] {
                let room = (MAX_NAMED + 1).saturating_sub(before[*follower].len());
                let new = passed.difference(&before[*follower]).copied().take(room);
                let new: Vec<usize> = new.collect();
                before[*follower].extend(new);
                open[*follower] -= 1;
                if open[*follower] == 0 {
                    ready.push(*follower);
                }
            }
        }
        before
    }

    /// What must be true after these steps, apart from what a condition says already.
    fn condition(&self, before: &BTreeSet<usize>, said: &str) -> Option<String> {
        let held = |at: &usize| {
            let step = &self.steps[*at];
            let own = reference(&id_of(step)?);
            let is_held = said.contains(&format!("{own}.status == 'succeeded'"));
            Some(if is_child(step) {
                format!("'{NOT_TRANSLATED}' not in ({own}.error | string)")
            } else {
                format!("{own}.status != 'failed'")
            })
            .filter(|_| !is_held)
        };
        if before.len() > MAX_NAMED {
            return Some("false".to_owned());
        }
        let all: Vec<String> = before.iter().filter_map(held).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }
}

/// Whether a step is a run of another playbook.
fn is_child(step: &Out) -> bool {
    step.get("playbook").is_some()
}

fn id_of(step: &Out) -> Option<String> {
    step.get("id")?.words()
}

/// Adds what must be true to the condition of a step.
pub(super) fn require(step: &mut Out, what: Option<String>) {
    let Some(what) = what else { return };
    let all = match step.get("condition").and_then(Out::words) {
        Some(own) => format!("{what} and ({own})"),
        None => what,
    };
    step.put("condition", all.into());
}
