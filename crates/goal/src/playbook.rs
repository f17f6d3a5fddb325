//! The playbook that an answer means.

use crate::answer::{Answer, Subtask};
use crate::check::GoalCheck;
use crate::literal::literal;
use crate::member::Member;
use crate::name::plan_name;
use crate::parts::{AFTER, ANSWER, BEFORE};
use crate::stop::{EarlyStop, STOPPED};
use crate::synthesis::{answer, is_plain};
use kb_base::value::{Json, JsonMap};
use serde_json::json;
use std::collections::BTreeSet;

/// `complete` if a check of the goal did not hold before the work. That all hold after it is what the last gate says.
const RESULT: &str = "{{ 'complete' if goal_before.output.checks | selectattr('verdict', 'equalto', 'passed') | list \
                      else 'unchecked' }}";

/// What a plan is for.
#[derive(Debug, Clone, Copy)]
pub struct Goal<'a> {
    /// The sentence of the person.
    pub text: &'a str,
    /// The id of the playbook.
    pub id: &'a str,
    /// The specialists that the plan may name.
    pub team: &'a [Member],
}

impl Answer {
    /// The playbook of this plan. It is not checked: what is wrong with it, the loader of definitions says.
    pub fn playbook(&self, goal: Goal<'_>) -> Json {
        let after: Vec<Json> = self.checks.iter().map(GoalCheck::after).collect();
        let mut steps = Vec::new();
        let checked = !self.checks.is_empty();
        if checked {
            steps.push(json!({
                "id": BEFORE,
                "name": "the checks of the goal, before the work: none holds yet",
                "sandbox": "always",
                "gate": self.checks.iter().map(GoalCheck::before).collect::<Vec<_>>(),
                "verify": {"onFailed": "warn", "onInconclusive": "warn"},
            }));
        }
        let last = self.last_writer(goal.team);
        let known: BTreeSet<&str> = self.subtasks.iter().map(|subtask| &*subtask.id).collect();
        let stops = if checked { EarlyStop::all_of(self, goal.team) } else { Vec::new() };
        for subtask in &self.subtasks {
            let writes = subtask.writes(goal.team);
            let demanded = last.filter(|last| last.id == subtask.id).map(|_| &*after);
            let mut step = subtask.step(&known, writes, demanded.unwrap_or_default(), checked);
            if let Some(condition) = EarlyStop::condition(&stops, subtask) {
                step["condition"] = json!(condition);
            }
            steps.push(step);
            let own = stops.iter().filter(|stop| stop.after == subtask.id);
            steps.extend(own.flat_map(|stop| stop.steps(&after)));
        }
        if checked {
            let mut check = json!({
                "id": AFTER,
                "name": "the checks of the goal",
                "dependsOn": self.subtasks.iter().map(|subtask| &*subtask.id).collect::<Vec<_>>(),
                "sandbox": "always",
                "gate": after,
                "verify": {"onInconclusive": "fail"},
            });
            if !stops.is_empty() {
                check["runIf"] = json!("noneFailed");
            }
            steps.push(check);
        }
        if self.subtasks.len() > 1 {
            steps.push(json!({
                "id": ANSWER,
                "name": "orchestrator:answer",
                "set": {"answer": answer(self.subtasks.iter().map(|subtask| &*subtask.id))},
            }));
        }
        let mut playbook = json!({
            "schema": "kb.playbook/1",
            "id": goal.id,
            "name": plan_name(goal.text),
            "description": goal.text,
        });
        // A name in braces would be a parameter.
        if !goal.text.contains(['\n', '{']) {
            playbook["triggers"] = json!([goal.text]);
        }
        playbook["steps"] = json!(steps);
        playbook["outputs"] = json!({"goal": if checked { RESULT } else { "unchecked" }});
        if self.subtasks.len() > 1 {
            playbook["outputs"]["answer"] = json!("{{goal_answer.output.answer}}");
        }
        if !stops.is_empty() {
            playbook["outputs"][STOPPED] = json!(EarlyStop::output(&stops));
        }
        playbook
    }

    /// The subtask that writes and that no other needs, if there is exactly one: the checks of the goal are demanded of
    /// it too, so that it is reworked if they do not hold.
    pub(crate) fn last_writer(&self, team: &[Member]) -> Option<&Subtask> {
        let needed = |id: &str| self.subtasks.iter().any(|other| other.reads(id));
        let mut last = self.subtasks.iter().filter(|own| own.writes(team) && !needed(&own.id));
        last.next().filter(|_| last.next().is_none())
    }
}

impl Subtask {
    pub(crate) fn reads(&self, id: &str) -> bool {
        self.needs.iter().chain(self.inputs.values()).any(|needed| needed == id)
    }

    pub(crate) fn writes(&self, team: &[Member]) -> bool {
        let is_meant = |member: &&Member| match (&self.specialist, &self.capability) {
            (Some(id), _) => member.id == *id,
            (None, Some(name)) => member.capabilities.contains(name),
            (None, None) => false,
        };
        team.iter().filter(is_meant).any(|member| member.writes)
    }

    pub(crate) fn step(
        &self,
        known: &BTreeSet<&str>,
        writes: bool,
        demanded: &[Json],
        checked: bool,
    ) -> Json {
        let mut step = JsonMap::new();
        step.insert("id".to_owned(), json!(self.id));
        for (key, name) in [("specialist", &self.specialist), ("capability", &self.capability)] {
            if let Some(name) = name {
                step.insert(key.to_owned(), json!(name));
            }
        }
        step.insert("task".to_owned(), literal(&self.task));
        let is_first = self.needs.is_empty() && self.inputs.is_empty();
        let before = (checked && is_first).then_some(BEFORE);
        // An input that names no subtask is one that depends on it: the loader reports that.
        let unknown = self.inputs.values().map(|id| &**id).filter(|id| !known.contains(id));
        let needs = self.needs.iter().map(|id| &**id).chain(unknown);
        let after: Vec<&str> = before.into_iter().chain(needs).collect();
        if !after.is_empty() {
            step.insert("dependsOn".to_owned(), json!(after));
        }
        let input = self.input(known);
        if !input.is_empty() {
            step.insert("input".to_owned(), Json::Object(input));
        }
        if !self.include_artifacts.is_empty() {
            step.insert("includeArtifacts".to_owned(), json!(self.include_artifacts));
        }
        let mut checks: Vec<Json> = self.checks.iter().map(GoalCheck::after).collect();
        let new = demanded.iter().filter(|check| !checks.contains(check)).cloned();
        checks.extend(new.collect::<Vec<_>>());
        let mut verify = JsonMap::new();
        if writes {
            verify.insert("commentary".to_owned(), json!(["summary"]));
        }
        if !checks.is_empty() {
            verify.insert("checks".to_owned(), json!(checks));
        }
        if !verify.is_empty() {
            step.insert("verify".to_owned(), Json::Object(verify));
        }
        Json::Object(step)
    }

    /// The outputs that it receives.
    fn input(&self, known: &BTreeSet<&str>) -> JsonMap {
        let output = |id: &String| {
            if known.contains(&**id) && is_plain(id) {
                json!(format!("{{{{steps['{id}'].output}}}}"))
            } else {
                literal(id)
            }
        };
        if !self.inputs.is_empty() {
            return self.inputs.iter().map(|(key, id)| (key.clone(), output(id))).collect();
        }
        let context = match &*self.needs {
            [] => return JsonMap::new(),
            [one] => output(one),
            many => Json::Object(many.iter().map(|id| (id.clone(), output(id))).collect()),
        };
        JsonMap::from_iter([("context".to_owned(), context)])
    }
}
