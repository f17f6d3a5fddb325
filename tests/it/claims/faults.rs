//! Faults while a gate is evaluated.

use super::bench::host;
use crate::running::Start;
use crate::scratch::Scratch;
use kb::definition::ClaimPolicy;
use kb::evidence::Verdict;
use kb::executor::{GateRequest, run_gate};
use kb::expression::{Root, Scope};
use kb::value::Json;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

struct NoScope;

impl Scope for NoScope {
    fn lookup(&self, _root: &Root, _field: Option<&str>) -> Option<Arc<Json>> {
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_grows_or_vanishes_while_it_is_hashed_gives_a_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.bin");
    std::fs::write(&path, vec![1u8; 4 << 20]).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (changing, stopped) = (path.clone(), stop.clone());
    let changes = std::thread::spawn(move || {
        let mut round = 0u32;
        while !stopped.load(Ordering::Relaxed) {
            match round % 4 {
                0 | 1 => {
                    let file =
                        std::fs::OpenOptions::new().append(true).create(true).open(&changing);
                    file.unwrap().write_all(&[2u8; 65_536]).unwrap();
                }
                2 => std::fs::remove_file(&changing).unwrap(),
                _ => std::fs::write(&changing, vec![3u8; 2 << 20]).unwrap(),
            }
            round += 1;
        }
    });
    let (host, _tools) = host(dir.path());
    for _ in 0..20 {
        let request = GateRequest {
            of: None,
            tree: None,
            tools: Default::default(),
            checks: Vec::new(),
            claims: ClaimPolicy::Strict,
            changes_declared: false,
            after_refuted: false,
            expect_changes: false,
            output: Arc::new(json!({
                "modified": ["large.bin"],
                "claims": [{"kind": "file-write", "path": "large.bin", "contentHash": "00"}],
            })),
            output_schema: None,
            trace: Vec::new(),
            unwatched: false,
            env: Vec::new(),
            cwd: String::new(),
            sandboxed: None,
            confined: kb::attempt::Live::always(None),
            timeout: None,
            judged: None,
            received: None,
            excused: Vec::new(),
            asked: Default::default(),
            earlier: Vec::new(),
        };
        let found =
            run_gate(request, &NoScope, &host, (&CancellationToken::new(), None), None).await;
        assert_ne!(found.verdict, Verdict::Passed);
    }
    stop.store(true, Ordering::Relaxed);
    changes.join().unwrap();
}

#[test]
fn kill_nine_while_a_gate_runs_its_command_repeats_the_gate_and_not_the_step() {
    let check = "test -e go || { touch verifying; sleep 600; }";
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    run: echo once >> work.txt\n    \
         verify: {{checks: [{{command: [sh, -c, {}]}}]}}\n",
        json!(check)
    );
    let scratch = Scratch::new(&[("playbooks/p.yml", &playbook)]);
    let mut kb = scratch.command();
    let quiet = std::process::Stdio::null;
    let mut kb = kb.args(["playbook", "run", "p"]).stdout(quiet()).stderr(quiet()).start();
    let began = Instant::now();
    while !scratch.has("verifying") {
        assert!(began.elapsed() < Duration::from_secs(60), "the gate does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    kb.kill().unwrap();
    kb.wait().unwrap();
    scratch.write("go", "");
    let events = scratch.kb(&["run", "resume", "@last", "--json"]).code(0).events();
    let verdicts = events.iter().filter(|event| event["type"] == "verification:complete");
    assert_eq!(verdicts.map(|event| event["verdict"].clone()).collect::<Vec<_>>(), ["passed"]);
    assert_eq!(scratch.read("work.txt"), "once\n");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}
