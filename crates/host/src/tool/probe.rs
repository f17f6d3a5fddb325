//! Probes: checks after a successful call that show whether it had its effect.

use super::call::{Call, CallResult, Caller};
use super::registry::RegisteredTool;
use super::toolbox::Toolbox;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json};
use kb_core::evidence::{EvidenceKind, EvidenceRef, InvocationStatus};
use kb_language::definition::Probe;
use kb_language::expression::{Root, Scope};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The time between two attempts of a probe that could not decide.
const BETWEEN: Duration = Duration::from_secs(1);

/// What a probe found.
enum Found {
    Passed,
    Failed(String),
    Unknown,
}

impl Found {
    fn name(&self) -> &'static str {
        match self {
            Found::Passed => "passed",
            Found::Failed(_) => "failed",
            Found::Unknown => "inconclusive",
        }
    }
}

impl Toolbox {
    /// Runs the probes of a tool after a successful call and records what they found. A call whose
    /// probe failed has failed, although the tool reported success.
    pub(super) async fn probe(
        &self,
        tool: &RegisteredTool,
        call: &Call,
        result: &mut CallResult,
        cancel: &CancellationToken,
    ) {
        if result.status != InvocationStatus::Success {
            return;
        }
        let output = Arc::new(result.result.clone());
        let mut failed = None;
        for probe in tool.tool.probes() {
            let scope = ProbeScope {
                input: Arc::new(call.args.clone()),
                output: output.clone(),
                result: None,
            };
            let (found, sha256) = self.decided(probe, scope, call, cancel).await;
            let reference = format!("{}: {}", probe.id, found.name());
            result.evidence.push(EvidenceRef {
                kind: EvidenceKind::Probe,
                reference,
                sha256,
                status: None,
            });
            if let (Found::Failed(why), None) = (&found, &failed) {
                failed = Some((probe, why.clone()));
            }
        }
        if let Some((probe, why)) = failed {
            let message = format!(
                "`{}` reported success, but its probe `{}` failed: {why}",
                tool.spec().name,
                probe.id
            );
            let failure = Failure::new(Code::PROBE_FAILED, message);
            let evidence = std::mem::take(&mut result.evidence);
            let (changes, process) = (std::mem::take(&mut result.changes), result.process.take());
            let view = json!({"error": super::call::error_view(&failure), "output": *output});
            *result = CallResult {
                result: view,
                evidence,
                process,
                changes,
                ..CallResult::failed(InvocationStatus::Failed, failure)
            };
        }
    }

    /// Repeats a probe that could not decide, as often as the settings say.
    async fn decided(
        &self,
        probe: &Probe,
        scope: ProbeScope,
        call: &Call,
        cancel: &CancellationToken,
    ) -> (Found, Option<Digest>) {
        let mut left = self.probe_retries();
        loop {
            let (found, digest) = self.look(probe, scope.clone(), call, cancel).await;
            if !matches!(found, Found::Unknown) || left == 0 || cancel.is_cancelled() {
                return (found, digest);
            }
            left -= 1;
            tokio::select! {
                () = tokio::time::sleep(BETWEEN) => {}
                () = cancel.cancelled() => return (found, digest),
            }
        }
    }

    async fn look(
        &self,
        probe: &Probe,
        scope: ProbeScope,
        call: &Call,
        cancel: &CancellationToken,
    ) -> (Found, Option<Digest>) {
        let Ok(args) = probe.input.evaluate(&scope) else { return (Found::Unknown, None) };
        let asked = Call {
            id: format!("{}-{}", call.id, probe.id),
            tool: probe.tool.to_string(),
            args,
            caller: Caller::Author,
            env: Vec::new(),
            cwd: String::new(),
            evidence: false,
            approved: false,
            answers: Default::default(),
        };
        let answer = self.execute(&asked, cancel).await;
        let digest = Some(Digest::of_json(&answer.result));
        if answer.status != InvocationStatus::Success {
            let missing = answer.failure.filter(|failure| failure.code == Code::PATH_MISSING);
            return (missing.map_or(Found::Unknown, |why| Found::Failed(why.message)), digest);
        }
        let scope = ProbeScope { result: Some(Arc::new(answer.result)), ..scope };
        let found = match probe.expect.truth(&scope) {
            Ok(true) => Found::Passed,
            Ok(false) => Found::Failed(format!("`{}` is false", probe.expect.source())),
            Err(_) => Found::Unknown,
        };
        (found, digest)
    }
}

/// The names that the texts of a probe can read.
#[derive(Clone)]
struct ProbeScope {
    input: Arc<Json>,
    output: Arc<Json>,
    result: Option<Arc<Json>>,
}

impl Scope for ProbeScope {
    fn lookup(&self, root: &Root, field: Option<&str>) -> Option<Arc<Json>> {
        let Root::Param(name) = root else { return None };
        let whole = match &**name {
            "input" => &self.input,
            "output" => &self.output,
            "result" => self.result.as_ref()?,
            _ => return None,
        };
        match field {
            Some(field) => whole.get(field).cloned().map(Arc::new),
            None => Some(whole.clone()),
        }
    }
}
