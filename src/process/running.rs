use super::capture::Capture;
use super::{End, Exited, OnLine, Spawn, Stream, orphans};
use crate::clock::timer_instant;
use rustix::process::{Pid, Signal};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long pipes are read after the main process has ended.
const DRAIN: Duration = Duration::from_millis(250);
/// How long the end of a killed process is waited for; only one that hangs in the kernel needs it.
const GIVE_UP: Duration = Duration::from_secs(10);

/// A process from its start until nothing of it is left.
pub(super) struct Running {
    child: Child,
    group: Group,
    token: String,
    input: Option<Input>,
    stdout: Capture<ChildStdout>,
    stderr: Capture<ChildStderr>,
    idle: Option<Duration>,
    quiet_since: Instant,
    deadline: Option<Instant>,
    phase: Phase,
}

/// What is waited for.
enum Phase {
    /// Its end, or a reason to stop it.
    Working,
    /// Its end after SIGTERM.
    Terminating { why: End, until: Instant },
    /// Its end after SIGKILL.
    Killing { why: End, until: Instant },
    /// The ends of its pipes.
    Draining { end: End, until: Instant },
    /// Nothing.
    Over { end: End },
}

impl Running {
    pub(super) fn new(
        mut child: Child,
        spawn: Spawn,
        token: String,
        on_line: Option<OnLine>,
    ) -> Self {
        let pipes = "both streams are piped and not taken yet";
        let (stdout, stderr) =
            (child.stdout.take().expect(pipes), child.stderr.take().expect(pipes));
        let input = child.stdin.take().map(|pipe| Input { pipe, bytes: spawn.stdin, written: 0 });
        let limit = spawn.max_stream;
        Running {
            group: Group(child.id().unwrap_or_default()),
            child,
            token,
            input,
            stdout: Capture::new(Stream::Stdout, stdout, limit, on_line.clone()),
            stderr: Capture::new(Stream::Stderr, stderr, limit, on_line),
            idle: spawn.idle,
            quiet_since: timer_instant(),
            deadline: spawn.timeout.map(|timeout| timer_instant() + timeout),
            phase: Phase::Working,
        }
    }

    /// Waits for the end, and makes it where it has to be made.
    pub(super) async fn attend(
        mut self,
        cancel: &CancellationToken,
        began: std::time::Instant,
    ) -> Exited {
        let end = loop {
            match &self.phase {
                Phase::Over { end } => break end.clone(),
                Phase::Draining { end, .. } if !self.stdout.is_open() && !self.stderr.is_open() => {
                    break end.clone();
                }
                _ => self.step(cancel).await,
            }
        };
        self.group.signal(Signal::KILL);
        orphans::forget(self.group.0);
        orphans::end_step(self.group.0, &self.token).await;
        self.group.0 = 0;
        let (stdout, stdout_cut) = self.stdout.finish();
        let (stderr, stderr_cut) = self.stderr.finish();
        Exited { end, stdout, stderr, stdout_cut, stderr_cut, duration: began.elapsed() }
    }

    /// Takes in the next thing that happens.
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
            status = self.child.wait(), if lives => self.ended(status),
            () = cancel.cancelled(), if works => self.stop(End::Cancelled),
            () = sleep_until(alarm), if alarm.is_some() => self.alarmed(),
        }
    }

    fn alarm(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Working => {
                let quiet = self.idle.map(|idle| self.quiet_since + idle);
                self.deadline.into_iter().chain(quiet).min()
            }
            Phase::Terminating { until, .. }
            | Phase::Killing { until, .. }
            | Phase::Draining { until, .. } => Some(*until),
            Phase::Over { .. } => None,
        }
    }

    fn alarmed(&mut self) {
        let now = timer_instant();
        match std::mem::replace(&mut self.phase, Phase::Working) {
            Phase::Working if self.deadline.is_some_and(|deadline| deadline <= now) => {
                self.stop(End::TimedOut);
            }
            Phase::Working => self.stop(End::Idle),
            Phase::Terminating { why, .. } => {
                self.group.signal(Signal::KILL);
                self.phase = Phase::Killing { why, until: now + GIVE_UP };
            }
            Phase::Killing { why: end, .. } | Phase::Draining { end, .. } | Phase::Over { end } => {
                self.phase = Phase::Over { end };
            }
        }
    }

    fn stop(&mut self, why: End) {
        self.group.signal(Signal::TERM);
        self.phase = Phase::Terminating { why, until: timer_instant() + GRACE };
    }

    fn ended(&mut self, status: std::io::Result<ExitStatus>) {
        let own = match status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => End::Code(code),
                (None, signal) => End::Signal(signal.unwrap_or_default()),
            },
            Err(_) => End::Signal(Signal::KILL.as_raw()),
        };
        let end = match std::mem::replace(&mut self.phase, Phase::Working) {
            Phase::Working => own,
            Phase::Terminating { why: end, .. }
            | Phase::Killing { why: end, .. }
            | Phase::Draining { end, .. }
            | Phase::Over { end } => end,
        };
        self.input = None;
        self.phase = Phase::Draining { end, until: timer_instant() + DRAIN };
    }
}

/// A step's process group, by its main process; killed when it is dropped. Its number cannot have
/// gone to somebody else meanwhile: that takes as many new processes as the system has numbers,
/// within the 250 ms of draining.
struct Group(u32);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.0 as i32) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.0 != 0 {
            self.signal(Signal::KILL);
            orphans::forget(self.0);
        }
    }
}

/// What the process reads.
struct Input {
    pipe: ChildStdin,
    bytes: Vec<u8>,
    written: usize,
}

/// Writes the next part; true where nothing is left or nobody reads. Dropping the future before it
/// is ready loses nothing.
async fn write_some(input: &mut Option<Input>) -> bool {
    let Some(input) = input else { return true };
    match input.pipe.write(&input.bytes[input.written..]).await {
        Ok(0) | Err(_) => true,
        Ok(count) => {
            input.written += count;
            input.written == input.bytes.len()
        }
    }
}

async fn sleep_until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => tokio::time::sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
