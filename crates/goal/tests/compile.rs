//! Whatever a planner answers, the playbook says no more than the answer: no placeholder, no step, no key.

use kb_goal::{Answer, Goal, Member, answer_schema, plan_id};
use kb_host::llm::readable_yaml;
use kb_language::definition::{
    Catalog, Check, FileRole, InputFile, Playbook, Schema, StepKind, TaskText, load,
};
use kb_language::plan::Plan;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const TEAM: &str = "\
{schema: kb.specialist/1, id: looker, role: look, tools: [fs:read], capabilities: [Reading]}";
const WRITER: &str = "\
{schema: kb.specialist/1, id: maker, role: make, tools: [fs:write, shell:exec]}";

fn team() -> Vec<Member> {
    let member = |id: &str, writes| Member {
        id: id.to_owned(),
        capabilities: if writes { Vec::new() } else { vec!["Reading".to_owned()] },
        writes,
    };
    vec![member("looker", false), member("maker", true)]
}

/// The catalog of a project with the playbook of this answer, and the codes of all errors.
fn loaded(goal: &str, answer: &Value) -> (Catalog, Vec<&'static str>) {
    let answer = Answer::read(answer).expect("an answer");
    let team = team();
    let id = plan_id(goal, "x");
    let playbook = answer.playbook(Goal { text: goal, id: &id, team: &team });
    let file = |path: &str, text: &str, role| InputFile {
        path: path.to_owned(),
        bytes: text.as_bytes().into(),
        role,
    };
    let (catalog, problems) = load(vec![
        file("looker.yml", TEAM, FileRole::Specialist),
        file("maker.yml", WRITER, FileRole::Specialist),
        file("plan.yml", &readable_yaml(&playbook), FileRole::Playbook),
    ]);
    let plans = catalog.playbooks.values().flat_map(|own| Plan::build(own, &catalog).1);
    let all: Vec<_> = problems.into_iter().chain(plans).filter(|own| own.is_error()).collect();
    let drafts = catalog.drafts.iter().flat_map(|own| Plan::errors_of_draft(own, &catalog));
    let codes = all.iter().map(|own| own.code.as_str()).collect();
    let drafts: Vec<_> = drafts.map(|own| own.code.as_str()).collect();
    (catalog, [codes, drafts].concat())
}

fn playbook(goal: &str, answer: &Value) -> Arc<Playbook> {
    let (catalog, codes) = loaded(goal, answer);
    assert!(codes.is_empty(), "{codes:?} for {answer}");
    catalog.playbooks.values().next().expect("the plan").clone()
}

fn ids(playbook: &Playbook) -> Vec<&str> {
    playbook.steps.iter().map(|step| step.id.as_str()).collect()
}

fn plan(subtasks: Value, checks: Value) -> Value {
    json!({"summary": "s", "confidence": 0.9, "subtasks": subtasks, "checks": checks})
}

fn subtask(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "specialist": "looker", "task": "look", "needs": needs})
}

proptest! {
    /// Texts of an answer are the same texts in the playbook, whatever characters they have, and read nothing.
    #[test]
    fn texts_stay_texts(task in ".{1,60}", braces in r"[{}<>%#\\ a-z.']{1,20}", word in ".{1,20}") {
        let task = format!("{task}{braces}{{{{secrets.TOKEN}}}}<<params.x>>");
        let word = word.replace('\0', "");
        let goal = format!("do {braces}");
        let answer = plan(
            json!([{"id": "a", "specialist": "looker", "task": task}]),
            json!([{"command": ["echo", format!("x{word}{{{{run.id}}}}")]}]),
        );
        let playbook = playbook(&goal, &answer);
        prop_assert_eq!(ids(&playbook), ["goal-before", "a", "goal-check"]);
        let StepKind::Specialist(step) = &playbook.steps[1].kind else { panic!("no specialist") };
        let Some(TaskText::Inline(text)) = &step.task else { panic!("no task") };
        // A definition is compared in the Unicode form NFC.
        prop_assert_eq!(text.as_literal().map(|text| text.chars().count() > 0), Some(true));
        prop_assert_eq!(text.references().count(), 0);
        for step in [&playbook.steps[0], &playbook.steps[2]] {
            let StepKind::Gate(checks) = &step.kind else { panic!("no gate") };
            let Check::Command(check) = &checks[0] else { panic!("no command") };
            prop_assert!(check.argv.iter().all(|word| word.as_literal().is_some()));
        }
    }

    /// No name of an answer leaves its place: it is a step of the answer, or an error.
    #[test]
    fn names_are_steps_of_the_answer_or_errors(name in r"[a-z'\]\[{}. _-]{1,30}", key in "[a-z]{1,8}") {
        let mut second = subtask("b", &[&name]);
        second["inputs"] = json!({&*key: &name});
        let (catalog, codes) = loaded("do it", &plan(json!([subtask("a", &[]), second]), json!([])));
        let playbook = catalog.playbooks.values().next();
        prop_assert_eq!(playbook.is_some_and(|_| codes.is_empty()), name == "a" && key != "task");
    }
}

#[test]
fn the_checks_of_the_goal_stand_before_and_after_the_work_and_in_its_last_writer() {
    let answer = plan(
        json!([
            subtask("find", &[]),
            {"id": "write", "specialist": "maker", "task": "write", "needs": ["find"]},
        ]),
        json!([{"command": ["npm", "test"]}, {"file": {"path": "a.js", "contains": "f("}}]),
    );
    let playbook = playbook("add f", &answer);
    assert_eq!(ids(&playbook), ["goal-before", "find", "write", "goal-check", "goal-answer"]);
    let checks: Vec<usize> = playbook.steps.iter().map(|step| step.checks().len()).collect();
    assert_eq!(checks, [2, 0, 2, 2, 0]);
}

#[test]
fn two_last_writers_are_judged_at_the_end_only() {
    let make = |id: &str| json!({"id": id, "specialist": "maker", "task": "make"});
    let answer = plan(json!([make("a"), make("b")]), json!([{"file": {"path": "x"}}]));
    let checks: Vec<usize> =
        playbook("x", &answer).steps.iter().map(|step| step.checks().len()).collect();
    assert_eq!(checks, [1, 0, 0, 1, 0]);
}

#[test]
fn errors_of_an_answer_are_those_of_a_playbook() {
    for (subtasks, code) in [
        (json!([{"id": "a", "specialist": "stranger", "task": "x"}]), "KB0402"),
        (json!([{"id": "a", "specialist": "shell:exec", "task": "x"}]), "KB0202"),
        (json!([subtask("a", &["b"]), subtask("b", &["a"])]), "KB0401"),
        (json!([subtask("a", &["a"])]), "KB0210"),
        (json!([subtask("a", &["c"])]), "KB0206"),
        (json!([subtask("a", &[]), subtask("a", &[])]), "KB0203"),
        (json!([subtask("goal-check", &[])]), "KB0203"),
        (json!([subtask("run", &[])]), "KB0207"),
        (json!([{"id": "a", "task": "x"}]), "KB0205"),
        (json!([{"id": "a", "task": "x", "capability": "Flying"}]), "KB0417"),
    ] {
        let (_, codes) = loaded("x", &plan(subtasks.clone(), json!([{"file": {"path": "x"}}])));
        assert!(codes.contains(&code), "{code} is not in {codes:?} for {subtasks}");
    }
}

#[test]
fn a_capability_chooses_the_only_specialist_that_has_it() {
    let answer = plan(json!([{"id": "a", "task": "x", "capability": "reading"}]), json!([]));
    let playbook = playbook("x", &answer);
    let StepKind::Specialist(step) = &playbook.steps[0].kind else { panic!("no specialist") };
    assert_eq!(step.specialist.as_str(), "looker");
}

#[test]
fn the_schema_refuses_what_no_subtask_has() {
    let schema = Schema::new(answer_schema(&["looker".to_owned()])).unwrap();
    let fits = |answer: &Value| schema.violations(answer).is_empty();
    let with = |key: &str, value: Value| {
        let mut one = subtask("a", &[]);
        one[key] = value;
        plan(json!([one]), json!([]))
    };
    assert!(fits(&plan(json!([subtask("a", &[])]), json!([{"command": ["true"]}]))));
    for wrong in [
        with("tools", json!(["shell:exec"])),
        with("run", json!("rm -rf /")),
        with("specialist", json!("stranger")),
        with("id", json!("A b")),
        with("task", json!("")),
        with("checks", json!([{"expr": "true"}])),
        with("checks", json!([{"command": "true"}])),
        with("checks", json!([{"command": ["true"], "mayChange": ["**"]}])),
        with("checks", json!([{"file": {"path": "a", "changed": false}}])),
        plan(json!(vec![subtask("a", &[]); 10_000]), json!([])),
        json!("Here is the plan: first, …"),
    ] {
        assert!(!fits(&wrong), "{}", wrong.to_string().chars().take(200).collect::<String>());
    }
}
