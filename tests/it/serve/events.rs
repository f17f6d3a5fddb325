//! Triggers on runs, messages, files and webhooks.

use super::{daemon, enable, fires, project, runtime, store, until};
use crate::scratch::Scratch;
use kb::serve::Daemon;
use kb::trigger::{Fire, FireState, VerifiedWebhook};
use kb::value::Timestamp;
use serde_json::json;

const BUILD: &str = "schema: kb.playbook/1\nid: build\nsteps: [{id: a, run: \"echo built\"}]\noutputs: {text: \"{{a.output}}\"}\n";

/// The playbook `p` with a parameter, which writes it to `log`.
fn playbook(on: &str) -> String {
    format!(
        "schema: kb.playbook/1\nid: p\nparams: [{{name: what, required: true}}]\non: {on}\nsteps: [{{id: a, run: \"echo \\\"$W\\\" >> log\", env: {{W: \"{{{{what}}}}\"}}}}]\n"
    )
}

fn scratch(on: &str) -> Scratch {
    Scratch::new(&[
        ("playbooks/p.yml", &playbook(on)),
        ("playbooks/build.yml", BUILD),
        (".kb/kb.config.yml", "secrets: {HOOK: env:HOOK}\n"),
    ])
}

fn now() -> Timestamp {
    kb::clock::Clock::system().wall()
}

/// Ticks until the log has this text.
fn until_log(daemon: &mut Daemon, scratch: &Scratch, text: &str) {
    let has = || scratch.has("log") && scratch.read("log") == text;
    let mut time = now();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !has() {
        assert!(std::time::Instant::now() < deadline, "`{text}` is not written");
        daemon.tick(time);
        std::thread::sleep(std::time::Duration::from_millis(20));
        // Files are compared when time passes.
        time = Timestamp(time.0 + 500);
    }
}

#[test]
fn the_end_of_a_run_starts_a_run_once() {
    let (runtime, scratch) = (
        runtime(),
        scratch("{run: {playbook: build, overlap: queueAll, payload: {what: outputs.text}}}"),
    );
    let _context = runtime.enter();
    scratch.kb(&["playbook", "run", "build"]).code(0);
    std::thread::sleep(std::time::Duration::from_millis(5));
    enable(&scratch, "p.run", now());
    let (mut first, store) = (daemon(&scratch), store(&scratch));
    first.tick(now());
    assert!(fires(&store).is_empty(), "a run that ended before");
    scratch.kb(&["playbook", "run", "build"]).code(0);
    until_log(&mut first, &scratch, "built\n");
    drop(first);
    scratch.kb(&["playbook", "run", "build"]).code(0);
    let mut second = daemon(&scratch);
    until_log(&mut second, &scratch, "built\nbuilt\n");
    until(&mut second, now(), "the ends", || {
        fires(&store).iter().all(|fire: &Fire| !fire.state.is_open())
    });
    assert_eq!(fires(&store).len(), 2);
    assert!(fires(&store).iter().all(|fire| fire.depth == 1));
}

/// No person stands between the runs: what a specialist could write in the first is executed in the sandbox.
#[test]
fn a_run_that_another_run_starts_knows_its_specialists() {
    let after = |id: &str, of: &str| {
        format!(
            "schema: kb.playbook/1\nid: {id}\non: {{run: {{playbook: {of}}}}}\nsteps: [{{id: a, run: 'touch ../{id} || true; echo {id} >> log'}}]\n"
        )
    };
    let writes = "schema: kb.playbook/1\nid: writes\nscript: script.yml\nsteps: [{id: w, specialist: s, task: Write.}]\n";
    let specialist = "schema: kb.specialist/1\nid: s\nrole: You write.\ntools: [fs:write]\n";
    let script = "schema: kb.script/1\nsteps:\n  w: [{output: {summary: Nothing to do.}}]\n";
    let (runtime, scratch) = (
        runtime(),
        Scratch::new(&[
            ("playbooks/build.yml", BUILD),
            ("playbooks/writes.yml", writes),
            ("playbooks/free.yml", &after("free", "build")),
            ("playbooks/confined.yml", &after("confined", "writes")),
            (".kb/specialists/s.yml", specialist),
            ("script.yml", script),
        ]),
    );
    let _context = runtime.enter();
    enable(&scratch, "free.run", now());
    enable(&scratch, "confined.run", now());
    let mut daemon = daemon(&scratch);
    daemon.tick(now());
    scratch.kb(&["playbook", "run", "build"]).code(0);
    until_log(&mut daemon, &scratch, "free\n");
    scratch.kb(&["playbook", "run", "writes"]).code(0);
    until_log(&mut daemon, &scratch, "free\nconfined\n");
    assert!(scratch.has("../free"));
    assert!(!scratch.has("../confined") || !crate::scratch::has_kernel_sandbox());
}

#[test]
fn a_message_starts_a_run_once() {
    let (runtime, scratch) = (
        runtime(),
        scratch("{message: {topic: orders, overlap: queueAll, payload: {what: message.id}}}"),
    );
    let _context = runtime.enter();
    scratch.write("m.json", "{\"id\": \"o-1\"}");
    let publish = |id: &str| {
        scratch.kb(&["trigger", "publish", "orders", "--payload", "m.json", "--id", id]).code(0)
    };
    publish("before");
    std::thread::sleep(std::time::Duration::from_millis(5));
    enable(&scratch, "p.message", now());
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    publish("1");
    publish("1").says(&["has a message with the id `1` already"]);
    until_log(&mut daemon, &scratch, "o-1\n");
    publish("1");
    scratch.kb(&["trigger", "publish", "others", "--payload", "m.json"]).code(0);
    scratch.write("m.json", "{\"name\": \"x\"}");
    publish("2");
    until(&mut daemon, now(), "the second message", || fires(&store).len() == 2);
    let last = fires(&store).pop().unwrap();
    assert_eq!(last.state, FireState::Skipped);
    assert!(last.reason.unwrap().contains("no `message.id`"));
    scratch.kb(&["trigger", "publish", "a b"]).code(2).says(&["cannot be a topic"]);
}

#[test]
fn a_new_file_starts_a_run_once_for_its_content() {
    let (runtime, scratch) =
        (runtime(), scratch("{file: {paths: \"inbox/*.csv\", payload: {what: path}}}"));
    let _context = runtime.enter();
    scratch.write("inbox/old.csv", "1");
    std::thread::sleep(std::time::Duration::from_millis(20));
    enable(&scratch, "p.file", now());
    std::thread::sleep(std::time::Duration::from_millis(20));
    let (mut first, store) = (daemon(&scratch), store(&scratch));
    scratch.write("inbox/a.csv", "1");
    scratch.write("inbox/a.txt", "1");
    scratch.write("inbox/deep/a.csv", "1");
    std::os::unix::fs::symlink("/etc/hostname", scratch.root().join("inbox/link.csv")).unwrap();
    until_log(&mut first, &scratch, "inbox/a.csv\n");
    // The same content again, and the next daemon: nothing new. Another content: once more.
    drop(first);
    scratch.write("inbox/a.csv", "1");
    let mut second = daemon(&scratch);
    scratch.write("inbox/b.csv", "2");
    until_log(&mut second, &scratch, "inbox/a.csv\ninbox/b.csv\n");
    scratch.write("inbox/a.csv", "3");
    until_log(&mut second, &scratch, "inbox/a.csv\ninbox/b.csv\ninbox/a.csv\n");
    // Back to the first content: a change too, also for the next daemon.
    scratch.write("inbox/a.csv", "1");
    let four = "inbox/a.csv\ninbox/b.csv\ninbox/a.csv\ninbox/a.csv\n";
    until_log(&mut second, &scratch, four);
    drop(second);
    let mut third = daemon(&scratch);
    scratch.write("inbox/a.csv", "3");
    until_log(&mut third, &scratch, &format!("{four}inbox/a.csv\n"));
    assert_eq!(fires(&store).len(), 5);
}

#[test]
fn a_webhook_delivery_is_queued_once() {
    let scratch = scratch("{webhook: {path: hook, secret: HOOK, payload: {what: a.b}}}");
    let project = project(&scratch);
    let store = store(&scratch);
    let catalog = kb::serve::trigger_catalog(&project);
    assert!(kb::serve::webhook_at(&catalog, "other").is_none());
    let (loaded, _) = kb::serve::webhook_at(&catalog, "hook").unwrap();
    let verified = VerifiedWebhook { key: Some("id:m1".to_owned()) };
    let payload = json!({"a": {"b": "$(reboot); {{x}}"}, "c": 1});
    let headers = json!({});
    let deliver =
        |payload| kb::serve::deliver(&store, loaded, &verified, payload, &headers, now()).unwrap();
    assert_eq!(deliver(&payload), None, "a disabled trigger is silent");
    assert!(fires(&store).is_empty());
    enable(&scratch, "p.webhook", now());
    let first = deliver(&payload).unwrap();
    let again = deliver(&payload).unwrap();
    assert!(!first.repeated && again.repeated);
    assert_eq!(first.run, again.run);
    let all = fires(&store);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].params, *json!({"what": "$(reboot); {{x}}"}).as_object().unwrap());
    // The values are data for the steps too.
    let runtime = runtime();
    let _context = runtime.enter();
    let mut daemon = daemon(&scratch);
    until_log(&mut daemon, &scratch, "$(reboot); {{x}}\n");
}

/// What the HTTP server will call: a playbook without triggers, once for each key.
#[test]
fn a_requested_run_is_queued_once() {
    let scratch = scratch("{message: {topic: t, payload: {what: message}}}");
    let (project, store) = (project(&scratch), store(&scratch));
    let values = |what: serde_json::Value| json!({ "what": what }).as_object().unwrap().clone();
    let first = kb::serve::start(&project, "api", "p", values(json!("a")), "k1").unwrap();
    let again = kb::serve::start(&project, "api", "p", values(json!("a")), "k1").unwrap();
    assert_eq!((again.repeated, again.run), (true, first.run));
    let other = kb::serve::start(&project, "api", "p", values(json!("b")), "k1").unwrap_err();
    assert!(other.to_string().contains("another start"), "{other}");
    let refused = kb::serve::start(&project, "api", "p", values(json!(7)), "k2").unwrap_err();
    assert!(refused.to_string().contains("what"), "{refused}");
    assert!(kb::serve::start(&project, "api", "q", values(json!("a")), "k3").is_err());
    assert_eq!(fires(&store).len(), 1);
    let runtime = runtime();
    let _context = runtime.enter();
    let mut daemon = daemon(&scratch);
    until_log(&mut daemon, &scratch, "a\n");
}

/// A chain of runs that start each other ends after eight, and the list says why.
#[test]
fn a_chain_of_runs_is_limited() {
    let text = |n: u32| {
        let on = match n {
            0 => String::new(),
            n => format!("on: {{run: {{playbook: p{}}}}}\n", n - 1),
        };
        format!(
            "schema: kb.playbook/1\nid: p{n}\n{on}steps: [{{id: a, run: \"echo {n} >> log\"}}]\n"
        )
    };
    let files: Vec<(String, String)> =
        (0..11).map(|n| (format!("playbooks/p{n}.yml"), text(n))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let (runtime, scratch) = (runtime(), Scratch::new(&files));
    let _context = runtime.enter();
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    let start = now();
    (1..11).for_each(|n| enable(&scratch, &format!("p{n}.run"), start));
    daemon.tick(start);
    scratch.kb(&["playbook", "run", "p0"]).code(0);
    let skipped = || fires(&store).iter().any(|fire| fire.state == FireState::Skipped);
    until(&mut daemon, Timestamp(start.0 + 5000), "the end of the chain", skipped);
    assert_eq!(scratch.read("log"), "0\n1\n2\n3\n4\n5\n6\n7\n8\n");
    let all = fires(&store);
    let last = all.last().unwrap();
    assert_eq!((last.trigger.as_str(), all.len()), ("p9.run", 9));
    assert!(last.reason.as_ref().is_some_and(|reason| reason.contains('8')), "{last:?}");
}

/// Files, messages and ends of runs start a run with each value that the reference names for them; the end
/// of a failed run starts only what asks for it.
#[test]
fn each_kind_of_event_starts_a_run_with_its_payload() {
    let text = |id: &str, kind: &str, keys: &[&str]| {
        let param = |key: &&str| match *key {
            "message" | "outputs" => format!("{{name: p_{key}, type: object}}"),
            key => format!("{{name: p_{key}}}"),
        };
        let params: Vec<String> = keys.iter().map(param).collect();
        let paths: Vec<String> = keys.iter().map(|key| format!("p_{key}: {key}")).collect();
        let on = kind.replace("PAYLOAD", &format!("payload: {{{}}}", paths.join(", ")));
        let text = format!(
            "schema: kb.playbook/1\nid: {id}\nparams: [{}]\non: {on}\nsteps: [{{id: a, run: \"true\"}}]\n",
            params.join(", ")
        );
        (format!("playbooks/{id}.yml"), text)
    };
    let run = ["run", "playbook", "status", "outputs"];
    let files = [
        text("f", "{file: {paths: \"inbox/*.csv\", PAYLOAD}}", &["path", "digest"]),
        text("m", "{message: {topic: orders, PAYLOAD}}", &["topic", "id", "message"]),
        text("r", "{run: {playbook: build, PAYLOAD}}", &run),
        text("bad", "{run: {playbook: breaks, PAYLOAD}}", &run),
        text("asks", "{run: {playbook: breaks, status: failed, PAYLOAD}}", &run),
    ];
    let (runtime, scratch) = (runtime(), Scratch::new(&[("playbooks/build.yml", BUILD)]));
    let _context = runtime.enter();
    files.iter().for_each(|(path, text)| scratch.write(path, text));
    scratch.write(
        "playbooks/breaks.yml",
        "schema: kb.playbook/1\nid: breaks\nsteps: [{id: a, run: exit 3}]\n",
    );
    for id in ["f.file", "m.message", "r.run", "bad.run", "asks.run"] {
        enable(&scratch, id, now());
    }
    let (mut daemon, store) = (daemon(&scratch), store(&scratch));
    daemon.tick(now());
    scratch.write("inbox/a.csv", "1");
    scratch.write("m.json", "{\"size\": 2}");
    scratch.kb(&["trigger", "publish", "orders", "--payload", "m.json", "--id", "one"]).code(0);
    scratch.kb(&["playbook", "run", "build"]).code(0);
    let built = scratch.last_run();
    scratch.kb(&["playbook", "run", "breaks"]).code(1);
    let broken = scratch.last_run();
    let started = || {
        let all = fires(&store);
        all.len() == 4 && all.iter().all(|fire| fire.state.as_str() == "succeeded")
    };
    let mut time = now();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !started() {
        assert!(std::time::Instant::now() < deadline, "{:?}", fires(&store));
        daemon.tick(time);
        std::thread::sleep(std::time::Duration::from_millis(20));
        // Files are compared when time passes.
        time = Timestamp(time.0 + 500);
    }
    let params = |trigger: &str| {
        let all = fires(&store);
        let fire = all.iter().find(|fire| fire.trigger == trigger).unwrap();
        serde_json::Value::Object(fire.params.clone())
    };
    let digest = kb::value::Digest::of("1").to_string();
    assert_eq!(params("f.file"), json!({"p_path": "inbox/a.csv", "p_digest": digest}));
    let message = json!({"p_topic": "orders", "p_id": "one", "p_message": {"size": 2}});
    assert_eq!(params("m.message"), message);
    let end = |run: &str, playbook: &str, status: &str, outputs: serde_json::Value| json!({"p_run": run, "p_playbook": playbook, "p_status": status, "p_outputs": outputs});
    assert_eq!(params("r.run"), end(&built, "build", "succeeded", json!({"text": "built"})));
    assert_eq!(params("asks.run"), end(&broken, "breaks", "failed", json!({})));
}

/// An event that starts no run is lost, so events wait for the runs before them unless `overlap` says otherwise.
#[test]
fn events_wait_by_default_and_times_are_skipped() {
    let scratch = scratch(
        "{schedule: {cron: \"0 2 * * *\", params: {what: x}}, webhook: {secret: HOOK, path: p, payload: {what: a}}, file: {paths: in/*, payload: {what: path}}, message: {topic: t, payload: {what: message}}, run: {playbook: build, payload: {what: run}}}",
    );
    let catalog = kb::serve::trigger_catalog(&project(&scratch));
    let policies: Vec<String> = catalog
        .values()
        .map(|loaded| format!("{} {:?}", loaded.trigger.name, loaded.trigger.overlap))
        .collect();
    let expected =
        ["file QueueAll", "message QueueAll", "run QueueAll", "schedule Skip", "webhook QueueAll"];
    assert_eq!(policies, expected);
}

/// `when` decides before a run is queued; what it leaves out is listed with its text.
#[test]
fn a_condition_leaves_events_out() {
    let scratch = scratch(
        "{message: {topic: t, when: \"payload.message.total > 100\", payload: {what: message.name}}}",
    );
    let (runtime, store) = (runtime(), store(&scratch));
    let _context = runtime.enter();
    enable(&scratch, "p.message", Timestamp(0));
    let messages = [
        ("one", json!({"name": "small", "total": 7})),
        ("two", json!({"name": "large", "total": 700})),
        ("three", json!({"name": "none"})),
        ("four", json!({"name": "odd", "total": {"a": 1}})),
    ];
    for (id, body) in &messages {
        scratch.write("m.json", &body.to_string());
        scratch.kb(&["trigger", "publish", "t", "--payload", "m.json", "--id", id]).code(0);
    }
    let mut daemon = daemon(&scratch);
    until_log(&mut daemon, &scratch, "large\n");
    let reason = |id: &str| {
        let all = fires(&store);
        let fire = all.iter().find(|fire| fire.key == format!("message:{id}")).unwrap();
        (fire.state == FireState::Skipped).then(|| fire.reason.clone().unwrap_or_default())
    };
    let is_false = "`when` is false: payload.message.total > 100".to_owned();
    assert_eq!(reason("one"), Some(is_false));
    assert_eq!(reason("two"), None);
    for id in ["three", "four"] {
        assert!(reason(id).unwrap().starts_with("`when` "), "{:?}", reason(id));
    }
    // The same without a daemon.
    scratch.write("m.json", "{\"message\": {\"name\": \"small\", \"total\": 7}}");
    let tested = scratch.kb(&["trigger", "test", "p", "--payload", "m.json"]).code(0);
    assert!(tested.out.starts_with("would not start p\n"), "{tested:?}");
}
