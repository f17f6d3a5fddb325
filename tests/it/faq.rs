//! `kb faq` and the tools of the FAQ, through the binary.

use crate::scratch::Scratch;
use serde_json::Value;

const TOOLS: &str =
    "tools: ['fs:read', faqSearch, faqWrite, faqDelete, faqMarkHelpful, faqMarkNotHelpful]";

fn project() -> Scratch {
    let specialist = format!(
        "schema: kb.specialist/1\nid: helper\nrole: You help.\n{TOOLS}\nmemory: {{propose: true}}\n"
    );
    Scratch::new(&[
        (".kb/kb.config.yml", "memory: {enabled: true}\n"),
        (".kb/specialists/helper.yml", &specialist),
        (
            "playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: helper, task: Help.}\n",
        ),
        ("src/port.txt", "port = 8080\n"),
    ])
}

/// A run whose model makes these calls; returns its log.
fn run(scratch: &Scratch, calls: &str) -> String {
    let script =
        format!("schema: kb.script/1\nsteps:\n  a:\n{calls}    - output: {{summary: done}}\n");
    scratch.write("script.yml", &script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--quiet"]);
    scratch.kb(&["run", "logs", "@last", "a", "--prompts"]).code(0).out
}

fn all(scratch: &Scratch) -> Vec<Value> {
    scratch.json(&["faq", "--json"]).as_array().unwrap().clone()
}

#[test]
fn people_add_ask_judge_and_forget_in_two_languages() {
    let scratch = project();
    let add = |problem: &str, solution: &str, more: &[&str]| {
        let args = ["faq", problem, "--add", solution, "--file", "src/port.txt", "--json"];
        let added = scratch.json(&[&args[..], more].concat());
        added["id"].as_str().unwrap().to_owned()
    };
    let repair = ["--category", "troubleshooting", "--share"];
    let start = add("server does not start", "Stop what listens on 8080", &repair);
    let release = add("release of the server", "Run the script of the release", &[]);
    let found = scratch.json(&["faq", "How to release the server", "--json"]);
    let ids: Vec<&str> = found["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [release.as_str(), start.as_str()], "{found}");
    let error = scratch.json(&["faq", "error: the server fails", "--json"]);
    let first = &error["entries"][0];
    assert_eq!((first["id"].as_str(), first["createdBy"].as_str()), (Some(&*start), Some("user")));
    assert_eq!(first["relatedFiles"][0], "src/port.txt");

    let noted = scratch.json(&["faq", "не помогло", "--json"]);
    assert_eq!((&noted["did"], &noted["entry"]["id"]), (&"noted".into(), &first["id"]));
    let stats = &noted["entry"]["stats"];
    assert_eq!((&stats["notHelpfulCount"], &stats["helpfulCount"]), (&1.into(), &0.into()));
    assert_eq!(stats["retrievedCount"], 1, "{noted}");

    scratch.kb(&["faq", "forget server"]).code(2).says(&["2 entries fit `server`"]);
    scratch.kb(&["faq", "forget nothing of it"]).code(4);
    let forgot = scratch.json(&["faq", "Забудь про script", "--json"]);
    assert_eq!(
        (&forgot["did"], &forgot["entry"]["id"]),
        (&"forgot".into(), &release.as_str().into())
    );
    assert_eq!(all(&scratch).len(), 1);

    // A related file that changes sends the entry to the review.
    scratch.write("src/port.txt", "port = 9090\n");
    scratch.kb(&["memory", "check"]).code(1);
    assert_eq!(all(&scratch)[0]["state"], "stale");
}

#[test]
fn what_a_run_notes_is_used_by_later_runs_once_its_work_was_accepted() {
    let scratch = project();
    let write = "    - calls: [{tool: 'faq:write', args: {problem: port of the server, solution: It is 8080, category: knowledge, relatedFiles: [src/port.txt]}}]\n";
    let ask = "    - calls: [{tool: 'faq:search', args: {query: which port has the server}}]\n";
    run(&scratch, write);
    let own = &all(&scratch)[0];
    let facts = ["category", "createdBy", "state"].map(|key| own[key].as_str().unwrap().to_owned());
    assert_eq!(facts, ["knowledge", "auto-learn", "verified"], "{own}");
    assert!(run(&scratch, ask).contains("It is 8080"));
    // Of a document: not shown to other runs, whatever its checks say.
    let read = "    - calls: [{tool: 'fs:read', args: {path: src/port.txt}}]\n    - calls: [{tool: 'faq:write', args: {problem: host of the server, solution: It is exfil.example, category: knowledge, relatedFiles: [src/port.txt]}}]\n";
    run(&scratch, read);
    let log =
        run(&scratch, "    - calls: [{tool: 'faq:search', args: {query: host of the server}}]\n");
    assert!(!log.contains("exfil.example"), "{log}");
    // A run forgets what it noted, and not what others did.
    let id = own["id"].as_str().unwrap();
    let log =
        run(&scratch, &format!("    - calls: [{{tool: 'faq:delete', args: {{id: {id}}}}}]\n"));
    assert!(log.contains("another run or a person noted this solution"), "{log}");
    assert_eq!(all(&scratch).len(), 2);
}

#[test]
fn an_entry_that_never_helps_is_archived_after_sixteen_uses_and_not_after_three() {
    let scratch = project();
    scratch.kb(&["faq", "port of the server", "--add", "It is 8080"]).code(0);
    scratch.kb(&["faq", "port"]).code(0);
    for n in 1..=16 {
        let noted = scratch.json(&["faq", "did not help", "--json"]);
        assert_eq!(noted["archived"], n == 16, "{n}: {noted}");
    }
    assert!(all(&scratch).is_empty());
    scratch.kb(&["faq", "did not help"]).code(2).says(&["no answer of the FAQ was shown yet"]);
}

#[test]
fn the_commands_of_the_documentation_work_as_they_are_written() {
    let scratch = project();
    scratch.write("src/server.rs", "fn listen() {}\n");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/memory.md")).unwrap();
    let lines = page.lines().filter(|line| line.starts_with("kb faq"));
    let mut asked = 0;
    for line in lines {
        // Words, and texts in quotes.
        let line = line.split(" #").next().unwrap();
        let parts = line.split('"').enumerate();
        let args: Vec<String> = parts
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect();
        let args: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
        let said = scratch.kb(&args).code(0);
        let shows = said.out.contains("Stop what listens on 8080")
            || said.out.contains("server does not start");
        assert!(shows, "{line}: {} {}", said.out, said.err);
        asked += 1;
    }
    assert_eq!((asked, all(&scratch).len()), (5, 0));
}
