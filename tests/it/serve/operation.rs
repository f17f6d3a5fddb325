//! What an operator uses: the demonstration of a new project, the log, metrics and traces.

use super::{environment, options, project, runtime, store, until};
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use kb::serve::Daemon;
use kb::trigger::Role;
use kb::value::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const HOURLY: &str = "schema: kb.playbook/1\nid: p\non: {schedule: \"0 * * * *\"}\nsteps: [{id: a, run: \"echo done >> log\"}]\n";

/// A `kb serve` of its own, with the lines of its log.
struct Serving {
    process: Running,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Serving {
    fn start(scratch: &Scratch, args: &[&str]) -> Serving {
        let mut command = scratch.command();
        command.args(["serve", "--listen", "localhost:0"]).args(args).stderr(Stdio::piped());
        let mut process = command.start();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let (own, errors) = (lines.clone(), process.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                own.lock().unwrap().push(line);
            }
        });
        Serving { process, lines }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn terminate(&mut self) -> Duration {
        let began = Instant::now();
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
        began.elapsed()
    }
}

#[track_caller]
fn wait<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    // The demonstration starts at the next minute.
    let deadline = Instant::now() + Duration::from_secs(180);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// `kb init && kb serve` on a new machine: a schedule runs, its lie is refuted, and an approval waits. No model.
#[test]
fn a_new_project_demonstrates_itself() {
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0).says(&[".kb/playbooks/demo.yml", "kb trigger disable demo"]);
    let serving = Serving::start(&scratch, &["--log-format", "json"]);
    let run = wait("the run of the demonstration", || {
        let runs = scratch.json(&["run", "list", "--json"]);
        let waiting = runs.as_array()?.iter().find(|run| run["status"] == "waiting")?;
        waiting["run"].as_str().map(str::to_owned)
    });
    let events = scratch.kb(&["run", "events", &run]).code(0).events();
    let of = |kind: &str| events.iter().filter(|e| e["type"] == kind).cloned().collect::<Vec<_>>();
    let verdicts: Vec<Value> =
        of("verification:complete").iter().map(|e| e["verdict"].clone()).collect();
    assert_eq!(verdicts, [json!("failed"), json!("passed")]);
    let reason = of("verification:complete")[0]["reason"].to_string();
    assert!(reason.contains("kb-demo/greeting.txt"), "{reason}");
    // The pages show the schedule, the refuted claim and the question.
    let state = project(&scratch).context.state_dir;
    let read = |name: &str| std::fs::read_to_string(state.join(name)).unwrap().trim().to_owned();
    let (token, address) = (read("serve.token"), read("serve.address"));
    let page = |path: &str| get(&address, path, &token);
    assert!(page("/triggers").contains("demo.schedule"));
    assert!(page(&format!("/runs/{run}?step=write")).contains("no recorded call wrote it"));
    assert!(page("/inbox").contains("Accept it?"));
    // Every line of the log is an object.
    let lines: Vec<Value> =
        serving.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines.iter().all(|l| l["timestamp"].is_string() && l["level"].is_string()),
        "{lines:?}"
    );
    let started = lines.iter().find(|line| line["message"] == "run started").unwrap();
    assert_eq!((&started["run"], &started["trigger"]), (&json!(run), &json!("demo.schedule")));
    drop(serving);
    // Who removed it does not get it again.
    std::fs::remove_file(scratch.root().join(".kb/playbooks/demo.yml")).unwrap();
    scratch.kb(&["init"]).code(0);
    assert!(!scratch.has(".kb/playbooks/demo.yml"));
    scratch.kb(&["trigger", "list"]).code(0).says(&["removed", "does not declare it any more"]);
    scratch.kb(&["trigger", "disable", "demo"]).code(0);
    let without = Scratch::bare();
    without.kb(&["init", "--no-demo"]).code(0);
    assert!(!without.has(".kb/playbooks/demo.yml"));
}

/// A page over plain HTTP.
pub(super) fn get(address: &str, path: &str, token: &str) -> String {
    let host = address.replace("http://", "");
    let mut stream = TcpStream::connect(&host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    answer
}

/// SIGTERM ends the daemon although another process keeps its database locked. SQLite would wait 15 seconds.
#[test]
fn a_locked_store_does_not_delay_the_stop() {
    let scratch = Scratch::new(&[("playbooks/p.yml", HOURLY)]);
    scratch.kb(&["trigger", "enable", "p"]).code(0);
    let mut serving = Serving::start(&scratch, &[]);
    let path = project(&scratch).context.state_dir.join("serve.sqlite3");
    wait("the server", || serving.lines().iter().any(|l| l.contains("listening")).then_some(()));
    let lock = rusqlite::Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // A definition that changes makes the daemon write.
    scratch.write("playbooks/p.yml", &HOURLY.replace("done", "other"));
    std::thread::sleep(Duration::from_secs(3));
    let took = serving.terminate();
    assert!(took < Duration::from_secs(10), "{took:?}");
    drop(lock);
}

#[test]
fn metrics_are_in_the_format_of_prometheus() {
    let site = super::api::site();
    let (run, read) = (site.token(Role::Run), site.token(Role::Read));
    assert_eq!(site.send("GET", "/metrics", &[], "").status, 401);
    site.run(&run, &json!({"definition": "p"}), &["succeeded"]);
    let text = site.until("the end is counted", || {
        let text = site.get("/metrics", &read).text();
        text.contains("kb_runs_ended_total{").then_some(text)
    });
    let (mut families, mut samples) = (BTreeSet::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# ") {
            let mut words = head.split(' ');
            if words.next() == Some("TYPE") {
                assert!(families.insert(words.next().unwrap().to_owned()), "twice: {line}");
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value == "+Inf" || value.parse::<f64>().is_ok(), "{line}");
        let family = name.split('{').next().unwrap();
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| family.strip_suffix(end));
        assert!(families.contains(family) || base.is_some_and(|b| families.contains(b)), "{line}");
        assert!(samples.insert(name.to_owned(), value.to_owned()).is_none(), "twice: {line}");
    }
    let project = site.get("/api/v1/projects", &read).json()[0]["id"].as_str().unwrap().to_owned();
    let value = |name: &str| samples.get(&name.replace("PROJECT", &project)).map(String::as_str);
    assert_eq!(value("kb_runs{project=\"PROJECT\",status=\"succeeded\"}"), Some("1"));
    let ended = "kb_runs_ended_total{project=\"PROJECT\",playbook=\"p\",status=\"succeeded\"}";
    assert_eq!(value(ended), Some("1"));
    assert_eq!(
        value("kb_fires{project=\"PROJECT\",trigger=\"api\",state=\"succeeded\"}"),
        Some("1")
    );
    assert_eq!(value("kb_trigger_enabled{project=\"PROJECT\",trigger=\"p.schedule\"}"), Some("0"));
    assert!(value("kb_http_requests_total{status=\"401\"}").is_some(), "{text}");
}

/// A collector that is down gets the trace later, with the same ids, and each trace once.
#[test]
fn traces_reach_a_collector_that_was_down() {
    let runtime = runtime();
    let _context = runtime.enter();
    let collector = runtime.block_on(async {
        let server = MockServer::start().await;
        let post = || Mock::given(method("POST")).and(path("/v1/traces"));
        post().respond_with(ResponseTemplate::new(503)).up_to_n_times(1).mount(&server).await;
        post().respond_with(ResponseTemplate::new(200)).mount(&server).await;
        server
    });
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let child = "schema: kb.playbook/1\nid: inner\nsteps: [{id: c, run: \"true\"}]\n";
    let outer = "schema: kb.playbook/1\nid: outer\nsteps:\n  - {id: inner, playbook: inner}\n  - {id: bad, run: \"exit 3\"}\n";
    scratch.write(".kb/playbooks/inner.yml", child);
    scratch.write(".kb/playbooks/outer.yml", outer);
    scratch.write(".kb/kb.config.yml", &format!(
        "serve: {{traces: {{endpoint: \"{}\", headers: {{authorization: \"env:OTLP\"}}, service: shop}}}}\n",
        collector.uri()
    ));
    let variables = |environment: kb::service::Environment| {
        let mut environment = environment;
        environment
            .variables
            .insert("OTLP".to_owned(), "Bearer secret-of-the-collector".to_owned());
        environment
    };
    let mut daemon = Daemon::open(&variables(environment(&scratch)), &options()).unwrap();
    let counted = daemon.shared().unwrap().remove(0).telemetry;
    let mut now = kb::clock::Clock::system().now();
    let cursor = || store(&scratch).note("traces.cursor").unwrap().is_some();
    until(&mut daemon, now, "the cursor", cursor);
    scratch.kb(&["playbook", "run", "outer"]).code(1);
    // The run that `kb init` asked for may start later than this one.
    let shown = scratch.json(&["run", "show", "@last:outer", "--json"]);
    let run = shown["run"].as_str().unwrap().to_owned();
    until(&mut daemon, now, "the failure", || counted.counted().problem.is_some());
    let problem = counted.counted().problem.unwrap();
    assert!(problem.contains("503") && !problem.contains("secret-of"), "{problem}");
    // It waits 5 seconds before the next attempt.
    let deadline = Instant::now() + Duration::from_secs(60);
    while counted.counted().exported < 2 {
        assert!(Instant::now() < deadline, "{:?}", counted.counted());
        daemon.tick(now);
        std::thread::sleep(Duration::from_millis(50));
        now = Timestamp(now.0 + 3000);
    }
    let requests = runtime.block_on(collector.received_requests()).unwrap();
    let sent: Vec<Value> =
        requests.iter().map(|r| serde_json::from_slice(&r.body).unwrap()).collect();
    assert!(
        requests.iter().all(|r| r.headers["authorization"] == "Bearer secret-of-the-collector")
    );
    assert_eq!(sent.len(), 3, "one refused, and one for each run");
    let schema: Value = serde_json::from_str(include_str!("otlp-trace.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut spans: BTreeMap<String, Value> = BTreeMap::new();
    for request in &sent {
        let errors: Vec<String> = validator.iter_errors(request).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let service =
            &request["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"];
        assert_eq!(*service, "shop");
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
            spans.insert(span["spanId"].as_str().unwrap().to_owned(), span.clone());
        }
    }
    // One trace with one root, and every other span below it.
    let traces: BTreeSet<&str> = spans.values().filter_map(|s| s["traceId"].as_str()).collect();
    assert_eq!(traces.len(), 1, "{spans:#?}");
    let roots: Vec<&Value> = spans.values().filter(|s| s.get("parentSpanId").is_none()).collect();
    assert_eq!(roots.len(), 1, "{roots:#?}");
    assert_eq!((&roots[0]["name"], &roots[0]["status"]["code"]), (&json!("outer"), &json!(2)));
    for span in spans.values().filter(|s| s.get("parentSpanId").is_some()) {
        assert!(spans.contains_key(span["parentSpanId"].as_str().unwrap()), "{span}");
    }
    // `kb run trace` prints the same spans.
    let printed = scratch.json(&["run", "trace", &run, "--service", "shop"]);
    for span in printed["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
        assert_eq!(Some(span), spans.get(span["spanId"].as_str().unwrap()));
    }
}
