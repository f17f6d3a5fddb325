//! `kb run session`

use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::{Table, plain};
use crate::cli::terminal::Terminal;
use kb_base::value::Json;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Environment, SessionLine, SessionView};

/// Show what the specialists of a run decided, found and left behind
///
/// With a step, show what that step sees: what the steps left that it depends on. Artifacts are listed with
/// the start of their content; `--artifact` prints one in full.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Step id
    step: Option<String>,
    /// Print the full content of an artifact
    #[arg(long, value_name = "ID", conflicts_with = "step")]
    artifact: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let session = service::run_session(&context, &args.run)?;
    if let Some(id) = &args.artifact {
        match &*session.artifact(id)? {
            Json::String(text) if !args.json => terminal.data(&format!("{text}\n"))?,
            value => terminal.json(value)?,
        }
        return Ok(Exit::Done);
    }
    let view = session.view(args.step.as_deref())?;
    if args.json {
        terminal.json(&view)?;
        return Ok(Exit::Done);
    }
    terminal.out(&text(&view))?;
    if view.state.is_empty() {
        terminal.note("note: no specialist of the run has passed on anything\n")?;
    }
    Ok(Exit::Done)
}

fn text(view: &SessionView) -> String {
    let state = &view.state;
    let mut head = Table::bare();
    let cost =
        view.total_cost_usd.map_or_else(|| "unknown cost".to_owned(), |usd| format!("${usd:.4}"));
    let used = format!("{} tokens, {cost}", view.total_tokens);
    let in_prompts = format!("{} tokens of a prompt", view.inline_tokens);
    head.row(["goal", state.goal.as_deref().unwrap_or("none")]);
    head.row(["suggested next", state.suggested_next.as_deref().unwrap_or("none")]);
    head.row(["used", used.as_str()]);
    head.row(["size", in_prompts.as_str()]);
    let mut text = head.text();
    for (title, lines) in [
        ("key decisions", &state.key_decisions),
        ("constraints", &state.constraints),
        ("blockers", &state.blockers),
        ("history", &state.history),
        ("verified facts", &state.verified_facts),
        ("known hallucinations", &state.known_hallucinations),
        ("known gaps", &state.known_gaps),
    ] {
        text += &section(title, lines);
    }
    if !state.artifacts.is_empty() {
        text += "\nartifacts\n";
        let mut table = Table::bare();
        for artifact in &state.artifacts {
            let tokens = format!("{} tokens", artifact.tokens);
            let kind = artifact.kind.as_str();
            table.row([
                format!("  {}", plain(&artifact.id)).as_str(),
                kind,
                &tokens,
                &artifact.preview,
            ]);
        }
        text += &indented(&table.text());
    }
    text
}

fn section(title: &str, lines: &[SessionLine]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut table = Table::bare();
    lines.iter().for_each(|line| table.row([line.step.as_str(), line.text.as_str()]));
    format!("\n{title}\n{}", indented(&table.text()))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {}\n", line.trim_start())).collect()
}
