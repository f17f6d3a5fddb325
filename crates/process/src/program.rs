//! Finds the program of a process and explains why it did not start.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Finds a program by its path relative to the working directory, or by its name in `PATH`. Returns
/// an absolute path, which `posix_spawn` needs. Does not check that a path can be executed; after a
/// failed start [`Program::explain`] finds the reason. A program that is `refused` is skipped. The error is a
/// human-readable message.
pub(super) fn find_program(
    name: &str,
    cwd: &Path,
    path: &str,
    refused: impl Fn(&Path) -> bool,
) -> Result<PathBuf, String> {
    if name.is_empty() {
        return Err("the command has no program".into());
    }
    if name.contains('/') {
        return Ok(cwd.join(name));
    }
    let (mut forbidden, mut inside) = (None, None);
    for directory in path.split(':').filter(|directory| directory.starts_with('/')) {
        let program = Path::new(directory).join(name);
        match inspect(&program) {
            ProgramFile::Program if refused(&program) => {
                inside = Some(program);
            }
            ProgramFile::Program => return Ok(program),
            ProgramFile::NotExecutable => forbidden = Some(program),
            ProgramFile::Directory | ProgramFile::Missing => {}
        }
    }
    Err(match (forbidden, inside) {
        (Some(program), _) => format!("`{}` is not executable", program.display()),
        (None, Some(program)) => format!(
            "the only `{name}` in PATH is a file of the project, or of a folder that `sandbox` opens, `{}`, which \
             `kb` does not start; add the folder of another `{name}` to PATH",
            program.display()
        ),
        (None, None) => format!("no program `{name}` in PATH"),
    })
}

/// What a path names.
enum ProgramFile {
    Program,
    Directory,
    NotExecutable,
    Missing,
}

fn inspect(path: &Path) -> ProgramFile {
    match std::fs::metadata(path) {
        Err(_) => ProgramFile::Missing,
        Ok(found) if found.is_dir() => ProgramFile::Directory,
        Ok(_) => match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => ProgramFile::Program,
            Err(_) => ProgramFile::NotExecutable,
        },
    }
}

/// A program that was found, for the message of a failed start.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// As the command names it.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) cwd: PathBuf,
    /// Whether it was to run in the sandbox.
    pub(super) is_confined: bool,
}

impl Program {
    /// The message for a program that could not be started.
    pub(super) fn explain(&self, error: &std::io::Error) -> String {
        let Program { name, path, cwd, is_confined } = self;
        if !cwd.is_dir() {
            return format!("the working directory `{}` does not exist", cwd.display());
        }
        if name.contains('/') {
            match inspect(path) {
                ProgramFile::Program => {}
                ProgramFile::Directory => return format!("`{name}` is a directory, not a program"),
                ProgramFile::NotExecutable => return format!("`{name}` is not executable"),
                ProgramFile::Missing => return format!("the program `{name}` does not exist"),
            }
        }
        let is_hidden = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
        if *is_confined && is_hidden { hidden(path, cwd) } else { refused(name, error) }
    }
}

/// The message for a program that exists and could not be started in the sandbox.
fn hidden(program: &Path, cwd: &Path) -> String {
    let shown = program.display();
    let used = interpreter_of(program);
    if let Some(used) = &used
        && matches!(inspect(&cwd.join(used)), ProgramFile::Missing)
    {
        return format!("the interpreter `{}` of `{shown}` does not exist", used.display());
    }
    let target = program.canonicalize().ok().filter(|_| program.is_symlink());
    let what = match (target, used) {
        (Some(target), _) => format!("`{}`, to which `{shown}` leads", target.display()),
        (None, Some(used)) => format!("`{shown}` or its interpreter `{}`", used.display()),
        (None, None) => format!("`{shown}`"),
    };
    format!("the sandbox hides {what}; add its folder to `sandbox.read` in the settings")
}

/// The file that the first word of a command stands for in a working directory and with this `PATH`; `None` if there is
/// none.
pub fn program_of(name: &str, cwd: &Path, path: &str) -> Option<PathBuf> {
    find_program(name, cwd, path, |_| false).ok()
}

/// The interpreter that the `#!` line of a script names. Waits for no pipe.
pub fn interpreter_of(program: &Path) -> Option<PathBuf> {
    let mut start = [0; 256];
    let mut options = std::fs::OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_NONBLOCK).open(program);
    let read = opened.and_then(|mut file| file.read(&mut start)).ok()?;
    let text = String::from_utf8_lossy(&start[..read]);
    let named = text.strip_prefix("#!")?.lines().next()?.split_whitespace().next()?;
    Some(PathBuf::from(named))
}

/// The message for an error of the system.
fn refused(name: &str, error: &std::io::Error) -> String {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) => format!("the interpreter that `{name}` names does not exist"),
        (ErrorKind::PermissionDenied, _) => format!("permission denied to execute `{name}`"),
        (ErrorKind::ArgumentListTooLong, _) => {
            format!("the arguments and environment of `{name}` are larger than the system allows")
        }
        (ErrorKind::InvalidInput, _) => {
            format!("an argument or variable of `{name}` contains a zero byte")
        }
        (_, Some(code)) if code == rustix::io::Errno::NOEXEC.raw_os_error() => {
            format!(
                "`{name}` is not an executable of this system; a script must start with a `#!` line"
            )
        }
        _ => format!("failed to start `{name}`: {error}"),
    }
}
