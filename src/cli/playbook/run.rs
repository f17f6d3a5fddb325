//! `kb playbook run`

use super::choosing::choose;
use super::keep_report;
use super::rerunning::rerun;
use super::warnings::warn;
use crate::cli::asking::ask_param;
use crate::cli::driving::{DisplayArgs, drive};
use crate::cli::escape::escaped;
use crate::cli::exit::{CliError, CliResult};
use crate::cli::render::next::quoted;
use crate::cli::render::table::plain;
use crate::cli::runtime::{self, Workers};
use crate::cli::terminal::Terminal;
use kb_base::value::{Money, RunLimits};
use kb_service::service::runs::{self, Overrides, Prepared, ProjectContext, WaitNotice};
use kb_service::service::{
    self, CacheUse, Choice, Environment, Match, Project, RecordedTest, Selection, StartRequest,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Run a playbook or workflow
///
/// Independent steps run in parallel. Every event is recorded in the journal before it takes effect,
/// so a run that was stopped or killed can be continued with `kb run resume`.
///
/// The first Ctrl-C starts no new steps and waits for the running ones; the second kills them. The
/// run can be resumed in both cases.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Args {
    /// Id or path of the playbook; with `--match`, a request in natural language. Without one, a terminal asks
    #[arg(value_name = "ID|PATH")]
    id: Option<String>,
    /// Find the playbook by its triggers, which also provide parameters
    #[arg(long = "match", requires = "id")]
    by_phrase: bool,
    #[command(flatten)]
    params: ParamArgs,
    /// Use a script in place of the model (`kb schema script`)
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Write the model responses to a script; in `.kb/tests/`, also a test of the run
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    record: Option<PathBuf>,
    /// Run again whenever files of the project change, other than ignored ones
    #[arg(long, conflicts_with_all = ["record", "json"])]
    watch: bool,
    /// Start the run of a fire that `kb serve` recorded
    #[arg(long, value_name = "RUN", hide = true)]
    fire: Option<String>,
    #[command(flatten)]
    steps: StepArgs,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    overrides: OverrideArgs,
    #[command(flatten)]
    display: DisplayArgs,
}

/// The use of stored results.
#[derive(Debug, Clone, clap::Args)]
struct CacheArgs {
    /// Take no stored result, and store none
    #[arg(long)]
    no_cache: bool,
    /// Execute this step and store its result again; may be repeated
    #[arg(long, value_name = "STEP", conflicts_with = "no_cache")]
    refresh: Vec<String>,
}

/// The steps that run.
#[derive(Debug, Clone, clap::Args)]
struct StepArgs {
    /// Run only this step and the steps that it needs; may be repeated
    #[arg(long, value_name = "STEP", conflicts_with = "from")]
    only: Vec<String>,
    /// Skip this step and the steps that need it; may be repeated
    #[arg(long, value_name = "STEP", conflicts_with = "from")]
    skip: Vec<String>,
    /// Run this step and all steps after it; the steps before it keep their results of the last run
    /// where nothing changed for them
    #[arg(long, value_name = "STEP", conflicts_with = "record")]
    from: Option<String>,
}

/// Parameter values.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct ParamArgs {
    /// Value of a parameter; lists as JSON or separated by commas, objects as JSON
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// YAML or JSON file with parameter values
    #[arg(long = "params", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Values that take precedence over the definition.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct OverrideArgs {
    /// Use this model for all specialists
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Maximum number of steps that run in parallel
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_parallel: Option<u32>,
    /// Approve all tools that require approval, for this run
    #[arg(long)]
    yes: bool,
    /// Maximum cost of the run in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Money>,
    /// Maximum tokens of the model calls of the run
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Maximum tool calls of the specialists of the run
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<u64>,
}

/// Parses an amount of US dollars.
pub(in crate::cli) fn dollars(text: &str) -> Result<Money, String> {
    let usd = text.parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd >= 0.0);
    usd.map(Money::from_usd).ok_or_else(|| "write an amount such as 1.50".to_owned())
}

impl OverrideArgs {
    /// The overrides in the form of the service.
    pub(in crate::cli) fn overrides(&self) -> Overrides {
        let (model, max_parallel) = (self.model.clone(), self.max_parallel);
        let (max_tokens, max_tool_calls) = (self.max_tokens, self.max_tool_calls);
        let limits = RunLimits { cost: self.budget, max_tokens, max_tool_calls };
        Overrides { model, max_parallel, yes: self.yes, limits }
    }
}

impl ParamArgs {
    /// Fails if a value is given without the option that it belongs to.
    pub(in crate::cli) fn require_none(&self, option: &str) -> Result<(), CliError> {
        if self.params.is_empty() && self.file.is_none() {
            Ok(())
        } else {
            Err(CliError::Usage {
                message: format!("parameters can be given only with `{option}`"),
                help: Some("a run that continues keeps its values".to_owned()),
            })
        }
    }

    /// A request for this definition with these parameters.
    pub(in crate::cli) fn request(self, definition: String) -> StartRequest {
        let (params, params_file) = (self.params, self.file);
        StartRequest { definition, params, params_file, ..StartRequest::default() }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// After an edit of a definition whose last run did not succeed: says that the run could continue.
fn explain_choice(prepared: &Prepared, terminal: &mut Terminal) -> Result<(), CliError> {
    let Some(last) = prepared.predecessor() else { return Ok(()) };
    let (run, status) = (&last.run, last.status.as_str());
    let steps = if last.succeeded == 1 { "1 step" } else { &format!("{} steps", last.succeeded) };
    let changed = plain(&last.changed.join("`, `"));
    let note = format!(
        "note: the last run {run} is {status} after {steps} succeeded, and `{changed}` changed since; \
         this starts from the beginning; `kb run retry {run} --with-current` keeps the steps that did \
         not change\n"
    );
    Ok(terminal.note(&note)?)
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    environment.expect_processes();
    let mut args = args;
    let id = match args.id.take() {
        Some(request) if args.by_phrase => by_phrase(&mut args, request, environment, terminal)?,
        Some(id) => id,
        None => {
            let project = Project::find(environment)?;
            let can_ask = terminal.can_ask() && !args.display.json;
            choose(&service::list_playbooks(&project), can_ask, terminal)?
        }
    };
    if args.watch {
        let context = Project::find_or_file(environment, &id)?.context.clone();
        rerun(&context, terminal, |terminal| {
            run_once(args.clone(), id.clone(), environment, terminal)
        })
    } else {
        run_once(args, id, environment, terminal)
    }
}

fn run_once(
    args: Args,
    id: String,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let project = Project::find_or_file(environment, &id)?;
    warn(&project, &id, terminal)?;
    note_project(&project, &id, terminal)?;
    let program = program_for(&project.context);
    let workers = if project.uses_models(&id) { Workers::All } else { Workers::One };
    if let Some(fire) = args.fire {
        return runtime::block_on(workers, async {
            let prepared = service::start_fire(project, &fire).await?;
            drive(prepared, args.display, &program, terminal).await
        })?;
    }
    let StepArgs { only, skip, from } = args.steps;
    let mut request = args.params.request(id);
    request.selection = Selection { only, skip };
    let CacheArgs { no_cache: off, refresh } = args.cache;
    request.cache = CacheUse { off, refresh: refresh.into_iter().collect() };
    (request.script, request.record) = (args.script, args.record);
    request.finds_predecessor = true;
    request.overrides = args.overrides.overrides();
    if !terminal.is_quiet() {
        request.notice = WaitNotice(Arc::new(|text| eprintln!("{}", escaped(text))));
    }
    let can_ask = terminal.can_ask() && !args.display.json;
    runtime::block_on(workers, async {
        let mut ask = |question: &service::ParamQuestion| ask_param(question, terminal);
        let ask: Option<&mut service::Ask<'_>> = if can_ask { Some(&mut ask) } else { None };
        let prepared = match from {
            None => {
                let prepared = service::start(project, request, ask).await?;
                explain_choice(&prepared, terminal)?;
                prepared
            }
            Some(from) => {
                let (prepared, report) = runs::start_from(project, request, from, ask).await?;
                keep_report::print(&report, terminal)?;
                prepared
            }
        };
        // The process exits after the run, so freeing a large plan would only delay the exit.
        std::mem::forget(prepared.plan().clone());
        let (run, context) = (prepared.run().to_string(), prepared.context().clone());
        let exit = drive(prepared, args.display, &program, terminal).await?;
        note_recording(&context, &run, &program, terminal)?;
        Ok(exit)
    })?
}

/// Says which files `--record` wrote.
fn note_recording(
    context: &ProjectContext,
    run: &str,
    program: &str,
    terminal: &mut Terminal,
) -> Result<(), CliError> {
    let Some(files) = service::write_recorded_test(context, run)? else { return Ok(()) };
    terminal.note(&format!("recorded {}\n", plain(&files.script)))?;
    match files.test {
        None => {
            terminal.note("note: a recording in `.kb/tests/` also becomes a test\n")?;
        }
        Some((test, RecordedTest::Kept)) => {
            terminal.note(&format!("kept     {} (it existed)\n", plain(&test)))?;
        }
        Some((test, RecordedTest::Written { left_out })) => {
            let text =
                format!("recorded {}; run it with `{program} playbook test`\n", plain(&test));
            terminal.note(&text)?;
            for path in left_out {
                let path = plain(&path);
                let note = format!(
                    "note: the content of `{path}` is not in the test: it is large or not text\n"
                );
                terminal.note(&note)?;
            }
        }
    }
    Ok(())
}

/// Says which folder is the project of a file that is run by its path, unless it is that of the working
/// directory.
fn note_project(project: &Project, name: &str, terminal: &mut Terminal) -> std::io::Result<()> {
    let (context, name) = (&project.context, plain(name));
    let root = plain(&context.root.display().to_string());
    match (context.has_definitions(), context.is_here()) {
        (true, true) => Ok(()),
        (true, false) => terminal.note(&format!("note: the project of `{name}` is `{root}`\n")),
        (false, _) => terminal.note(&format!(
            "note: `{name}` is in no project (no `.kb/` in its folder or above); its folder `{root}` is the \
             project of this run\n"
        )),
    }
}

/// The command for this `kb` in the project of a run.
pub(in crate::cli) fn program_for(context: &ProjectContext) -> String {
    if context.root == context.environment.cwd || context.is_here() {
        "kb".to_owned()
    } else {
        format!("kb -C {}", quoted(&context.root.display().to_string()))
    }
}

/// The id of the playbook that a phrase asks for; its parameters are added to the arguments.
fn by_phrase(
    args: &mut Args,
    request: String,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<String, CliError> {
    let project = Project::find(environment)?;
    let found = match service::choose(&project, &request) {
        Choice::Clear(found) => found,
        Choice::Unclear(all) if terminal.can_ask() && !args.display.json => {
            select(&request, all, terminal)?
        }
        Choice::Unclear(all) => {
            let ids: Vec<&str> = all.iter().take(3).map(|found| found.id.as_str()).collect();
            return Err(CliError::Usage {
                message: format!(
                    "no playbook clearly matches `{}`; close: {}",
                    request,
                    ids.join(", ")
                ),
                help: Some(format!("run one of them by its id: `kb playbook run {}`", ids[0])),
            });
        }
        Choice::Nothing => {
            return Err(CliError::Usage {
                message: format!("no playbook matches `{request}`"),
                help: Some(
                    "`kb playbook list` lists all playbooks; `triggers` make them found".into(),
                ),
            });
        }
    };
    let given: Vec<String> = args.params.params.iter().map(|(name, _)| name.clone()).collect();
    let provided: Vec<(String, String)> =
        found.params.into_iter().filter(|(name, _)| !given.contains(name)).collect();
    let shown: Vec<String> =
        provided.iter().map(|(name, value)| format!(" --param {name}={value}")).collect();
    terminal.note(&format!("matched: kb playbook run {}{}\n", found.id, shown.concat()))?;
    args.params.params.splice(0..0, provided);
    Ok(found.id)
}

/// Asks which of several playbooks is meant.
fn select(phrase: &str, mut all: Vec<Match>, terminal: &mut Terminal) -> Result<Match, CliError> {
    all.truncate(9);
    let lines: Vec<String> = all
        .iter()
        .enumerate()
        .map(|(index, found)| {
            format!("  {}  {} ({:.0} %, {})\n", index + 1, found.id, found.score * 100.0, found.why)
        })
        .collect();
    terminal.err(&format!("`{phrase}` can mean:\n{}", lines.concat()))?;
    let typed = terminal.ask(&format!("Number [1-{}]:", all.len())).unwrap_or_default();
    let index = typed.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match index.filter(|index| *index < all.len()) {
        Some(index) => Ok(all.swap_remove(index)),
        None => Err(CliError::Usage { message: "no playbook was chosen".to_owned(), help: None }),
    }
}
