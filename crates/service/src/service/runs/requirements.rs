//! `requires:`: what must hold before a run is created. All problems are reported at once.

use super::ProjectContext;
use crate::service::ServiceError;
use kb_base::diagnostic::{Code, Diagnostic, Sources, Span};
use kb_base::value::limits;
use kb_host::workspace::Workspace;
use kb_language::definition::{Requirements, Settings};
use kb_language::plan::Plan;
use kb_process::{ProcessEnd, Spawn};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum duration of `git status`.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// Checks the requirements of a playbook and of all child runs that it leads to.
pub(super) async fn check(
    plan: &Plan,
    context: &ProjectContext,
    settings: &Settings,
    sources: &Sources,
) -> Result<(), ServiceError> {
    let plans = plan.with_children();
    let all: Vec<&Requirements> = plans
        .iter()
        .map(|plan| &*plan.playbook().requires)
        .filter(|requires| !requires.is_empty())
        .collect();
    let mut problems = Vec::new();
    for requires in &all {
        tools(requires, context, &mut problems);
        files(requires, context, &mut problems);
        variables(requires, context, &mut problems);
    }
    let clean: Vec<Span> = all.iter().filter_map(|requires| requires.clean).collect();
    if !clean.is_empty()
        && let Some((message, help)) = changes(context, settings).await
    {
        problems.extend(clean.iter().map(|span| problem(*span, message.clone(), &help)));
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.sort_by_key(|problem| problem.span);
    Err(ServiceError::Definitions { diagnostics: problems, sources: Box::new(sources.clone()) })
}

fn problem(span: Span, message: String, help: &str) -> Diagnostic {
    Diagnostic::error(Code::REQUIREMENT_MISSING, span, message).help(help)
}

fn tools(requires: &Requirements, context: &ProjectContext, problems: &mut Vec<Diagnostic>) {
    let path = context.environment.variables.get("PATH").map_or("", String::as_str);
    for (name, span) in &requires.tools {
        let found = match name.contains('/') {
            true => is_program(&context.root.join(name)),
            false => path
                .split(':')
                .filter(|folder| folder.starts_with('/'))
                .any(|folder| is_program(&Path::new(folder).join(name))),
        };
        if !found {
            let message = format!("the program `{name}` is not in PATH");
            problems.push(problem(*span, message, "install it, or add its folder to PATH"));
        }
    }
}

fn is_program(path: &Path) -> bool {
    let file = path.metadata().ok().filter(std::fs::Metadata::is_file);
    file.is_some_and(|file| file.permissions().mode() & 0o111 != 0)
}

fn files(requires: &Requirements, context: &ProjectContext, problems: &mut Vec<Diagnostic>) {
    if requires.files.is_empty() {
        return;
    }
    // A project folder that cannot be opened is reported when the run is assembled.
    let Ok(workspace) = Workspace::open(&context.root, &[], &[]) else { return };
    for (pattern, span) in &requires.files {
        let (message, help) = match workspace.glob(pattern) {
            Ok(found) if !found.is_empty() => continue,
            Ok(_) => (
                format!("no file matches `{pattern}`"),
                "create it; paths are relative to the project folder".to_owned(),
            ),
            Err(error) => {
                let failure = error.failure();
                (failure.message, failure.help.unwrap_or_else(|| "correct the path".to_owned()))
            }
        };
        problems.push(problem(*span, message, &help));
    }
}

fn variables(requires: &Requirements, context: &ProjectContext, problems: &mut Vec<Diagnostic>) {
    for (name, span) in &requires.env {
        let message = match context.environment.variables.get(name) {
            Some(value) if !value.is_empty() => continue,
            Some(_) => format!("the variable `{name}` is empty"),
            None => format!("the variable `{name}` is not set"),
        };
        problems.push(problem(*span, message, &format!("set it: `export {name}=…`")));
    }
}

/// Why the project is not a clean git work tree, with the fix; `None` if it is.
async fn changes(context: &ProjectContext, settings: &Settings) -> Option<(String, String)> {
    let argv = ["git", "status", "--porcelain=v1", "--untracked-files=normal", "--", "."];
    let spawn = Spawn {
        argv: argv.map(str::to_owned).to_vec(),
        cwd: context.root.clone(),
        env: vec![("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned())],
        stdin: Vec::new(),
        timeout: Some(GIT_LIMIT),
        idle: None,
        max_stream: limits::STREAM_BYTES,
    };
    let supervisor = context.supervisor(settings);
    let found = supervisor.run(spawn, &CancellationToken::new(), None).await;
    let last = |text: &str| text.trim().lines().last().unwrap_or("no message").to_owned();
    match found.end {
        ProcessEnd::Code(0) if found.stdout.trim().is_empty() => None,
        ProcessEnd::Code(0) => {
            let count = found.stdout.lines().count();
            let first = found.stdout.lines().next().unwrap_or("").get(3..).unwrap_or("").to_owned();
            let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            let message = format!("the work tree has changes: `{first}`{more}");
            Some((message, "commit them, or put them aside with `git stash -u`".to_owned()))
        }
        ProcessEnd::Code(_) => Some((
            format!("`git status` failed: {}", last(&found.stderr)),
            "the project must be a git work tree".to_owned(),
        )),
        ProcessEnd::NotStarted(reason) => {
            Some((format!("`git` did not start: {reason}"), "install git".to_owned()))
        }
        ProcessEnd::Signal(_)
        | ProcessEnd::TimedOut
        | ProcessEnd::Idle
        | ProcessEnd::Cancelled
        | ProcessEnd::Lost => Some((
            "`git status` did not end".to_owned(),
            "run it yourself in the project folder".to_owned(),
        )),
    }
}
