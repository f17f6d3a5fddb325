//! Plugins: runs the program of a plugin, with JSON on stdin and stdout.

use super::tool_process::run_watched;
use crate::tool::call::{Call, CallResult, Caller, Refusal};
use crate::tool::confinement;
use crate::tool::context::{CallContext, Tool};
use crate::tool::plugin_code::{self, Lending};
use crate::tool::process_launcher::ProcessLauncher;
use crate::tool::watched_process::{Origin, WatchedProcess};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, format_duration, json_text, limits};
use kb_core::evidence::{EvidenceKind, EvidenceRef, InvocationStatus};
use kb_core::redaction::Redactor;
use kb_language::definition::{NetworkAccess, Plugin, Probe, Schema};
use kb_process::{ProcessEnd, ProcessResult, Spawn};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The implementation of one plugin.
pub(in crate::tool) struct PluginTool(Arc<Plugin>);

/// Maximum length of a receipt that a plugin returns, in bytes.
const RECEIPT_BYTES: usize = 200;
/// Maximum number of violations in a message, and characters of stderr.
const VIOLATIONS: usize = 5;
const STDERR_CHARS: usize = 300;

impl PluginTool {
    pub(in crate::tool) fn new(plugin: Arc<Plugin>) -> PluginTool {
        PluginTool(plugin)
    }
}

impl Tool for PluginTool {
    fn name(&self) -> &str {
        &self.0.spec.name
    }

    fn probes(&self) -> &[Probe] {
        &self.0.probes
    }

    fn code(&self, processes: &ProcessLauncher) -> BTreeMap<String, Digest> {
        let definition = (self.0.path.clone(), self.0.digest);
        plugin_code::digests(definition, &self.0.argv, processes)
    }

    fn widens_network(&self, call: &Call, processes: &ProcessLauncher) -> Option<String> {
        match plugin_code::lending(&self.0, call, processes) {
            Lending::Approval(why) => Some(why),
            Lending::Own | Lending::WithoutProject => None,
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            let lending = plugin_code::lending(&self.0, call, context.processes);
            let is_elsewhere = matches!(lending, Lending::WithoutProject);
            match prepare(&self.0, call, context) {
                Ok(mut spawn) => {
                    if is_elsewhere {
                        spawn.cwd = PathBuf::from("/");
                    }
                    let timeout = spawn.timeout;
                    let hidden = match context.processes.hidden(&call.caller).await {
                        Ok(hidden) => hidden,
                        Err(failure) => {
                            return CallResult::failed(InvocationStatus::Denied, failure);
                        }
                    };
                    let supervisor = |nested| {
                        if is_elsewhere {
                            return context.processes.without_workspace(self.0.network);
                        }
                        let by = (&call.caller, network(&self.0, context)?);
                        let hidden = hidden.clone();
                        context.processes.of_plugin(by, context.scratch, nested, hidden)
                    };
                    let result = |ended: &WatchedProcess| {
                        let result = result(&self.0, &ended.exited, timeout, context.redactor);
                        if is_elsewhere { explained(result, &self.0, call) } else { result }
                    };
                    let origin = Origin::Others(&supervisor);
                    run_watched(spawn, (call, context), origin, result, cancel).await
                }
                Err(refusal) => refusal.into(),
            }
        })
    }
}

/// The network of a call. A step of the author whose commands are confined lends no wider one to what executes.
fn network(plugin: &Plugin, context: &CallContext<'_>) -> Result<NetworkAccess, Failure> {
    let (_, confined) =
        confinement::of_author(context.processes, context.confined.now(), Vec::new())?;
    Ok(match (plugin.network, confined.map(|confined| confined.opening().network)) {
        (own, None | Some(NetworkAccess::Open)) => own,
        (NetworkAccess::None, _) | (_, Some(NetworkAccess::None)) => NetworkAccess::None,
        (_, Some(NetworkAccess::Loopback)) => NetworkAccess::Loopback,
    })
}

/// Says why a plugin that failed had no project.
fn explained(result: CallResult, plugin: &Plugin, call: &Call) -> CallResult {
    let caller = match &call.caller {
        Caller::Specialist { id, .. } => id.as_str(),
        Caller::Author => "the step",
    };
    let id = &plugin.id;
    let why = format!(
        "the program ran without the project, because `{caller}` does not have its network: set `requires_approval: true` \
         for `plugin:{id}` in `tools.security`, so that a person lends it, or `network: open` in the specialist"
    );
    let failure = result.failure.map(|failure| match failure.help.clone() {
        Some(help) => failure.help(format!("{help}. {why}")),
        None => failure.help(why),
    });
    CallResult { failure, ..result }
}

fn prepare(plugin: &Plugin, call: &Call, context: &CallContext<'_>) -> Result<Spawn, Refusal> {
    if plugin.argv.is_empty() {
        let message = format!("the plugin `{}` has no program", plugin.id);
        let failure = Failure::new(Code::COMMAND_NOT_STARTED, message);
        let help = format!("add `argv` to its definition in `{}`", plugin.path);
        return Err(Refusal::failed(failure.help(help)));
    }
    let mut env = call.env.clone();
    env.push(("KB_TOOL".to_owned(), plugin.id.to_string()));
    Ok(Spawn {
        argv: plugin.argv.clone(),
        own_program: false,
        cwd: context.files.cwd("")?,
        env,
        stdin: json_text(&call.args).into_bytes(),
        timeout: [plugin.timeout].into_iter().chain(context.limit).min(),
        idle: context.idle,
        max_stream: limits::STREAM_BYTES,
    })
}

/// The result of a call: the output, if the program exited with 0 and its output satisfies the schema.
fn result(
    plugin: &Plugin,
    exited: &ProcessResult,
    timeout: Option<Duration>,
    redactor: &Redactor,
) -> CallResult {
    if let Some((status, failure)) = failure(plugin, exited, timeout) {
        return CallResult::failed(status, failure);
    }
    match output(plugin, exited, redactor) {
        Ok(output) => {
            let evidence = receipts(&output);
            CallResult { evidence, ..CallResult::success(output) }
        }
        Err(failure) => CallResult::failed(InvocationStatus::Failed, *failure),
    }
}

/// Why a program did not end as it should; `None` after exit code 0.
fn failure(
    plugin: &Plugin,
    exited: &ProcessResult,
    timeout: Option<Duration>,
) -> Option<(InvocationStatus, Failure)> {
    let id = &plugin.id;
    let failed = |code: Code, text: String| {
        Some((InvocationStatus::Failed, Failure::new(code, format!("the plugin `{id}` {text}"))))
    };
    match &exited.end {
        ProcessEnd::Code(0) => None,
        ProcessEnd::Code(code) => {
            failed(Code::PLUGIN_FAILED, format!("exited with code {code}{}", said(exited)))
        }
        ProcessEnd::Signal(signal) => {
            failed(Code::PLUGIN_FAILED, format!("was killed by signal {signal}{}", said(exited)))
        }
        ProcessEnd::TimedOut | ProcessEnd::Idle => {
            let limit = timeout.map(|timeout| format!(" after {}", format_duration(timeout)));
            let message = format!("the plugin `{id}` timed out{}", limit.unwrap_or_default());
            let help = "set `timeout` of the plugin if it needs longer";
            let failure = Failure::new(Code::COMMAND_TIMED_OUT, message).help(help);
            Some((InvocationStatus::Timeout, failure))
        }
        ProcessEnd::Cancelled => failed(Code::TOOL_STOPPED, "was cancelled".to_owned()),
        ProcessEnd::Lost => {
            let failure = Failure::new(Code::WORKER_KILLED, ProcessEnd::LOST);
            Some((InvocationStatus::Failed, failure))
        }
        ProcessEnd::NotStarted(why) => {
            failed(Code::COMMAND_NOT_STARTED, format!("could not be started: {why}"))
        }
    }
}

/// The last line of stderr, for a message.
fn said(exited: &ProcessResult) -> String {
    let last = exited.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let cut = |line: &str| line.chars().take(STDERR_CHARS).collect::<String>();
    last.map(|line| format!(": {}", cut(line))).unwrap_or_default()
}

/// The output, masked: this is what the caller sees, so this must satisfy the schema.
fn output(
    plugin: &Plugin,
    exited: &ProcessResult,
    redactor: &Redactor,
) -> Result<Json, Box<Failure>> {
    let id = &plugin.id;
    let unusable = |message: String| {
        let help = "the program writes one JSON value to stdout, and messages to stderr";
        Box::new(Failure::new(Code::PLUGIN_OUTPUT, message).help(help))
    };
    if exited.stdout_cut > 0 {
        let kib = limits::STREAM_BYTES >> 10;
        return Err(unusable(format!("the plugin `{id}` wrote more than {kib} KiB to stdout")));
    }
    let parsed: Json = serde_json::from_str(exited.stdout.trim()).map_err(|error| {
        unusable(if exited.stdout.trim().is_empty() {
            format!("the plugin `{id}` wrote nothing to stdout")
        } else {
            format!("the output of the plugin `{id}` is not JSON: {error}")
        })
    })?;
    let output = redactor.mask_json(&parsed);
    match mismatch(&format!("the plugin `{id}`"), &plugin.output, &output) {
        None => Ok(output),
        Some(failure) => {
            let help = "correct the program, or `output.schema` of the plugin";
            Err(Box::new(failure.help(help)))
        }
    }
}

/// Why the output of a tool does not satisfy its schema; `None` if it does.
pub(super) fn mismatch(tool: &str, schema: &Schema, output: &Json) -> Option<Failure> {
    let violations = schema.violations(output);
    let lines = violations.iter().take(VIOLATIONS);
    let lines: Vec<String> =
        lines.map(|found| format!("output{}: {}", found.pointer, found.message)).collect();
    let message = format!("the output of {tool} does not match its schema: {}", lines.join("; "));
    (!violations.is_empty()).then(|| Failure::new(Code::PLUGIN_OUTPUT, message))
}

/// The receipts of a call: the digest of the output, and `receipt` or `receiptId` in it.
pub(super) fn receipts(output: &Json) -> Vec<EvidenceRef> {
    let digest = Digest::of_json(output);
    let receipt = |reference: String| EvidenceRef {
        kind: EvidenceKind::Receipt,
        reference,
        sha256: Some(digest),
        status: None,
    };
    let own = ["receipt", "receiptId"].iter().filter_map(|key| output.get(key)?.as_str());
    let own = own.filter(|text| text.len() <= RECEIPT_BYTES).map(str::to_owned);
    std::iter::once(digest.to_string()).chain(own).map(receipt).collect()
}
