//! Orphan processes at the level `group`: finds the descendants that left the process group of their
//! step, and ends them with the step.
//!
//! As a subreaper, `kb` becomes the parent of every orphan among its descendants, whatever their
//! session and group. They appear as children of the main thread, so one small file in `/proc` shows
//! whether there are any, in 2 µs. While processes end, that file may omit others, so a scan that
//! found something is repeated (see [`end_step`]).

use super::base_environment::{HELPER_MARKER, MARKER};
use rustix::process::{Pid, Signal, WaitOptions};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// The main processes of steps, which are children but not orphans.
static MAIN_PROCESSES: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The watchdog and the init process, which are children but not orphans.
static HELPERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// Locked for reading while a process starts, until it is in [`MAIN_PROCESSES`] or [`HELPERS`].
/// Locked for writing during a scan, so that a new child is not mistaken for an orphan.
static STARTING: RwLock<()> = RwLock::new(());

/// How long to end leftover processes that keep starting others.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);
/// How long to scan without a pause after a kill. As a rule a process is gone within 50 µs.
const BUSY_TIME: Duration = Duration::from_millis(1);
/// The number of empty scans in a row after a scan that found something.
const EMPTY_SCANS: u32 = 2;

fn main_processes() -> MutexGuard<'static, BTreeSet<u32>> {
    MAIN_PROCESSES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn helpers() -> MutexGuard<'static, BTreeSet<u32>> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of the orphans among its descendants. Has no effect on systems
/// without subreapers.
pub(super) fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Starts the main process of a step and registers it.
pub(super) fn spawn_registered(
    start: impl FnOnce() -> io::Result<tokio::process::Child>,
) -> io::Result<tokio::process::Child> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    main_processes().extend(child.id());
    Ok(child)
}

/// Starts the watchdog or the init process and registers it.
pub(super) fn spawn_helper(
    start: impl FnOnce() -> io::Result<std::process::Child>,
) -> io::Result<std::process::Child> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    helpers().insert(child.id());
    Ok(child)
}

/// Removes an init process that was reaped from the registry.
#[cfg(target_os = "linux")]
pub(super) fn forget_helper(pid: u32) {
    helpers().remove(&pid);
}

/// Removes a main process that was reaped from the registry.
pub(super) fn forget(pid: u32) {
    main_processes().remove(&pid);
}

/// Kills the orphans that carry the token of this step or belong to its process group, and reaps all
/// orphans that have ended.
///
/// Killing a process makes its children orphans, so the next scan follows at once, before they start
/// others. An empty first scan is enough. After a scan that found something, two empty scans in a
/// row are needed: while processes end, the list of children may omit others.
pub(super) async fn end_step(group: u32, token: &str) {
    let started = kb_clock::instant();
    let mut last_new = started;
    let mut killed = BTreeSet::new();
    let mut empty_scans = EMPTY_SCANS - 1;
    while started.elapsed() < TIMEOUT {
        let result = scan(group, token, &mut killed);
        empty_scans = if result == ScanResult::Nothing { empty_scans + 1 } else { 0 };
        if result == ScanResult::New {
            last_new = kb_clock::instant();
        }
        if empty_scans == EMPTY_SCANS {
            return;
        }
        if killed.is_empty() || last_new.elapsed() > BUSY_TIME {
            tokio::time::sleep(PAUSE).await
        } else {
            tokio::task::yield_now().await
        }
    }
    tracing::warn!(group, "leftover processes of a step start new ones faster than they end");
}

/// The orphans of a step that a scan found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ScanResult {
    Nothing,
    /// Orphans that were killed before, have ended, or are about to end.
    Ending,
    /// At least one orphan that was not killed before.
    New,
}

/// Scans once: kills the orphans of the step that are alive, and reaps those that have ended.
fn scan(group: u32, token: &str, killed: &mut BTreeSet<u32>) -> ScanResult {
    if adopted().is_empty() {
        return ScanResult::Nothing;
    }
    let _no_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let own_group = Status::read(std::process::id()).map(|status| status.group);
    let is_only_step = main_processes().is_empty();
    let mut result = ScanResult::Nothing;
    for pid in adopted() {
        let Some(status) = Status::read(pid) else { continue };
        if Some(status.group) == own_group {
            continue; // a child that other code in this program started and waits for
        }
        if status.ended {
            reap(pid);
            killed.remove(&pid);
            result = result.max(ScanResult::Ending);
        } else if killed.contains(&pid) {
            result = result.max(ScanResult::Ending);
        } else {
            match owner(pid, &status, group, token, is_only_step) {
                Owner::ThisStep => {
                    kill(pid);
                    killed.insert(pid);
                    result = ScanResult::New;
                }
                Owner::Unknown => result = result.max(ScanResult::Ending),
                Owner::Other => {}
            }
        }
    }
    result
}

/// The owner of an orphan, relative to the step that is ending.
enum Owner {
    ThisStep,
    Other,
    /// The process is about to end or to execute another program. The next scan decides.
    Unknown,
}

/// Finds the owner of an orphan. A process that cleared its environment carries no token; it belongs
/// to this step if no other step is running.
fn owner(pid: u32, status: &Status, group: u32, token: &str, is_only_step: bool) -> Owner {
    if status.group == group as i32 {
        return Owner::ThisStep;
    }
    let environment = std::fs::read(format!("/proc/{pid}/environ"));
    let is_empty = environment.as_ref().is_ok_and(Vec::is_empty);
    if status.is_exiting || (status.has_no_environment && is_empty) {
        return Owner::Unknown;
    }
    let environment = environment.unwrap_or_default();
    let is_own = match (value_of(MARKER, &environment), value_of(HELPER_MARKER, &environment)) {
        (Some(tokens), _) => tokens.split(|byte| *byte == b',').any(|own| own == token.as_bytes()),
        // A helper of another `kb` that this program started. It ends by itself.
        (None, Some(_)) => false,
        (None, None) => is_only_step,
    };
    if is_own { Owner::ThisStep } else { Owner::Other }
}

/// The value of a variable in the `environ` file of a process, or of such an argument in its `cmdline`.
pub(super) fn value_of<'a>(name: &str, environment: &'a [u8]) -> Option<&'a [u8]> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

fn kill(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

fn reap(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// The children of the main thread that are neither main processes nor helpers.
fn adopted() -> Vec<u32> {
    let main = std::process::id();
    let text = std::fs::read_to_string(format!("/proc/self/task/{main}/children"));
    let (main_processes, helpers) = (main_processes(), helpers());
    text.unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(|pid| !helpers.contains(pid) && !main_processes.contains(pid))
        .collect()
}

/// The state of a process from `/proc/PID/stat`.
struct Status {
    ended: bool,
    /// The process group; 0 for a group outside this namespace.
    group: i32,
    /// The process is exiting: its memory is released first, its children change parents last.
    is_exiting: bool,
    /// The end of the environment is not set: the process is executing another program, or its
    /// memory is not readable for this process.
    has_no_environment: bool,
}

impl Status {
    /// Reads `/proc/PID/stat` (`man 5 proc_pid_stat`). The program name may contain any character,
    /// so parsing starts after its closing bracket.
    fn read(pid: u32) -> Option<Status> {
        /// `PF_EXITING` of `linux/sched.h`.
        const EXITING: u32 = 0x4;
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The first of these is the third field.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let flags: u32 = field(9)?.parse().ok()?;
        Some(Status {
            ended: matches!(field(3)?, "Z" | "X"),
            group: field(5)?.parse().ok()?,
            is_exiting: flags & EXITING != 0,
            has_no_environment: field(51)? == "0",
        })
    }
}
