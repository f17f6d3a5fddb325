//! What the exit code of a shell script proves about the commands in it.
//!
//! Pure and conservative: a script that [`syntax`] does not cover proves nothing. `token` splits text
//! into words, `syntax` finds lists and pipelines, `argv` removes wrappers such as `env` and `timeout`,
//! and this file decides for each command whether exit code 0 of the script is exit code 0 of the
//! command. Start reading at [`Script::of`].

mod argv;
mod exits;
mod streams;
mod syntax;
mod token;

use crate::evidence::Invocation;
pub(super) use argv::ENVIRONMENT_FILES;
use argv::{Unwrapped, is_assignment, unwrap};
use exits::{Options, is_failing_exit, is_transparent_exit, set};
use kb_base::value::Json;
use streams::Streams;
use syntax::{Command, List, Pipeline, Statement};

/// The commands of a recorded process or of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// The simple commands, in order, without those that cannot be reached.
    pub(super) commands: Vec<CommandUse>,
    /// The files that set up an environment and that the script executes in the same shell, in order.
    pub(super) sourced: Vec<SourcedFile>,
    /// The words of its commands that are assignments, as in `NAME=value make` and `make NAME=value`.
    pub(super) assigned: Vec<String>,
    /// All text of a script that is not covered; then `commands` is empty.
    pub(super) unparsed: Option<String>,
}

/// A file that tools generate to set up their environment, such as `bin/activate` of Python. It is
/// trusted unless the step changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcedFile {
    /// The file as it is written.
    pub(super) file: String,
    /// The working directory at that time, relative to the one of the process; `None` if it is not
    /// known.
    pub(super) cwd: Option<String>,
}

/// A simple command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandUse {
    /// Program and arguments, without assignments, redirections and wrappers.
    pub(super) argv: Vec<String>,
    /// Why exit code 0 of the script does not prove that this command ran and exited with 0; `None` if
    /// it does.
    pub(super) masked: Option<&'static str>,
    /// How many files the script sourced before.
    pub(super) sourced: usize,
    /// The working directory, relative to the one of the process; `None` if it is not known.
    pub(super) cwd: Option<String>,
    /// Whether the shell writes its output to a file, or it is `tee`.
    pub(super) writes: bool,
    /// Where it reads from and writes to.
    pub(super) streams: Streams,
    /// The number of its pipeline in the script.
    pipeline: usize,
}

impl CommandUse {
    /// Whether it only moves, prints and the like.
    pub(super) fn is_neutral(&self) -> bool {
        NEUTRAL.contains(&self.argv[0].as_str())
    }
}

/// What a call executes.
pub(super) enum CommandLine {
    /// A text for a shell.
    Text(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl CommandLine {
    /// The arguments of a call, or those of its process. `None` if it has none.
    pub(super) fn of(call: &Invocation) -> Option<CommandLine> {
        if let Some(text) = call.args.get("command").and_then(Json::as_str) {
            return Some(CommandLine::Text(text.to_owned()));
        }
        let words = |json: &Json| -> Option<Vec<String>> {
            json.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let argv = call.args.get("argv").and_then(words);
        argv.or_else(|| call.process.as_ref()?.argv.clone()).map(CommandLine::Words)
    }
}

/// The shell of `run:` steps and of `shell:exec`, before the script.
pub(super) const SHELL: [&str; 4] = ["bash", "-euo", "pipefail", "-c"];

/// Commands that do not fail in practice, or whose failure means nothing.
const NEUTRAL: [&str; 16] = [
    "cd", "pushd", "popd", "export", "set", "true", ":", "echo", "printf", "source", ".", "cat",
    "tee", "tail", "head", "exit",
];

impl Script {
    /// The commands of a process with these arguments.
    pub(super) fn of(argv: &[String]) -> Script {
        let (commands, sourced, cwd) = (Vec::new(), Vec::new(), Some(String::new()));
        let assigned = Vec::new();
        let mut analysis = Analysis { commands, sourced, assigned, cwd, ..Analysis::default() };
        let done = analysis.simple(argv, false, None, 0);
        analysis.script(done, || argv.join(" "))
    }

    /// The commands of a call: its arguments, or those of its process. `None` if it has none.
    pub(super) fn of_call(call: &Invocation) -> Option<Script> {
        let script = match CommandLine::of(call)? {
            CommandLine::Text(text) => Script::of_text(&text),
            CommandLine::Words(words) => Script::of(&words),
        };
        // Variables that the call sets are those of a command with assignments.
        let env = call.args.get("env").and_then(Json::as_object).into_iter().flatten();
        let set = env.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
        Some(Script { assigned: script.assigned.into_iter().chain(set).collect(), ..script })
    }

    /// The commands of a text, as the tool `shell:exec` executes it: `bash -euo pipefail -c TEXT`.
    pub(super) fn of_text(text: &str) -> Script {
        let argv: Vec<String> = SHELL.into_iter().chain([text]).map(str::to_owned).collect();
        Script::of(&argv)
    }

    /// Whether no command behind one matters, or writes a file in another pipeline.
    pub(super) fn ends_with(&self, used: &CommandUse) -> bool {
        let after = self.commands.iter().rposition(|own| own == used).map_or(0, |at| at + 1);
        self.main_commands().last().is_some_and(|last| *last == used)
            && !self.commands[after..].iter().any(|l| l.writes && l.pipeline != used.pipeline)
    }

    /// The commands whose result matters, in order: all but `cd`, `echo` and the like, if there are
    /// others.
    pub(super) fn main_commands(&self) -> Vec<&CommandUse> {
        let is_main = |used: &&CommandUse| !used.is_neutral();
        let main: Vec<&CommandUse> = self.commands.iter().filter(is_main).collect();
        if main.is_empty() { self.commands.iter().collect() } else { main }
    }
}

#[derive(Default)]
struct Analysis {
    commands: Vec<CommandUse>,
    sourced: Vec<SourcedFile>,
    assigned: Vec<String>,
    /// The working directory, relative to the one of the process; `None` if it is not known.
    cwd: Option<String>,
    /// Why no later command is proven, such as an earlier conditional `exit`.
    doubt: Option<&'static str>,
    /// Whether the script has ended, so that later commands are not reached.
    ended: bool,
    pipelines: usize,
    /// The streams of the commands that are added.
    streams: Streams,
}

const BACKGROUND: &str = "it runs in the background";
const OR: &str = "`||` hides its exit code";
const NEGATED: &str = "`!` inverts its exit code";
const PIPE: &str = "a pipe without `pipefail` hides its exit code";
const LATER: &str = "the exit code of a later command decides";
const EXIT: &str = "an earlier `exit` can end the script";
const SOURCED: &str = "the script sources another file";
const PATH: &str = "the script changes which program is executed";
/// Depth of shells in shells.
const MAX_DEPTH: usize = 5;

impl Analysis {
    fn script(self, done: Option<()>, text: impl FnOnce() -> String) -> Script {
        match done {
            Some(()) => Script {
                commands: self.commands,
                sourced: self.sourced,
                assigned: self.assigned,
                unparsed: None,
            },
            None => Script { unparsed: Some(text()), ..Script::default() },
        }
    }

    fn text(
        &mut self,
        text: &str,
        options: Options,
        mask: Option<&'static str>,
        depth: usize,
    ) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let (ended, doubt, cwd) = (self.ended, self.doubt, self.cwd.clone());
        let mut options = options;
        self.list(&syntax::parse(text)?, &mut options, true, mask, depth)?;
        // An `exit` ends only this shell, and `cd` moves only this shell.
        (self.ended, self.doubt, self.cwd) = (ended, doubt, cwd);
        Some(())
    }

    /// `errexit_counts`: whether a failing statement ends the script under `set -e`.
    fn list(
        &mut self,
        list: &List,
        options: &mut Options,
        errexit_counts: bool,
        mask: Option<&'static str>,
        depth: usize,
    ) -> Option<()> {
        let mut list = list.as_slice();
        while let [rest @ .., last] = list
            && !rest.is_empty()
            && is_transparent_exit(last)
        {
            list = rest;
        }
        for (at, statement) in list.iter().enumerate() {
            if self.ended {
                return Some(());
            }
            let is_last = at + 1 == list.len();
            let errexit = options.errexit && errexit_counts;
            self.statement(statement, options, (is_last, errexit), mask, depth)?;
        }
        Some(())
    }

    fn statement(
        &mut self,
        statement: &Statement,
        options: &mut Options,
        (is_last, errexit): (bool, bool),
        mask: Option<&'static str>,
        depth: usize,
    ) -> Option<()> {
        let (rest, exits) = match statement.rest.split_last() {
            Some(((true, last), rest)) if is_failing_exit(last) => (rest, true),
            _ => (statement.rest.as_slice(), false),
        };
        let own = match () {
            () if statement.background => Some(BACKGROUND),
            () if rest.iter().any(|(or, _)| *or) => Some(OR),
            () if is_last || exits || (errexit && rest.is_empty()) => None,
            () => Some(LATER),
        };
        let mask = mask.or(own);
        let pipelines = std::iter::once(&statement.first).chain(rest.iter().map(|(_, p)| p));
        for (at, pipeline) in pipelines.enumerate() {
            let is_only = rest.is_empty() && !statement.background;
            if let (true, [Command::Simple { words, .. }]) = (is_only, pipeline.commands.as_slice())
                && words.first().is_some_and(|word| word == "set")
            {
                set(&words[1..], options)?;
                continue;
            }
            let conditional = at > 0 || statement.background;
            let ignored = exits || at < rest.len() || pipeline.negated;
            self.pipeline(pipeline, options, (conditional, errexit && !ignored), mask, depth)?;
            if self.ended {
                return Some(());
            }
        }
        Some(())
    }

    fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        options: &mut Options,
        (conditional, errexit): (bool, bool),
        mask: Option<&'static str>,
        depth: usize,
    ) -> Option<()> {
        let negated = pipeline.negated.then_some(NEGATED);
        let is_pipe = pipeline.commands.len() > 1;
        self.pipelines += 1;
        for (at, command) in pipeline.commands.iter().enumerate() {
            let hidden = at + 1 < pipeline.commands.len() && !options.pipefail;
            let mask = mask.or(negated).or(hidden.then_some(PIPE));
            let to = match command {
                Command::Group { to, .. } | Command::Simple { to, .. } => to,
            };
            let own = self.streams.within(to, at, pipeline.commands.len());
            let around = std::mem::replace(&mut self.streams, own);
            match command {
                Command::Group { list, subshell, .. } => {
                    let (ended, doubt, cwd) = (self.ended, self.doubt, self.cwd.clone());
                    let mut inner = *options;
                    self.list(list, &mut inner, errexit, mask, depth)?;
                    if *subshell || is_pipe {
                        (self.ended, self.doubt, self.cwd) = (ended, doubt, cwd);
                    } else {
                        if conditional && *options != inner {
                            return None;
                        }
                        *options = inner;
                        if conditional && self.ended {
                            (self.ended, self.doubt) = (false, Some(EXIT));
                        }
                    }
                }
                Command::Simple { words, to } => {
                    self.simple(words, to.writes, mask, depth)?;
                    if is_pipe && words.iter().any(|word| argv::is_move(word)) {
                        self.cwd = None;
                    }
                    let program = words.iter().find(|word| !is_assignment(word));
                    let is_exec = words.len() > 1 && words[0] == "exec";
                    if !is_pipe && (program.is_some_and(|word| word == "exit") || is_exec) {
                        if conditional { self.doubt = Some(EXIT) } else { self.ended = true }
                    }
                }
            }
            self.streams = around;
        }
        Some(())
    }

    /// Adds a simple command, or the commands of the shell that it starts.
    fn simple(
        &mut self,
        words: &[String],
        writes: bool,
        mask: Option<&'static str>,
        depth: usize,
    ) -> Option<()> {
        let mask = mask.or(self.doubt);
        let unwrapped = unwrap(words)?;
        // The script of a shell can begin with an assignment, but its own commands are recorded.
        let is_script =
            |word: &&String| matches!(&unwrapped, Unwrapped::Shell { text, .. } if text == *word);
        let assigned = words.iter().filter(|word| is_assignment(word) && !is_script(word));
        self.assigned.extend(assigned.cloned());
        match unwrapped {
            Unwrapped::Nothing => {
                if writes {
                    self.add(vec![":".to_owned()], true, mask);
                }
                Some(())
            }
            Unwrapped::Search => {
                self.doubt = self.doubt.or(Some(PATH));
                Some(())
            }
            Unwrapped::Shell { text, errexit, pipefail } => {
                self.text(&text, Options { errexit, pipefail }, mask, depth + 1)
            }
            Unwrapped::Command { argv, other_program } => {
                let mask = mask.or(other_program.then_some(PATH));
                if argv::is_move(&argv[0]) {
                    self.cwd = match mask {
                        None => self.cwd.take().and_then(|cwd| argv::moved(&cwd, &argv)),
                        Some(_) => None,
                    };
                }
                match argv::source(&argv) {
                    Some((file, true)) => {
                        let sourced = SourcedFile { file: file.to_owned(), cwd: self.cwd.clone() };
                        self.sourced.push(sourced);
                    }
                    Some((_, false)) => self.doubt = Some(SOURCED),
                    None => {}
                }
                let writes = writes || argv[0] == "tee" && argv.len() > 1;
                self.add(argv, writes, mask);
                Some(())
            }
        }
    }

    fn add(&mut self, argv: Vec<String>, writes: bool, masked: Option<&'static str>) {
        let (sourced, cwd, pipeline) = (self.sourced.len(), self.cwd.clone(), self.pipelines);
        let streams = self.streams.clone();
        self.commands.push(CommandUse { argv, masked, sourced, cwd, writes, streams, pipeline });
    }
}

#[cfg(test)]
mod tests;
