use super::orphans;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that marks every process of a step: the tokens of the steps that it belongs to,
/// outermost first, where a step of one `kb` runs another.
pub(super) const MARKER: &str = "KB_SPAWN";

/// Marks a guardian, which is not what it guards.
pub(super) const GUARDIAN_MARKER: &str = "KB_GUARDIAN";

/// Waits for `kb` to end, by reading from a pipe that only `kb` holds; then ends every process that
/// still carries its mark and removes its temporary directory. `kill -9` leaves no time to do so
/// oneself. It is a shell script, so that it works in whatever program this library is part of.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r _
round=0
while [ "$round" -lt 100 ]; do
  found=$(grep -lsF -e "$1-" /proc/[0-9]*/environ)
  [ -n "$found" ] || break
  for file in $found; do
    pid=${file#/proc/}
    kill -KILL "${pid%/environ}"
  done
  round=$((round + 1))
done
[ -z "$2" ] || rm -rf -- "$2"
"#;

/// What this process keeps for all its steps.
pub(super) struct Guardian {
    instance: String,
    inherited: Option<String>,
    temporary: Option<PathBuf>,
    counter: AtomicU64,
    /// Closed by the kernel when this process ends, however it ends.
    _pipe: Option<ChildStdin>,
}

impl Guardian {
    /// The one of this process; the first call starts it.
    pub(super) fn of_process() -> &'static Guardian {
        static GUARDIAN: OnceLock<Guardian> = OnceLock::new();
        GUARDIAN.get_or_init(|| {
            orphans::adopt();
            Guardian::start()
        })
    }

    fn start() -> Guardian {
        let instance = format!("{}-{:x}", std::process::id(), crate::clock::now().0);
        let temporary = make_private(&std::env::temp_dir().join(format!("kb-{instance}"))).ok();
        let inherited = std::env::var(MARKER).ok();
        let pipe = watch(&instance, inherited.as_deref(), temporary.as_deref()).ok();
        Guardian { instance, inherited, temporary, counter: AtomicU64::new(1), _pipe: pipe }
    }

    /// A name for one step's processes, unique on this machine.
    pub(super) fn next_token(&self) -> String {
        format!("{}-{}", self.instance, self.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// The marker's value for a token.
    pub(super) fn marker(&self, token: &str) -> String {
        match &self.inherited {
            Some(outer) => format!("{outer},{token}"),
            None => token.to_owned(),
        }
    }

    /// The private directory for what processes write and forget.
    pub(super) fn temporary_directory(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }
}

fn make_private(path: &Path) -> io::Result<PathBuf> {
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    Ok(path.to_owned())
}

fn watch(
    instance: &str,
    inherited: Option<&str>,
    temporary: Option<&Path>,
) -> io::Result<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "kb-guardian", instance])
        .arg(temporary.unwrap_or(Path::new("")))
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/local/bin")
        .env(GUARDIAN_MARKER, instance)
        .envs(inherited.map(|outer| (MARKER, outer)))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = orphans::spawn_guardian(|| command.spawn())?;
    child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))
}
