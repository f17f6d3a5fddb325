use super::driving::{DisplayArgs, drive};
use super::runtime::{self, Workers};
use super::terminal::{TITLE, Terminal, paint};
use super::{CliResult, Exit};
use crate::service;
use std::path::{Path, PathBuf};

/// See a whole run in a minute, without a model key
///
/// Makes a scratch project and runs its playbook `add-feature`. Only the model is scripted: the
/// first attempt at `implement` claims a file that it did not write, the gate refutes it, and the
/// rework passes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the scratch project goes; a new temporary folder unless said
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    display: DisplayArgs,
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let demo = service::create_demo(args.dir.as_deref())?;
    let folder = demo.folder.display().to_string();
    terminal.err(&format!(
        "a scratch project is in {folder}\nits playbook add-feature runs now; only the model is \
         scripted: files, tools, gates and the journal are real\n\n"
    ))?;
    let exit = runtime::block_on(Workers::All, async {
        let prepared = service::start(demo.project, demo.start, None).await?;
        let program = format!("kb -C {}", quoted(&demo.folder));
        drive(prepared, args.display, &program, terminal).await
    })??;
    if exit == Exit::Done && !args.display.json {
        terminal.out(&afterwards(&folder))?;
    }
    Ok(exit)
}

fn afterwards(folder: &str) -> String {
    format!(
        "
{what}
  `implement` first claimed a file that it had not written. The gate looked for it, did not find it
  and sent the work back with the evidence; the second attempt wrote it.

{look}
  cd {folder}
  cat src/greeting.sh script.yml        what was made, and what the \"model\" said
  kb run logs @last implement           every call, verdict and reason

{real}
  export ANTHROPIC_API_KEY=…            or OPENAI_API_KEY, GEMINI_API_KEY, a local Ollama, …
  kb doctor --call                      says which models answer
  kb playbook run add-feature --param featureName=thanks
",
        what = paint(TITLE, "What happened"),
        look = paint(TITLE, "Look around"),
        real = paint(TITLE, "With a real model"),
    )
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
