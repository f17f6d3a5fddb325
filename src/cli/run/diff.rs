use crate::cli::render::bytes;
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::{DIM, ERROR, GOOD, HINT, TITLE, Terminal, WARNING, paint};
use crate::cli::{CliResult, Exit};
use crate::service::{self, FileDiff, FileDiffKind, FileSnapshot, RunDiff, StepDiff};

/// Show which files each step changed, and how
///
/// As the runtime recorded it, not from the disk of now: what tools wrote, what the commands of
/// specialists changed, and those of `run:` steps with `evidence: full` or checks that read changes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A run's id, the first letters of one, or @last
    run: String,
    /// One step, or one item of it (`review[src/a.rs]`)
    step: Option<String>,
    /// Which files only, without what changed in their text
    #[arg(long)]
    stat: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let diff = service::run_diff(&service::here()?, &args.run, args.step.as_deref())?;
    if args.json {
        terminal.json(&diff)?;
        return Ok(Exit::Done);
    }
    terminal.out(&text(&diff, args.stat))?;
    notes(&diff, terminal)?;
    Ok(Exit::Done)
}

fn text(diff: &RunDiff, stat: bool) -> String {
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
            out.push_str(&format!("{}\n", paint(TITLE, &name(step))));
        }
        for file in files {
            let row = rows.next().unwrap_or_default();
            out.push_str(&format!("  {}\n", paint(style(file.change), row)));
            if !stat {
                patches(file, &mut out);
            }
        }
    }
    out
}

fn style(change: FileDiffKind) -> anstyle::Style {
    match change {
        FileDiffKind::Created => GOOD,
        FileDiffKind::Deleted => ERROR,
        FileDiffKind::Replaced => WARNING,
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
            // Tabs are part of a text; everything else that a terminal would obey is not shown.
            let line = line.split('\t').map(plain_line).collect::<Vec<_>>().join("\t");
            out.push_str(&format!("    {}\n", paint(style, &line)));
        }
    }
}

fn plain_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// What the list does not show, and what may be missing in it.
fn notes(diff: &RunDiff, terminal: &mut Terminal) -> std::io::Result<()> {
    let mut notes = String::new();
    let files = || diff.steps.iter().flat_map(|step| &step.files);
    let rewritten = files().filter(|file| file.change == FileDiffKind::Rewritten).count();
    if rewritten > 0 {
        let what = if rewritten == 1 { "1 file was" } else { &format!("{rewritten} files were") };
        notes.push_str(&format!("{what} written again with the content that was there\n"));
    }
    for step in diff.steps.iter().filter(|step| !step.complete) {
        let name = plain(&name(step));
        notes.push_str(&format!(
            "{name}: the workspace has more than could be looked at, so changes may be missing\n"
        ));
    }
    for step in diff.steps.iter().filter(|step| !step.recorded) {
        let name = plain(&name(step));
        notes.push_str(&format!(
            "{name}: not recorded what its command changed; `evidence: full` on the step does\n"
        ));
    }
    if files().next().is_none() {
        notes.push_str("no change of a file is recorded\n");
    }
    terminal.err(&notes)
}

fn name(step: &StepDiff) -> String {
    match step.iteration {
        1 => step.instance.clone(),
        n => format!("{} #{n}", step.instance),
    }
}

/// What it was and what it became, or the one of both that there is.
fn both(file: &FileDiff, of: fn(&FileSnapshot) -> String) -> String {
    let (before, after) = (file.before.as_ref().map(of), file.after.as_ref().map(of));
    match (before, after) {
        (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
        (before, after) => after.or(before).unwrap_or_default(),
    }
}

/// What it was and what it became, where that differs.
fn both_if(file: &FileDiff, of: fn(&FileSnapshot) -> String) -> String {
    let states = file.before.as_ref().zip(file.after.as_ref());
    let differ = states.is_some_and(|(before, after)| of(before) != of(after));
    if differ { both(file, of) } else { String::new() }
}

fn digest(file: &FileSnapshot) -> String {
    const SHOWN: usize = 8;
    file.sha256.map(|sha256| sha256.short(SHOWN)).unwrap_or_else(|| "?".to_owned())
}
