//! The playbook that replaces steps of a plan whose run failed.

use crate::answer::{Answer, Subtask};
use crate::member::Member;
use crate::parts::{AFTER, ANSWER, BEFORE};
use crate::stop::{STOP, STOPPED};
use crate::synthesis::answer;
use kb_base::value::Json;
use serde_json::json;
use std::collections::BTreeSet;

/// A plan whose run failed.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// The JSON form of its text, with the edits of a person.
    pub playbook: &'a Json,
    /// The steps that succeeded or were skipped.
    pub finished: &'a BTreeSet<String>,
}

/// The playbook of the earlier plan with the subtasks of an answer in place of the steps that did not succeed. What
/// succeeded, the checks of the goal and everything outside of the steps are those of the earlier plan: an answer
/// cannot change what is to be proven. `id` is the id of the playbook.
pub fn revised(earlier: Earlier<'_>, new: &Answer, id: &str, team: &[Member]) -> Json {
    let none = Vec::new();
    let steps = earlier.playbook["steps"].as_array().unwrap_or(&none);
    let named = |id: &str| steps.iter().find(|step| step["id"] == *id);
    let own = |step: &&Json| ![AFTER, ANSWER].contains(&id_of(step));
    let kept = steps.iter().filter(own).filter(|step| earlier.finished.contains(id_of(step)));
    let mut all: Vec<Json> = kept.cloned().collect();
    let subtasks = new.subtasks.iter().map(|subtask| &*subtask.id);
    // Gates and stops between the subtasks have found nothing that could be read.
    let is_work = |step: &&Json| step.get("gate").is_none() && step["name"] != *STOP;
    let done = all.iter().filter(is_work).map(|step| id_of(step).to_owned());
    let ids: Vec<String> = done.chain(subtasks.map(str::to_owned)).collect();
    let known: BTreeSet<&str> = ids.iter().map(|id| &**id).collect();
    let gate = named(AFTER).and_then(|step| step["gate"].as_array());
    let last = new.last_writer(team);
    for subtask in &new.subtasks {
        let is_last = last.is_some_and(|last: &Subtask| last.id == subtask.id);
        let demanded = gate.filter(|_| is_last).map_or(&[][..], |gate| gate);
        let is_checked = named(BEFORE).is_some() && earlier.finished.contains(BEFORE);
        all.push(subtask.step(&known, subtask.writes(team), demanded, is_checked));
    }
    let mut playbook = earlier.playbook.clone();
    // The stops of the steps that did not succeed are gone with them.
    if let Some(outputs) = playbook["outputs"].as_object_mut() {
        outputs.remove(STOPPED);
    }
    if let Some(check) = named(AFTER) {
        let mut check = check.clone();
        check["dependsOn"] = json!(ids);
        all.push(check);
    }
    if ids.len() > 1 {
        let text = answer(ids.iter().map(|id| &**id));
        all.push(json!({"id": ANSWER, "name": "orchestrator:answer", "set": {"answer": text}}));
        playbook["outputs"]["answer"] = json!("{{goal_answer.output.answer}}");
    }
    playbook["id"] = json!(id);
    playbook["steps"] = json!(all);
    playbook
}

fn id_of(step: &Json) -> &str {
    step["id"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playbook::Goal;

    fn answer_of(subtasks: Json, check: &str) -> Answer {
        let plan = json!({"summary": "s", "confidence": 1, "subtasks": subtasks, "checks": [{"command": [check]}]});
        Answer::read(&plan).unwrap()
    }

    #[test]
    fn what_succeeded_and_what_is_to_be_proven_stays() {
        let subtask = |id: &str, needs: &[&str]| json!({"id": id, "specialist": "dev", "task": id, "needs": needs});
        let team = [Member { id: "dev".to_owned(), capabilities: Vec::new(), writes: true }];
        let first = answer_of(
            json!([
                subtask("find", &[]),
                subtask("wrong", &["find"]),
                subtask("after", &["wrong"])
            ]),
            "proof",
        );
        let before = first.playbook(Goal { text: "g", id: "one", team: &team });
        let finished = ["find", BEFORE].map(str::to_owned).into();
        let earlier = Earlier { playbook: &before, finished: &finished };
        // A check of the new answer is none of the goal.
        let second = answer_of(json!([subtask("right", &["find"])]), "true");
        let now = revised(earlier, &second, "two", &team);
        let steps = now["steps"].as_array().unwrap();
        let ids: Vec<&str> = steps.iter().map(id_of).collect();
        assert_eq!(ids, [BEFORE, "find", "right", AFTER, ANSWER]);
        assert_eq!(steps[..2], before["steps"].as_array().unwrap()[..2]);
        assert_eq!(steps[2]["verify"]["checks"], json!([{"command": ["proof"]}]));
        assert_eq!(steps[3]["gate"], json!([{"command": ["proof"]}]));
        assert_eq!(steps[3]["dependsOn"], json!(["find", "right"]));
        assert_eq!(
            (&now["id"], &now["outputs"]["goal"]),
            (&json!("two"), &before["outputs"]["goal"])
        );
        let text = steps[4]["set"]["answer"].as_str().unwrap();
        assert!(text.contains("'right'") && !text.contains("'wrong'"), "{text}");
    }

    #[test]
    fn a_plan_without_checks_gets_none() {
        let team = [Member { id: "dev".to_owned(), capabilities: Vec::new(), writes: false }];
        let plain = json!([{"id": "a", "specialist": "dev", "task": "x"}]);
        let mut first = answer_of(plain.clone(), "x");
        first.checks.clear();
        let before = first.playbook(Goal { text: "g", id: "one", team: &team });
        let earlier = Earlier { playbook: &before, finished: &BTreeSet::new() };
        let now = revised(earlier, &answer_of(plain, "true"), "two", &team);
        assert_eq!(now["steps"].as_array().unwrap().len(), 1);
        assert_eq!(now["outputs"], json!({"goal": "unchecked"}));
    }
}
