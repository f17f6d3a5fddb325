//! Processes that tests start.
//!
//! A process is killed with everything that it started when its [`Running`] is dropped, also when a test
//! panics, and when it has run for [`limit`]. So no wait for a process and no read from it lasts longer than
//! that. Tests start processes in no other way, which a test below checks.

use crate::alive;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a process of a test may run: ten times as long as any does on a busy machine.
fn limit() -> Duration {
    Duration::from_secs(if crate::proof::is_full() { 4 * 3600 } else { 300 })
}

/// How long the output of a process that has ended may stay open.
const OPEN: Duration = Duration::from_secs(60);

/// How tests start a process.
pub(crate) trait Start {
    /// Starts it.
    #[track_caller]
    fn start(&mut self) -> Running {
        self.start_for(limit())
    }

    /// Starts it with a limit of its own.
    fn start_for(&mut self, limit: Duration) -> Running;

    /// Runs it to its end without input, and returns what it wrote to stdout and stderr, which become
    /// pipes. For other streams, `start` it and finish that.
    fn finish(&mut self) -> Output;

    /// Runs a program to its end that may be missing: `None` if it cannot be started.
    fn finish_if_found(&mut self) -> Option<Output>;
}

impl Start for Command {
    #[track_caller]
    fn start_for(&mut self, limit: Duration) -> Running {
        Running::new(self, limit).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    #[track_caller]
    fn finish(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).start().finish()
    }

    #[track_caller]
    fn finish_if_found(&mut self) -> Option<Output> {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(self, limit()).ok().map(Running::finish)
    }
}

/// A process that ends at the latest when this is dropped.
pub(crate) struct Running {
    child: Child,
    command: String,
    limit: Duration,
    /// Whether it was killed because it met the limit.
    is_late: Arc<AtomicBool>,
    /// Dropping it ends the watch.
    _watch: Sender<()>,
}

impl Running {
    fn new(command: &mut Command, limit: Duration) -> std::io::Result<Running> {
        let child = command.spawn()?;
        let (sender, dropped) = channel::<()>();
        let is_late = Arc::<AtomicBool>::default();
        let own = Handle::of(&child);
        let late = is_late.clone();
        std::thread::spawn(move || {
            if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                late.store(true, Ordering::SeqCst);
                own.kill();
            }
        });
        Ok(Running { child, command: format!("{command:?}"), limit, is_late, _watch: sender })
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait();
        assert!(!self.is_late(), "{} did not end within {:?}", self.command, self.limit);
        status
    }

    /// Waits for its end, and returns what it wrote to the streams that are pipes.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Output {
        drop(self.child.stdin.take());
        let out = Reading::of(self.child.stdout.take());
        let err = Reading::of(self.child.stderr.take());
        let status = self.child.wait().expect("it is a child");
        let are_closed = out.ends() && err.ends();
        let (stdout, stderr) = (out.read(), err.read());
        let said = || {
            let [out, err] = [&stdout, &stderr].map(|bytes| String::from_utf8_lossy(bytes));
            format!("{}\nstdout so far:\n{out}\nstderr so far:\n{err}", self.command)
        };
        assert!(!self.is_late(), "it did not end within {:?}: {}", self.limit, said());
        assert!(are_closed, "another process holds its output open: {}", said());
        Output { status, stdout, stderr }
    }

    fn is_late(&self) -> bool {
        self.is_late.load(Ordering::SeqCst)
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            Handle::of(&self.child).kill();
        }
        let _ = self.child.wait();
    }
}

/// A process by its id, and by a descriptor that stays its own when the id is given to another.
struct Handle {
    pid: Pid,
    descriptor: OwnedFd,
}

impl Handle {
    fn of(child: &Child) -> Handle {
        let pid = Pid::from_child(child);
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).expect("a descriptor of a child");
        Handle { pid, descriptor }
    }

    /// Kills it and everything that it started.
    fn kill(&self) {
        // While it stands still, its id is its own, and it starts nothing more.
        if pidfd_send_signal(&self.descriptor, Signal::STOP).is_ok() {
            alive::descendants(self.pid).into_iter().for_each(kill);
            let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
        }
    }
}

fn kill(pid: Pid) {
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// Kills what works below a folder.
pub(crate) fn kill_below(folder: &Path) {
    alive::ids_working_below(folder).into_iter().for_each(kill);
}

/// The bytes of a stream, read by a thread of their own.
struct Reading {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Reading {
    fn of(stream: Option<impl Read + Send + 'static>) -> Reading {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let (own, (sender, end)) = (bytes.clone(), channel());
        std::thread::spawn(move || {
            let _ends = sender;
            let (Some(mut stream), mut part) = (stream, vec![0; 1 << 16]) else { return };
            while let Ok(count @ 1..) = stream.read(&mut part) {
                own.lock().unwrap().extend_from_slice(&part[..count]);
            }
        });
        Reading { bytes, end }
    }

    /// Waits for its end, for some time.
    fn ends(&self) -> bool {
        self.end.recv_timeout(OPEN) != Err(RecvTimeoutError::Timeout)
    }

    fn read(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[test]
fn a_process_ends_with_its_handle_and_its_folder_and_takes_what_it_started_along() {
    let scratch = crate::scratch::Scratch::bare();
    let root = scratch.root();
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&root).stdout(Stdio::piped());
        command
    };
    let mut running = shell("sleep 1000 & setsid sleep 1000 & echo begun; wait").start();
    running.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    drop(running);
    alive::end(|| alive::working_below(&root));
    // The parent of this one has ended before.
    let left = shell("setsid sleep 1000 > /dev/null 2>&1 &").finish();
    assert!(left.status.success() && alive::working_below(&root).len() == 1);
    drop(scratch);
    alive::end(|| alive::with_variable("PWD", &root));
}

#[test]
fn tests_start_processes_in_no_other_way() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with(file!()) {
                let text = std::fs::read_to_string(&path).unwrap();
                let calls = [".spawn()", ".output()", ".wait_with_output()", "process::Child;"];
                let own = calls.into_iter().filter(|call| text.contains(call));
                found.extend(own.map(|call| format!("{}: {call}", path.display())));
            }
        }
    }
    assert_eq!(found, [""; 0], "use `Start::start` or `Start::finish`");
}
