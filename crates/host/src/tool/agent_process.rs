//! The process of a coding agent: where it runs, what is compared around it, and what it may do in its own way.

use super::call::{Call, Caller, Refusal};
use super::toolbox::Toolbox;
use super::watched_process::{Origin, Records, WatchedStart, Watching};
use super::written_files::Lending;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, limits};
use kb_core::evidence::{Change, ProcessEvidence};
use kb_language::definition::{AgentTools, NetworkAccess};
use kb_language::toolspec::COMMAND_RUNNER;
use kb_process::{ProcessResult, Session, Spawn};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;

/// How a coding agent is started.
#[derive(Debug, Clone)]
pub struct AgentStart {
    /// The id of the specialist.
    pub specialist: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The values of its variables.
    pub env: Vec<(String, String)>,
    /// Working directory relative to the workspace root; empty is the root.
    pub cwd: String,
    /// The network that it can use.
    pub network: NetworkAccess,
    /// Whether it gets a secret.
    pub has_secret: bool,
    /// Which tools it works with.
    pub tools: AgentTools,
    /// Whether it may change files of the project by itself.
    pub writes: bool,
    /// Whether the changes of files are recorded.
    pub evidence: bool,
    /// Its home folder; `None`: a temporary one.
    pub home: Option<PathBuf>,
}

/// A coding agent that has started.
pub struct AgentProcess {
    toolbox: Toolbox,
    watching: Watching,
    evidence: bool,
    /// The absolute path of its working directory.
    pub cwd: String,
    /// A folder that its processes see.
    pub folder: Option<PathBuf>,
    /// Whether it sees the project: what it does there by itself is compared.
    sees_project: bool,
}

/// What is known of a coding agent that has ended.
#[derive(Debug)]
pub struct AgentEnd {
    /// The trace of its process.
    pub process: ProcessEvidence,
    /// The files that it changed.
    pub changes: Vec<Change>,
    /// The reason if it changed protected paths.
    pub failure: Option<Failure>,
}

impl Toolbox {
    /// Starts a coding agent in the sandbox. It can start commands there, so it is refused where the settings or the
    /// sandbox level refuse those of a specialist. The files that it changes from here on are compared at its end.
    pub async fn start_agent(
        &self,
        start: AgentStart,
        cancel: &CancellationToken,
    ) -> Result<(Session, AgentProcess), Failure> {
        let AgentStart { specialist, argv, mut env, cwd, network, has_secret, .. } = start;
        let AgentStart { tools, writes, evidence, home, .. } = start;
        let caller = Caller::Specialist {
            id: specialist.clone(),
            allow_list: vec![COMMAND_RUNNER.to_owned()],
            network,
        };
        self.may_start(&specialist, &caller)?;
        let files = self.context(&self.tools().entry(COMMAND_RUNNER)).files;
        let cwd = files.cwd(&cwd).map_err(|error| error.failure())?;
        let processes = &self.shared.processes;
        // With the tools of `kb`, the project exists only behind them.
        let sees_project = tools == AgentTools::Own || !processes.can_confine();
        let is_lent = network == NetworkAccess::Open || has_secret || self.has_secret(&env);
        let starts_at_home = is_lent || !sees_project;
        if starts_at_home {
            env.push(self.path_outside((&argv, &env), is_lent, sees_project)?);
        }
        let spawn = Spawn {
            argv,
            own_program: false,
            cwd: cwd.clone(),
            env,
            stdin: Vec::new(),
            timeout: None,
            idle: None,
            max_stream: limits::STREAM_BYTES,
        };
        let hidden = processes.hidden(&caller).await?;
        let scratch = self.scratch;
        let program = kb_process::this_program();
        let supervisor = |nested| {
            let supervisor = if !sees_project {
                processes.without_workspace(network)?
            } else if writes {
                processes.of(&caller, scratch, nested, hidden.clone())?
            } else {
                processes.of_server(network, hidden.clone())?
            };
            let supervisor = match &home {
                Some(home) => supervisor.with_home(home.clone()),
                None => supervisor.with_own_home(),
            };
            let supervisor = supervisor.also_reading(program.clone());
            Ok(if starts_at_home { supervisor.started_at_home() } else { supervisor })
        };
        let evidence = evidence && sees_project;
        let start = self.watch_agent(evidence);
        let watching = start.watch(&spawn, Origin::Others(&supervisor)).await?;
        let session = watching.supervisor.session(spawn, cancel).await;
        let session = session.map_err(|reason| not_started(&reason))?;
        self.in_session.store(sees_project, Ordering::Release);
        let toolbox = self.clone();
        let folder = watching.supervisor.private_directory();
        let own = home.or(folder.clone()).filter(|_| !sees_project);
        let cwd = own.unwrap_or(cwd).display().to_string();
        Ok((session, AgentProcess { toolbox, watching, evidence, cwd, folder, sees_project }))
    }

    /// The `PATH` of an agent that must not execute the project on the way to its program. Fails if its command or its
    /// variables lead there.
    fn path_outside(
        &self,
        (argv, env): (&[String], &[(String, String)]),
        is_lent: bool,
        sees_project: bool,
    ) -> Result<(String, String), Failure> {
        let processes = &self.shared.processes;
        let lent = if is_lent { Lending::MORE } else { Lending::KB_TOOLS };
        // An agent that sees the project inherits variables that could lead there too.
        let passed = processes.base().iter().filter(|(name, _)| sees_project && *name != "HOME");
        let passed = passed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let all: Vec<(String, String)> = passed.chain(env.iter().cloned()).collect();
        processes.require_outside((argv, &all), lent).map_err(|why| {
            let help = format!("install the agent outside of the project, or {}", lent.instead);
            Failure::new(Code::AGENT_NOT_STARTED, why).help(help)
        })
    }

    /// Whether a variable has the value of a secret, whichever definition gave it.
    fn has_secret(&self, env: &[(String, String)]) -> bool {
        env.iter().any(|(_, value)| self.shared.redactor.written_in(value).is_some())
    }

    fn may_start(&self, specialist: &str, caller: &Caller) -> Result<(), Failure> {
        let call = Call {
            id: String::new(),
            tool: COMMAND_RUNNER.to_owned(),
            args: serde_json::Value::Null,
            caller: caller.clone(),
            env: Vec::new(),
            cwd: String::new(),
            evidence: false,
            approved: false,
            answers: Default::default(),
        };
        self.permits(&call).map_err(|refusal| {
            let (Refusal::Denied(failure) | Refusal::Failed(failure)) = refusal;
            let message = format!(
                "the agent of `{specialist}` can start commands, as `{COMMAND_RUNNER}` does: {}",
                failure.message
            );
            let refused = Failure::new(failure.code, message);
            match failure.help {
                Some(help) => refused.help(help),
                None => refused,
            }
        })
    }

    /// Whether the policy permits a call, without its arguments.
    fn permits(&self, call: &Call) -> Result<(), Refusal> {
        let spec = self.tools().entry(&call.tool);
        self.shared.policy.permit(&spec, call, self.tools())
    }

    fn watch_agent(&self, evidence: bool) -> WatchedStart<'_> {
        WatchedStart {
            workspace: &self.shared.workspace,
            processes: &self.shared.processes,
            redactor: &self.shared.redactor,
            clock: self.shared.parts.clock.system(),
            records: if evidence { Records::All } else { Records::Protected },
        }
    }

    /// Why a coding agent must not do by itself what a tool of `kb` does, with these paths; `None` if it may.
    pub fn refusal(&self, call: &Call, paths: &[String]) -> Option<Failure> {
        let failure = |refusal| match refusal {
            Refusal::Denied(failure) | Refusal::Failed(failure) => Some(*failure),
        };
        if let Err(refusal) = self.permits(call) {
            return failure(refusal);
        }
        let spec = self.tools().entry(&call.tool);
        let (files, writes) = (self.context(&spec).files, spec.writes);
        paths.iter().find_map(|path| {
            let found = if writes {
                files.writable(path, true).map(drop)
            } else {
                match files.locate(path) {
                    // It finds that out by itself.
                    Err(error) if error.failure().code == Code::PATH_MISSING => Ok(()),
                    other => other.map(drop),
                }
            };
            found.err().map(|error| error.failure())
        })
    }
}

impl AgentProcess {
    /// Whether it sees the project and could change it by itself.
    pub fn sees_project(&self) -> bool {
        self.sees_project
    }

    /// The files that it changed since its start, or since this was asked before. `None` if there are none.
    pub async fn changes_so_far(&mut self) -> Option<Vec<Change>> {
        self.toolbox.watch_agent(self.evidence).so_far(&mut self.watching).await
    }

    /// Compares the files after the end of the process.
    pub async fn end(self, exited: ProcessResult) -> AgentEnd {
        let AgentProcess { toolbox, watching, evidence, .. } = self;
        let ended = toolbox.watch_agent(evidence).end(watching, exited).await;
        toolbox.in_session.store(false, Ordering::Release);
        AgentEnd { process: ended.process, changes: ended.changes, failure: ended.failure }
    }
}

/// The failure of an agent that did not start for this reason.
fn not_started(reason: &str) -> Failure {
    Failure::new(Code::AGENT_NOT_STARTED, format!("did not start: {reason}"))
}
