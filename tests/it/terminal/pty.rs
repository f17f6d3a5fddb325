//! The binary on a pseudo-terminal, and a model of the screen. `pseudo_terminal.py` opens the terminal.

use crate::scratch::Scratch;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A run of the binary on a terminal.
pub(super) struct Pty {
    child: Child,
    keys: ChildStdin,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// Everything that was read so far.
    bytes: Vec<u8>,
}

impl Pty {
    /// Starts the binary on a terminal of this size.
    pub(super) fn start(scratch: &Scratch, rows: u16, columns: u16, args: &[&str]) -> Pty {
        let kb = scratch.command();
        let mut command = std::process::Command::new("python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/terminal/pseudo_terminal.py"));
        command.args([rows.to_string(), columns.to_string()]).arg(kb.get_program()).args(args);
        let envs = kb.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(envs).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.current_dir(scratch.root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 starts");
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
        let parser = vt100::Parser::new(rows, columns, 10_000);
        Pty { child, keys, output, parser, bytes: Vec::new() }
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
                    self.parser.process(&bytes);
                    self.bytes.extend(bytes);
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
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_secs(60)) {
            self.parser.process(&bytes);
            all.extend(bytes);
        }
        (self.child.wait().unwrap().code().unwrap_or(-1), all)
    }
}
