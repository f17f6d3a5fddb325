//! The watchdog: ends the processes of steps after `kb` was killed, at the level `group`.

use super::instance::Instance;
use super::orphans;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

/// The `PATH` for system tools that helper processes run.
pub(super) const PATH: &str = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin";

/// Removes the directory `$1`. A process that is ending may still change it, so this is repeated for ten seconds.
pub(super) const REMOVE: &str = r#"
round=0
until rm -rf -- "$1" 2>/dev/null || [ "$round" -ge 100 ]; do
  sleep 0.1
  round=$((round + 1))
done
"#;

/// Waits for the end of `kb` by reading from a pipe that only `kb` has open. Then kills every
/// process that carries the mark of this `kb` and removes the temporary directory.
///
/// A process that waits for a busy disk ends only after that, so the script retries for ten seconds.
/// It is a shell script, so that it works in every program that uses this library.
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
shift
[ -z "$1" ] && exit
"#;

/// Starts the watchdog of this process and makes this process adopt orphans. Only the first call has
/// an effect.
pub(super) fn start_once(instance: &Instance) {
    /// The kernel closes the pipe when this process ends.
    static PIPE: OnceLock<Option<ChildStdin>> = OnceLock::new();
    PIPE.get_or_init(|| {
        orphans::adopt();
        start(instance).ok()
    });
}

fn start(instance: &Instance) -> io::Result<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &[SCRIPT, REMOVE].concat(), "kb-watchdog", instance.name()])
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
    child.stdin.take().ok_or_else(|| io::Error::other("the watchdog has no pipe"))
}
