//! Processes of `kb` that outlive the process that started them.

use super::Supervisor;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;

/// A `kb` of its own. Dropping this value leaves it running.
#[derive(Debug)]
pub struct Detached {
    child: tokio::process::Child,
}

impl Detached {
    /// Starts this program, or the `kb` at `program`, with these arguments and variables, in a process
    /// group of its own, without input and output. Errors go to the file `errors`, which is replaced. Must be called
    /// in a tokio runtime.
    pub fn start(
        program: Option<&Path>,
        args: &[OsString],
        variables: &BTreeMap<String, String>,
        cwd: &Path,
        errors: &Path,
    ) -> io::Result<Detached> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let errors = options.open(errors)?;
        // The link names the running program even after the file was replaced by an update.
        let program = program.unwrap_or(Path::new("/proc/self/exe"));
        let child = tokio::process::Command::new(program)
            .arg0("kb")
            .args(args)
            .env_clear()
            .envs(variables)
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(false)
            .spawn()?;
        Ok(Detached { child })
    }

    /// Whether the process has ended. Does not wait.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of the process. Cancel safe.
    pub async fn ended(&mut self) {
        let _ = self.child.wait().await;
    }
}

/// Opens an address in the browser of the person, where there is a graphical session. A file in `folder`, which only the user can
/// read, leads there: the arguments of programs can be read by every user of the machine. Returns whether a
/// browser was started; what it shows is not known. Must be called in a tokio runtime.
pub fn open_page(
    url: &str,
    folder: &Path,
    supervisor: &Supervisor,
    variables: &BTreeMap<String, String>,
) -> bool {
    let has = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
    if !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(has) {
        return false;
    }
    // A program that a specialist could write is none that opens a page with a session.
    let Ok(program) = supervisor.own_program("xdg-open") else { return false };
    let page = folder.join("open.html");
    let Ok(()) = write_link(&page, url) else { return false };
    let mut command = tokio::process::Command::new(program);
    command.arg(page).env_clear().envs(variables).process_group(0).kill_on_drop(false);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

/// Writes a page that leads to an address, readable by the user alone.
fn write_link(page: &Path, url: &str) -> io::Result<()> {
    match std::fs::remove_file(page) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(page)?;
    writeln!(
        file,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={url}\"><a href=\"{url}\">kb serve</a>"
    )
}
