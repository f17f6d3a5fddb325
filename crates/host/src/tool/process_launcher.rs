//! Starting the processes of steps, tools and checks: confined by the kernel if a specialist may have
//! written the code.

use super::call::Caller;
use super::opened_paths::{OpenedPaths, require_state_apart, require_unseen};
use super::policy::{Approvals, Policy};
use super::process_trace::ProcessTrace;
use crate::workspace::{PathRules, TooManyHidden, Workspace, own_path, repository_outside};
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::redaction::Redactor;
use kb_language::definition::{
    ApprovalLevel, AuthorSandbox, NetworkAccess, SandboxOpening, Settings,
};
use kb_language::toolspec::{FILE_READER, built_in};
use kb_process::{
    BaseEnvironment, Confinement, KernelSandbox, Network, SandboxCap, Spawn, Supervisor,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Starts processes in the workspace, with or without the kernel sandbox. Cheap to clone.
#[derive(Clone)]
pub struct ProcessLauncher {
    supervisor: Supervisor,
    workspace: Workspace,
    settings: Arc<Settings>,
    level: ApprovalLevel,
    /// The path rules for reading.
    reading: PathRules,
    /// Whether a person approved everything in advance.
    approved: bool,
    /// The temporary directories of commands of the author, by what their sandbox opens.
    scratches: Arc<Mutex<Vec<(SandboxOpening, u64)>>>,
    /// Whether the state of `kb` is out of reach of commands. What is so once cannot be changed by a command.
    state_is_apart: Arc<OnceLock<Result<(), Failure>>>,
}

impl ProcessLauncher {
    /// Creates a launcher. `level` is the sandbox level that this machine reaches; the settings add
    /// paths that confined processes may read or write.
    pub fn new(
        supervisor: Supervisor,
        workspace: Workspace,
        settings: Arc<Settings>,
        level: ApprovalLevel,
    ) -> ProcessLauncher {
        let policy = Policy::new(settings.clone(), Approvals::default(), level);
        let reading = policy.path_rules(&built_in().entry(FILE_READER));
        ProcessLauncher {
            supervisor,
            workspace,
            settings,
            level,
            reading,
            approved: false,
            scratches: Arc::default(),
            state_is_apart: Arc::default(),
        }
    }

    /// The same launcher for a run in which a person approved in advance what requires an approval.
    #[must_use]
    pub fn with_approval(self, approved: bool) -> ProcessLauncher {
        ProcessLauncher { approved, ..self }
    }

    /// Whether a person approved everything in advance.
    pub(super) fn is_approved(&self) -> bool {
        self.approved
    }

    /// The private hosts that requests may reach.
    pub(super) fn private_hosts(&self) -> &[String] {
        &self.settings.tools.http.allow_private
    }

    /// The same launcher for other files.
    #[must_use]
    pub fn within(&self, workspace: &Workspace) -> ProcessLauncher {
        let is_same = workspace.root() == self.workspace.root();
        let scratches = if is_same { self.scratches.clone() } else { Arc::default() };
        let state_is_apart = if is_same { self.state_is_apart.clone() } else { Arc::default() };
        ProcessLauncher { workspace: workspace.clone(), scratches, state_is_apart, ..self.clone() }
    }

    /// Starts processes of the author of a playbook, without the sandbox.
    pub fn unconfined(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Starts processes that check the work of a specialist, which may have written the code that they
    /// execute, or reads foreign values. The kernel confines them where the sandbox level is `kernel`. `protected` are
    /// further protected paths. Fails if settings or the step open a path that cannot be opened.
    pub fn confined(
        &self,
        opening: &SandboxOpening,
        protected: Vec<PathBuf>,
    ) -> Result<Supervisor, Failure> {
        self.confined_in(opening, protected, next_scratch())
    }

    /// Starts commands of the author in the same sandbox. Those for which it opens the same share a temporary directory.
    pub(super) fn confined_author(
        &self,
        opening: &SandboxOpening,
        protected: Vec<PathBuf>,
    ) -> Result<Supervisor, Failure> {
        self.confined_in(opening, protected, self.scratch_of(opening))
    }

    fn confined_in(
        &self,
        opening: &SandboxOpening,
        protected: Vec<PathBuf>,
        scratch: u64,
    ) -> Result<Supervisor, Failure> {
        if self.level != ApprovalLevel::Kernel {
            return Ok(self.supervisor.clone());
        }
        let confinement = self.confinement(None, Some(opening))?.with_read_only(protected);
        let confinement = confinement.with_network(kernel(opening.network));
        Ok(self.supervisor.confined(confinement.with_scratch(scratch)))
    }

    /// The number of the temporary directory of commands for which the sandbox opens the same.
    fn scratch_of(&self, opening: &SandboxOpening) -> u64 {
        let mut known = self.scratches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, number)) = known.iter().find(|(own, _)| own == opening) {
            return *number;
        }
        let number = next_scratch();
        known.push((opening.clone(), number));
        number
    }

    /// Starts commands of the settings in the sandbox, where they can read the project and change nothing of it. Fails if
    /// they could read the state of `kb`.
    pub fn reading(&self, network: NetworkAccess) -> Result<Supervisor, Failure> {
        self.require_state_apart()?;
        let root = self.workspace.root();
        let mut opened = OpenedPaths::new(&self.workspace, &self.supervisor);
        let mut read = opened.readable(&self.settings.sandbox.read);
        let untrusted = self.base().untrusted().iter();
        let untrusted: Vec<String> = untrusted.map(|path| path.display().to_string()).collect();
        read.extend(opened.readable(&untrusted));
        let (hidden, _) = opened.closed();
        let confinement = Confinement::default().with_read([root.to_owned()]);
        let confinement = confinement.with_unwritten([root.to_owned()]);
        let confinement = confinement.with_read(repository_outside(root)).with_read(read);
        let confinement =
            confinement.with_hidden(hidden).with_hidden(self.workspace.state_inside());
        let confinement = confinement.with_network(kernel(network));
        Ok(self.supervisor.confined(confinement.with_scratch(next_scratch())))
    }

    /// Whether the settings say that the author trusts what commands execute.
    pub fn trusts_steps(&self) -> bool {
        self.settings.sandbox.steps.when == AuthorSandbox::Never
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn base(&self) -> &BaseEnvironment {
        self.supervisor.base()
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The project.
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// Whether the kernel confines the processes that [`ProcessLauncher::confined`] starts.
    pub fn can_confine(&self) -> bool {
        self.level == ApprovalLevel::Kernel
    }

    /// Starts recording a process that this launcher starts.
    pub fn trace(&self, spawn: &Spawn, redactor: &Redactor) -> ProcessTrace {
        ProcessTrace::begin(spawn, self.workspace.root(), self.base(), redactor)
    }

    /// The existing paths that a command of this caller must not read although they are in a directory
    /// that it can read. Empty without mount namespaces, which alone can hide them. Fails if there are
    /// too many.
    pub(super) async fn hidden(&self, caller: &Caller) -> Result<Vec<PathBuf>, Failure> {
        if self.confines(caller) { self.unreadable().await } else { Ok(Vec::new()) }
    }

    /// The existing paths of the project that neither commands of specialists nor servers may read.
    pub(super) async fn unreadable(&self) -> Result<Vec<PathBuf>, Failure> {
        let can_hide = self.can_confine() && self.supervisor.can_hide_paths();
        if self.reading.is_empty() || !can_hide {
            return Ok(Vec::new());
        }
        let (workspace, reading) = (self.workspace.clone(), self.reading.clone());
        let search = tokio::task::spawn_blocking(move || workspace.hidden_paths(&reading));
        search.await.unwrap_or(Err(TooManyHidden)).map_err(|TooManyHidden| {
            let message = "the path rules for reading forbid more files in this project than the \
                           sandbox can hide from a command";
            let help = "allow or deny directories instead of single files in `file_read` of \
                        `tools.security`, such as `src/**`";
            Failure::new(Code::POLICY_DENIED, message).help(help)
        })
    }

    /// Starts the processes of a tool call. Commands of a specialist can read only the part of the
    /// project that the path rules for reading allow. `protected` are further protected paths, `hidden`
    /// those that [`ProcessLauncher::hidden`] returned.
    pub(super) fn of(
        &self,
        caller: &Caller,
        scratch: u64,
        protected: Vec<PathBuf>,
        hidden: Vec<PathBuf>,
    ) -> Result<Supervisor, Failure> {
        match caller {
            Caller::Specialist { network, .. } if self.level == ApprovalLevel::Kernel => {
                let readable = self.reading.roots(self.workspace.root());
                let confinement = self.confinement(readable, None)?.with_read_only(protected);
                let confinement = confinement.with_hidden(hidden);
                let confinement = confinement.with_network(kernel(*network)).with_scratch(scratch);
                Ok(self.supervisor.confined(confinement))
            }
            Caller::Specialist { .. } | Caller::Author => Ok(self.supervisor.clone()),
        }
    }

    /// Starts the program of a plugin. The kernel confines it for every caller, because its input can
    /// come from a model, with the network that its definition names. Called by a specialist, it reads
    /// what the commands of the specialist can read.
    pub(super) fn of_plugin(
        &self,
        (caller, network): (&Caller, NetworkAccess),
        scratch: u64,
        protected: Vec<PathBuf>,
        hidden: Vec<PathBuf>,
    ) -> Result<Supervisor, Failure> {
        if self.level != ApprovalLevel::Kernel {
            return Ok(self.supervisor.clone());
        }
        let readable = match caller {
            Caller::Specialist { .. } => self.reading.roots(self.workspace.root()),
            Caller::Author => None,
        };
        let confinement = self.confinement(readable, None)?.with_read_only(protected);
        let confinement = confinement.with_hidden(hidden);
        let confinement = confinement.with_network(kernel(network)).with_scratch(scratch);
        Ok(self.supervisor.confined(confinement))
    }

    /// Starts a server of others for calls of a specialist or a step: it reads what commands of a specialist can read of the
    /// project, and changes nothing of it. What the settings open outside of the project is open to it.
    pub(super) fn of_server(
        &self,
        network: NetworkAccess,
        hidden: Vec<PathBuf>,
    ) -> Result<Supervisor, Failure> {
        if self.level != ApprovalLevel::Kernel {
            return Ok(self.supervisor.clone());
        }
        self.require_state_apart()?;
        let root = self.workspace.root();
        let mut opened = OpenedPaths::new(&self.workspace, &self.supervisor);
        let mut write = opened.writable(&self.settings.sandbox.write)?;
        write.retain(|path| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            !real.starts_with(root) && !root.starts_with(&real)
        });
        let read = opened.readable(&self.settings.sandbox.read);
        let (closed, read_only) = opened.closed();
        let project = self.readable().unwrap_or_else(|| vec![root.to_owned()]);
        let confinement = Confinement::default().with_read(project);
        let confinement = confinement.with_unwritten([root.to_owned()]);
        let confinement = confinement.with_read(repository_outside(root)).with_read(read);
        let confinement = confinement.with_write(write).with_read_only(read_only);
        let confinement = confinement.with_hidden(hidden).with_hidden(closed);
        let confinement = confinement.with_hidden(self.workspace.state_inside());
        let confinement = confinement.with_network(kernel(network)).with_scratch(next_scratch());
        Ok(self.supervisor.confined(confinement))
    }

    /// The folders of the project that commands of a specialist can read; `None`: all of it.
    pub(super) fn readable(&self) -> Option<Vec<PathBuf>> {
        self.reading.roots(self.workspace.root())
    }

    /// Whether a command in the sandbox may write to the repository of the project: a path opens it, or nothing can keep it
    /// read-only.
    pub(super) fn opens_git(&self, opening: Option<&SandboxOpening>) -> bool {
        let own = opening.map_or(&[][..], |opening| &opening.write);
        let git = self.workspace.root().join(".git");
        let mut opened = self.settings.sandbox.write.iter().chain(own);
        !self.can_confine()
            || !self.supervisor.can_hide_paths()
            || opened.any(|path| own_path(self.root(), Path::new(path)).is_some_and(|at| at == git))
    }

    /// Whether the kernel confines the processes of a caller.
    pub(super) fn confines(&self, caller: &Caller) -> bool {
        matches!(caller, Caller::Specialist { .. }) && self.level == ApprovalLevel::Kernel
    }

    /// Refuses to start processes that could read or write the state of `kb`.
    fn require_state_apart(&self) -> Result<(), Failure> {
        let is_apart = || require_state_apart(&self.workspace, &self.supervisor);
        self.state_is_apart.get_or_init(is_apart).clone()
    }

    /// The paths that confined processes may read and write: the project, and what the settings and the step add.
    /// If `readable` is given, the rest of the project can be written, but not read.
    fn confinement(
        &self,
        readable: Option<Vec<PathBuf>>,
        opening: Option<&SandboxOpening>,
    ) -> Result<Confinement, Failure> {
        let root = self.workspace.root();
        self.require_state_apart()?;
        let mut opened = OpenedPaths::new(&self.workspace, &self.supervisor);
        let mut write = opened.writable(&self.settings.sandbox.write)?;
        write.extend(opened.writable(opening.map_or(&[], |opening| &opening.write))?);
        let mut read = opened.readable(&self.settings.sandbox.read);
        read.extend(opened.readable(opening.map_or(&[], |opening| &opening.read)));
        let (hidden, read_only) = opened.closed();
        let git_data = write.iter().any(|path| *path == root.join(".git"));
        if readable.is_some() {
            require_unseen(root, &self.supervisor.confined(Confinement::default()))?;
        }
        let project = match readable {
            None => Confinement::to([root.to_owned()]),
            Some(readable) => Confinement::to(readable).with_write_only([root.to_owned()]),
        };
        Ok(project
            .with_read(repository_outside(root))
            .with_read(read)
            .with_write(write)
            .with_read_only(run_blocking(|| self.workspace.protected_now(git_data)))
            .with_read_only(read_only)
            .with_hidden(hidden)
            .with_hidden(self.workspace.state_inside()))
    }
}

/// A number for the temporary directory of sandboxed commands, which no other has.
pub(super) fn next_scratch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn kernel(network: NetworkAccess) -> Network {
    match network {
        NetworkAccess::Loopback => Network::Loopback,
        NetworkAccess::None => Network::None,
        NetworkAccess::Open => Network::Open,
    }
}

/// The sandbox level that this machine reaches, up to a maximum.
pub fn sandbox_level(cap: SandboxCap) -> ApprovalLevel {
    match cap {
        SandboxCap::None => ApprovalLevel::None,
        SandboxCap::Kernel if KernelSandbox::detect().is_some() => ApprovalLevel::Kernel,
        SandboxCap::Kernel | SandboxCap::Process => ApprovalLevel::Process,
    }
}
