//! Which steps will run their commands in the sandbox, and why, by the definition alone.

use kb::definition::{self, FileRole, InputFile};
use kb::plan::{ConfinedAhead, Plan};

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
    let once =
        |step: &str| ConfinedAhead::Once(plan.step(plan.find(step).unwrap()).step.id.clone());
    let output =
        |step: &str| ConfinedAhead::Output(plan.step(plan.find(step).unwrap()).step.id.clone());
    let (hooked, reads, write) = (once("hooked"), once("reads"), once("write"));
    let all = plan.confined_ahead();
    for (step, expected) in [
        // `hooked` may run before it, if a message started the run.
        ("before", vec![hooked.clone()]),
        ("always", vec![ConfinedAhead::FromStart]),
        ("opens", vec![ConfinedAhead::FromStart]),
        ("hooked", vec![ConfinedAhead::Triggered("v".into()), reads.clone(), write.clone()]),
        ("dated", vec![hooked.clone()]),
        ("think", vec![]),
        ("words", vec![hooked.clone()]),
        ("reads", vec![output("words"), hooked.clone(), write.clone()]),
        ("make", vec![hooked.clone(), reads.clone(), write.clone()]),
        ("trusted", vec![]),
        ("read", vec![]),
        ("after", vec![]),
        ("still", vec![output("make")]),
    ] {
        assert_eq!(all[plan.find(step).unwrap().at()], expected, "{step}");
    }
}
