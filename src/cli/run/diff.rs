//! `kb run diff`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::bytes;
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::{DIM, ERROR, GOOD, HINT, TITLE, Terminal, WARNING, paint};
use kb_core::wire::{InstanceView, QuestionKind, RunView};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{
    self, Difference, Environment, FileDiff, FileDiffKind, FileSnapshot, RunDiff, StepDiff,
};

/// Show the file changes of each step
///
/// The changes are those that the runtime recorded: writes of tools, and changes by commands of
/// specialists and of `run:` steps with `evidence: full` or with checks that read changes, and what the
/// merges of worktrees and copies wrote. The workspace is not read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Step id, or an item such as `review[src/a.rs]`
    step: Option<String>,
    /// Show file names only, without text differences
    #[arg(long)]
    stat: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let view = service::show_run(&context, &args.run)?;
    let decides = args.step.is_none() && !args.stat && waits_for_approval(&view);
    // The changes that are printed below are those up to here, or more.
    let decided = decides.then(|| service::difference(&context, &args.run)).transpose()?;
    let mut diff = service::run_diff(&context, &args.run, args.step.as_deref())?;
    if args.json {
        let decided = decided.iter().flat_map(Difference::without_record);
        diff.steps.extend(decided.cloned());
        terminal.json(&diff)?;
        return Ok(Exit::Done);
    }
    terminal.verbatim(&diff_text(&diff, args.stat))?;
    // It decides about the changes of the run that started it, and of the run whose results it keeps, too.
    let others = decided.iter().flat_map(|decided| decided.runs.get(1..)).next();
    terminal.verbatim(&named_diffs(others.unwrap_or_default()))?;
    notes(&diff, terminal)?;
    terminal.err(&child_notes(&view, args.step.as_deref()))?;
    if let Some(seen) = decided.as_ref().and_then(Difference::seen) {
        let approve = format!("kb run approve {} --seen {seen}", view.run);
        terminal.note(&format!("`{approve}` approves what was read here\n"))?;
    }
    if let Some(why) = decided.as_ref().and_then(Difference::unshown) {
        terminal.note(&format!("{}\n", why.as_str()))?;
    }
    Ok(Exit::Done)
}

fn waits_for_approval(view: &RunView) -> bool {
    let mut questions = view.steps.iter().filter_map(|step| step.question.as_ref());
    questions.any(|question| question.kind == QuestionKind::Approve)
}

/// The changes of runs, each below the name of its run.
pub(in crate::cli) fn named_diffs(runs: &[RunDiff]) -> String {
    let named = |run: &RunDiff| {
        let changes = diff_text(run, false);
        let name = paint(DIM, &format!("run {}", plain(&run.run)));
        if changes.is_empty() { changes } else { format!("{name}\n{changes}") }
    };
    runs.iter().map(named).collect()
}

/// Maximum number of child runs that a note names.
const MAX_CHILDREN: usize = 8;

/// The commands that show the file changes of child runs.
fn child_notes(view: &RunView, step: Option<&str>) -> String {
    let is_shown = |found: &&InstanceView| {
        step.is_none_or(|step| found.step == step || found.instance == step)
    };
    let children = view.steps.iter().filter(is_shown);
    let children: Vec<_> =
        children.filter_map(|step| Some((step, step.child_run.as_ref()?))).collect();
    let mut notes = String::new();
    for (step, run) in children.iter().take(MAX_CHILDREN) {
        let name = plain(&step.instance);
        notes.push_str(&format!(
            "{name} executed a child run; `kb run diff {run}` shows its files\n"
        ));
    }
    if let Some(more @ 1..) = children.len().checked_sub(MAX_CHILDREN) {
        notes.push_str(&format!("and {more} more child runs\n"));
    }
    notes
}

/// The changes as text: files, and unless `stat` their lines.
pub(in crate::cli) fn diff_text(diff: &RunDiff, stat: bool) -> String {
    let shown = |file: &&FileDiff| file.change != FileDiffKind::Rewritten;
    let mut table = Table::bare();
    for file in diff.steps.iter().flat_map(|step| &step.files).filter(shown) {
        let name = match &file.from {
            Some(from) => format!("{from} → {}", file.path),
            None => file.path.clone(),
        };
        let (size, digest) = (both(file, |f| bytes(f.bytes)), both(file, digest));
        let mode = both_if(file, |f| f.mode.clone());
        table.row([file.change.as_str(), &name, &size, &mode, &digest]);
    }
    let rows = table.text();
    let mut rows = rows.lines();
    let mut out = String::new();
    for step in &diff.steps {
        let mut files = step.files.iter().filter(shown).peekable();
        if files.peek().is_some() {
            out.push_str(&format!("{}\n", paint(TITLE, &plain(&name(step)))));
        }
        for file in files {
            let row = rows.next().unwrap_or_default();
            out.push_str(&format!("  {}\n", paint(style(file.change), row)));
            if !stat {
                patches(file, &mut out);
                if is_unread(file) {
                    out.push_str(&format!("    {}\n", paint(WARNING, UNREAD)));
                }
            }
        }
    }
    out
}

/// What stands in place of lines. Who approves a change has to read the file itself.
const UNREAD: &str = "its content is not shown here: it is large, not text or was not recorded";

/// Whether a file has new content, of which no line is shown.
fn is_unread(file: &FileDiff) -> bool {
    let content = |file: &Option<FileSnapshot>| file.as_ref().and_then(|found| found.sha256);
    let is_new = file.after.is_some() && content(&file.before) != content(&file.after);
    let is_empty = file.after.as_ref().is_some_and(|after| after.bytes == 0);
    let is_unknown = file.change == FileDiffKind::Unrecorded;
    (is_new || is_unknown) && !is_empty && file.patches.is_empty()
}

fn style(change: FileDiffKind) -> anstyle::Style {
    match change {
        FileDiffKind::Created => GOOD,
        FileDiffKind::Deleted => ERROR,
        FileDiffKind::Replaced | FileDiffKind::Unrecorded => WARNING,
        _ => anstyle::Style::new(),
    }
}

fn patches(file: &FileDiff, out: &mut String) {
    let several = file.patches.len() > 1;
    for patch in &file.patches {
        if several {
            let call = format!("{} `{}`", patch.tool, patch.call);
            out.push_str(&format!("    {}\n", paint(DIM, &plain(&call))));
        }
        for line in patch.text.lines() {
            let style = match line.chars().next() {
                Some('+') => GOOD,
                Some('-') => ERROR,
                Some('@') => HINT,
                _ => anstyle::Style::new(),
            };
            out.push_str(&format!("    {}\n", paint(style, line)));
        }
    }
}

/// Notes about changes that the list does not show or that may be missing.
fn notes(diff: &RunDiff, terminal: &mut Terminal) -> std::io::Result<()> {
    let mut notes = String::new();
    let files = || diff.steps.iter().flat_map(|step| &step.files);
    let rewritten = files().filter(|file| file.change == FileDiffKind::Rewritten).count();
    if rewritten > 0 {
        let what = if rewritten == 1 { "1 file was" } else { &format!("{rewritten} files were") };
        notes.push_str(&format!("{what} written again with the same content\n"));
    }
    for step in diff.steps.iter().filter(|step| !step.complete) {
        let name = plain(&name(step));
        notes.push_str(&format!(
            "{name}: the workspace was too large to scan, so changes may be missing\n"
        ));
    }
    for step in diff.steps.iter().filter(|step| !step.recorded) {
        let name = plain(&name(step));
        notes.push_str(&format!(
            "{name}: changes by its command were not recorded; set `evidence: full` on the step\n"
        ));
    }
    if files().next().is_none() {
        notes.push_str("no file changes were recorded\n");
    }
    terminal.note(&notes)
}

fn name(step: &StepDiff) -> String {
    match step.iteration {
        1 => step.instance.clone(),
        n => format!("{} #{n}", step.instance),
    }
}

/// A property before and after the change, or the only one that exists.
fn both(file: &FileDiff, of: fn(&FileSnapshot) -> String) -> String {
    let (before, after) = (file.before.as_ref().map(of), file.after.as_ref().map(of));
    match (before, after) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
        (before, after) => after.or(before).unwrap_or_default(),
    }
}

/// A property before and after the change, if it differs.
fn both_if(file: &FileDiff, of: fn(&FileSnapshot) -> String) -> String {
    let states = file.before.as_ref().zip(file.after.as_ref());
    let differ = states.is_some_and(|(before, after)| of(before) != of(after));
    if differ { both(file, of) } else { String::new() }
}

fn digest(file: &FileSnapshot) -> String {
    const SHOWN: usize = 8;
    file.sha256.map(|sha256| sha256.short(SHOWN)).unwrap_or_else(|| "?".to_owned())
}
