//! Traces at a collector that reads them by the definitions of OpenTelemetry itself.

use super::{environment, options, runtime};
use crate::running::{Running, Start};
use crate::scratch::Scratch;
use kb::serve::Daemon;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// `otlp-receiver.js` with the package of the definitions. Ends when dropped.
struct Collector {
    _process: Running,
    port: u16,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    /// `None`, said by name, where Node or the package is missing; with `KB_OTLP=required` that is a failure.
    fn start() -> Option<Collector> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let package = std::env::var_os("KB_OTLP_PACKAGE").map_or_else(
            || root.join("target/otlp/node_modules/@opentelemetry/otlp-transformer"),
            PathBuf::from,
        );
        let command = || {
            let mut command = Command::new("node");
            command.arg(root.join("tests/it/serve/otlp-receiver.js")).arg(&package);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).start()
        };
        let has_node = Command::new("node").arg("--version").finish_if_found().is_some();
        let started = (has_node && package.is_dir()).then(command);
        let Some(mut process) = started else {
            let is_required = std::env::var("KB_OTLP").is_ok_and(|value| value == "required");
            assert!(!is_required, "Node or @opentelemetry/otlp-transformer is missing");
            eprintln!("skipped: Node or @opentelemetry/otlp-transformer is missing");
            return None;
        };
        let mut out = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = out.next().unwrap().unwrap().trim().parse().unwrap();
        let lines: Arc<Mutex<Vec<Value>>> = Arc::default();
        let own = lines.clone();
        std::thread::spawn(move || {
            for line in out.map_while(Result::ok) {
                own.lock().unwrap().push(serde_json::from_str(&line).unwrap());
            }
        });
        Some(Collector { _process: process, port, lines })
    }

    fn lines(&self) -> Vec<Value> {
        self.lines.lock().unwrap().clone()
    }
}

/// The names of the spans of a request.
fn names(request: &Value) -> BTreeSet<String> {
    let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    let name = |span: &Value| span["name"].as_str().map(str::to_owned);
    spans.into_iter().flatten().filter_map(name).collect()
}

/// The demo has everything that a trace can contain: steps, attempts, model calls, tools, verdicts, errors.
#[test]
fn a_collector_reads_the_trace_of_the_demo() {
    let Some(collector) = Collector::start() else { return };
    let scratch = Scratch::bare();
    scratch.kb(&["demo", "--dir", "."]).code(0);
    let settings = format!("serve: {{traces: \"http://127.0.0.1:{}\"}}\n", collector.port);
    scratch.write(".kb/kb.config.yml", &settings);
    // Runs that ended before the setting was read are not sent.
    let runtime = runtime();
    let _context = runtime.enter();
    let mut daemon = Daemon::open(&environment(&scratch), &options()).unwrap();
    let now = kb::service::now();
    let cursor = || super::store(&scratch).note("traces.cursor").unwrap().is_some();
    super::until(&mut daemon, now, "the cursor", cursor);
    scratch.kb(&[
        "playbook",
        "run",
        "add-feature",
        "--script",
        "script.yml",
        "--param",
        "featureName=greeting",
    ]);
    let run = scratch.last_run();
    super::until(&mut daemon, now, "the trace", || !collector.lines().is_empty());
    let found = collector.lines();
    assert_eq!(found[0].get("refused"), None, "{}", found[0]);
    let printed = scratch.json(&["run", "trace", &run]);
    assert_eq!(names(&found[0]), names(&printed));
    assert!(names(&found[0]).len() > 3, "{:?}", names(&found[0]));
}
