//! The folder of a test: a project, its state and its temporary files.

use super::report::PlaybookTest;
use crate::service::Project;
use kb_base::value::Digest;
use kb_host::workspace::Workspace;
use kb_process::{BaseEnvironment, ProcessEnd, Spawn, Supervisor};
use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Variables of the environment of `kb` that tests have.
const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL"];
/// Time limit of one `git` command.
const GIT_LIMIT: Duration = Duration::from_secs(30);

/// The folder of a test. It is removed when the value is dropped, unless it is kept.
pub(super) struct TestFolder {
    path: PathBuf,
    keep: bool,
}

impl TestFolder {
    /// Creates an empty folder below the folder for temporary files.
    pub(super) fn create(temporary: &Path) -> io::Result<TestFolder> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let random = RandomState::new().hash_one(number);
        let seed = format!("{}/{number}/{random}", std::process::id());
        let path = temporary.join(format!("kb-test-{}", Digest::of(seed).short(10)));
        let folder = TestFolder { path, keep: false };
        for name in ["project", "state", "tmp"] {
            fs::create_dir_all(folder.path.join(name))?;
        }
        Ok(folder)
    }

    /// The project of the test.
    pub(super) fn project(&self) -> PathBuf {
        self.path.join("project")
    }

    /// A file of the test outside of its project.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Keeps the folder and returns its path.
    pub(super) fn keep(mut self) -> PathBuf {
        self.keep = true;
        self.path.clone()
    }

    /// The environment variables of the test.
    pub(super) fn variables(
        &self,
        project: &Project,
        test: &PlaybookTest,
    ) -> std::collections::BTreeMap<String, String> {
        let all = &project.context.environment.variables;
        let text = |name: &str| self.path.join(name).to_string_lossy().into_owned();
        let mut variables = std::collections::BTreeMap::new();
        for name in PASSED {
            if let Some(value) = all.get(name) {
                variables.insert(name.to_owned(), value.clone());
            }
        }
        variables.insert("XDG_STATE_HOME".to_owned(), text("state"));
        variables.insert("TMPDIR".to_owned(), text("tmp"));
        variables.extend(test.case.env.iter().cloned());
        variables
    }

    /// Fills the project: definitions, copied files, files of the test.
    pub(super) fn fill(&self, project: &Project, test: &PlaybookTest) -> Result<(), String> {
        let (from, to) = (&project.context.root, self.project());
        let failed = |path: &Path, error: io::Error| format!("`{}`: {error}", path.display());
        for file in &project.files {
            if is_inside(&file.path) {
                write(&to.join(&file.path), &file.bytes).map_err(|e| failed(&to, e))?;
            }
        }
        let workspace = Workspace::open(from, &[], &[]).map_err(|error| failed(from, error))?;
        let mut copied: BTreeSet<String> = BTreeSet::new();
        for glob in test.case.copy.iter().map(|glob| glob.value.as_str()) {
            let excluded = glob.strip_prefix('!');
            let found = workspace.glob(excluded.unwrap_or(glob)).map_err(|e| e.to_string())?;
            match excluded {
                Some(_) => copied.retain(|path| !found.contains(path)),
                None if found.is_empty() => {
                    return Err(format!("`copy: {glob}` matches no file of the project"));
                }
                None => copied.extend(found),
            }
        }
        copied.extend(workspace.glob(".kb/**").map_err(|error| error.to_string())?);
        for path in copied.iter().filter(|path| !path.starts_with(".kb/tests/")) {
            copy(&from.join(path), &to.join(path)).map_err(|e| failed(Path::new(path), e))?;
        }
        for (path, content) in &test.case.files {
            if !is_inside(path) {
                return Err(format!("`files`: `{path}` is outside of the project"));
            }
            let path = to.join(path);
            write(&path, content.value.as_bytes()).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }

    /// Makes the project a git repository with one commit.
    pub(super) async fn commit(&self, project: &Project) -> Result<(), String> {
        let base = BaseEnvironment::select(project.context.environment.variables.clone(), &[])
            .in_project(&project.context.root, &project.context.opened);
        let supervisor = Supervisor::new(base).without_namespaces();
        let commands: [&[&str]; 3] = [
            &["init", "-q", "-b", "main"],
            &["add", "-A"],
            &[
                "commit",
                "-q",
                "--no-verify",
                "--no-gpg-sign",
                "--allow-empty",
                "-m",
                "files of the test",
            ],
        ];
        for command in commands {
            let identity = ["-c", "user.name=kb", "-c", "user.email=kb@localhost"];
            let words = ["git"].into_iter().chain(identity).chain(command.iter().copied());
            let spawn = Spawn {
                argv: words.map(str::to_owned).collect(),
                own_program: true,
                cwd: self.project(),
                env: Vec::new(),
                stdin: Vec::new(),
                timeout: Some(GIT_LIMIT),
                idle: None,
                max_stream: 4096,
            };
            let ended = supervisor.run(spawn, &CancellationToken::new(), None).await;
            match ended.end {
                ProcessEnd::Code(0) => {}
                ProcessEnd::NotStarted(why) => return Err(format!("`git` did not start: {why}")),
                _ => return Err(format!("`git {}` failed: {}", command[0], ended.stderr.trim())),
            }
        }
        Ok(())
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Whether a path is relative and has no `..`.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

/// Copies a file with its permissions. Of a link, the file that it leads to is copied; a link without a file
/// is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_file() {
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::write(to, fs::read(from)?)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}
