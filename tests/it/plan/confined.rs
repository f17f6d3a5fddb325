//! Which steps will run their commands in the sandbox, and why, by the definition alone.

use kb::definition::{self, FileRole, InputFile};
use kb::plan::{ConfinedAhead, Facts, Plan};

const WRITER: &str = "schema: kb.specialist/1\nid: writer\nrole: r\ntools: [fs:write]\n";
const READER: &str = "schema: kb.specialist/1\nid: reader\nrole: r\ntools: [fs:read]\n";

fn plan_of(playbook: &str) -> Plan {
    let file = |path: &str, text: &str, role| InputFile {
        path: path.to_owned(),
        bytes: text.as_bytes().into(),
        role,
    };
    let (catalog, found) = definition::load(vec![
        file("p.yml", playbook, FileRole::Playbook),
        file("w.yml", WRITER, FileRole::Specialist),
        file("r.yml", READER, FileRole::Specialist),
    ]);
    assert!(found.iter().all(|problem| !problem.is_error()), "{found:?}");
    let (plan, problems) = Plan::build(&catalog.playbooks["p"], &catalog);
    plan.unwrap_or_else(|| panic!("{problems:?}"))
}

#[test]
fn each_step_names_why_its_commands_will_be_confined() {
    let plan = plan_of(
        "schema: kb.playbook/1
id: p
params: [{name: v, default: '0'}, {name: day, default: x}]
on:
  message: {topic: t, payload: {v: message}}
  schedule: {cron: '0 0 * * *', payload: {day: date}}
steps:
  - {id: before, run: make}
  - {id: always, sandbox: always, run: make}
  - {id: opens, sandbox: {network: open}, run: make}
  - {id: hooked, run: 'echo $V', env: {V: '{{v}}'}}
  - {id: dated, run: 'echo $V', env: {V: '{{day}}'}}
  - {id: think, agent: reader, task: t, dependsOn: [before, dated]}
  - {id: words, dependsOn: think, run: [echo, '{{think.output.summary}}']}
  - {id: reads, dependsOn: words, run: 'echo $V', env: {V: '{{words.output}}'}}
  - {id: write, agent: writer, task: t, dependsOn: [before, dated, words]}
  - {id: make, dependsOn: write, run: make}
  - {id: trusted, dependsOn: write, sandbox: never, run: make}
  - {id: read, dependsOn: [write, reads, hooked], approve: 'ok?'}
  - {id: after, dependsOn: read, run: make}
  - {id: still, dependsOn: read, run: 'echo $V', env: {V: '{{make.output}}'}}
",
    );
    let once = |step: &str| ConfinedAhead::Once(step.into());
    let output = |step: &str| ConfinedAhead::Output(step.into());
    let (hooked, words) = (once("hooked"), once("words"));
    let (reads, write) = (once("reads"), once("write"));
    let all = plan.confined_ahead();
    for (step, expected) in [
        // `hooked` may run before it, if a message started the run.
        ("before", vec![hooked.clone()]),
        ("always", vec![ConfinedAhead::FromStart]),
        ("opens", vec![ConfinedAhead::FromStart]),
        (
            "hooked",
            vec![ConfinedAhead::Triggered("v".into()), words.clone(), reads.clone(), write.clone()],
        ),
        ("dated", vec![hooked.clone()]),
        ("think", vec![]),
        ("words", vec![output("think"), hooked.clone()]),
        ("reads", vec![output("words"), hooked.clone(), words.clone(), write.clone()]),
        ("make", vec![hooked.clone(), words.clone(), reads.clone(), write.clone()]),
        ("trusted", vec![]),
        ("read", vec![]),
        // `still` executes what a confined command printed, beside it.
        ("after", vec![once("still")]),
        ("still", vec![output("make")]),
    ] {
        assert_eq!(all[plan.find(step).unwrap().at()], expected, "{step}");
    }
}

/// What executes while a specialist can write is confined from its start; one that was skipped before it is none.
#[test]
fn a_writer_that_may_work_beside_a_step_counts_from_its_start() {
    for (writer, step, is_confined) in [
        ("workspace: shared", "workspace: shared", true),
        ("workspace: shared", "workspace: shared, dependsOn: write", false),
        ("workspace: worktree", "env: {A: b}", true),
        ("workspace: copy", "workspace: shared", true),
        ("workspace: worktree", "dependsOn: write", false),
        ("workspace: worktree, merge: none", "env: {A: b}", false),
        ("workspace: worktree", "workspace: copy", false),
        ("workspace: shared", "env: {A: b}", true),
        ("env: {A: b}", "env: {A: b}", true),
        ("env: {A: b}", "workspace: exclusive", false),
    ] {
        let plan = plan_of(&format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: write, agent: writer, task: t, {writer}}}\n  - {{id: make, run: make, {step}}}\n"
        ));
        let make = plan.step(plan.find("make").unwrap());
        let found = Facts::default().confined(&plan, make);
        assert_eq!(found.is_some(), is_confined, "{writer}, {step}");
    }
    // A command that executes a foreign value is a writer as well.
    for (value, is_confined) in [("{{think.output.summary}}", true), ("{{think.status}}", false)] {
        let plan = plan_of(&format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: make, run: make}}\n  - {{id: think, agent: reader, task: t}}\n  - {{id: reads, run: 'echo $V', env: {{V: '{value}'}}}}\n"
        ));
        let found = Facts::default().confined(&plan, plan.step(plan.find("make").unwrap()));
        assert_eq!(found.is_some(), is_confined, "{value}");
    }
    let hook = |on: &str| {
        let plan = plan_of(&format!(
            "schema: kb.playbook/1\nid: p\nhooks: {{{on}: [{{id: make, workspace: shared, run: make}}]}}\nsteps: [{{id: write, agent: writer, task: t, workspace: shared}}]\n"
        ));
        Facts::default().confined(&plan, plan.step(plan.find("make").unwrap())).is_some()
    };
    assert!(hook("onStart") && !hook("onSuccess"));
}

/// Of many writers the first ones before a step are named, also those that are decided about in another pass.
#[test]
fn of_many_writers_the_first_are_named() {
    let mut text = "schema: kb.playbook/1\nid: p\nsteps:\n".to_owned();
    for at in 0..150 {
        let after = if at == 0 { String::new() } else { format!("dependsOn: s{}, ", at - 1) };
        let work = match at {
            70 | 149 => "run: make",
            90 => "approve: Go on?",
            _ => "agent: writer, task: t",
        };
        text.push_str(&format!("  - {{id: s{at}, {after}{work}}}\n"));
    }
    let plan = plan_of(&text);
    let all = plan.confined_ahead();
    let once = |from: usize| -> Vec<ConfinedAhead> {
        (from..from + 20).map(|at| ConfinedAhead::Once(format!("s{at}").into())).collect()
    };
    assert_eq!(all[70], once(0));
    // The approval releases what was before it.
    assert_eq!(all[149], once(91));
    let line = ConfinedAhead::line(&all[70]).unwrap();
    assert!(line.ends_with("once s2 has started and others"), "{line}");
}
