//! The binary on a pseudo-terminal, and a model of the screen. `pseudo_terminal.py` opens the terminal.

use crate::running::{Running, Start};
use crate::scratch::Scratch;
use std::io::{Read, Write};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A run of the binary on a terminal.
pub(super) struct Pty {
    child: Running,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// The bytes of a frame whose end has not arrived.
    frame: Vec<u8>,
    /// Everything that was read so far.
    bytes: Vec<u8>,
}

/// What begins and ends a frame, which a terminal shows as a whole.
const FRAME: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

/// The place behind the last of these words.
fn behind_last(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).rposition(|found| found == word).map(|at| at + word.len())
}

impl Pty {
    /// Starts the binary on a terminal of this size.
    pub(super) fn start(scratch: &Scratch, rows: u16, columns: u16, args: &[&str]) -> Pty {
        Pty::start_with(scratch, rows, columns, &[], args)
    }

    /// The same with these variables.
    pub(super) fn start_with(
        scratch: &Scratch,
        rows: u16,
        columns: u16,
        variables: &[(&str, &str)],
        args: &[&str],
    ) -> Pty {
        let kb = scratch.command();
        let mut command = std::process::Command::new("python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/terminal/pseudo_terminal.py"));
        command.args([rows.to_string(), columns.to_string()]).arg(kb.get_program()).args(args);
        let envs = kb.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(envs).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.envs(variables.iter().copied());
        command.current_dir(scratch.root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.start();
        let (keys, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Pty {
            child,
            keys,
            output,
            parser: vt100::Parser::new(rows, columns, 10_000),
            frame: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Shows bytes. Those of a frame are kept until it is whole.
    fn show(&mut self, bytes: &[u8]) {
        self.frame.extend_from_slice(bytes);
        let [begin, end] = FRAME.map(|word| behind_last(&self.frame, word));
        let whole = match begin {
            Some(begin) if end < Some(begin) => begin - FRAME[0].len(),
            // The last bytes may be a part of what begins one.
            _ => {
                let is_part = |count: &usize| self.frame.ends_with(&FRAME[0][..*count]);
                self.frame.len() - (1..FRAME[0].len()).rev().find(is_part).unwrap_or(0)
            }
        };
        self.parser.process(&self.frame[..whole]);
        self.frame.drain(..whole);
    }

    /// The text on the screen.
    pub(super) fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    /// Everything that was printed and not erased, with the lines that were scrolled away.
    pub(super) fn all(&mut self) -> String {
        let columns = self.parser.screen().size().1;
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let mut lines = Vec::new();
        for offset in (1..=self.parser.screen().scrollback()).rev() {
            self.parser.screen_mut().set_scrollback(offset);
            lines.extend(self.parser.screen().rows(0, columns).next());
        }
        self.parser.screen_mut().set_scrollback(0);
        lines.extend(self.parser.screen().rows(0, columns));
        lines.join("\n").trim_end().to_owned()
    }

    /// Waits until the screen satisfies a condition.
    #[track_caller]
    pub(super) fn until(&mut self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if condition(&self.screen()) {
                return self.screen();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => {
                    self.show(&bytes);
                    self.bytes.extend(&bytes);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("not on the screen: {what}\n{}", self.all())
                }
            }
        }
    }

    /// Everything that was printed so far, with its control sequences.
    pub(super) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Types these bytes.
    pub(super) fn key(&mut self, bytes: &[u8]) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.keys, "key {hex}").unwrap();
    }

    /// Changes the size of the terminal.
    pub(super) fn resize(&mut self, rows: u16, columns: u16) {
        writeln!(self.keys, "size {rows} {columns}").unwrap();
        self.parser.screen_mut().set_size(rows, columns);
    }

    /// Waits for the end; returns the exit code and everything that was printed.
    pub(super) fn end(mut self) -> (i32, String) {
        let (code, _) = self.rest();
        (code, self.all())
    }

    /// Waits for the end; returns the exit code and the bytes that were not read before.
    pub(super) fn end_with_bytes(mut self) -> (i32, Vec<u8>) {
        self.rest()
    }

    fn rest(&mut self) -> (i32, Vec<u8>) {
        let mut all = Vec::new();
        loop {
            match self.output.recv_timeout(Duration::from_secs(60)) {
                Ok(bytes) => {
                    self.show(&bytes);
                    self.bytes.extend(&bytes);
                    all.extend(bytes);
                }
                Err(RecvTimeoutError::Timeout) => panic!("it does not end:\n{}", self.all()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.parser.process(&std::mem::take(&mut self.frame));
        (self.child.wait().unwrap().code().unwrap_or(-1), all)
    }
}
