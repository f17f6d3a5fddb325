use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Finds the program that a process is to run: by path from its working directory, or by name along
/// `PATH`. An absolute path is what `posix_spawn` needs, and a failure can say what was looked for.
/// Whether what a path names can be run is seen when it is tried; [`explain`] says why not.
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
        match rank(&program) {
            Rank::Program => return Ok(program),
            Rank::NotExecutable => forbidden = Some(program),
            Rank::Directory | Rank::Missing => {}
        }
    }
    Err(match forbidden {
        Some(program) => format!("`{}` is not executable", program.display()),
        None => format!("no program `{name}` in PATH"),
    })
}

enum Rank {
    Program,
    Directory,
    NotExecutable,
    Missing,
}

fn rank(path: &Path) -> Rank {
    match std::fs::metadata(path) {
        Err(_) => Rank::Missing,
        Ok(found) if found.is_dir() => Rank::Directory,
        Ok(_) => match rustix::fs::access(path, rustix::fs::Access::EXEC_OK) {
            Ok(()) => Rank::Program,
            Err(_) => Rank::NotExecutable,
        },
    }
}

/// What to say of a program that was found and still could not be started.
pub(super) fn explain(name: &str, cwd: &Path, error: &std::io::Error) -> String {
    if !cwd.is_dir() {
        return format!("there is no directory `{}` to run in", cwd.display());
    }
    if name.contains('/') {
        match rank(&cwd.join(name)) {
            Rank::Program => {}
            Rank::Directory => return format!("`{name}` is a directory, not a program"),
            Rank::NotExecutable => return format!("`{name}` is not executable"),
            Rank::Missing => return format!("there is no program `{name}`"),
        }
    }
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::NotFound, _) => format!("the interpreter that `{name}` names is not there"),
        (ErrorKind::PermissionDenied, _) => format!("no permission to run `{name}`"),
        (ErrorKind::ArgumentListTooLong, _) => {
            format!("the arguments and environment of `{name}` are larger than the system allows")
        }
        (ErrorKind::InvalidInput, _) => {
            format!("an argument or a variable of `{name}` holds a zero byte")
        }
        (_, Some(code)) if code == rustix::io::Errno::NOEXEC.raw_os_error() => {
            format!("`{name}` is no program of this system; a script begins with a `#!` line")
        }
        _ => format!("`{name}` did not start: {error}"),
    }
}
