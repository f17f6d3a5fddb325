//! What a step of Dagu executes, as a shell text with the shell options of Dagu.

use super::draft::Draft;
use super::fields::{Fields, texts};
use super::shell::{Variables, reads};
use super::unset::unset_variables;
use kb_language::definition::Positioned;

/// How the names of variables begin that Dagu sets for each command.
const OF_RUN: &str = "DAG_";

/// What a step executes.
pub(super) struct Command {
    /// The shell text, or that of another program.
    pub(super) text: String,
    pub(super) line: u32,
    /// The program that executes the text in place of a shell.
    program: Option<String>,
    /// Whether the first failing command ends it. Dagu gives `-e` to its shell, and no option to a program that a
    /// step names.
    ends_at_failure: bool,
    /// Whether one of several commands reads a variable that another one sets: it is empty there.
    reads_of_others: bool,
}

impl Command {
    /// Takes the command and the script of a step; `None` if it has neither.
    pub(super) fn of(fields: &Fields<'_>, step: &Positioned, draft: &Draft) -> Option<Command> {
        let shell = |text: String, line| Command {
            text,
            line,
            program: None,
            ends_at_failure: true,
            reads_of_others: false,
        };
        if let Some(words) = step.words() {
            return Some(shell(words, step.line)).filter(Command::is_some);
        }
        let command = ["run", "command"].iter().find_map(|key| fields.take(key));
        let script = fields.text("script");
        let line = command.map_or(step.line, |command| command.line);
        let commands = command.map(|command| texts(command, "command", draft)).unwrap_or_default();
        let made = match (commands.as_slice(), script) {
            ([], None) => return None,
            ([], Some(script)) => match program_of(&script) {
                Some(program) => Command::executed_by(program, script, line),
                None => shell(script, line),
            },
            (commands, Some(script)) => Command::executed_by(commands.join(" "), script, line),
            ([command], None) => shell(command.clone(), line),
            // Each has a shell of its own.
            (commands, None) => {
                let text: String =
                    commands.iter().map(|command| format!("(\n{command}\n)\n")).collect();
                let of_all = unset_variables(&text);
                let mut read = commands.iter().flat_map(|command| unset_variables(command));
                let reads_of_others = read.any(|name| !of_all.contains(&name));
                Command { reads_of_others, ..shell(text, line) }
            }
        };
        Some(made).filter(Command::is_some)
    }

    fn executed_by(program: String, text: String, line: u32) -> Command {
        let is_shell =
            ["bash", "sh"].contains(&program.rsplit(['/', ' ']).next().unwrap_or_default());
        let program = (!is_shell).then_some(program);
        Command { text, line, program, ends_at_failure: false, reads_of_others: false }
    }

    fn is_some(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// The text for `run`, whose references are resolved. `values` are those that it may read and that become variables
    /// of the step, `known` those of the workflow.
    pub(super) fn script(
        &self,
        text: &str,
        variables: &mut Variables,
        values: &[(String, String)],
        known: &[(String, String)],
        draft: &Draft,
    ) -> String {
        if let Some(program) = &self.program {
            // Dagu puts some values into the text of the other program.
            for (name, _) in values.iter().filter(|(name, _)| reads(text, name)) {
                let why = format!("`${{{name}}}` in a script of `{program}` is not mapped");
                draft.fails(self.line, why);
            }
            return format!("{program} <(cat <<'SCRIPT'\n{text}\nSCRIPT\n)");
        }
        variables.provide(text, values);
        let is_known = |name: &str| {
            known.iter().any(|(known, _)| known == name)
                || variables.0.iter().any(|(known, _)| known == name)
        };
        for name in unset_variables(text) {
            if name.starts_with(OF_RUN) && !is_known(&name) {
                draft.fails(self.line, format!("`${{{name}}}` is not mapped"));
            }
        }
        // `kb` runs a text with `bash -euo pipefail`. A name that nothing sets stays an error: Dagu takes it from the
        // environment of its server.
        let positional = text
            .split('$')
            .skip(1)
            .any(|rest| rest.trim_start_matches('{').starts_with(|c: char| c.is_ascii_digit()));
        let mut options = String::new();
        if !self.ends_at_failure {
            options.push_str(" +e");
        }
        if positional || self.reads_of_others {
            options.push_str(" +u");
        }
        if text.replace("||", "").contains('|') {
            options.push_str(" +o pipefail");
        }
        if options.is_empty() { text.to_owned() } else { format!("set{options}\n{text}") }
    }
}

/// The program of a script that begins with `#!`.
fn program_of(script: &str) -> Option<String> {
    let line = script.lines().next()?.strip_prefix("#!")?.trim();
    let line = line.strip_prefix("/usr/bin/env ").unwrap_or(line);
    (!line.is_empty()).then(|| line.strip_prefix("-S ").unwrap_or(line).trim().to_owned())
}
