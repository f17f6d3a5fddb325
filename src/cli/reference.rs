//! The command reference of the documentation, generated from the definitions of the commands.

use clap::{Arg, Command};

/// All commands of `kb` with their arguments, as markdown.
pub(super) fn command_reference(mut kb: Command) -> String {
    kb.build();
    let mut out = String::from("# Commands\n");
    section(&kb, "kb", &mut out);
    out
}

fn section(command: &Command, path: &str, out: &mut String) {
    if path != "kb" {
        out.push_str(&format!("\n## `{path}`\n"));
    }
    let about = command.get_long_about().or(command.get_about());
    if let Some(about) = about {
        out.push_str(&format!("\n{}\n", about.to_string().trim_end()));
    }
    let aliases: Vec<String> =
        command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        out.push_str(&format!("\nAlias: {}\n", aliases.join(", ")));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim_end();
    out.push_str(&format!("\n```text\n{usage}\n```\n"));
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(shown).partition(|arg| arg.is_positional());
    // Global options are listed once, at the top.
    let options = options.into_iter().filter(|arg| path == "kb" || !arg.is_global_set());
    table("Argument", positional.into_iter(), out);
    table("Option", options, out);
    let subcommands = || command.get_subcommands().filter(|sub| sub.get_name() != "help");
    if subcommands().next().is_some() {
        out.push_str("\n| Command | |\n|---|---|\n");
        for sub in subcommands() {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            out.push_str(&format!("| `{path} {}` | {} |\n", sub.get_name(), cell(&about)));
        }
    }
    if let Some(after) = command.get_after_help() {
        out.push_str(&format!("\n{}\n", after.to_string().trim_end()));
    }
    for sub in subcommands() {
        section(sub, &format!("{path} {}", sub.get_name()), out);
    }
}

fn table<'a>(title: &str, args: impl Iterator<Item = &'a Arg>, out: &mut String) {
    let rows: String = args.map(row).collect();
    if !rows.is_empty() {
        out.push_str(&format!("\n| {title} | |\n|---|---|\n{rows}"));
    }
}

fn row(arg: &Arg) -> String {
    let value = || {
        let names = arg.get_value_names().unwrap_or_default();
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        names.join(" ")
    };
    let takes_value = arg.get_action().takes_values();
    let mut name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => value(),
    };
    if takes_value && !arg.is_positional() {
        name.push_str(&format!(" {}", value()));
    }
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| takes_value && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        text.push_str(&format!("; one of {}", values.join(", ")));
    }
    let default: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_value && !default.is_empty() {
        text.push_str(&format!("; default `{}`", default.join(" ")));
    }
    format!("| `{name}` | {} |\n", cell(&text))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
