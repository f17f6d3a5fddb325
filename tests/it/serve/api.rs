//! The API: read, start, cancel, retry, decide, triggers, tokens.

use super::site::Site;
use crate::running::Start;
use kb::trigger::Role;
use serde_json::{Value, json};

pub(super) const FILES: &[(&str, &str)] = &[
    (
        "playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nparams: [{name: who, default: nobody, pattern: \"[a-z]+\"}]\non: {schedule: {cron: \"0 0 1 1 *\", payload: {who: date}}}\nsteps:\n  - {id: a, run: \"echo hello $WHO; echo second\", env: {WHO: \"{{who}}\"}}\n  - {id: b, run: \"cat {{a.output}} >/dev/null; true\", if: \"false\"}\noutputs: {said: \"{{a.output}}\"}\n",
    ),
    (
        "playbooks/ask.yml",
        "schema: kb.playbook/1\nid: ask\nsteps:\n  - {id: build, run: \"echo built\", verify: {checks: [{expr: \"{{build.output}} == 'built'\"}]}}\n  - {id: ok, approve: \"Deploy?\", dependsOn: [build]}\n  - {id: deploy, run: \"echo done >> deployed\", dependsOn: [ok]}\n",
    ),
    (
        "playbooks/hold.yml",
        "schema: kb.playbook/1\nid: hold\nsteps: [{id: a, run: \"echo started; while [ ! -e go ]; do sleep 0.05; done\"}]\n",
    ),
    (
        "playbooks/fails.yml",
        "schema: kb.playbook/1\nid: fails\nsteps: [{id: a, run: \"test -e fixed\"}]\n",
    ),
];

pub(super) fn site() -> Site {
    let files: Vec<(&str, &str)> = FILES.to_vec();
    let mut files = files;
    // The condition needs no step output.
    let p = files[0]
        .1
        .replace("  - {id: b, run: \"cat {{a.output}} >/dev/null; true\", if: \"false\"}\n", "");
    files[0].1 = &p;
    Site::new(&files)
}

impl Site {
    /// Starts a run and waits until it has one of these statuses.
    #[track_caller]
    pub(super) fn run(&self, token: &str, body: &Value, wanted: &[&str]) -> String {
        let answer = self.post("/api/v1/runs", token, &body.to_string());
        assert_eq!(answer.status, 201, "{}", answer.text());
        let run = answer.json()["run"].as_str().unwrap().to_owned();
        self.until_status(token, &run, wanted);
        run
    }

    #[track_caller]
    pub(super) fn until_status(&self, token: &str, run: &str, wanted: &[&str]) -> Value {
        self.until(&format!("{run} is {wanted:?}"), || {
            let answer = self.get(&format!("/api/v1/runs/{run}"), token);
            let view = (answer.status == 200).then(|| answer.json())?;
            wanted.contains(&view["status"].as_str()?).then_some(view)
        })
    }
}

#[test]
fn a_run_is_started_once_and_read() {
    let site = site();
    let (run, read) = (site.token(Role::Run), site.token(Role::Read));
    let body = json!({"definition": "p", "params": {"who": "ada"}}).to_string();
    let bearer = format!("Bearer {run}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Idempotency-Key", "k1"),
    ];
    let send = |body: &str| site.send("POST", "/api/v1/runs", &headers, body);
    let first = send(&body);
    assert_eq!(first.status, 201, "{}", first.text());
    let id = first.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(first.header("location"), format!("/api/v1/runs/{id}"));
    let again = send(&body);
    assert_eq!((again.status, again.json()["run"].as_str()), (200, Some(id.as_str())));
    assert_eq!(send(&json!({"definition": "p"}).to_string()).status, 422, "the key is taken");
    let view = site.until_status(&read, &id, &["succeeded"]);
    // The same JSON as the command line prints.
    let mut said = site.scratch.command();
    let out = said.args(["run", "show", &id, "--json"]).finish().stdout;
    assert_eq!(view, serde_json::from_slice::<Value>(&out).unwrap());
    let get = |path: &str| site.get(&format!("/api/v1/runs/{id}{path}"), &read).json();
    assert_eq!(get("/outputs"), json!({"said": "hello ada\nsecond"}));
    assert_eq!(get("/outputs?step=a"), json!("hello ada\nsecond"));
    assert_eq!(get("/verify")["holds"], true);
    assert_eq!(get("/diff")["run"], json!(id));
    let graph = get("/graph");
    assert_eq!(graph["instances"][0]["status"], "succeeded", "{graph}");
    let log = get("/steps/a/log?from=2&count=1");
    assert_eq!(log["total"], 2);
    assert_eq!(log["lines"], json!([{"line": 2, "channel": "stdout", "text": "second"}]));
    let raw = format!("/api/v1/runs/{id}/steps/a/log?format=text");
    let bearer = format!("Bearer {read}");
    let headers = [("Authorization", bearer.as_str()), ("Range", "bytes=6-8")];
    let part = site.send("GET", &raw, &headers, "");
    assert_eq!((part.status, part.text().as_str()), (206, "ada"));
    assert_eq!(part.header("content-range"), "bytes 6-8/17");
    assert!(part.header("content-disposition").starts_with("attachment"));
    assert_eq!(part.header("x-content-type-options"), "nosniff");
    let headers = [("Authorization", bearer.as_str()), ("Range", "bytes=17-")];
    assert_eq!(site.send("GET", &raw, &headers, "").status, 416);
    // Ranges that are no single range of bytes are the whole file or an error, and never more than the file.
    let huge = format!("bytes={}-{}", u64::MAX, u64::MAX);
    for range in [
        "bytes=8-6",
        "bytes=-3",
        "bytes=0-1,3-4",
        "bytes=x",
        "lines=0-1",
        "bytes=-",
        &huge,
        "bytes=0-99999999999999999999",
    ] {
        let headers = [("Authorization", bearer.as_str()), ("Range", range)];
        let answer = site.send("GET", &raw, &headers, "");
        assert!([200, 206, 400, 416].contains(&answer.status), "{range}: {}", answer.status);
        assert!(answer.status >= 400 || answer.body.len() <= 17, "{range}");
    }
}

#[test]
fn runs_are_listed_by_filters_and_pages() {
    let site = site();
    let token = site.token(Role::Run);
    let ids: Vec<String> =
        (0..3).map(|_| site.run(&token, &json!({"definition": "p"}), &["succeeded"])).collect();
    site.run(&token, &json!({"definition": "fails"}), &["failed"]);
    let list = |query: &str| {
        let answer = site.get(&format!("/api/v1/runs{query}"), &token);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let rows = answer.json();
        let id = |row: &Value| row["run"].as_str().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(id).collect::<Vec<_>>()
    };
    assert_eq!(list("").len(), 4);
    let newest = list("?playbook=p");
    assert_eq!(newest, ids.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(list("?playbook=p&limit=1"), [ids[2].clone()]);
    assert_eq!(list(&format!("?playbook=p&before={}", ids[2])), [ids[1].clone(), ids[0].clone()]);
    assert_eq!(list("?status=failed").len(), 1);
    assert_eq!(list("?status=failed&status=succeeded").len(), 4);
    assert_eq!(list("?since=1h").len(), 4);
    assert!(list("?status=running").is_empty());
    for wrong in [
        "?limit=201",
        "?limit=x",
        "?limt=3",
        "?status=done",
        "?since=soon",
        "?before=../x",
        "?a=%ff",
    ] {
        let answer = site.get(&format!("/api/v1/runs{wrong}"), &token);
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert_eq!(answer.json()["code"], "KB1104");
    }
    let near = site.get("/api/v1/runs?limt=3", &token).json();
    assert_eq!(near["help"], "did you mean `limit`?");
}

#[test]
fn starts_that_do_not_fit_are_refused() {
    let site = site();
    let token = site.token(Role::Run);
    for (body, status) in [
        ("{", 400),
        ("[]", 422),
        ("{}", 422),
        ("{\"definition\": \"q\"}", 404),
        ("{\"definition\": \"../p\"}", 404),
        ("{\"definition\": \"playbooks/p.yml\"}", 404),
        ("{\"definition\": \"p\", \"yaml\": \"id: x\"}", 422),
        ("{\"definition\": \"p\", \"params\": {\"whom\": \"x\"}}", 422),
        ("{\"definition\": \"p\", \"params\": {\"who\": \"B4D\"}}", 422),
        ("{\"definition\": \"p\", \"params\": {\"who\": 3}}", 422),
    ] {
        let answer = site.post("/api/v1/runs", &token, body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.json()["detail"].is_string());
    }
    assert!(super::fires(&site.store).is_empty(), "nothing was queued");
    let shown = site.get("/api/v1/playbooks/p", &token).json();
    assert_eq!(shown["paramsSchema"]["properties"]["who"]["default"], "nobody");
    assert_eq!(shown["graph"]["nodes"].as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(site.get("/api/v1/playbooks", &token).json().as_array().map(Vec::len), Some(4));
}

#[test]
fn runs_are_cancelled_and_retried() {
    let site = site();
    let token = site.token(Role::Run);
    let held = site.run(&token, &json!({"definition": "hold"}), &["running"]);
    let command = |run: &str, name: &str, body: &str| {
        site.post(&format!("/api/v1/runs/{run}/{name}"), &token, body).status
    };
    assert_eq!(command(&held, "retry", ""), 409);
    site.until("a process drives it", || (command(&held, "resume", "") == 409).then_some(()));
    assert_eq!(command(&held, "cancel", ""), 202);
    site.until_status(&token, &held, &["cancelled"]);
    assert_eq!(command(&held, "cancel", ""), 409);
    assert_eq!(command("r0nosuch", "cancel", ""), 404);
    let failed = site.run(&token, &json!({"definition": "fails"}), &["failed"]);
    assert_eq!(command(&failed, "retry", "{\"from\": \"nostep\"}"), 404);
    site.scratch.write("fixed", "");
    assert_eq!(command(&failed, "retry", ""), 202);
    site.until_status(&token, &failed, &["succeeded"]);
    assert_eq!(command(&failed, "retry", ""), 409);
}

#[test]
fn a_decision_counts_once_and_only_for_what_was_seen() {
    let site = site();
    let (run, approve) = (site.token(Role::Run), site.token(Role::Approve));
    let id = site.run(&run, &json!({"definition": "ask"}), &["waiting"]);
    let asks = site.get("/api/v1/asks", &run).json();
    let ask = &asks[0];
    assert_eq!(
        (ask["run"].as_str(), ask["question"]["text"].as_str()),
        (Some(id.as_str()), Some("Deploy?"))
    );
    assert_eq!(ask["evidence"][0]["instance"], "build");
    assert_eq!(ask["evidence"][0]["verdict"], "passed", "{ask}");
    let path = format!("/api/v1/asks/{}", ask["id"].as_str().unwrap());
    let decide = |token: &str, digest: &str, decision: &str| {
        let body = json!({"decision": decision, "digest": digest, "comment": "-x; --yes"});
        site.post(&path, token, &body.to_string()).status
    };
    let digest = ask["digest"].as_str().unwrap();
    assert_eq!(decide(&run, digest, "approve"), 403);
    assert_eq!(
        decide(&approve, &digest.replace(['0', '1'], "2"), "approve"),
        409,
        "other evidence"
    );
    assert_eq!(site.post(&path, &approve, "{\"decision\": \"approve\"}").status, 422);
    assert!(!site.scratch.has("deployed"));
    // Many at the same time: one counts.
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let decide = &decide;
        let one = |_| scope.spawn(|| decide(&approve, digest, "approve"));
        let sent: Vec<_> = (0..6).map(one).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [202, 409].contains(status)), "{statuses:?}");
    site.until_status(&run, &id, &["succeeded"]);
    assert_eq!(site.scratch.read("deployed"), "done\n");
    assert_eq!(decide(&approve, digest, "approve"), 409);
    assert_eq!(
        site.post("/api/v1/asks/nothing", &approve, "{\"decision\":\"approve\",\"digest\":\"x\"}")
            .status,
        404
    );
    // Who decided is recorded.
    let events = site.get(&format!("/api/v1/runs/{id}/events?format=jsonl"), &run).text();
    assert!(events.contains("\"by\":\"t2\""), "{events}");
}

#[test]
fn triggers_are_read_and_changed() {
    let site = site();
    let (run, admin) = (site.token(Role::Run), site.token(Role::Admin));
    let trigger = "/api/v1/triggers/p.schedule";
    let post =
        |what: &str, token: &str, body: &str| site.post(&format!("{trigger}/{what}"), token, body);
    assert_eq!(post("pause", &run, "").status, 409, "it is disabled");
    let shown = site.get(trigger, &run).json();
    assert_eq!(
        (shown["state"].as_str(), shown["kind"].as_str()),
        (Some("disabled"), Some("schedule"))
    );
    assert!(shown["next"][0]["at"].is_string());
    let digest = shown["digest"].as_str().unwrap();
    let enable = |digest: &str| post("enable", &admin, &json!({"digest": digest}).to_string());
    assert_eq!(post("enable", &run, &json!({"digest": digest}).to_string()).status, 403);
    assert_eq!(enable(&"0".repeat(64)).status, 409);
    assert_eq!(enable(digest).json()["state"], "enabled");
    assert_eq!(
        post("pause", &run, "{\"reason\": \"maintenance\"}").json()["paused"],
        "maintenance"
    );
    assert_eq!(post("resume", &run, "").json()["state"], "enabled");
    let count = post("backfill", &run, "{\"from\": \"800d\"}");
    let times = count.json()["times"].as_array().unwrap().len();
    assert_eq!((count.status, times >= 2), (200, true), "{}", count.text());
    assert!(super::fires(&site.store).is_empty(), "only counted");
    let wrong = json!({"from": "800d", "confirm": times + 1}).to_string();
    assert_eq!(post("backfill", &run, &wrong).status, 409);
    assert_eq!(post("disable", &admin, "").json()["state"], "disabled");
    assert_eq!(site.get("/api/v1/triggers/none", &run).status, 404);
}

#[test]
fn tokens_are_created_shown_once_and_revoked() {
    let site = site();
    let admin = site.token(Role::Admin);
    let body = "{\"name\": \"ci\", \"role\": \"run\", \"expires\": \"30d\"}";
    let created = site.post("/api/v1/tokens", &admin, body);
    assert_eq!(created.status, 201, "{}", created.text());
    let token = created.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(site.get("/api/v1/runs", &token).status, 200);
    assert_eq!(site.post("/api/v1/tokens", &admin, body).status, 422, "the name is taken");
    assert!(!site.get("/api/v1/tokens", &admin).text().contains(&token));
    assert_eq!(site.post("/api/v1/tokens/ci/revoke", &admin, "").status, 204);
    assert_eq!(site.get("/api/v1/runs", &token).status, 401);
    assert_eq!(site.post("/api/v1/tokens/ci/revoke", &admin, "").status, 404);
    let said = site
        .scratch
        .command()
        .args(["serve", "token", "create", "--name", "cli", "--role", "read"])
        .finish();
    let token = String::from_utf8(said.stdout).unwrap();
    assert_eq!(site.get("/api/v1/runs", token.trim()).status, 200);
}

#[test]
fn the_shipped_document_is_fresh_and_served() {
    let site = site();
    let served = site.get("/api/v1/openapi.json", &site.token(Role::Read)).json();
    assert_eq!(served, kb::web::document());
    crate::generated::file("docs/openapi.json", &format!("{served:#}\n"));
    for group in kb::web::ROUTE_GROUPS {
        for route in group.iter().filter(|route| route.kind == kb::web::Kind::Api) {
            let found = &served["paths"][route.path][route.method.as_str()];
            assert_eq!(found["summary"], route.summary);
            assert!(route.summary.ends_with('.'), "{}", route.summary);
        }
    }
}

/// The requests of the page that need no run of their own, one after the other: no answer is an error.
#[test]
fn the_examples_of_the_page_work() {
    if std::process::Command::new("curl").arg("--version").finish_if_found().is_none() {
        eprintln!("skipped: curl is not installed");
        return;
    }
    let site = Site::new(&[(
        "playbooks/hello.yml",
        "schema: kb.playbook/1\nid: hello\nparams: [{name: who, default: you}]\nsteps: [{id: a, run: \"echo $WHO\", env: {WHO: \"{{who}}\"}}]\n",
    )]);
    let token = site.token(Role::Admin);
    let page = std::fs::read_to_string("docs/api.md").unwrap();
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let is_whole = |block: &&str| {
        block.starts_with("curl") && !block.contains("$RUN") && !block.contains("$ASK")
    };
    let blocks: Vec<&str> = blocks.into_iter().filter(is_whole).collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        let out = std::process::Command::new("bash")
            .args(["-ec", &block.replace("curl -sS", "curl -sS --fail-with-body --noproxy '*'")])
            .env("KB", format!("http://{}", site.host))
            .env("TOKEN", &token)
            .finish();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{block}\n{said}{}", String::from_utf8_lossy(&out.stderr));
        if !block.ends_with("/metrics\n") {
            serde_json::from_str::<Value>(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
        }
    }
}
