//! Readers of a run that is killed.

use super::case::{Case, Product};
use super::orphans;
use crate::running::Start;
use kb::value::Digest;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Somebody who looks all the while: no artifact, blob or view is ever seen half done.
pub(super) struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, String>>,
}

const PAUSE: Duration = Duration::from_millis(15);
/// How often a whole `kb` is started to look at the run.
const VIEW: Duration = Duration::from_millis(700);

impl Reader {
    pub(super) fn of(case: &Case, usual: &Product) -> Reader {
        let stop = Arc::new(AtomicBool::new(false));
        let (root, folder, files) = (case.scratch.root(), case.folder(), usual.files.clone());
        let mut show = case.scratch.command();
        show.args(["run", "show", "@last", "--json"]).env(orphans::READER, "1");
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut reads, mut viewed) = (0, Instant::now());
            while !stopped.load(Ordering::SeqCst) {
                artifacts(&root, &files)?;
                blobs(&folder.join("state"))?;
                if viewed.elapsed() > VIEW {
                    view(&mut show)?;
                    viewed = Instant::now();
                }
                reads += 1;
                std::thread::sleep(PAUSE);
            }
            Ok(reads)
        });
        Reader { stop, thread }
    }

    /// How often it has looked, or what it saw.
    pub(super) fn end(self) -> Result<u64, String> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| "the reader panicked".to_owned())?
    }
}

/// A file is not there, or it is as it will be in the end. What a shell of a specialist writes in place
/// is its own matter.
fn artifacts(root: &Path, files: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, expected) in files.iter().filter(|(name, _)| *name != "notes/shell.md") {
        match std::fs::read_to_string(root.join(name)) {
            Ok(found) if found != *expected => return Err(format!("`{name}` held {found:?}")),
            _ => {}
        }
    }
    Ok(())
}

/// A blob is what its name says.
fn blobs(state: &Path) -> Result<(), String> {
    let is_blob = |path: &PathBuf| {
        path.is_file()
            && path.components().any(|part| part.as_os_str() == "blobs")
            && !path.file_name().unwrap().to_string_lossy().starts_with(".new-")
    };
    for path in orphans::files(state).into_iter().filter(is_blob) {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let name = format!("{folder}{}", path.file_name().unwrap().to_string_lossy());
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if Digest::of(&bytes).to_string() != name {
            return Err(format!("`{}` holds {} other bytes", path.display(), bytes.len()));
        }
    }
    Ok(())
}

/// `kb run show` works at every moment, from the first run on.
fn view(show: &mut Command) -> Result<(), String> {
    let said = show.finish();
    let out = String::from_utf8_lossy(&said.stdout);
    match said.status.code() {
        Some(0) if serde_json::from_str::<Value>(&out).is_ok() => Ok(()),
        // There is no run yet.
        Some(4) => Ok(()),
        code => Err(format!("show: {code:?} {out} {}", String::from_utf8_lossy(&said.stderr))),
    }
}
