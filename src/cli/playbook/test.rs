//! `kb playbook test`

use crate::cli::exit::CliError;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::{diagnostics, junit, time};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::{DIM, ERROR, GOOD, TITLE, Terminal, paint};
use kb_attempt::replace_file;
use kb_base::diagnostic::Sources;
use kb_base::value::counted;
use kb_service::service::{self, Environment, LoadedTests, Project, TestOptions, TestReport};
use std::path::PathBuf;

/// Run the tests of playbooks
///
/// Tests are in `.kb/tests/NAME.test.yml` (`kb schema test`). Each test runs a playbook in a new project
/// folder, without a model: a script provides the responses. Exits with 1 if a test fails.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Ids of playbooks, or paths of test files; by default all tests
    #[arg(value_name = "ID|PATH")]
    names: Vec<String>,
    /// Run only the tests whose playbook or name contains this text
    #[arg(short, long, value_name = "TEXT")]
    filter: Option<String>,
    /// Maximum number of tests that run at the same time [default: number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Write the snapshots of tests with `snapshot: true`
    #[arg(long)]
    update: bool,
    /// Keep the project folders of failed tests
    #[arg(long)]
    keep: bool,
    /// List the tests without running them
    #[arg(long)]
    list: bool,
    /// Write a JUnit report to a file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print a JSON list of results
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let project = Project::find(environment)?;
    let mut loaded = service::load_tests(&project, &args.names)?;
    let found = loaded.tests.len();
    if let Some(text) = &args.filter {
        loaded.tests.retain(|test| test.title().contains(text));
    }
    if loaded.tests.is_empty() {
        return Err(no_tests(&args, found));
    }
    if args.list {
        let lines: Vec<String> =
            loaded.tests.iter().map(|t| format!("{}  {}\n", t.title(), t.file)).collect();
        terminal.out(&lines.concat())?;
        return Ok(Exit::Done);
    }
    let jobs = args.jobs.unwrap_or(environment.processors).max(1) as usize;
    let options = TestOptions { jobs, update: args.update, keep: args.keep };
    let reports = runtime::block_on(Workers::All, async {
        let sources = loaded.sources.clone();
        let mut ended = |report: &TestReport| {
            if !args.json {
                // A broken stream is reported by the summary.
                let _ = show(report, &sources, terminal);
            }
        };
        service::run_tests(&project, &loaded, options, &mut ended).await
    })??;
    if let Some(path) = &args.junit {
        let text = junit::report(&reports, &loaded.sources);
        let written = replace_file(&environment.absolute(path), text.as_bytes());
        written.map_err(|error| CliError::Usage {
            message: format!("`{}` cannot be written: {error}", path.display()),
            help: None,
        })?;
    }
    let failed = reports.iter().filter(|report| !report.passed()).count();
    if args.json {
        let views: Vec<_> = reports.iter().map(|r| r.view(&loaded.sources)).collect();
        terminal.json(&views)?;
    } else {
        terminal.out(&summary(&loaded, &reports, failed))?
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::RunFailed })
}

/// Prints a result at once: failures with the expectations that were not met.
fn show(report: &TestReport, sources: &Sources, terminal: &mut Terminal) -> std::io::Result<()> {
    let (style, word) = if report.passed() { (GOOD, "PASS") } else { (ERROR, "FAIL") };
    let duration = paint(DIM, &format!("[{:>7}]", time(report.duration.as_millis() as u64)));
    let title = report.test.title();
    let updated = report.updated.as_ref().map(|path| format!(" (wrote {path})"));
    if !(terminal.is_quiet() && report.passed()) {
        let updated = updated.unwrap_or_default();
        terminal.out(&format!("{} {duration} {title}{updated}\n", paint(style, word)))?;
    }
    for problem in &report.problems {
        terminal
            .err_verbatim(&format!("{}\n\n", diagnostics::drawn(problem, sources, terminal)))?;
    }
    if let Some(folder) = &report.folder {
        terminal.err(&format!("  kept: {}\n", folder.display()))?;
    }
    Ok(())
}

fn summary(loaded: &LoadedTests, reports: &[TestReport], failed: usize) -> String {
    let passed = reports.len() - failed;
    let mut text =
        format!("{}: {passed} passed", paint(TITLE, &counted(loaded.tests.len(), "test")));
    if failed > 0 {
        text.push_str(&format!(", {}", paint(ERROR, &format!("{failed} failed"))));
    }
    let updated = reports.iter().filter(|report| report.updated.is_some()).count();
    if updated > 0 {
        text.push_str(&format!(", {} written", counted(updated, "snapshot")));
    }
    text + "\n"
}

fn no_tests(args: &Args, found: usize) -> CliError {
    let message = match (&args.filter, found) {
        (Some(text), 1..) => {
            format!("no test of {found} contains `{text}` in its playbook or name")
        }
        _ if !args.names.is_empty() => format!("there is no test of {}", args.names.join(", ")),
        _ => "the project has no tests".to_owned(),
    };
    let help = match found {
        0 => "write one in `.kb/tests/NAME.test.yml`; `kb schema test` prints its keys",
        _ => "`kb playbook test --list` lists the tests",
    };
    CliError::Usage { message, help: Some(help.to_owned()) }
}
