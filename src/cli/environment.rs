//! Reads the environment of the process, once, for the use cases.

use super::exit::CliError;
use kb_service::service::{Clock, Environment};
use std::io;
use std::path::Path;

/// The environment of this process. `directory` is the value of `-C`.
pub(super) fn of_process(directory: Option<&Path>) -> Result<Environment, CliError> {
    let mut cwd = std::env::current_dir().map_err(|e| CliError::Usage {
        message: format!("the working directory cannot be determined: {e}"),
        help: None,
    })?;
    if let Some(folder) = directory {
        cwd = enter(&cwd, folder).map_err(|e| CliError::directory(folder, &e))?;
    }
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()))
        .collect();
    Ok(Environment {
        home: std::env::home_dir(),
        temp_dir: std::env::temp_dir(),
        processors: std::thread::available_parallelism().map_or(2, |n| n.get() as u32),
        ..Environment::new(cwd, variables, Clock::system())
    })
}

fn enter(cwd: &Path, folder: &Path) -> io::Result<std::path::PathBuf> {
    let folder = cwd.join(folder).canonicalize()?;
    folder.read_dir().map(|_| folder.clone())
}
