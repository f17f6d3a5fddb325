//! Whether the numbers of tests in the output of a script are those that the runner printed: another command can print a
//! summary, or change the one of the runner on its way.

use super::runner::{TestCommands, executes_given_text};
use super::shell::{CommandUse, Script};
use crate::evidence::TestCounts;

/// Programs whose output consists of lines that they read.
const PASSING: [&str; 8] = ["tee", "tail", "head", "cat", "grep", "egrep", "fgrep", "rg"];
/// Programs that can print other lines than they read.
const EDITORS: [&str; 10] =
    ["sed", "awk", "gawk", "perl", "tr", "cut", "paste", "jq", "xargs", "sort"];
/// Commands that print their operands.
const SAYING: [&str; 2] = ["echo", "printf"];

/// Why the numbers in the output of a script need not be those of one of its commands, as a fragment; `None` if they are.
pub(super) fn other_source(script: &Script, used: &CommandUse) -> Option<String> {
    let at = script.commands.iter().position(|own| own == used)?;
    let after = &script.commands[at + 1..];
    let kept = kept_in(used, after);
    let shown = |own: &CommandUse| is_passing(own) && files(own).any(|file| kept.contains(&file));
    if let Some(file) = &used.streams.output
        && !after.iter().any(shown)
    {
        return Some(format!(
            "its output went to `{file}`, and another command printed the numbers"
        ));
    }
    if used.streams.piped {
        let changes = |own: &&CommandUse| own.streams.reads && !is_passing(own);
        if let Some(own) = after.iter().find(changes) {
            return Some(format!("`{}` can have changed its numbers", own.argv.join(" ")));
        }
    }
    let known = TestCommands::of([]);
    let others = script.commands.iter().filter(|own| *own != used);
    let writes_kept =
        |own: &&CommandUse| own.streams.output.as_deref().is_some_and(|file| kept.contains(&file));
    if let Some(own) = others.clone().find(writes_kept) {
        return Some(format!("`{}` writes the file of its output", own.argv.join(" ")));
    }
    // What a file gets, or the runner reads, is not in the output.
    let is_read = |own: &CommandUse| used.streams.reads && own.streams.piped;
    let mut shown = others.filter(|own| own.streams.output.is_none() && !is_read(own));
    let prints = |own: &&CommandUse| {
        let by_file = is_passing(own) && files(own).any(|file| !kept.contains(&file));
        let edits = EDITORS.contains(&own.argv[0].as_str()) && !own.streams.reads;
        let given = executes_given_text(&own.argv) && !known.contains(&own.argv);
        by_file || edits || given
    };
    let own = shown.find(prints).or_else(|| says_summary(&script.commands))?;
    Some(format!("`{}` can have printed the numbers", own.argv.join(" ")))
}

/// The files that get the output of a command: by a redirection, or by a `tee` that reads it.
fn kept_in<'c>(used: &'c CommandUse, after: &'c [CommandUse]) -> Vec<&'c str> {
    let reading = after.iter().take_while(|own| used.streams.piped && own.streams.reads);
    let by_tee = reading.filter(|own| own.argv[0] == "tee").flat_map(operands);
    used.streams.output.as_deref().into_iter().chain(by_tee).collect()
}

fn is_passing(used: &CommandUse) -> bool {
    PASSING.contains(&used.argv[0].as_str())
}

fn operands(used: &CommandUse) -> impl Iterator<Item = &str> {
    used.argv[1..]
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-') && !word.is_empty())
}

/// The files whose lines a program prints. The first operand of `grep` is no file, and a number is the value of an option.
fn files(used: &CommandUse) -> impl Iterator<Item = &str> {
    let is_tee = used.argv[0] == "tee";
    let pattern = usize::from(used.argv[0].ends_with("grep") || used.argv[0] == "rg");
    let is_file = move |word: &&str| !is_tee && !word.bytes().all(|byte| byte.is_ascii_digit());
    operands(used).skip(pattern).filter(is_file)
}

/// A command that prints its operands, if what all of these print can be read as a summary, or is not known.
fn says_summary(commands: &[CommandUse]) -> Option<&CommandUse> {
    let shown =
        |own: &&CommandUse| own.streams.output.is_none() && SAYING.contains(&own.argv[0].as_str());
    let saying: Vec<&CommandUse> = commands.iter().filter(shown).collect();
    let text = |own: &&CommandUse| own.argv[1..].join(" ").replace("$?", "0");
    let is_open = |own: &CommandUse| {
        let text = text(&own);
        let joins =
            own.argv[0] == "printf" || own.argv[1..].iter().any(|word| word.starts_with("-n"));
        text.contains('$')
            || (joins || text.contains('\\')) && text.contains(|c: char| c.is_ascii_digit())
    };
    let all: Vec<String> = saying.iter().map(text).collect();
    let has_summary = || TestCounts::in_output(&all.join("\n"), "").is_some();
    let open = saying.iter().copied().find(|own| is_open(own));
    open.or_else(|| saying.last().copied().filter(|_| has_summary()))
}
