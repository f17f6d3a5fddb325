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

/// Runs the demo with a daemon that sends to a collector, until the trace `arrived`. Returns the names of the spans that
/// `kb run trace` prints.
fn send_the_demo(port: u16, arrived: impl Fn(&Scratch) -> bool) -> BTreeSet<String> {
    let scratch = Scratch::bare();
    scratch.kb(&["demo", "--dir", "."]).code(0);
    let settings = format!("serve: {{traces: \"http://127.0.0.1:{port}\"}}\n");
    scratch.write(".kb/kb.config.yml", &settings);
    // Runs that ended before the setting was read are not sent.
    let runtime = runtime();
    let _context = runtime.enter();
    let mut daemon = Daemon::open(&environment(&scratch), &options()).unwrap();
    let now = kb::clock::Clock::system().now();
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
    super::until(&mut daemon, now, "the trace", || arrived(&scratch));
    let printed = names(&scratch.json(&["run", "trace", &scratch.last_run()]));
    assert!(printed.len() > 3, "{printed:?}");
    printed
}

/// The demo has everything that a trace can contain: steps, attempts, model calls, tools, verdicts, errors.
#[test]
fn a_collector_reads_the_trace_of_the_demo() {
    let Some(collector) = Collector::start() else { return };
    let printed = send_the_demo(collector.port, |_| !collector.lines().is_empty());
    let found = collector.lines();
    assert_eq!(found[0].get("refused"), None, "{}", found[0]);
    assert_eq!(names(&found[0]), printed);
}

/// A collector that people operate: rotel, as `.ci/run` installs it from PyPI. Ends when dropped.
struct Rotel {
    _process: Running,
    port: u16,
    /// The names of the spans that it decoded.
    spans: Arc<Mutex<BTreeSet<String>>>,
}

impl Rotel {
    /// `None`, said by name, where it is not installed or cannot be executed.
    fn start() -> Option<Rotel> {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/target/rotel/rotel/rotel-agent");
        let program =
            std::env::var_os("KB_ROTEL").map_or_else(|| PathBuf::from(own), PathBuf::from);
        // It is linked with the library of the interpreter that it was installed with.
        let folder = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))";
        let folder = Command::new("python3").args(["-c", folder]).finish_if_found();
        let folder = folder
            .map_or(String::new(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
        let command = || {
            let mut command = Command::new(&program);
            command.env("LD_LIBRARY_PATH", &folder);
            command
        };
        let version = command().arg("--version").finish_if_found();
        if !version.is_some_and(|said| said.status.success()) {
            eprintln!("skipped: rotel is not installed");
            return None;
        }
        // Another process may take the port before the collector does; the collector ends then.
        (0..20).find_map(|_| Rotel::on_a_free_port(command()))
    }

    fn on_a_free_port(mut command: Command) -> Option<Rotel> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut process = command
            .args(["start", "--otlp-grpc-endpoint", "127.0.0.1:0", "--exporter", "blackhole"])
            .args(["--debug-log", "traces", "--debug-log-verbosity", "detailed"])
            .args(["--otlp-http-endpoint", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .start();
        let out = BufReader::new(process.stdout.take().unwrap()).lines();
        let spans: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let own = spans.clone();
        std::thread::spawn(move || {
            for line in out.map_while(Result::ok) {
                if let Some((_, name)) = line.split_once("    Name           : ") {
                    own.lock().unwrap().insert(name.to_owned());
                }
            }
        });
        let mut ended = false;
        crate::scratch::until("the collector", || {
            ended = process.try_wait().unwrap().is_some();
            ended || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        (!ended).then_some(Rotel { _process: process, port, spans })
    }
}

/// The spans arrive in a collector that is not ours.
#[test]
fn rotel_reads_the_trace_of_the_demo() {
    let Some(collector) = Rotel::start() else { return };
    let spans = || collector.spans.lock().unwrap().clone();
    let expected = |scratch: &Scratch| {
        let runs = scratch.json(&["run", "list", "--json"]);
        let run = runs[0]["run"].as_str().unwrap().to_owned();
        names(&scratch.json(&["run", "trace", &run]))
    };
    let printed = send_the_demo(collector.port, |scratch| {
        let found = spans();
        !found.is_empty() && found == expected(scratch)
    });
    assert_eq!(spans(), printed);
}
