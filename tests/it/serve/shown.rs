//! What pages show of long texts, earlier answers and earlier iterations, and what they leave out.

use super::site::Site;
use kb::trigger::Role;
use serde_json::json;

const SENT_BACK: &str = "schema: kb.playbook/1
id: p
steps:
  - {id: build, run: seq 1 400}
  - id: details
    dependsOn: build
    ask: {question: Where to?, schema: {target: staging | production, tags?: 'string[]'}}
  - id: ok
    dependsOn: details
    approve: {message: Deploy?, onReject: {retry: build, max: 2}}
";

#[test]
fn a_decision_shows_the_answers_before_it_and_what_was_rejected() {
    let site = Site::new(&[("playbooks/p.yml", SENT_BACK)]);
    let kb = |args: &[&str], code: i32| drop(site.scratch.kb(args).code(code));
    kb(&["playbook", "run", "p"], 3);
    let answer = |target: &str| json!({"target": target}).to_string();
    kb(&["run", "answer", "@last", "details", &answer("staging")], 3);
    let inbox = || site.get("/inbox", &site.token(Role::Approve)).text();
    let page = inbox();
    let answered = "answered by";
    assert!(
        page.contains("Deploy?") && page.contains(answered) && page.contains("staging"),
        "{page}"
    );
    assert!(!page.contains("Decided before"), "{page}");
    kb(&["run", "reject", "@last", "ok", "--comment", "not good"], 3);
    // The form is open again, with what was answered before; a list is written as on the command line.
    let page = inbox();
    assert!(page.contains("Decided before") && page.contains("staging"), "{page}");
    assert!(page.contains("texts with commas between them, or a JSON list"), "{page}");
    kb(&["run", "answer", "@last", "details", &answer("production")], 3);
    let page = inbox();
    assert!(page.contains("rejected by") && page.contains("(not good)"), "{page}");
    assert!(page.contains("production"), "{page}");
    // Each iteration has a bar.
    let run = site.scratch.last_run();
    let path = format!("/runs/{run}?view=timeline&step=build");
    let page = site.get(&path, &site.token(Role::Read)).text();
    assert!(page.contains("iteration 1") && page.contains("iteration 2"), "{page}");
    // A long output is in a box that can be opened. Without gates there are no numbers of them.
    assert!(page.contains("Show all") && page.contains("value=\"whole-output\""), "{page}");
    assert!(!page.contains("<dt>Gates</dt>"), "{page}");
}
