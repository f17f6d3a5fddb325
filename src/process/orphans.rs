//! What left its step's process group comes back here, and is ended with its step.
//!
//! As a subreaper `kb` becomes the parent of every orphan among its descendants, whatever sessions
//! and groups they have. They appear as children of the main thread, so that one small file of
//! `/proc` tells whether anything is left: 2 µs a step where there is nothing. While processes end
//! it may leave out others, so a look that found something is not the last ([`end_step`]).

use super::watchdog::{HELPER_MARKER, MARKER};
use rustix::process::{Pid, Signal, WaitOptions};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// Main processes of steps: children that are no orphans.
static OWN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The watchdog and the keeper, children that are no orphans either.
static HELPERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// Held for reading from a process's start until it stands in [`OWN`], for writing while orphans
/// are told from own children; else one's end could be taken for the other's.
static STARTING: RwLock<()> = RwLock::new(());

/// How long what is left of a step may go on starting more.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);
/// How long the end of one that was killed is looked for without a pause; as a rule 50 µs.
const PROMPT: Duration = Duration::from_millis(1);
/// In a row, after one that found something.
const QUIET_LOOKS: u32 = 2;

fn own() -> MutexGuard<'static, BTreeSet<u32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn helpers() -> MutexGuard<'static, BTreeSet<u32>> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of its descendants' orphans; without effect where the system
/// has no such thing.
pub(super) fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Starts a step's main process and remembers it as an own child.
pub(super) fn spawn_registered(
    start: impl FnOnce() -> io::Result<tokio::process::Child>,
) -> io::Result<tokio::process::Child> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    own().extend(child.id());
    Ok(child)
}

/// Starts the watchdog or the keeper and remembers it as an own child.
pub(super) fn spawn_helper(
    start: impl FnOnce() -> io::Result<std::process::Child>,
) -> io::Result<std::process::Child> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    helpers().insert(child.id());
    Ok(child)
}

/// Forgets a keeper whose end was taken in.
pub(super) fn forget_helper(pid: u32) {
    helpers().remove(&pid);
}

/// Forgets a main process whose end was taken in.
pub(super) fn forget(pid: u32) {
    own().remove(&pid);
}

/// Ends whatever carries this step's token or is in its group, and takes in the ends of orphans.
///
/// What is ended leaves orphans of its own, which come here at that moment: they are looked for at
/// once, before they start others. Where one look finds nothing, that is all. Where something was
/// found, two looks in a row have to find nothing: while processes end, the system's list of children
/// may leave out others.
pub(super) async fn end_step(group: u32, token: &str) {
    let began = crate::clock::instant();
    let mut last_new = began;
    let mut told = BTreeSet::new();
    let mut looks_that_found_nothing = QUIET_LOOKS - 1;
    while began.elapsed() < PATIENCE {
        let found = look(group, token, &mut told);
        looks_that_found_nothing =
            if found == Found::Nothing { looks_that_found_nothing + 1 } else { 0 };
        if found == Found::New {
            last_new = crate::clock::instant();
        }
        if looks_that_found_nothing == QUIET_LOOKS {
            return;
        }
        match told.is_empty() || last_new.elapsed() > PROMPT {
            true => tokio::time::sleep(PAUSE).await,
            false => tokio::task::yield_now().await,
        }
    }
    tracing::warn!(group, "what a step has left starts more than can be ended");
}

/// What a look at the orphans has found of a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    /// What had been told to end, or has, or may be about to.
    Ending,
    /// What had not been told to end before.
    New,
}

/// Looks once, ends what lives, and takes in what has ended.
fn look(group: u32, token: &str, told: &mut BTreeSet<u32>) -> Found {
    if adopted().is_empty() {
        return Found::Nothing;
    }
    let _still = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let own_group = Status::read(std::process::id()).map(|status| status.group);
    let alone = own().is_empty();
    let mut found = Found::Nothing;
    for pid in adopted() {
        let Some(status) = Status::read(pid) else { continue };
        if Some(status.group) == own_group {
            continue; // a child that somebody else of this program started and waits for
        }
        if status.ended {
            take_in(pid);
            told.remove(&pid);
            found = found.max(Found::Ending);
        } else if told.contains(&pid) {
            found = found.max(Found::Ending);
        } else {
            match whose(pid, &status, group, token, alone) {
                Owner::OfTheStep => {
                    end(pid);
                    told.insert(pid);
                    found = Found::New;
                }
                Owner::Unknown => found = found.max(Found::Ending),
                Owner::OfNoStep => {}
            }
        }
    }
    found
}

/// To whom an orphan belongs, as far as this step is concerned.
enum Owner {
    OfTheStep,
    OfNoStep,
    /// It is about to end or to become another program; a moment later it says, or has left others.
    Unknown,
}

/// To whom an orphan belongs. One that has wiped its environment is nobody's by name; it ends when no
/// other step could be its parent.
fn whose(pid: u32, status: &Status, group: u32, token: &str, alone: bool) -> Owner {
    if status.group == group as i32 {
        return Owner::OfTheStep;
    }
    let environment = std::fs::read(format!("/proc/{pid}/environ"));
    if status.is_exiting || (status.is_unsettled && environment.as_ref().is_ok_and(Vec::is_empty)) {
        return Owner::Unknown;
    }
    let environment = environment.unwrap_or_default();
    let is_own = match (value_of(MARKER, &environment), value_of(HELPER_MARKER, &environment)) {
        (Some(tokens), _) => tokens.split(|byte| *byte == b',').any(|own| own == token.as_bytes()),
        // Guardian or keeper of another `kb` that this program had started; it ends by itself.
        (None, Some(_)) => false,
        (None, None) => alone,
    };
    if is_own { Owner::OfTheStep } else { Owner::OfNoStep }
}

/// The value of a variable in a process's `environ`.
pub(super) fn value_of<'a>(name: &str, environment: &'a [u8]) -> Option<&'a [u8]> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

fn end(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

fn take_in(pid: u32) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// The children of the main thread that are not known as own ones.
fn adopted() -> Vec<u32> {
    let main = std::process::id();
    let text = std::fs::read_to_string(format!("/proc/self/task/{main}/children"));
    let (own, helpers) = (own(), helpers());
    text.unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(|pid| !helpers.contains(pid) && !own.contains(pid))
        .collect()
}

struct Status {
    ended: bool,
    /// 0 where the group is one from outside of this namespace.
    group: i32,
    /// It has begun to end: its memory goes first, its children change hands last.
    is_exiting: bool,
    /// No end of its environment is known: it becomes another program, or is not ours to look at.
    is_unsettled: bool,
}

impl Status {
    /// From `/proc/PID/stat` (`man 5 proc_pid_stat`); the name in it may hold anything, so the fields
    /// are those after it.
    fn read(pid: u32) -> Option<Status> {
        /// `PF_EXITING` of `linux/sched.h`.
        const EXITING: u32 = 0x4;
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The state is the third field.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let flags: u32 = field(9)?.parse().ok()?;
        Some(Status {
            ended: matches!(field(3)?, "Z" | "X"),
            group: field(5)?.parse().ok()?,
            is_exiting: flags & EXITING != 0,
            is_unsettled: field(51)? == "0",
        })
    }
}
