//! What a step of Dagu executes, as a shell text with the shell options of Dagu.

use super::dagu_pattern::word;
use super::draft::Draft;
use super::fields::{Fields, texts};
use super::shell::{Variables, reads};
use super::unset::unset_variables;
use kb_language::definition::Positioned;

/// How the names of variables begin that Dagu sets for each command.
const OF_RUN: &str = "DAG_";

/// A variable that `bash` sets by itself where nothing does.
const OF_BASH: &str = "SHELL";

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
    /// The options of the shell that the step or workflow names; Dagu adds none.
    shell: Option<Shell>,
}

/// A `shell` of Dagu that is `bash` or `sh`.
#[derive(Clone, Copy, Default)]
struct Shell {
    ends_at_failure: bool,
    ends_at_unset: bool,
    pipes_fail: bool,
}

/// Another program that executes texts in place of a shell, with its options, or a shell.
enum Named {
    Shell(Shell),
    Program(String),
}

impl Named {
    /// The `shell` of a step or workflow; none if its options have no counterpart.
    fn of(shell: &Positioned) -> Option<Named> {
        let words: Vec<String> = match shell.words() {
            Some(text) => text.split_whitespace().map(str::to_owned).collect(),
            None => shell.items().iter().filter_map(Positioned::words).collect(),
        };
        let (program, options) = words.split_first()?;
        let mut found = Shell::default();
        if !["bash", "sh"].contains(&program.rsplit('/').next().unwrap_or_default()) {
            let plain = |word: &String| {
                word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
            };
            return words.iter().all(plain).then(|| Named::Program(words.join(" ")));
        }
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let letters = option.strip_prefix('-')?;
            for letter in letters.chars() {
                match letter {
                    'e' => found.ends_at_failure = true,
                    'u' => found.ends_at_unset = true,
                    'o' => match options.next()?.as_str() {
                        "pipefail" => found.pipes_fail = true,
                        "errexit" => found.ends_at_failure = true,
                        "nounset" => found.ends_at_unset = true,
                        _ => return None,
                    },
                    _ => return None,
                }
            }
        }
        Some(Named::Shell(found))
    }
}

impl Command {
    /// Takes the command and the script of a step; `None` if it has neither.
    /// `shell` is that of the workflow.
    pub(super) fn of(
        fields: &Fields<'_>,
        step: &Positioned,
        shell: Option<&Positioned>,
        draft: &Draft,
    ) -> Option<Command> {
        let named = fields.take("shell").or(shell);
        let made = Command::with_usual_shell(fields, step, draft)?;
        let Some(written) = named else { return Some(made) };
        match Named::of(written) {
            Some(Named::Shell(_)) if made.program.is_some() => Some(made),
            Some(Named::Shell(shell)) => Some(Command { shell: Some(shell), ..made }),
            // Dagu resolves variables in the text.
            Some(Named::Program(program))
                if made.program.is_none() && !made.text.contains(['$', '`']) =>
            {
                let text = format!("{program} -c {}", word(&made.text));
                Some(Command { text, ..made })
            }
            _ => {
                draft.fails(written.line, "this `shell` is not mapped");
                Some(made)
            }
        }
    }

    fn with_usual_shell(fields: &Fields<'_>, step: &Positioned, draft: &Draft) -> Option<Command> {
        let shell = |text: String, line| Command {
            text,
            line,
            program: None,
            ends_at_failure: true,
            reads_of_others: false,
            shell: None,
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
        let shell = None;
        Command { text, line, program, ends_at_failure: false, reads_of_others: false, shell }
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
        if reads(text, OF_BASH) && !is_known(OF_BASH) {
            draft.fails(self.line, format!("`${{{OF_BASH}}}` is not mapped"));
        }
        // `kb` runs a text with `bash -euo pipefail`. A name that nothing sets stays an error: Dagu takes it from the
        // environment of its server.
        let positional = text
            .split('$')
            .skip(1)
            .any(|rest| rest.trim_start_matches('{').starts_with(|c: char| c.is_ascii_digit()));
        let usual = Shell {
            ends_at_failure: self.ends_at_failure,
            ends_at_unset: !positional && !self.reads_of_others,
            pipes_fail: !text.replace("||", "").contains('|'),
        };
        let Shell { ends_at_failure, ends_at_unset, pipes_fail } = self.shell.unwrap_or(usual);
        let mut options = String::new();
        options.push_str(if ends_at_failure { "" } else { " +e" });
        options.push_str(if ends_at_unset { "" } else { " +u" });
        options.push_str(if pipes_fail { "" } else { " +o pipefail" });
        if options.is_empty() { text.to_owned() } else { format!("set{options}\n{text}") }
    }
}

/// The program of a script that begins with `#!`.
fn program_of(script: &str) -> Option<String> {
    let line = script.lines().next()?.strip_prefix("#!")?.trim();
    let line = line.strip_prefix("/usr/bin/env ").unwrap_or(line);
    (!line.is_empty()).then(|| line.strip_prefix("-S ").unwrap_or(line).trim().to_owned())
}
