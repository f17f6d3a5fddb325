//! Builds the preloaded library that intercepts system calls.

use crate::running::Start;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// SIGKILL instead of the call.
    KillBefore,
    /// SIGKILL once the call has returned.
    KillAfter,
    /// An I/O error.
    Eio,
    /// No room.
    Enospc,
    /// No room in the quota.
    Edquot,
    /// The file may not grow.
    Efbig,
    /// Half of a write, then no room.
    Short,
    /// A ballast file takes all room that is left, then the call is made.
    Fill,
}

impl Deed {
    fn name(self) -> &'static str {
        match self {
            Deed::KillBefore => "kill-before",
            Deed::KillAfter => "kill-after",
            Deed::Eio => "EIO",
            Deed::Enospc => "ENOSPC",
            Deed::Edquot => "EDQUOT",
            Deed::Efbig => "EFBIG",
            Deed::Short => "short",
            Deed::Fill => "fill",
        }
    }
}

/// What the preloaded library does to one process; `tests/faults/disk.c` says what each part means.
/// Only the process it is put on and what inherits its environment: steps do not, `kb` strips `LD_*`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault(Vec<(&'static str, String)>);

impl Fault {
    /// Nothing yet, on what changes below a folder.
    pub(crate) fn below(directory: &Path) -> Fault {
        // Open files are known by the paths that the kernel gives them.
        std::fs::create_dir_all(directory).unwrap();
        let directory = directory.canonicalize().unwrap();
        Fault::default().with("KB_FAULT_DIR", directory.display())
    }

    fn with(mut self, name: &'static str, value: impl ToString) -> Fault {
        self.0.push((name, value.to_string()));
        self
    }

    /// Only these calls count: names of `tests/faults/disk.c`, separated by commas.
    pub(crate) fn ops(self, names: &str) -> Fault {
        self.with("KB_FAULT_OPS", names)
    }

    /// Only files whose paths, with a `$` at their ends, contain this count.
    pub(crate) fn file(self, text: &str) -> Fault {
        self.with("KB_FAULT_FILE", text)
    }

    /// Only calls of threads of that name count.
    pub(crate) fn thread(self, name: &str) -> Fault {
        self.with("KB_FAULT_THREAD", name)
    }

    /// Does it at the n-th call, from 1.
    pub(crate) fn at(self, n: usize, deed: Deed) -> Fault {
        self.with("KB_FAULT_AT", n).with("KB_FAULT_DO", deed.name())
    }

    /// From the chosen call on, always.
    pub(crate) fn and_ever_after(self) -> Fault {
        self.with("KB_FAULT_TIMES", 0)
    }

    /// Writes down what is done; several processes may share a log.
    pub(crate) fn log(self, path: &Path) -> Fault {
        self.with("KB_FAULT_LOG", path.display())
    }

    /// Where [`Deed::Fill`] puts its ballast.
    pub(crate) fn ballast(self, path: &Path) -> Fault {
        self.with("KB_FAULT_BALLAST", path.display())
    }

    /// Puts it on a command that is to start `kb`.
    pub(crate) fn on(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}

/// The library, compiled once for what its source says.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| compiled("disk"))
}

/// The library of a source in `tests/faults`, to be preloaded.
pub(crate) fn compiled(name: &str) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/faults/{name}.c"));
    let digest = kb::value::Digest::of(std::fs::read(&source).unwrap()).to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = folder.join(format!("{name}-{}.so", &digest[..16]));
    if !library.exists() {
        // Tests are processes or threads of their own and may compile at the same time.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mine = format!("{name}-{}.so.{}.{number}", &digest[..16], std::process::id());
        let mine = folder.join(mine);
        let args = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"];
        let made =
            Command::new("cc").args(args).arg(&mine).arg(&source).arg("-ldl").finish_if_found();
        let made = made.expect("a C compiler is there, as it is for the bundled SQLite");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        std::fs::rename(&mine, &library).unwrap();
    }
    library
}

/// The functions that the library stands in for.
pub(super) fn stands_in_for() -> Vec<String> {
    symbols(library(), "--defined-only")
}

/// The functions that a program takes from libraries, or has for others.
pub(super) fn symbols(program: &Path, which: &str) -> Vec<String> {
    let output = Command::new("nm").args(["-D", which]).arg(program).finish();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().last());
    names.map(|name| name.split('@').next().unwrap_or(name).to_owned()).collect()
}
