//! Which processes live, seen from outside of whatever namespace they are in.
//!
//! A step in a PID namespace knows other ids than the tests do, so processes are found by what they
//! have: a variable, or a place below which they work.

use rustix::process::Pid;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process still does something. One that has ended and is not yet waited for does not: an orphan
/// of a killed `kb` may come to whoever runs these tests, who waits for nobody.
fn works(folder: &Path) -> bool {
    let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
    // The state follows the name, which stands in brackets and may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn all() -> impl Iterator<Item = PathBuf> {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(move |path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.bytes().all(|byte| byte.is_ascii_digit()) && name != own
    })
}

fn told(found: impl Iterator<Item = PathBuf>) -> Vec<String> {
    found
        .filter(|folder| works(folder))
        .map(|folder| {
            let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
            format!("{} {}", folder.display(), String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
}

/// Whether a process, by its id outside, still does something.
pub(crate) fn lives(pid: Pid) -> bool {
    works(Path::new(&format!("/proc/{}", pid.as_raw_nonzero())))
}

/// The session of a process as the system tells it: 0 where that began outside of this namespace.
pub(crate) fn session(pid: Pid) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    // State, parent, group and session follow the name.
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.split(' ').nth(3).unwrap().parse().unwrap()
}

/// Living processes with this variable.
pub(crate) fn with_variable(name: &str, value: impl AsRef<OsStr>) -> Vec<String> {
    let wanted = [name.as_bytes(), b"=", value.as_ref().as_bytes()].concat();
    told(all().filter(|folder| {
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
    }))
}

/// Living processes that work below this folder.
pub(crate) fn working_below(folder: &Path) -> Vec<String> {
    told(below(folder))
}

/// The ids of the processes that work below this folder.
pub(crate) fn ids_working_below(folder: &Path) -> Vec<Pid> {
    below(folder).filter_map(|process| id(&process)).collect()
}

fn below(folder: &Path) -> impl Iterator<Item = PathBuf> {
    all().filter(move |process| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    })
}

fn id(process: &Path) -> Option<Pid> {
    Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?)
}

/// The processes that a process has started, and those that these have started.
pub(crate) fn descendants(of: Pid) -> Vec<Pid> {
    let parent = |process: &Path| {
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        Pid::from_raw(stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?)
    };
    let pairs: Vec<_> = all().filter_map(|path| Some((parent(&path)?, id(&path)?))).collect();
    let mut found = vec![of];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(pairs.iter().filter(|(own, _)| *own == parent).map(|(_, child)| *child));
        at += 1;
    }
    found.split_off(1)
}

/// The one child of that name, once it has it.
#[track_caller]
pub(crate) fn child(of: i32, name: &str) -> Pid {
    let began = Instant::now();
    loop {
        // The list of a thread may lack children that are just handed to another thread.
        if let [found] = children(of, name)[..] {
            return Pid::from_raw(found).unwrap();
        }
        let found = children(of, name);
        assert!(began.elapsed() < Duration::from_secs(60), "{name} of {of}: {found:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn children(of: i32, name: &str) -> Vec<i32> {
    let list = std::fs::read_dir(format!("/proc/{of}/task")).unwrap().flatten();
    let children = list.flat_map(|task| {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        text.split_whitespace().map(|pid| pid.parse::<i32>().unwrap()).collect::<Vec<_>>()
    });
    let named = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|found| found.trim() == name)
    };
    children.filter(named).collect()
}

/// Waits until none of these is left.
#[track_caller]
pub(crate) fn end(left: impl Fn() -> Vec<String>) {
    let began = Instant::now();
    loop {
        let left = left();
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "still there: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
