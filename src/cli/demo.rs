//! `kb demo`: an example run without a model key.

use super::driving::{DisplayArgs, drive};
use super::exit::{CliResult, Exit};
use super::render::next::quoted;
use super::runtime::{self, Workers};
use super::terminal::{TITLE, Terminal, paint};
use kb_service::service::{self, Environment};
use std::path::PathBuf;

/// Run an example project; no model key is needed
///
/// Creates a demo project and runs its playbook `add-feature`. Only the model is scripted: it claims a
/// file that it did not write, a command that it did not run, and twice a test result that is not true.
/// The gates refute the four lies, and the work is done again until it passes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder of the demo project; by default a new temporary folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let demo = service::create_demo(environment, args.dir.as_deref())?;
    let folder = demo.folder.display().to_string();
    terminal.err(&format!(
        "created the demo project in {folder}\nrunning its playbook add-feature; only the model \
         is scripted: files, tools, gates and the journal are real\n\n"
    ))?;
    let exit = runtime::block_on(Workers::All, async {
        let prepared = service::start(demo.project, demo.request, None).await?;
        let program = format!("kb -C {}", quoted(&demo.folder.display().to_string()));
        drive(prepared, args.display, &program, terminal).await
    })??;
    if exit == Exit::Done && !args.display.json {
        terminal.out(&next_steps(&folder))?;
    }
    Ok(exit)
}

fn next_steps(folder: &str) -> String {
    format!(
        "
{what}
  The model told four lies, and each gate returned the work with its evidence:
  implement 1  claimed a file that it had not written
  implement 2  claimed a command that it had not run
  test 1       claimed that a failing test had passed
  test 2       hid the exit code of the test behind a pipe
  The third attempts were honest and passed.

{look}
  cd {folder}
  cat src/greeting.sh script.yml        the created file, and the scripted model responses
  kb run logs @last test                every call and verdict of the step

{real}
  export ANTHROPIC_API_KEY=…            or OPENAI_API_KEY, GEMINI_API_KEY, a local Ollama, …
  kb doctor --call                      checks which models respond
  kb playbook run add-feature --param featureName=thanks
",
        what = paint(TITLE, "What happened"),
        look = paint(TITLE, "Inspect the run"),
        real = paint(TITLE, "With a real model"),
    )
}
