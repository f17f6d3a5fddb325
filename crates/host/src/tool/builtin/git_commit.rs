//! `git:commit`: commits the changes of some paths with `kb`'s own git.

use crate::git::Git;
use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, arguments};
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::evidence::{EvidenceKind, EvidenceRef};
use serde::Deserialize;
use serde_json::json;
use std::path::{Component, Path};
use tokio_util::sync::CancellationToken;

/// The implementation of `git:commit`.
pub(super) struct GitCommit;

#[derive(Deserialize)]
struct Args {
    paths: Vec<String>,
    message: String,
}

impl Tool for GitCommit {
    fn name(&self) -> &'static str {
        "git:commit"
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match arguments::<Args>(call) {
                Ok(args) => commit(&args, context).await.into(),
                Err(refusal) => refusal.into(),
            }
        })
    }
}

async fn commit(args: &Args, context: &CallContext<'_>) -> Result<CallResult, Refusal> {
    let root = context.files.workspace.root();
    let git = Git::new(context.processes.unconfined()).failing_without_filters();
    // A path is no pattern and no option, and lies in the project.
    args.paths.iter().try_for_each(|path| require_inside(path))?;
    let with_paths = |command: &[&'static str]| -> Vec<String> {
        let command = command.iter().map(|word| (*word).to_owned());
        command.chain(["--".to_owned()]).chain(args.paths.iter().cloned()).collect()
    };
    let run = async |words: &[String], stdin: &str| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        git.run_with(root, &words, stdin).await.map_err(|failure| {
            let help = if failure.message.contains("clean filter") {
                Some(
                    "`git:commit` executes no filter; commit the file with `run: git commit` and \
                     `sandbox: {write: [.git]}` in that step"
                        .to_owned(),
                )
            } else {
                failure.help.clone()
            };
            failed(Failure { help, ..*failure })
        })
    };
    // What is staged can be read from the repository, so the rules are asked before.
    let changed = [
        "--literal-pathspecs",
        "ls-files",
        "-z",
        "--modified",
        "--deleted",
        "--others",
        "--exclude-standard",
    ];
    require_permitted(&run(&with_paths(&changed), "").await?, context)?;
    run(&with_paths(&["--literal-pathspecs", "add", "--all"]), "").await?;
    let staged = ["--literal-pathspecs", "diff", "--cached", "--relative", "--name-only", "-z"];
    let staged = run(&with_paths(&staged), "").await?;
    let files = require_permitted(&staged, context)?;
    if files.is_empty() {
        return Ok(CallResult::success(json!({"commit": null, "files": []})));
    }
    let mut words = git.identity(root).await;
    words.extend(with_paths(&[
        "--literal-pathspecs",
        "commit",
        "--quiet",
        "--no-verify",
        "--cleanup=whitespace",
        "--file=-",
    ]));
    run(&words, &args.message).await?;
    let made = git.run(root, &["rev-parse", "HEAD"]).await.map_err(|failure| failed(*failure))?;
    let mut result = CallResult::success(json!({"commit": made.trim(), "files": files}));
    let reference = made.trim().to_owned();
    result.evidence.push(EvidenceRef {
        kind: EvidenceKind::Receipt,
        reference,
        sha256: None,
        status: None,
    });
    Ok(result)
}

/// The paths of a list of git, if the path rules of the tool, which include those for reading, permit each.
fn require_permitted<'p>(
    listed: &'p str,
    context: &CallContext<'_>,
) -> Result<Vec<&'p str>, Refusal> {
    let files: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    match files.iter().find(|path| !context.files.permit(path)) {
        None => Ok(files),
        Some(path) => {
            let message = format!("`{path}` must not be committed: the path rules forbid it");
            Err(Refusal::denied(Failure::new(Code::POLICY_DENIED, message)))
        }
    }
}

fn require_inside(path: &str) -> Result<(), Refusal> {
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if Path::new(path).components().all(stays) {
        return Ok(());
    }
    let message = format!("`{path}` is no path below the project folder");
    Err(Refusal::denied(Failure::new(Code::PATH_OUTSIDE, message)))
}

fn failed(failure: Failure) -> Refusal {
    Refusal::failed(Failure { code: Code::COMMAND_FAILED, ..failure })
}
