//! What pages say, read without a browser.

use super::site::Site;
use kb::trigger::Role;

const WORK: &str = "schema: kb.playbook/1\nid: work\nsteps:\n  - {id: w, specialist: s, task: Write.}\n  - {id: r, run: \"true\"}\n";
const SPECIALIST: &str = "schema: kb.specialist/1\nid: s\nrole: You write.\nllm: {tier: medium}\ntools: [fs:list]\noutput: {schema: {summary: string}}\n";

/// The time and the count of steps are those of `kb run list`.
#[test]
fn the_page_of_a_run_has_the_time_that_the_terminal_has() {
    let steps = "  - {id: a, run: exit 1}\n  - {id: b, dependsOn: [a], run: 'true'}\n";
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let site = Site::new(&[("playbooks/p.yml", &text)]);
    site.scratch.kb(&["playbook", "run", "p"]).code(1);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    site.scratch.kb(&["run", "retry", "@last"]).code(1);
    let run = site.scratch.json(&["run", "show", "--json"]);
    let (id, ms) = (run["run"].as_str().unwrap(), run["workMs"].as_u64().unwrap());
    assert!(ms < 1000 && run["durationMs"].as_u64().unwrap() > 1000, "{run}");
    let token = site.token(Role::Read);
    for page in [format!("/runs/{id}"), "/".to_owned()] {
        let text = site.get(&page, &token).text();
        assert!(text.contains(&format!("{ms} ms")), "{ms}: {text}");
        assert!(text.contains("1 of 2") || text.contains("1/2"), "{text}");
    }
}

/// The page of a playbook has the models of its steps and the estimate of `kb playbook plan`.
#[test]
fn the_page_of_a_playbook_has_models_and_their_cost() {
    let tier = |price: &str| {
        format!(
            "llm: {{tiers: {{medium: {{model: some-model, endpoint: \"https://models.example.org/v1\"{price}}}}}}}\n"
        )
    };
    let priced = tier(", price: {input: 1000, output: 2000}");
    let site = Site::new(&[
        ("playbooks/work.yml", WORK),
        (
            "playbooks/plain.yml",
            "schema: kb.playbook/1\nid: plain\nsteps: [{id: r, run: \"true\"}]\n",
        ),
        (".kb/specialists/s.yml", SPECIALIST),
        (".kb/kb.config.yml", &priced),
    ]);
    let token = site.token(Role::Read);
    let page = |id: &str| site.get(&format!("/playbooks/{id}"), &token).text();
    let cost = site.scratch.json(&["playbook", "plan", "work", "--json"])["cost"].clone();
    let (min, max) = (cost["minUsd"].as_f64().unwrap(), cost["maxUsd"].as_f64().unwrap());
    assert!(0.0 < min && min < max, "{cost}");
    let text = page("work");
    let range = format!("Models of one run: ${min:.4} to ${max:.2}");
    assert!(text.contains(&range), "{range}: {text}");
    assert!(text.contains("model some-model"), "{text}");
    assert!(!page("plain").contains("Models of one run"), "it calls no model");
    // Without a price there is no number. A model on this machine costs nothing.
    site.scratch.write(".kb/kb.config.yml", &tier(""));
    site.until("the new settings", || {
        page("work").contains("unknown: a model or its price is missing").then_some(())
    });
}

/// Before a run, each display says which steps will run in the sandbox, and why.
#[test]
fn the_confinement_of_each_step_is_shown() {
    let playbook = "schema: kb.playbook/1
id: p
steps:
  - {id: free, run: \"true\"}
  - {id: w, dependsOn: free, condition: 1 > 2, specialist: s, task: Write.}
  - {id: later, dependsOn: w, runIf: noneFailed, run: \"true\"}
  - {id: trusted, dependsOn: w, sandbox: never, run: \"true\"}
";
    let site = Site::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/s.yml", &SPECIALIST.replace("fs:list", "fs:write")),
        // It is not called.
        (
            ".kb/kb.config.yml",
            "llm: {tiers: {medium: {model: m, endpoint: \"http://127.0.0.1:9/v1\"}}}\n",
        ),
    ]);
    let cause = "once w has started";
    let lines = |text: &str| -> Vec<String> {
        let said = text.lines().filter(|line| line.contains(cause));
        said.map(str::to_owned).collect()
    };
    for (args, step) in [
        (["playbook", "validate", "p"], "later"),
        (["playbook", "graph", "p"], "later"),
        (["playbook", "plan", "p"], "sandbox"),
    ] {
        let found = lines(&site.scratch.kb(&args).code(0).out);
        assert!(found.len() == 1 && found[0].contains(step), "{args:?}: {found:?}");
    }
    let graph = site.scratch.json(&["playbook", "graph", "p", "--format", "json"]);
    let sandbox: Vec<_> = (0..4).map(|at| graph["nodes"][at]["sandbox"].to_string()).collect();
    assert_eq!(sandbox, ["[]", "[]", "[{\"once\":\"w\"}]", "[]"]);
    let page = site.get("/playbooks/p", &site.token(Role::Read)).text();
    assert_eq!(lines(&page).len(), 1, "{page}");
    let run =
        site.run(&site.token(Role::Run), &serde_json::json!({"definition": "p"}), &["succeeded"]);
    let step = |step: &str| {
        let path = format!("/runs/{run}?step={step}");
        lines(&site.get(&path, &site.token(Role::Read)).text()).len()
    };
    assert_eq!([step("free"), step("later")], [0, 1]);
}

/// Who decides on the page or over the API is shown the changes; a decision about other changes is refused.
#[test]
fn an_approval_shows_the_changes_about_which_it_decides() {
    let playbook = "schema: kb.playbook/1
id: p
steps:
  - {id: write, evidence: full, run: 'echo hello > greeting.txt'}
  - {id: ok, dependsOn: write, approve: Publish?}
";
    let site = Site::new(&[("playbooks/p.yml", playbook)]);
    let token = site.token(Role::Approve);
    site.run(&site.token(Role::Run), &serde_json::json!({"definition": "p"}), &["waiting"]);
    let asks = site.get("/api/v1/asks", &token).json();
    let file = &asks[0]["changes"][0]["steps"][0]["files"][0];
    assert_eq!((&file["path"], &file["change"]), (&"greeting.txt".into(), &"created".into()));
    let page = site.get("/inbox", &token).text();
    assert!(page.contains("greeting.txt") && page.contains("+hello"), "{page}");
}

/// An approval on the page is about all changes: none is left out or cut, or there is no button.
#[test]
fn an_approval_on_the_page_shows_all_changes() {
    let run = "mkdir d; for n in $(seq 250); do echo $n > d/$n.txt; done; seq 5000 > long.txt; echo last >> long.txt";
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: write, evidence: full, run: '{run}'}}\n  - {{id: ok, dependsOn: write, approve: Publish?}}\n"
    );
    let site = Site::new(&[("playbooks/p.yml", &playbook)]);
    let token = site.token(Role::Approve);
    site.run(&site.token(Role::Run), &serde_json::json!({"definition": "p"}), &["waiting"]);
    let page = site.get("/inbox", &token).text();
    assert_eq!(page.matches(".txt</code>").count(), 251);
    // What was not recorded is said.
    assert!(page.contains("+2900") && page.contains("more lines of this diff were not recorded"));
    assert!(page.contains("value=\"approve\""));
}

/// The page of a run has what was done, not only how it ended.
#[test]
fn the_page_of_a_run_has_contents() {
    let playbook = "schema: kb.playbook/1
id: p
params: [{name: topic, default: tides}]
steps:
  - {id: think, specialist: s, task: 'Explain {{topic}}.', verify: {claims: none}}
  - {id: ok, dependsOn: think, approve: Publish?}
  - {id: keep, dependsOn: ok, tool: fs:write, input: {path: a.txt, content: '<b>{{think.output.summary}}</b>'}}
  - {id: show, dependsOn: keep, run: [sh, -c, 'cat a.txt; exit 3']}
outputs: {summary: '{{think.output.summary}}'}
";
    let script = serde_json::json!({"schema": "kb.script/1", "steps": {"think": [
        {"calls": [{"tool": "fs:list", "args": {"path": "."}}]},
        {"output": {"summary": "the moon pulls"}},
    ]}});
    let site = Site::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/s.yml", SPECIALIST),
        ("script.yml", &script.to_string()),
    ]);
    let token = site.token(Role::Read);
    site.scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(3);
    site.scratch.kb(&["run", "approve", "@last", "ok", "--comment", "read it twice"]).code(1);
    let run = site.scratch.json(&["run", "show", "@last", "--json"])["run"].clone();
    let run = run.as_str().unwrap();
    let page = |query: &str| site.get(&format!("/runs/{run}{query}"), &token).text();
    let says = |page: &str, words: &[&str]| {
        for word in words {
            assert!(page.contains(word), "{word}: {page}");
        }
    };
    // The failed step is open.
    says(&page(""), &["Step show", "sh -c cat a.txt; exit 3", "Explain {{topic}}.", "tides"]);
    let words = ["user prompt", "Explain tides.", "fs:list", "the moon pulls", "script.yml"];
    says(&page("?step=think"), &words);
    says(&page("?step=ok"), &["Approved by", "read it twice"]);
    let keep = page("?step=keep");
    says(&keep, &["fs:write", "a.txt", "&lt;b&gt;the moon pulls"]);
    assert!(!keep.contains("<b>the"), "{keep}");
}

const TOPIC: &str = "schema: kb.playbook/1
id: notes
description: Notes about a topic
params:
  - {name: topic, required: true, prompt: 'Which topic?'}
  - {name: count, type: integer, default: 2, min: 1, max: 9}
  - {name: where, enum: [eu, us], required: true}
on: {schedule: {cron: '30 2 * * *', zone: UTC, params: {topic: tides, where: eu}}}
steps:
  - {id: a, run: echo hello}
  - {id: ok, dependsOn: a, approve: 'Publish?'}
";

/// Lists say with which parameters and by what each run was started.
#[test]
fn lists_have_parameters_and_what_started_a_run() {
    let site = Site::new(&[("playbooks/notes.yml", TOPIC)]);
    let token = site.token(Role::Run);
    let given = ["--param", "topic=tides", "--param", "where=eu"];
    site.scratch.kb(&[&["playbook", "run", "notes"][..], &given].concat()).code(3);
    let run = site.scratch.last_run();
    let body = r#"{"definition": "notes", "params": {"topic": "moons", "where": "us"}}"#;
    let started = site.post("/api/v1/runs", &token, body).json();
    let second = started["run"].as_str().unwrap().to_owned();
    site.until("the second question", || {
        let asks = site.get("/api/v1/asks", &token).json();
        (asks.as_array().map(Vec::len) == Some(2)).then_some(())
    });
    let page = |path: &str| site.get(path, &token).text();
    let list = page("/");
    for words in [
        "started by the command line",
        "topic=tides",
        "started by t1, the page or the API",
        "topic=moons",
    ] {
        assert!(list.contains(words), "{words}: {list}");
    }
    let found = page("/?text=TIDES");
    assert!(found.contains(&run) && !found.contains(&second), "{found}");
    let inbox = page("/inbox");
    for words in ["started by the command line", "Asked", "tides"] {
        assert!(inbox.contains(words), "{words}: {inbox}");
    }
    let ask = &site.get("/api/v1/asks", &token).json()[0];
    assert_eq!(ask["params"]["count"], 2, "{ask}");
    let view = site.scratch.json(&["run", "show", &run, "--json"]);
    assert_eq!(view["params"]["topic"], "tides", "{view}");
    site.scratch.kb(&["run", "show", &run]).code(0).says(&["topic=tides"]);
    let playbooks = page("/playbooks");
    assert!(playbooks.contains("waiting") && playbooks.contains("Notes about"), "{playbooks}");
    site.scratch.kb(&["trigger", "enable", "notes.schedule"]).code(0);
    site.until("its next time", || page("/playbooks").contains("02:30 UTC").then_some(()));
    assert!(page("/triggers").contains("Reacts to"));
    // Who changed a trigger, and who fired it.
    let admin = site.token(Role::Admin);
    assert_eq!(site.post("/api/v1/triggers/notes.schedule/pause", &admin, "{}").status, 200);
    assert!(page("/triggers").contains("paused by t2"), "{}", page("/triggers"));
    assert_eq!(site.post("/api/v1/triggers/notes.schedule/resume", &admin, "{}").status, 200);
    let fired = site.post("/api/v1/triggers/notes.schedule/fire", &admin, "{}").json();
    let fired = fired["run"].as_str().unwrap();
    site.until("the fired run", || {
        page("/").contains("started by t2, trigger notes").then_some(())
    });
    let view = site.scratch.json(&["trigger", "show", "notes", "--json"]);
    assert_eq!(
        (&view["changed"]["what"], &view["changed"]["by"]),
        (&"resumed".into(), &"t2".into())
    );
    assert_eq!((&view["fires"][0]["run"], &view["fires"][0]["by"]), (&fired.into(), &"t2".into()));
}

/// The form of a playbook has the question of each parameter, its limits, and the values of an earlier run.
#[test]
fn a_run_is_started_again_with_its_parameters() {
    let site = Site::new(&[("playbooks/notes.yml", TOPIC)]);
    let token = site.token(Role::Run);
    let form = site.get("/playbooks/notes", &token).text();
    for words in ["Which topic?", "from 1 to 9", "max=\"9\"", "<option value=\"\"></option>"] {
        assert!(form.contains(words), "{words}: {form}");
    }
    assert!(!form.contains("<option value=\"eu\" selected"), "{form}");
    let given = ["--param", "topic=tides", "--param", "where=us", "--param", "count=7"];
    site.scratch.kb(&[&["playbook", "run", "notes"][..], &given].concat()).code(3);
    let run = site.scratch.last_run();
    let page = site.get(&format!("/runs/{run}"), &token).text();
    let again = format!("/playbooks/notes?from={run}");
    assert!(page.contains(&again), "{page}");
    let form = site.get(&again, &token).text();
    for words in ["value=\"tides\"", "value=\"7\"", "<option value=\"us\" selected>"] {
        assert!(form.contains(words), "{words}: {form}");
    }
    assert_eq!(site.get("/playbooks/notes?from=rnothing", &token).status, 404);
}

/// A step is run again from the page, with the definition as it is now.
#[test]
fn a_step_is_run_again_with_the_current_definition() {
    let text =
        |exit: u32| format!("schema: kb.playbook/1\nid: p\nsteps: [{{id: a, run: exit {exit}}}]\n");
    let site = Site::new(&[("playbooks/p.yml", &text(1))]);
    let token = site.token(Role::Run);
    site.scratch.kb(&["playbook", "run", "p"]).code(1);
    let run = site.scratch.last_run();
    let page = || site.get(&format!("/runs/{run}"), &token).text();
    let current = "with the current definition";
    assert!(page().contains("Run again from here") && !page().contains(current), "{}", page());
    site.scratch.write("playbooks/p.yml", &text(0));
    assert!(page().contains(current), "{}", page());
    let body = r#"{"from": "a", "withCurrent": true}"#;
    let answer = site.post(&format!("/api/v1/runs/{run}/retry"), &token, body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let new = answer.json()["run"].as_str().unwrap().to_owned();
    assert_ne!(new, run);
    site.until("the success", || {
        let view = site.get(&format!("/api/v1/runs/{new}"), &token).json();
        (view["status"] == "succeeded").then_some(())
    });
}

/// Artifacts and changed files are opened from the page; a file counts only as the run left it.
#[test]
fn artifacts_and_changed_files_can_be_opened() {
    let writer = "schema: kb.specialist/1\nid: w\nrole: You write.\ntools: [fs:write]\n";
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, specialist: w, task: Write.}, {id: b, evidence: full, run: [cp, key, b.txt]}]\n";
    let site = Site::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/w.yml", writer),
        (".kb/kb.config.yml", "secrets: {KEY: \"file:key\"}\n"),
    ]);
    site.scratch.write("key", "correct-horse-battery");
    let write = |path: &str, text: &str| serde_json::json!({"tool": "fs:write", "args": {"path": path, "content": text}});
    let artifact = serde_json::json!({"name": "api", "type": "fact", "content": "GET /v1/ships"});
    let script = serde_json::json!({"schema": "kb.script/1", "steps": {"a": [
        {"calls": [write("src/a.txt", "one")]},
        {"output": {"summary": "done", "handoff": {"artifacts": [artifact]}}},
    ]}});
    site.scratch.write("script.json", &script.to_string());
    site.scratch.kb(&["playbook", "run", "p", "--script", "script.json"]).code(0);
    let run = site.scratch.last_run();
    let token = site.token(Role::Admin);
    let page = site.get(&format!("/runs/{run}?step=a"), &token).text().replace("&#x2f;", "/");
    let artifact = format!("/api/v1/runs/{run}/artifacts/a%2Fapi");
    let file = format!("/api/v1/runs/{run}/files/src%2Fa%2Etxt?step=a");
    for address in [&artifact, &file] {
        assert!(page.contains(&format!("href=\"{address}\"")), "{address}: {page}");
    }
    assert_eq!(site.get(&artifact, &token).text(), "GET /v1/ships");
    assert_eq!(site.get(&file, &token).text(), "one");
    assert_eq!(site.get(&file, &site.token(Role::Approve)).status, 403);
    let masked = site.get(&format!("/api/v1/runs/{run}/files/b.txt"), &token).text();
    assert_eq!(masked, "«secret:KEY»");
    assert_eq!(site.get(&format!("/api/v1/runs/{run}/files/key"), &token).status, 404);
    site.scratch.write("src/a.txt", "two");
    assert_eq!(site.get(&file, &token).status, 409);
}

/// A proxy on this machine names the person; the name gives no right.
#[test]
fn a_proxy_names_the_person_who_starts_a_run() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true'}]\n";
    let settings = "serve: {userHeader: X-Forwarded-User}\n";
    let site = Site::new(&[("playbooks/p.yml", playbook), (".kb/kb.config.yml", settings)]);
    let start = |authorization: &str| {
        let mut headers = vec![("Content-Type", "application/json"), ("X-Forwarded-User", "anna")];
        headers.extend(Some(("Authorization", authorization)).filter(|(_, text)| !text.is_empty()));
        site.send("POST", "/api/v1/runs", &headers, r#"{"definition": "p"}"#)
    };
    assert_eq!(start("").status, 401);
    let token = site.token(Role::Run);
    let run = start(&format!("Bearer {token}")).json()["run"].as_str().unwrap().to_owned();
    site.until("the run", || {
        let page = site.get(&format!("/runs/{run}"), &token).text();
        page.contains("anna, the page or the API").then_some(())
    });
}

/// A failure that does not fail the run is no failure of the page either; a run names how many more steps failed.
#[test]
fn tolerated_failures_are_told_apart_and_others_are_counted() {
    let step = |id: &str, more: &str| format!("  - {{id: {id}, run: exit 1{more}}}\n");
    let playbook = |id: &str, steps: &[String]| {
        format!("schema: kb.playbook/1\nid: {id}\nsteps:\n{}", steps.concat())
    };
    let spared = playbook("spared", &[step("a", ", onError: continue")]);
    let broken = playbook("broken", &[step("a", ""), step("b", ""), step("c", "")]);
    let site = Site::new(&[("playbooks/spared.yml", &spared), ("playbooks/broken.yml", &broken)]);
    let token = site.token(Role::Read);
    let page = |path: &str| site.get(path, &token).text();
    site.scratch.kb(&["playbook", "run", "spared"]).code(0);
    let text = page(&format!("/runs/{}?step=a", site.scratch.last_run()));
    assert!(text.contains("class=\"status tolerated\""), "{text}");
    assert!(text.contains("banner tolerated") && !text.contains("banner failed"), "{text}");
    assert!(!text.contains("class=\"status failed\""), "{text}");
    assert!(!page("/").contains("<small>a: "));
    site.scratch.kb(&["playbook", "run", "broken"]).code(1);
    for path in [format!("/runs/{}", site.scratch.last_run()), "/".to_owned()] {
        let text = page(&path);
        assert!(text.contains(", and 2 more<"), "{text}");
    }
}

/// The panel of a step that asks has the question; it has no attempt and no log before it is decided.
#[test]
fn the_panel_of_a_question_leads_to_its_form() {
    let text = "schema: kb.playbook/1\nid: ship\nsteps: [{id: ok, approve: Ship it now?}]\n";
    let site = Site::new(&[("playbooks/ship.yml", text)]);
    site.scratch.kb(&["playbook", "run", "ship"]).code(3);
    let run = site.scratch.last_run();
    let text = site.get(&format!("/runs/{run}"), &site.token(Role::Read)).text();
    let panel = text.split("id=\"step-facts\"").nth(1).unwrap().replace("&#x2f;", "/");
    assert!(panel.contains("Ship it now?"), "{panel}");
    assert!(panel.contains(&format!("href=\"/inbox#ask-{run}-ok\"")), "{panel}");
    assert!(panel.contains("data-only-asks=\"yes\"") && !panel.contains("Attempt 1"), "{panel}");
}
