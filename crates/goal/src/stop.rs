//! The early stop of a plan: the checks of the goal between its subtasks.

use crate::answer::{Answer, Subtask};
use crate::check::GoalCheck;
use crate::member::Member;
use crate::parts::BEFORE;
use crate::synthesis::is_plain;
use kb_base::value::Json;
use serde_json::json;
use std::collections::BTreeSet;

/// The name of the step that says why the rest is skipped.
pub(crate) const STOP: &str = "orchestrator:stop";
/// The output of a run that says whether it stopped early.
pub(crate) const STOPPED: &str = "stopped";
/// Fewest subtasks that a stop must leave out.
const LEFT: usize = 2;

/// A place of a plan at which it can stop: the gate of a subtask that writes has passed, and at least two subtasks that
/// need it are left. If all checks of the goal hold there, and at least one did not before the work, they are skipped.
#[derive(Debug)]
pub(crate) struct EarlyStop<'a> {
    /// The subtask before it.
    pub(crate) after: &'a str,
    /// The subtasks that it skips, in the order of the plan: all that need `after`, directly or not.
    pub(crate) skips: Vec<&'a Subtask>,
}

impl<'a> EarlyStop<'a> {
    /// The places of a plan. A subtask that only reads cannot make the checks hold.
    pub(crate) fn all_of(plan: &'a Answer, team: &[Member]) -> Vec<EarlyStop<'a>> {
        let writers = plan.subtasks.iter().filter(|own| own.writes(team) && is_plain(&own.id));
        let places = writers.map(|own| EarlyStop { after: &own.id, skips: after(plan, &own.id) });
        places.filter(|place| place.skips.len() >= LEFT).collect()
    }

    /// The condition of a subtask that depends on subtasks with a stop.
    pub(crate) fn condition(stops: &[EarlyStop<'_>], subtask: &Subtask) -> Option<String> {
        let before = stops.iter().filter(|stop| subtask.reads(stop.after));
        let open = before
            .map(|stop| format!("steps['{}'].verdict | default('') != 'passed'", stop.gate()));
        let open: Vec<String> = open.collect();
        (!open.is_empty()).then(|| open.join(" and "))
    }

    /// The gate, and the step that says why the rest is skipped. The gate demands the own checks of the skipped
    /// subtasks, too: a subtask that has something of its own to prove is not left out before it holds.
    pub(crate) fn steps(&self, goal: &[Json]) -> [Json; 2] {
        let mut checks = goal.to_vec();
        for check in self.skips.iter().flat_map(|own| &own.checks).map(GoalCheck::after) {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
        let after = self.after;
        let gate = json!({
            "id": self.gate(),
            "name": format!("the checks of the goal after {after}"),
            "dependsOn": [BEFORE, after],
            "condition": format!(
                "steps['{after}'].verdict == 'passed' and (steps['{BEFORE}'].output.checks \
                 | selectattr('verdict', 'equalto', 'passed') | list)"
            ),
            "sandbox": "always",
            "gate": checks,
            "verify": {"onFailed": "warn", "onInconclusive": "warn"},
        });
        let stop = json!({
            "id": self.stop(),
            "name": STOP,
            "dependsOn": [self.gate()],
            "condition": format!("steps['{}'].verdict == 'passed'", self.gate()),
            "set": {
                "reason": format!("the checks of the goal hold after {after}"),
                "evidence": format!("{{{{steps['{}'].output.checks}}}}", self.gate()),
                "skipped": self.skips.iter().map(|own| &*own.id).collect::<Vec<_>>(),
            },
        });
        [gate, stop]
    }

    /// The output of a run: what the first stop said, or nothing.
    pub(crate) fn output(stops: &[EarlyStop<'_>]) -> String {
        let nothing = "none".to_owned();
        let value = stops.iter().rev().fold(nothing, |rest, stop| {
            format!("steps['{}'].output | default({rest})", stop.stop())
        });
        format!("{{{{ {value} }}}}")
    }

    fn gate(&self) -> String {
        format!("goal-after-{}", self.after)
    }

    fn stop(&self) -> String {
        format!("goal-stop-{}", self.after)
    }
}

/// The subtasks that need one, directly or not, in the order of the plan.
fn after<'a>(plan: &'a Answer, id: &str) -> Vec<&'a Subtask> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    loop {
        let needs = |own: &&Subtask| own.reads(id) || found.iter().any(|known| own.reads(known));
        let next = plan.subtasks.iter().filter(needs).find(|own| !found.contains(&*own.id));
        // A plan with a cycle is refused by the loader.
        match next {
            Some(own) => drop(found.insert(&own.id)),
            None => break,
        }
    }
    found.remove(id);
    plan.subtasks.iter().filter(|own| found.contains(&*own.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Goal;

    fn plan(checks: Json, review: Json) -> Json {
        let subtask = |id: &str, by: &str, needs: &[&str]| json!({"id": id, "specialist": by, "task": id, "needs": needs});
        let mut last = subtask("review", "reader", &["document"]);
        last["checks"] = review;
        let plan = json!({"summary": "s", "confidence": 1, "checks": checks, "subtasks": [
            subtask("find", "reader", &[]),
            subtask("write", "dev", &["find"]),
            subtask("aside", "dev", &["find"]),
            subtask("document", "dev", &["write"]),
            last,
        ]});
        let member =
            |id: &str, writes| Member { id: id.to_owned(), capabilities: Vec::new(), writes };
        let team = [member("dev", true), member("reader", false)];
        Answer::read(&plan).unwrap().playbook(Goal { text: "g", id: "one", team: &team })
    }

    fn step<'a>(playbook: &'a Json, id: &str) -> &'a Json {
        let steps = playbook["steps"].as_array().unwrap();
        steps.iter().find(|step| step["id"] == *id).unwrap_or(&Json::Null)
    }

    #[test]
    fn a_plan_can_stop_where_two_subtasks_are_left() {
        let playbook = plan(json!([{"command": ["t"]}]), json!([{"file": {"path": "r"}}]));
        let gate = step(&playbook, "goal-after-write");
        // What a skipped subtask has to prove must hold, too.
        assert_eq!(gate["gate"], json!([{"command": ["t"]}, {"file": {"path": "r"}}]));
        let stop = step(&playbook, "goal-stop-write");
        assert_eq!(stop["set"]["skipped"], json!(["document", "review"]));
        let condition = |id: &str| step(&playbook, id)["condition"].as_str();
        assert_eq!(
            condition("document"),
            Some("steps['goal-after-write'].verdict | default('') != 'passed'")
        );
        // What does not need it is not held up, and what needs a skipped subtask is skipped with it.
        assert_eq!((condition("aside"), condition("review")), (None, None));
        assert_eq!(step(&playbook, "goal-check")["runIf"], "noneFailed");
        assert_eq!(
            playbook["outputs"]["stopped"],
            "{{ steps['goal-stop-write'].output | default(none) }}"
        );
        // After `document` only one subtask is left, and `find` changes nothing.
        assert!(step(&playbook, "goal-after-document").is_null());
        assert!(step(&playbook, "goal-after-find").is_null());
    }

    #[test]
    fn a_plan_without_checks_cannot_stop() {
        let playbook = plan(json!([]), json!([]));
        assert!(step(&playbook, "goal-after-write").is_null());
        assert_eq!(playbook["outputs"].get("stopped"), None);
    }
}
