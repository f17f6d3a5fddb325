//! One call of `kb do`: its arguments, its project, and what its runs may spend.

use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::exit::{CliError, Exit};
use crate::cli::playbook::dollars;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_base::value::{Money, RunId, RunLimits};
use kb_service::service::runs::{Overrides, Prepared};
use kb_service::service::{Project, ServiceError};
use std::path::PathBuf;

/// Plan how a goal is reached, and run the plan
///
/// A playbook whose triggers match the goal is used. Otherwise a model of the tier `large` writes a plan for the
/// specialists of the project. The plan is a playbook: you see it, edit or save it, and it runs like any other.
/// Its last gate runs the checks of the goal.
///
/// Without a terminal, the plan is printed and not run unless `--yes` is given.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Args {
    /// What is to be reached, as a sentence
    #[arg(required_unless_present = "from")]
    pub(super) goal: Option<String>,
    /// Print the plan; run nothing of it
    #[arg(long, conflicts_with_all = ["yes", "save"])]
    pub(super) plan: bool,
    /// Run the plan without a question; tools that need an approval still ask
    #[arg(long)]
    pub(super) yes: bool,
    /// Maximum cost of planning and run together, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(super) budget: Option<Money>,
    /// Maximum tokens of the model calls of each run
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<u64>,
    /// Save the plan as a playbook with this id
    #[arg(long, value_name = "ID")]
    pub(super) save: Option<String>,
    /// Use the plan of this planning run, which is continued if it was interrupted
    #[arg(long, value_name = "RUN", conflicts_with = "goal")]
    pub(super) from: Option<String>,
    /// Plan even if a playbook matches
    #[arg(long)]
    pub(super) new_plan: bool,
    /// Use a script in place of the model (`kb schema script`); the step of the planner is `plan`
    #[arg(long, value_name = "FILE")]
    pub(super) script: Option<PathBuf>,
    /// Use this model for the planner and all specialists
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Run this text of the plan, which a person has approved in `kb serve`
    #[arg(long, value_name = "FILE", requires = "from", hide = true)]
    pub(super) approved: Option<PathBuf>,
    /// Id of the run that is started: with a goal, of the planning run
    #[arg(long, value_name = "ID", hide = true, value_parser = run_id)]
    pub(super) run_id: Option<RunId>,
    #[command(flatten)]
    pub(super) display: DisplayArgs,
}

fn run_id(text: &str) -> Result<RunId, String> {
    RunId::new(text).map_err(|error| error.to_string())
}

/// What was spent, and may be.
pub(super) struct Spending {
    pub(super) limit: Option<Money>,
    /// In US dollars.
    pub(super) spent: f64,
}

impl Spending {
    /// What is left of the limit.
    pub(super) fn left(&self) -> Option<Money> {
        self.limit.map(|limit| Money::from_usd((limit.usd() - self.spent).max(0.0)))
    }
}

/// The arguments of the call, and where they apply.
pub(super) struct Call {
    pub(super) args: Args,
    pub(super) project: Project,
    /// The command for this `kb`, in the commands that are suggested.
    pub(super) program: String,
}

impl Call {
    pub(super) fn can_ask(&self, terminal: &Terminal) -> bool {
        terminal.can_ask() && !self.args.display.json
    }

    pub(super) fn overrides(&self, spending: &Spending) -> Overrides {
        let limits = RunLimits {
            cost: spending.left(),
            max_tokens: self.args.max_tokens,
            ..RunLimits::default()
        };
        Overrides { model: self.args.model.clone(), limits, ..Overrides::default() }
    }

    /// Drives a run; the second value is its id.
    pub(super) fn drive(
        &self,
        prepared: impl Future<Output = Result<Prepared, ServiceError>>,
        is_part: bool,
        terminal: &mut Terminal,
    ) -> Result<(Exit, String), CliError> {
        let mut display = self.args.display;
        display.is_part = is_part;
        runtime::block_on(Workers::All, async {
            let prepared = prepared.await?;
            let run = prepared.run().to_string();
            Ok((drive(prepared, display, &self.program, terminal).await?, run))
        })?
    }
}
