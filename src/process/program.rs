//! Finds the program of a process and explains why it did not start.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Finds a program by its path relative to the working directory, or by its name in `PATH`. Returns
/// an absolute path, which `posix_spawn` needs. Does not check that a path can be executed; after a
/// failed start [`explain`] finds the reason. The error is a message for people.
pub(super) fn find_program(name: &str, cwd: &Path, path: &str) -> Result<PathBuf, String> {
    if name.is_empty() {
        return Err("the command has no program".into());
    }
    if name.contains('/') {
        return Ok(cwd.join(name));
    }
    let mut forbidden = None;
    for directory in path.split(':').filter(|directory| directory.starts_with('/')) {
        let program = Path::new(directory).join(name);
        match inspect(&program) {
            ProgramFile::Program => return Ok(program),
            ProgramFile::NotExecutable => forbidden = Some(program),
            ProgramFile::Directory | ProgramFile::Missing => {}
        }
    }
    Err(match forbidden {
        Some(program) => format!("`{}` is not executable", program.display()),
        None => format!("no program `{name}` in PATH"),
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

/// The message for a program that was found and could not be started.
pub(super) fn explain(name: &str, cwd: &Path, error: &std::io::Error) -> String {
    if !cwd.is_dir() {
        return format!("the working directory `{}` does not exist", cwd.display());
    }
    if name.contains('/') {
        match inspect(&cwd.join(name)) {
            ProgramFile::Program => {}
            ProgramFile::Directory => return format!("`{name}` is a directory, not a program"),
            ProgramFile::NotExecutable => return format!("`{name}` is not executable"),
            ProgramFile::Missing => return format!("the program `{name}` does not exist"),
        }
    }
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
