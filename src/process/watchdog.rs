use super::instance::Instance;
use super::orphans;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

/// The variable that marks every process of a step: the tokens of the steps that it belongs to,
/// outermost first, where a step of one `kb` runs another.
pub(super) const MARKER: &str = "KB_SPAWN";

/// Marks a watchdog or keeper, which is not what it guards or keeps.
pub(super) const HELPER_MARKER: &str = "KB_HELPER";

/// Where the system's own tools are, whatever `kb`'s environment says.
pub(super) const PATH: &str = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin";

/// Waits for `kb` to end, by reading from a pipe that only `kb` holds; then ends every process that
/// still carries its mark and removes its temporary directory. `kill -9` leaves no time to do so
/// oneself. One that waits for a busy disk ends when that is over, so it goes on for ten seconds and
/// more. It is a shell script, so that it works in whatever program this library is part of.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r _
round=0
while [ "$round" -lt 1000 ]; do
  found=$(grep -lsF -e "=$1-" -e ",$1-" /proc/[0-9]*/environ)
  [ -n "$found" ] || break
  for file in $found; do
    pid=${file#/proc/}
    kill -KILL "${pid%/environ}"
  done
  [ "$round" -lt 20 ] || sleep 0.01
  round=$((round + 1))
done
[ -z "$2" ] || rm -rf -- "$2"
"#;

/// Makes sure that this process is watched over, so that its steps' processes end when it is killed,
/// and that its steps' orphans come back to it.
pub(super) fn watch() {
    /// Closed by the kernel when this process ends, however it ends.
    static PIPE: OnceLock<Option<ChildStdin>> = OnceLock::new();
    PIPE.get_or_init(|| {
        orphans::adopt();
        start(Instance::of_process()).ok()
    });
}

fn start(instance: &Instance) -> io::Result<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "kb-watchdog", instance.name()])
        .arg(instance.temporary_directory().unwrap_or(Path::new("")))
        .current_dir("/")
        .env_clear()
        .env("PATH", PATH)
        .envs(instance.helper_variables())
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = orphans::spawn_helper(|| command.spawn())?;
    child.stdin.take().ok_or_else(|| io::Error::other("no pipe"))
}
