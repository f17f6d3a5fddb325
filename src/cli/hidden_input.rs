//! Reads a line from the terminal without showing it.
//!
//! Echo is off before the question is shown, and characters that were typed early are kept, so that nothing of a
//! secret appears on the screen. Ctrl-C restores the terminal before it interrupts the program.

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, BufRead};

/// What Ctrl-C sends while it is read as a character.
const INTERRUPT: char = '\u{3}';

/// Shows a question and reads the line that is typed. `None` at the end of the input and after Ctrl-C.
pub(super) fn read_hidden(
    show_question: impl FnOnce() -> io::Result<()>,
) -> io::Result<Option<String>> {
    let hidden = Hidden::new()?;
    show_question()?;
    let line = read_typed();
    drop(hidden);
    let line = line?;
    if line.ends_with(INTERRUPT) {
        kill_process(getpid(), Signal::INT)?;
        return Ok(None);
    }
    Ok((!line.is_empty()).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// What one line of a terminal holds, with the character that ended it. Empty at the end of the input.
fn read_typed() -> io::Result<String> {
    let mut input = io::stdin().lock();
    let typed = input.fill_buf()?;
    let end = typed.iter().position(|byte| *byte == b'\n').map_or(typed.len(), |at| at + 1);
    let line = String::from_utf8_lossy(&typed[..end]).into_owned();
    input.consume(end);
    Ok(line)
}

/// The terminal without echo. Dropping it restores the settings.
struct Hidden {
    before: Termios,
}

impl Hidden {
    /// Turns echo off. Ctrl-C ends the line instead of the program, because the settings must be restored first.
    fn new() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        hidden.local_modes.insert(LocalModes::ECHONL);
        hidden.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT as u8;
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self { before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
