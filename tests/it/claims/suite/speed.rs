//! How long a gate takes over many claims and files, and how large the recorded artifact of a claim is.

use super::super::bench::host;
use super::task::Dice;
use kb::definition::ClaimPolicy;
use kb::evidence::{Invocation, Verdict};
use kb::executor::{GateRequest, run_gate};
use kb::expression::{Root, Scope};
use kb::tool::{Call, Caller};
use kb::value::Json;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

struct NoScope;

impl Scope for NoScope {
    fn lookup(&self, _root: &Root, _field: Option<&str>) -> Option<Arc<Json>> {
        None
    }
}

/// Number of files of the workspace.
const FILES: usize = 60;

/// The median and the 95th percentile of the time of a gate in milliseconds, and the 95th percentile of
/// the size of the recorded artifact of a claim in bytes, over so many reports.
pub(super) async fn measure(seed: u64, reports: usize) -> (f64, f64, f64) {
    let dir = tempfile::tempdir().unwrap();
    let (host, tools) = host(dir.path());
    let mut dice = Dice::of(seed);
    let mut trace: Vec<Invocation> = Vec::new();
    for file in 0..FILES {
        // Most source files are small; some have 1 MiB.
        let size = match dice.below(20) {
            0 => 1 << 20,
            1..3 => 100_000 + dice.below(200_000),
            _ => 200 + dice.below(20_000),
        };
        let line = format!("let line = {};\n", dice.below(1_000_000));
        let content: String = line.repeat(size.div_ceil(line.len())).chars().take(size).collect();
        let call = Call {
            id: format!("c{file}"),
            tool: "fs:write".to_owned(),
            args: json!({"path": format!("src/m{}/file{file}.rs", file % 7), "content": content}),
            caller: Caller::Author,
            env: Vec::new(),
            cwd: String::new(),
            evidence: true,
            approved: false,
            answers: Default::default(),
        };
        trace.push(tools.call(&call, &CancellationToken::new()).await.1);
    }
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..reports {
        let claims = 1 + dice.below(20);
        let files: BTreeSet<usize> = (0..claims).map(|_| dice.below(FILES)).collect();
        let claimed: Vec<Json> = files
            .iter()
            .map(|file| json!({"path": format!("src/m{}/file{file}.rs", file % 7)}))
            .collect();
        let request = GateRequest {
            of: None,
            tree: None,
            tools: Default::default(),
            checks: Vec::new(),
            claims: ClaimPolicy::Strict,
            changes_declared: false,
            after_refuted: false,
            expect_changes: true,
            output: Arc::new(
                json!({ "artifacts": {"filesCreated": claimed}, "summary": "Done: changed src/." }),
            ),
            output_schema: None,
            trace: trace.clone(),
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
        let began = Instant::now();
        let verification =
            run_gate(request, &NoScope, &host, (&CancellationToken::new(), None), None).await;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
        assert_eq!(verification.verdict, Verdict::Passed, "{:?}", verification.reason);
        let details = verification.checks.iter().map(|check| serde_json::to_string(check).unwrap());
        sizes.extend(details.map(|detail| detail.len() as f64));
    }
    (percentile(&mut times, 50), percentile(&mut times, 95), percentile(&mut sizes, 95))
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}
