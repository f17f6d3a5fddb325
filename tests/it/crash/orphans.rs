//! Processes and files that a killed `kb` leaves behind.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Whoever has this in its environment only looks, and is nobody's to kill.
pub(super) const READER: &str = "KB_CRASH_READER";

/// Every process that was started for a folder: it stands in its environment or its arguments.
/// One that has ended and is not waited for is no process any more.
pub(super) fn processes(folder: &Path) -> Vec<(i32, String)> {
    let needle = folder.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let read = |name: &str| {
            let bytes = std::fs::read(entry.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let (arguments, environment) = (read("cmdline"), read("environ"));
        let state = read("stat");
        let ended = state.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']));
        if !ended
            && !environment.contains(READER)
            && (arguments.contains(&needle) || environment.contains(&needle))
        {
            found.push((pid, arguments));
        }
    }
    found
}

/// Nothing of it is alive, soon at the latest; how long it took.
pub(super) fn gone(folder: &Path) -> Result<Duration, String> {
    let began = Instant::now();
    loop {
        let left = processes(folder);
        if left.is_empty() {
            return Ok(began.elapsed());
        }
        if began.elapsed() > Duration::from_secs(60) {
            return Err(format!("still alive: {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// No file that was only meant for a moment is left.
pub(super) fn no_temporary_files(folder: &Path) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let left: Vec<PathBuf> =
            files(folder).into_iter().filter(|path| is_temporary(path)).collect();
        if left.is_empty() {
            return Ok(());
        }
        // A watchdog may still be at it.
        if began.elapsed() > Duration::from_secs(60) {
            let within: Vec<_> = left.iter().flat_map(|path| files(path)).collect();
            let alive = processes(folder);
            return Err(format!("left behind: {left:?} with {within:?}; alive: {alive:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_private = name.starts_with("kb-") && path.is_dir();
    is_private || name.starts_with(".new-") || name.starts_with(".kb-writing")
}

/// The process that keeps the steps of a `kb`, where there is one.
pub(super) fn init_process(folder: &Path) -> Option<i32> {
    let all = processes(folder);
    all.into_iter().find(|(_, arguments)| arguments.contains(" __init ")).map(|(pid, _)| pid)
}

/// Every file and folder below a folder.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}
