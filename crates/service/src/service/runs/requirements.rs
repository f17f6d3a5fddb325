//! `requires:`: what must hold before a run is created. All problems are reported at once.

use super::ProjectContext;
use crate::service::ServiceError;
use kb_base::diagnostic::{Code, Diagnostic, Sources, Span};
use kb_host::git::Git;
use kb_host::workspace::Workspace;
use kb_language::definition::{NetworkAccess, Requirements, Settings};
use kb_language::plan::Plan;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// Checks the requirements of a playbook and of all child runs that it leads to.
pub(super) async fn check(
    plan: &Plan,
    context: &ProjectContext,
    settings: &Arc<Settings>,
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
        && let Some((message, help)) = changes(&context.opening(&plan.opened()), settings).await
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
        let found = if name.contains('/') {
            is_program(&context.root.join(name))
        } else {
            path.split(':')
                .filter(|folder| folder.starts_with('/'))
                .any(|folder| is_program(&Path::new(folder).join(name)))
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
async fn changes(context: &ProjectContext, settings: &Arc<Settings>) -> Option<(String, String)> {
    // A project folder that cannot be opened is reported when the run is assembled.
    let processes = context.processes(settings).ok()?;
    let confined = processes.confined(&NetworkAccess::None.into(), Vec::new());
    let confined = match confined {
        Ok(confined) => confined,
        Err(failure) => return Some((failure.message, failure.help.unwrap_or_default())),
    };
    let git = Git::new(&confined);
    match git.status(&context.root, processes.can_confine()).await {
        Ok(lines) if lines.trim().is_empty() => None,
        Ok(lines) => {
            let count = lines.lines().count();
            let first = lines.lines().next().unwrap_or("").get(3..).unwrap_or("").to_owned();
            let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            let message = format!("the work tree has changes: `{first}`{more}");
            Some((message, "commit them, or put them aside with `git stash -u`".to_owned()))
        }
        Err(failure) => {
            let help = if failure.message.contains("did not start") {
                "install git, in a folder of PATH outside of the project"
            } else {
                "the project must be a git work tree"
            };
            Some((failure.message, help.to_owned()))
        }
    }
}
