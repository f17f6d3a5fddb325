//! `kb run logs`

use crate::cli::exit::{CliError, CliResult, Exit};
use crate::cli::render::event_clock::EventClock;
use crate::cli::render::table::plain;
use crate::cli::render::{line, time};
use crate::cli::terminal::{DIM, Terminal, paint};
use kb_base::value::Timestamp;
use kb_core::wire::StepStatus;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{self, Attempts, CurrentAttempts, Environment, LogEntry, PointInTime};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// Show the log of a run, with the output of processes and models
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Run id, a unique prefix of it, or @last
    #[arg(default_value = "@last", hide_default_value = true)]
    run: String,
    /// Only this step id, or an item such as `review[src/a.rs]`
    step: Option<String>,
    /// Only attempts with this number in their iteration, from 1
    #[arg(long, value_name = "N", requires = "step")]
    attempt: Option<u32>,
    /// Only attempts of this iteration: 1, and one more for each retry of the run
    #[arg(long, value_name = "N", requires = "step")]
    iteration: Option<u32>,
    /// Print new entries until the run ends
    #[arg(short, long)]
    follow: bool,
    /// Only steps and items that failed
    #[arg(long, conflicts_with_all = ["follow", "step"])]
    failed: bool,
    /// Only entries since this time: a duration before now, such as `10m`, or a time in RFC 3339
    #[arg(long, value_name = "TIME", value_parser = super::since::since)]
    since: Option<PointInTime>,
    /// Show the prompts of model calls, with secrets masked
    #[arg(long)]
    prompts: bool,
    /// Print one JSON object per entry: events, and `log:text` for output
    #[arg(long)]
    json: bool,
}

/// Interval between reads of the journal.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn run(args: Args, environment: &Environment, terminal: &mut Terminal) -> CliResult {
    let context = ProjectContext::find(environment)?;
    let mut reader = service::read_run(&context, &args.run)?.with_prompts(args.prompts);
    if let Some(step) = &args.step {
        reader.require_step(step)?;
    }
    let failed = args.failed.then(|| failed_instances(&context, &args.run)).transpose()?;
    let since = args.since.map(|since| since.at(environment.clock.now()));
    let attempts = Attempts { iteration: args.iteration, attempt: args.attempt };
    let filter = Filter { step: args.step.as_deref(), failed, since, attempts };
    let mut current = CurrentAttempts::default();
    let run = reader.run().to_string();
    let mut seen = EventClock::default();
    let mut known = BTreeSet::new();
    let mut is_found = false;
    loop {
        // Checked before reading, so that events up to the end of the run are not missed.
        let live = args.follow && reader.is_live()?;
        while let Some(entries) = reader.next_entries()? {
            for entry in entries {
                if let LogEntry::Event(event) = &entry {
                    seen.see(event);
                }
                let attempt = current.of(&entry);
                is_found |= filter.is_of_step(&entry);
                known.extend(attempt.filter(|_| filter.is_of_step(&entry)));
                if !filter.includes(&entry, attempt) {
                    continue;
                }
                let text = if args.json {
                    Some(json_line(&entry, &run)?)
                } else {
                    entry_text(&entry, &seen)
                };
                text.map_or(Ok(()), |text| terminal.verbatim(&text))?;
            }
        }
        if !live {
            if let Some(item) = args.step.as_deref().filter(|step| !is_found && step.contains('['))
            {
                return Err(no_item(item));
            }
            return match known.iter().any(|(a, b)| attempts.include(*a, *b)) {
                false if attempts != Attempts::default() => Err(no_attempt(&args, &known)),
                _ => Ok(Exit::Done),
            };
        }
        std::thread::sleep(PAUSE);
    }
}

/// The step has no such item, or it has not started.
fn no_item(item: &str) -> CliError {
    CliError::Usage {
        message: format!("nothing is recorded of the item `{item}`"),
        help: Some("`kb run show` lists the items with their keys".to_owned()),
    }
}

/// The step has none of the attempts that were asked for.
fn no_attempt(args: &Args, known: &BTreeSet<(u32, u32)>) -> CliError {
    let part = |name: &str, number: Option<u32>| number.map(|number| format!("{name} {number}"));
    let asked = [part("attempt", args.attempt), part("iteration", args.iteration)];
    let asked = asked.into_iter().flatten().collect::<Vec<_>>().join(" of ");
    let step = args.step.as_deref().unwrap_or_default();
    let known = known.iter().map(|(iteration, attempt)| format!("{iteration}.{attempt}"));
    let known: Vec<String> = known.collect();
    CliError::Usage {
        message: format!("the step `{step}` has no {asked}"),
        help: Some(if known.is_empty() {
            "the step has not started".to_owned()
        } else {
            format!("there are, as ITERATION.ATTEMPT: {}", known.join(", "))
        }),
    }
}

/// The names of the steps and items that failed in their last iteration.
fn failed_instances(
    context: &ProjectContext,
    run: &str,
) -> Result<BTreeSet<String>, service::ServiceError> {
    let steps = service::show_run(context, run)?.into_inner().steps.into_iter();
    let failed = steps.filter(|step| step.status == StepStatus::Failed);
    Ok(failed.map(|step| step.instance).collect())
}

/// The entries that are printed.
struct Filter<'a> {
    step: Option<&'a str>,
    failed: Option<BTreeSet<String>>,
    since: Option<Timestamp>,
    attempts: Attempts,
}

impl Filter<'_> {
    fn includes(&self, entry: &LogEntry, attempt: Option<(u32, u32)>) -> bool {
        let is_of_attempt = match attempt {
            Some((iteration, number)) => self.attempts.include(iteration, number),
            None => self.attempts == Attempts::default(),
        };
        let (at, place) = place_of(entry);
        let has_failed = |all: &BTreeSet<String>| place.is_some_and(|(_, own)| all.contains(own));
        is_of_attempt
            && self.since.is_none_or(|since| at >= since)
            && self.is_of_step(entry)
            && self.failed.as_ref().is_none_or(has_failed)
    }

    /// Whether an entry belongs to the step that was asked for.
    fn is_of_step(&self, entry: &LogEntry) -> bool {
        let (_, place) = place_of(entry);
        let is_step = |name: &str| place.is_some_and(|(step, own)| step == name || own == name);
        self.step.is_none_or(is_step)
    }
}

/// The time of an entry, and the step and instance that it belongs to.
fn place_of(entry: &LogEntry) -> (Timestamp, Option<(&str, &str)>) {
    match entry {
        LogEntry::Event(event) => {
            let place = event.place.as_ref();
            (event.at, place.map(|place| (place.step.as_str(), &*place.instance)))
        }
        LogEntry::Text { at, step, instance, .. } => {
            (*at, Some((step.as_str(), instance.as_str())))
        }
    }
}

fn json_line(entry: &LogEntry, run: &str) -> Result<String, std::io::Error> {
    let text = match entry {
        LogEntry::Event(event) => serde_json::to_string(event),
        LogEntry::Text { at, instance, step, channel, text } => serde_json::to_string(&json!({
            "v": kb_core::wire::VERSION,
            "type": "log:text",
            "time": at.rfc3339(),
            "run": run,
            "step": step,
            "instance": instance,
            "channel": channel,
            "text": text,
        })),
    };
    Ok(text.map_err(std::io::Error::other)? + "\n")
}

fn entry_text(entry: &LogEntry, seen: &EventClock) -> Option<String> {
    match entry {
        LogEntry::Event(event) => line(event, seen).map(|line| line + "\n"),
        LogEntry::Text { at, instance, channel, text, .. } => {
            let offset = time(seen.since_start(*at).as_millis() as u64);
            let mark = paint(DIM, &format!("{offset:>8}  {channel}  {}", plain(instance)));
            Some(text.lines().map(|text| format!("{mark}  {}\n", plain(text))).collect())
        }
    }
}
