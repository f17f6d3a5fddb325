//! Tools of other tools, as names of the table of tools.

use kb_language::toolspec::{ToolSpec, built_in};

fn names(which: impl Fn(&ToolSpec) -> bool) -> Vec<String> {
    let own = built_in().tools().filter(|tool| !tool.always_allowed && which(tool));
    own.map(|tool| tool.name.to_string()).collect()
}

/// The tools that a name of another tool, such as `Read`, stands for.
pub(super) fn named(name: &str) -> Vec<String> {
    names(|tool| tool.aliases.iter().any(|own| own == name))
}

/// The tools that only read files.
pub(super) fn readers() -> Vec<String> {
    names(|tool| tool.reads_files && tool.only_reads)
}

/// The tools that change files, without commands.
pub(super) fn writers() -> Vec<String> {
    names(|tool| tool.writes && !tool.runs_processes)
}

/// The tools that run commands.
pub(super) fn commands() -> Vec<String> {
    names(|tool| tool.runs_processes)
}

/// The tools for files and commands.
pub(super) fn all() -> Vec<String> {
    [readers(), writers(), commands()].concat()
}
