//! Runs the playbook of one test: starts it, replies for people, interrupts and resumes it.

use super::expectations::{Finished, problems};
use super::folder::TestFolder;
use super::questions::{OpenQuestion, open_questions};
use super::report::{PlaybookTest, failed};
use crate::project::ProjectFolder;
use crate::service::runs::{
    self, Decision, Doubles, Overrides, Prepared, ProjectContext, Replied, ReplyRequest, post_reply,
};
use crate::service::{Environment, Project, ServiceError, StartRequest, difference, start};
use kb_attempt::run_blocking;
use kb_base::diagnostic::{Code, Diagnostic};
use kb_base::value::{Json, json_text};
use kb_core::run::RunStatus;
use kb_engine::engine::Summary;
use kb_host::workspace::Workspace;
use kb_language::definition::{FaultKind, TestReply, TestScript};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;

/// Time limit of a test that sets none.
const LIMIT: Duration = Duration::from_secs(60);
/// Maximum number of replies in one test.
const MAX_REPLIES: usize = 1000;

/// What differs from the expected result, and the snapshot that was written.
pub(super) type Checked = Result<(Vec<Diagnostic>, Option<String>), Box<Diagnostic>>;

/// Runs one test in a project of its own and checks its expectations.
pub(super) async fn play(
    project: &Arc<Project>,
    test: &Arc<PlaybookTest>,
    folder: &TestFolder,
    update: bool,
) -> Checked {
    let case = &test.case;
    let refused = |message: String| Box::new(failed(case, message));
    run_blocking(|| folder.fill(project, test)).map_err(refused)?;
    if case.git {
        folder.commit(project).await.map_err(refused)?;
    }
    let request = request(project, test, folder).map_err(refused)?;
    let environment = Environment {
        home: project.context.environment.home.clone(),
        processors: project.context.environment.processors,
        redactors: project.context.environment.redactors.clone(),
        ..Environment::new(
            folder.project(),
            folder.variables(project, test),
            project.clock().clone(),
        )
    };
    let mut own = Project::load(ProjectFolder::at(&folder.project()), &environment);
    own.context.doubles = Doubles::of(case, project.clock());
    own.context = own.context.beside(&project.context);
    let context = own.context.clone();
    let workspace = Workspace::open(&context.root, &[], &[])
        .map_err(|error| refused(format!("the project of the test cannot be opened: {error}")))?;
    let before = run_blocking(|| workspace.manifest());
    let limit = case.timeout.unwrap_or(LIMIT);
    let playing = Playing { test, context: context.clone() };
    let (run, status) = match tokio::time::timeout(limit, playing.run(own, request)).await {
        Ok(ended) => ended?,
        Err(_) => {
            let limit = kb_base::value::format_duration(limit);
            let found = failed(case, format!("the test did not end within {limit}"));
            return Err(Box::new(found.help("give it more time with `timeout: 5m`")));
        }
    };
    let changes = workspace.changes(&before, &workspace.manifest());
    let finished = Finished { test, context: &context, run: &run, status, changes: &changes };
    problems(&finished, &project.context.root, update).map_err(|error| refused(described(&error)))
}

/// The request that starts the run of a test.
fn request(
    project: &Project,
    test: &PlaybookTest,
    folder: &TestFolder,
) -> Result<StartRequest, String> {
    let case = &test.case;
    let write = |name: &str, text: &str| {
        let path = folder.file(name);
        std::fs::write(&path, text).map_err(|error| format!("`{}`: {error}", path.display()))?;
        Ok::<PathBuf, String>(path)
    };
    let params_file = if case.params.is_empty() {
        None
    } else {
        Some(write("params.json", &json_text(&Json::Object(case.params.clone())))?)
    };
    let script = match &case.script {
        Some(TestScript::Text { text, .. }) => write("script.json", text)?,
        Some(TestScript::File(path)) => {
            let beside = Path::new(&test.file).parent().unwrap_or(Path::new(""));
            let path = project.context.root.join(beside).join(&path.value);
            if !path.is_file() {
                return Err(format!("the script `{}` does not exist", path.display()));
            }
            path
        }
        None => write("script.json", r#"{"schema": "kb.script/1", "steps": {}}"#)?,
    };
    let overrides = Overrides { max_parallel: case.max_parallel, ..Overrides::default() };
    let definition = case.playbook.value.clone();
    let script = Some(script);
    Ok(StartRequest { definition, params_file, script, overrides, ..StartRequest::default() })
}

struct Playing<'a> {
    test: &'a PlaybookTest,
    context: ProjectContext,
}

type Played<T> = Result<T, Box<Diagnostic>>;

impl Playing<'_> {
    /// Drives the run until it ends or waits for a reply that the test does not have.
    async fn run(self, project: Project, request: StartRequest) -> Played<(String, RunStatus)> {
        let mut prepared = start(project, request, None).await.map_err(|e| self.error(&e))?;
        let run = prepared.run().to_string();
        for _ in 0..MAX_REPLIES {
            let status = self.drive(prepared).await?;
            let next = match status {
                RunStatus::Interrupted => Some(self.resume(&run)?),
                RunStatus::Waiting => self.after_waiting(&run)?,
                RunStatus::Running
                | RunStatus::Succeeded
                | RunStatus::Failed
                | RunStatus::Cancelled => None,
            };
            prepared = match next {
                Some(prepared) => prepared,
                None => return Ok((run, status)),
            };
        }
        let message = format!("the run asked for more than {MAX_REPLIES} replies");
        Err(Box::new(failed(&self.test.case, message)))
    }

    /// Drives the run until it ends, waits or is interrupted by a fault.
    async fn drive(&self, prepared: Prepared) -> Played<RunStatus> {
        let _busy = self.context.run_clock().busy();
        let (_control, commands) = unbounded_channel();
        match prepared.drive(None, commands).await {
            Ok(Summary { status, .. }) => Ok(status),
            // An injected fault: the run is left as it is, and there is space again.
            Err(error) if error.code() == Some(Code::JOURNAL_FULL) && self.has_full_disk() => {
                Ok(RunStatus::Interrupted)
            }
            Err(error) => Err(self.error(&error)),
        }
    }

    fn has_full_disk(&self) -> bool {
        let faults = &self.test.case.faults;
        faults.iter().any(|fault| fault.kind == FaultKind::DiskFull)
    }

    fn resume(&self, run: &str) -> Played<Prepared> {
        run_blocking(|| runs::resume(self.context.clone(), run, &Overrides::default()))
            .map_err(|error| self.error(&error))
    }

    /// A reply of the test, or the end of the time in which people can reply.
    fn after_waiting(&self, run: &str) -> Played<Option<Prepared>> {
        let questions = open_questions(&self.context, run).map_err(|error| self.error(&error))?;
        for question in &questions {
            if let Some(reply) = question.reply(&self.test.case.answers)
                && let Some(prepared) = self.reply(run, question, reply)?
            {
                return Ok(Some(prepared));
            }
        }
        let expected = self.test.case.expect.status.as_ref();
        if expected.is_some_and(|status| status.value == RunStatus::Waiting) {
            return Ok(None);
        }
        let Some(due) = questions.iter().filter_map(|question| question.due).min() else {
            return Ok(None);
        };
        self.context.run_clock().skip_to(due);
        self.resume(run).map(Some)
    }

    /// Replies to a question of the run or of a child run; `None` if the reply has no effect.
    fn reply(
        &self,
        run: &str,
        question: &OpenQuestion,
        reply: &TestReply,
    ) -> Played<Option<Prepared>> {
        let (decision, comment) = match reply {
            TestReply::Approve(comment) => (Decision::Approve, comment.clone()),
            TestReply::Reject(comment) => (Decision::Reject, comment.clone()),
            TestReply::Answer(Json::String(text)) => (Decision::Answer(text.clone()), None),
            TestReply::Answer(value) => (Decision::Answer(json_text(value)), None),
        };
        let step = Some(question.instance.clone());
        let by = "test".to_owned();
        // A test stands for a person who has read the changes.
        let difference = difference(&self.context, &question.run);
        let seen = difference.map_err(|error| self.error(&error))?.seen();
        let request = ReplyRequest { step, decision, comment, by, about: None, seen };
        if question.run != run {
            // The child run reads the reply when its parent opens it again.
            let journal = self.context.journal(Default::default()).map_err(ServiceError::from);
            let posted = journal
                .and_then(|journal| {
                    post_reply(&*journal, &question.run, &request, self.context.clock().wall())
                })
                .map_err(|error| self.error(&error))?;
            return posted.is_first.then(|| self.resume(run)).transpose();
        }
        match run_blocking(|| runs::reply(self.context.clone(), run, request)) {
            Ok(Replied::Ready(prepared)) => Ok(Some(*prepared)),
            Ok(Replied::Delivered(_)) => Ok(None),
            Err(error) => Err(self.error(&error)),
        }
    }

    fn error(&self, error: &ServiceError) -> Box<Diagnostic> {
        let found = failed(&self.test.case, described(error));
        Box::new(match (error, error.help()) {
            (ServiceError::Definitions { diagnostics, .. }, _) => {
                match diagnostics.iter().find_map(|problem| problem.help.clone()) {
                    Some(help) => found.help(help),
                    None => found,
                }
            }
            (_, Some(help)) => found.help(help),
            (_, None) => found,
        })
    }
}

/// The message of an error, with the messages of all its problems.
fn described(error: &ServiceError) -> String {
    match error {
        ServiceError::Definitions { diagnostics, .. } => {
            let errors = diagnostics.iter().filter(|problem| problem.is_error());
            let messages = errors.map(|problem| format!("{}: {}", problem.code, problem.message));
            format!("the run did not start: {}", messages.collect::<Vec<_>>().join("; "))
        }
        other => other.to_string(),
    }
}
