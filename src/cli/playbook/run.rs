use crate::cli::CliResult;
use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use crate::service::runs::Overrides;
use crate::service::{self, Start};
use std::path::PathBuf;

/// Run a playbook or workflow
///
/// Steps run side by side as far as their needs allow. Every event is in the journal before anything
/// follows from it: a run that is stopped or killed goes on with `kb run resume`.
///
/// Ctrl-C once stops new work and waits for what runs; twice kills it. Both leave a resumable run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Its id, or a path
    #[arg(value_name = "ID|PATH")]
    id: String,
    #[command(flatten)]
    params: ParamArgs,
    /// Play the model from a script (`kb schema script`)
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Write what the model says to a script
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    record: Option<PathBuf>,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

/// Parameters of a definition.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ParamArgs {
    /// A parameter's value; lists as JSON or with commas, objects as JSON
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// A YAML or JSON file with parameters
    #[arg(long = "params", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What holds over a definition.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct OverrideArgs {
    /// Ask this model, whatever tier a specialist names
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Steps at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_parallel: Option<u32>,
    /// Approve every tool that needs a person's word, for this run
    #[arg(long)]
    yes: bool,
}

impl OverrideArgs {
    /// As the service takes it.
    pub(in crate::cli) fn overrides(&self) -> Overrides {
        let (model, max_parallel) = (self.model.clone(), self.max_parallel);
        Overrides { model, max_parallel, yes: self.yes }
    }
}

impl ParamArgs {
    /// The definition with these parameters.
    pub(in crate::cli) fn start(self, definition: String) -> Start {
        Start { definition, params: self.params, params_file: self.file, ..Start::default() }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

pub(super) fn run(args: Args, terminal: &mut Terminal) -> CliResult {
    let project = service::here_or_bare(&args.id)?;
    super::warn(&project, &args.id, terminal)?;
    let workers = match project.asks_models(&args.id) {
        true => Workers::All,
        false => Workers::One,
    };
    let mut start = args.params.start(args.id);
    (start.script, start.record) = (args.script, args.record);
    start.overrides = args.overrides.overrides();
    let can_ask = terminal.can_ask() && !args.display.json;
    runtime::block_on(workers, async {
        let mut ask = |question: &str| terminal.ask(question);
        let ask: Option<&mut service::Ask<'_>> = if can_ask { Some(&mut ask) } else { None };
        let prepared = service::start(project, start, ask).await?;
        // The process ends after it: to free a large plan piece by piece would be the last thing it does.
        std::mem::forget(prepared.plan().clone());
        drive(prepared, args.display, "kb", terminal).await
    })?
}
