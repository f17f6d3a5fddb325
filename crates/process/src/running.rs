//! Supervises a running process: limits, input, output, and its end.

use super::capture::Capture;
use super::failed_command::FailureReport;
use super::main_process::MainProcess;
use super::pipes::ReadEnd;
use super::session_output::SessionOutput;
use super::watched::watched;
use super::{OutputListener, ProcessEnd, ProcessResult, Spawn, Stream};
use kb_clock::timer_instant;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// The maximum time to read pipes after the main process has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// The maximum time to wait for the end of a killed process, which may hang in the kernel.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The time after SIGKILL before the namespace worker is killed.
const FORCE: Duration = Duration::from_secs(2);
/// The time before pipes are registered with the runtime. Most short steps have ended by then.
const WATCH_DELAY: Duration = Duration::from_millis(5);

/// A process from its start until no descendant is left.
pub(super) struct Running {
    process: MainProcess,
    input: Option<Input>,
    stdout: Capture,
    stderr: Capture,
    idle: Option<Duration>,
    quiet_since: Instant,
    deadline: Option<Instant>,
    watch_at: Option<Instant>,
    phase: Phase,
    report: Option<FailureReport>,
}

/// The state of supervision: what it waits for.
enum Phase {
    /// The end of the process, or a reason to stop it.
    Working,
    /// The end of the process after SIGTERM.
    Terminating { why: ProcessEnd, until: Instant },
    /// The end of the process after SIGKILL.
    Killing { why: ProcessEnd, until: Instant, forced: bool },
    /// The pipes to close.
    Draining { end: ProcessEnd, until: Instant },
    /// Nothing; supervision is over.
    Over { end: ProcessEnd },
}

impl Running {
    pub(super) fn new(
        process: MainProcess,
        [stdout, stderr]: [ReadEnd; 2],
        stdin: Option<OwnedFd>,
        spawn: Spawn,
        (listener, report): (Option<OutputListener>, Option<FailureReport>),
    ) -> Self {
        let (now, limit) = (timer_instant(), spawn.max_stream);
        Running {
            process,
            input: stdin.and_then(|pipe| Input::new(pipe, spawn.stdin, None).ok()),
            stdout: Capture::new(Stream::Stdout, stdout, limit, listener.clone()),
            stderr: Capture::new(Stream::Stderr, stderr, limit, listener),
            idle: spawn.idle,
            quiet_since: now,
            deadline: spawn.timeout.map(|timeout| now + timeout),
            watch_at: Some(now + WATCH_DELAY),
            phase: Phase::Working,
            report,
        }
    }

    /// A process whose input continues with what the channel gives, and whose output goes to the session.
    pub(super) fn of_session(
        process: MainProcess,
        [stdout, stderr]: [ReadEnd; 2],
        stdin: Option<OwnedFd>,
        mut spawn: Spawn,
        (more, output): (Receiver<Vec<u8>>, Arc<SessionOutput>),
    ) -> Self {
        let first = std::mem::take(&mut spawn.stdin);
        let stdout = Capture::of_session(stdout, output);
        let running = Running::new(process, [ReadEnd::Closed, stderr], None, spawn, (None, None));
        let input = stdin.and_then(|pipe| Input::new(pipe, first, Some(more)).ok());
        Running { input, stdout, ..running }
    }

    /// Waits for the end of the process and stops it when a limit is reached.
    pub(super) async fn supervise(
        mut self,
        cancel: &CancellationToken,
        started: std::time::Instant,
    ) -> ProcessResult {
        let end = loop {
            match &self.phase {
                Phase::Over { end } => break end.clone(),
                Phase::Draining { end, .. } if !self.stdout.is_open() && !self.stderr.is_open() => {
                    break end.clone();
                }
                _ => self.step(cancel).await,
            }
        };
        let unreached = self.process.unreached();
        self.process.clean_up().await;
        let (stdout, stdout_cut, stdout_tail) = self.stdout.finish();
        let (stderr, stderr_cut, stderr_tail) = self.stderr.finish();
        let failed = match &end {
            ProcessEnd::Code(code) => self.report.and_then(|report| report.failed(*code)),
            _ => None,
        };
        ProcessResult {
            end,
            stdout,
            stderr,
            stdout_cut,
            stderr_cut,
            stdout_tail,
            stderr_tail,
            failed,
            duration: started.elapsed(),
            unreached,
        }
    }

    /// Handles the next event.
    async fn step(&mut self, cancel: &CancellationToken) {
        let alarm = self.alarm();
        let lives = !matches!(self.phase, Phase::Draining { .. });
        let works = matches!(self.phase, Phase::Working);
        tokio::select! {
            () = self.stdout.fill(), if self.stdout.is_open() => self.quiet_since = timer_instant(),
            () = self.stderr.fill(), if self.stderr.is_open() => self.quiet_since = timer_instant(),
            done = write_some(&mut self.input), if self.input.is_some() => {
                if done {
                    self.input = None;
                }
            }
            end = self.process.ended(), if lives => self.ended(end),
            () = cancel.cancelled(), if works => self.stop(ProcessEnd::Cancelled),
            () = sleep_until(alarm), if alarm.is_some() => self.alarmed(),
        }
    }

    fn alarm(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Working => {
                let quiet = self.idle.map(|idle| self.quiet_since + idle);
                self.deadline.into_iter().chain(quiet).chain(self.watch_at).min()
            }
            Phase::Terminating { until, .. }
            | Phase::Killing { until, .. }
            | Phase::Draining { until, .. } => Some(*until),
            Phase::Over { .. } => None,
        }
    }

    fn alarmed(&mut self) {
        let now = timer_instant();
        if self.watch_at.is_some_and(|at| at <= now) {
            self.watch();
            return;
        }
        match std::mem::replace(&mut self.phase, Phase::Working) {
            Phase::Working if self.deadline.is_some_and(|deadline| deadline <= now) => {
                self.stop(ProcessEnd::TimedOut);
            }
            Phase::Working => self.stop(ProcessEnd::Idle),
            Phase::Terminating { why, .. } => {
                self.process.kill();
                self.phase = Phase::Killing { why, until: now + FORCE, forced: false };
            }
            Phase::Killing { why, forced: false, .. } => {
                let more = if self.process.force() { GIVE_UP } else { GIVE_UP - FORCE };
                self.phase = Phase::Killing { why, until: now + more, forced: true };
            }
            Phase::Killing { why: end, .. } | Phase::Draining { end, .. } | Phase::Over { end } => {
                // Data may have arrived that the runtime has not reported yet.
                self.stdout.take();
                self.stderr.take();
                self.phase = Phase::Over { end };
            }
        }
    }

    fn watch(&mut self) {
        if self.watch_at.take().is_some() {
            self.stdout.watch();
            self.stderr.watch();
        }
    }

    fn stop(&mut self, why: ProcessEnd) {
        self.watch();
        self.process.terminate();
        self.phase = Phase::Terminating { why, until: timer_instant() + GRACE };
    }

    fn ended(&mut self, own: ProcessEnd) {
        let end = match std::mem::replace(&mut self.phase, Phase::Working) {
            Phase::Working => own,
            Phase::Terminating { why: end, .. }
            | Phase::Killing { why: end, .. }
            | Phase::Draining { end, .. }
            | Phase::Over { end } => end,
        };
        self.input = None;
        self.stdout.take();
        self.stderr.take();
        self.phase = Phase::Draining { end, until: timer_instant() + DRAIN };
        if self.stdout.is_open() || self.stderr.is_open() {
            self.watch();
        }
    }
}

/// The stdin of the process.
struct Input {
    pipe: AsyncFd<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
    /// What comes after the bytes.
    more: Option<Receiver<Vec<u8>>>,
}

impl Input {
    fn new(pipe: OwnedFd, bytes: Vec<u8>, more: Option<Receiver<Vec<u8>>>) -> io::Result<Input> {
        let pipe = watched(pipe, Interest::WRITABLE)?;
        Ok(Input { pipe, bytes, written: 0, more })
    }
}

/// Writes the next part of stdin. Returns true if nothing is left or the pipe is closed. Cancel safe.
async fn write_some(input: &mut Option<Input>) -> bool {
    let Some(Input { pipe, bytes, written, more }) = input else { return true };
    if *written == bytes.len() {
        let Some(next) = next(more).await else { return true };
        (*bytes, *written) = (next, 0);
    }
    let Ok(mut ready) = pipe.writable().await else { return true };
    let rest = &bytes[*written..];
    match ready.try_io(|pipe| Ok(rustix::io::write(pipe, rest)?)) {
        Err(_would_block) => false,
        Ok(Ok(0)) if rest.is_empty() => false,
        Ok(Ok(0) | Err(_)) => true,
        Ok(Ok(count)) => {
            *written += count;
            *written == bytes.len() && more.is_none()
        }
    }
}

async fn next(more: &mut Option<Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    more.as_mut()?.recv().await
}

async fn sleep_until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
