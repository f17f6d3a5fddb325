//! Triggers of a project that was moved, and of definitions with task files.

use super::site::Site;
use crate::scratch::Scratch;
use kb::trigger::Role;

const HOURLY: &str = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 * * * *\"}\nsteps: [{id: a, run: \"true\"}]\n";

/// In the new folder the triggers have a state of their own, with what to do; adopting the old folder restores them.
#[test]
fn the_triggers_of_a_moved_project_say_where_they_were_enabled() {
    let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    scratch.kb(&["trigger", "enable", "p"]).code(0);
    let (root, moved) = (scratch.root(), scratch.root().with_file_name("renamed"));
    std::fs::rename(&root, &moved).unwrap();
    let kb = |args: &[&str]| {
        scratch.kb_with(args, |command| {
            command.current_dir(&moved);
        })
    };
    let (old, id) = (root.display().to_string(), "p.schedule");
    kb(&["trigger", "list"]).code(0).says(&["moved", &format!("kb doctor --adopt {old}")]);
    kb(&["trigger", "show", "p"]).code(0).says(&["moved", &old]);
    let listed = kb(&["trigger", "list", "--json"]).code(0);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["state"]), (&id.into(), &"moved".into()));
    kb(&["doctor", "--adopt", &old]).says(&["adopted"]);
    let list = kb(&["trigger", "list"]).code(0);
    assert!(list.out.contains("enabled") && !list.out.contains("moved"), "{}", list.out);
    std::fs::rename(&moved, &root).unwrap();
}

/// A daemon whose project is moved away shows it at each of its triggers; nothing is adopted while a daemon runs.
#[test]
fn a_daemon_shows_that_its_project_was_moved() {
    let site = Site::new(&[("playbooks/p.yml", HOURLY)]);
    let admin = site.token(Role::Admin);
    site.scratch.kb(&["trigger", "enable", "p"]).code(0);
    let (root, moved) = (site.scratch.root(), site.scratch.root().with_file_name("renamed"));
    std::fs::rename(&root, &moved).unwrap();
    let state = || site.get("/api/v1/triggers", &admin).json()[0]["state"].clone();
    site.until("the state", || (state() == "moved").then_some(()));
    site.until("the page", || {
        site.get("/triggers", &admin).text().contains("any more").then_some(())
    });
    let adopted =
        site.scratch.kb_with(&["doctor", "--adopt", &root.display().to_string()], |command| {
            command.current_dir(&moved);
        });
    adopted.code(2).says(&["`kb serve` runs"]);
    std::fs::rename(&moved, &root).unwrap();
    site.until("the project is back", || (state() == "enabled").then_some(()));
}

/// What a trigger runs includes the task files of its steps.
#[test]
fn a_changed_task_file_needs_a_new_enable() {
    let playbook = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 * * * *\"}\nsteps: [{id: a, specialist: s, taskFile: tasks/a.md}]\n";
    let specialist =
        "schema: kb.specialist/1\nid: s\nrole: You write.\noutput: {schema: {summary: string}}\n";
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/s.yml", specialist),
        ("tasks/a.md", "Write a poem."),
    ]);
    let site = Site::of(scratch, &kb::web::Listen { port: Some(0), ..Default::default() });
    let admin = site.token(Role::Admin);
    site.scratch.kb(&["trigger", "enable", "p"]).code(0);
    let state = || site.get("/api/v1/triggers", &admin).json()[0]["state"].clone();
    assert_eq!(state(), "enabled");
    site.scratch.write("tasks/a.md", "Delete everything.");
    site.scratch.kb(&["trigger", "list"]).code(0).says(&["changed"]);
    site.until("the daemon notices", || (state() == "changed").then_some(()));
    site.scratch.kb(&["trigger", "enable", "p"]).code(0);
    site.until("the new one", || (state() == "enabled").then_some(()));
}
