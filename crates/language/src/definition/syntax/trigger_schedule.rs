//! Decodes `on.schedule`: times, their zone and bounds, and what follows from late ones.

use super::{Decoder, Fields, Node};
use crate::definition::keys::trigger as keys;
use crate::definition::model::TriggerSource;
use crate::schedule::{
    Bounds, CatchUp, Cron, Policy, Schedule, Times, Zone, date, local_end, local_start,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::format_duration;
use std::time::Duration;

/// The shortest period of `every`.
const SHORTEST: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// `schedule: "0 6 * * *"`.
pub(super) fn of_text(node: &Node, decoder: &mut Decoder) -> Option<TriggerSource> {
    let (times, written) = cron(node, decoder)?;
    let schedule = Schedule::new(times, Zone::utc(), written);
    checked(schedule, Policy::default(), node.span, decoder)
}

/// `schedule: {cron: …}`.
pub(super) fn of_map(
    node: &Node,
    fields: &Fields<'_>,
    decoder: &mut Decoder,
) -> Option<TriggerSource> {
    let given = ["cron", "every", "at"].map(|name| fields.get(name).map(|node| (name, node)));
    let mut given = given.into_iter().flatten();
    let (zone, bounds) = (zone(fields, decoder), bounds(fields, decoder));
    let policy = policy(fields, decoder);
    let Some((name, main)) = given.next() else {
        let message = "a schedule has no times".to_owned();
        let help = "write `cron: \"0 6 * * *\"`, `every: 36h` or `at: \"2027-03-01T09:00\"`";
        decoder.push(Diagnostic::error(Code::MISSING_KEY, node.span, message).help(help));
        return None;
    };
    if let Some((other, node)) = given.next() {
        let message = format!("a schedule has `{name}` and `{other}`");
        decoder.bad_value(node.span, message, "keep one, or write two schedules".to_owned());
    }
    let (times, written) = match name {
        "cron" => cron(main, decoder)?,
        "every" => every(fields, main, decoder)?,
        _ => at(main, decoder)?,
    };
    checked(Schedule::new(times, zone?, written).within(bounds), policy, main.span, decoder)
}

/// A schedule without any time is an error.
fn checked(
    schedule: Schedule,
    policy: Policy,
    span: Span,
    decoder: &mut Decoder,
) -> Option<TriggerSource> {
    if !schedule.ever_fires() {
        let message = format!("`{}` never comes: no date matches it", schedule.written());
        let help = "correct the dates, such as the day of month, `from` or `until`".to_owned();
        decoder.push(Diagnostic::error(Code::BAD_CRON, span, message).help(help));
        return None;
    }
    Some(TriggerSource::Schedule(Box::new(schedule), policy))
}

fn cron(node: &Node, decoder: &mut Decoder) -> Option<(Times, String)> {
    let text = decoder.text(node, "cron")?;
    match Cron::parse(text) {
        Ok(cron) => Some((Times::Cron(Box::new(cron)), text.to_owned())),
        Err(error) => {
            let problem = Diagnostic::error(Code::BAD_CRON, node.span, error.message);
            decoder.push(problem.help(error.help));
            None
        }
    }
}

fn every(fields: &Fields<'_>, node: &Node, decoder: &mut Decoder) -> Option<(Times, String)> {
    let period = fields.duration("every", decoder)?;
    if period < SHORTEST {
        let message = "`every` cannot be shorter than 10 seconds".to_owned();
        decoder.bad_value(node.span, message, "write at least `10s`".to_owned());
        return None;
    }
    let milliseconds = i64::try_from(period.as_millis()).ok()?;
    Some((Times::Every(milliseconds), format!("every {}", format_duration(period))))
}

fn at(node: &Node, decoder: &mut Decoder) -> Option<(Times, String)> {
    let texts = decoder.texts(node, "at");
    let mut times = Vec::new();
    for text in &texts {
        times.push(read(text, node, "2027-03-01T09:00", local_start, decoder)?);
    }
    times.sort();
    (!times.is_empty()).then(|| (Times::At(times), format!("at {}", texts.join(", "))))
}

fn bounds(fields: &Fields<'_>, decoder: &mut Decoder) -> Bounds {
    let mut bound = |name: &str, parse: fn(&str) -> _| {
        let node = fields.get(name)?;
        let text = decoder.text(node, name)?.to_owned();
        read(&text, node, "2027-01-01", parse, decoder)
    };
    let (from, until) = (bound("from", local_start), bound("until", local_end));
    let mut except = std::collections::BTreeSet::new();
    if let Some(node) = fields.get("except") {
        for text in decoder.texts(node, "except") {
            except.extend(read(&text, node, "2027-12-25", date, decoder));
        }
    }
    Bounds { from, until, except }
}

/// Reads a local time or a date.
fn read<T>(
    text: &str,
    node: &Node,
    example: &str,
    parse: impl Fn(&str) -> Option<T>,
    decoder: &mut Decoder,
) -> Option<T> {
    let found = parse(text);
    if found.is_none() {
        let kind = if example.contains('T') { "a local time" } else { "a date" };
        let help = format!("write it as `{example}`; `zone` says where");
        decoder.bad_value(node.span, format!("`{text}` is not {kind}"), help);
    }
    found
}

fn zone(fields: &Fields<'_>, decoder: &mut Decoder) -> Option<Zone> {
    let Some(node) = fields.get("zone") else { return Some(Zone::utc()) };
    let name = decoder.text(node, "zone")?;
    match Zone::named(name) {
        Ok(zone) => Some(zone),
        Err(error) => {
            let problem = Diagnostic::error(Code::BAD_ZONE, node.span, error.message);
            decoder.push(problem.help(error.help));
            None
        }
    }
}

fn policy(fields: &Fields<'_>, decoder: &mut Decoder) -> Policy {
    let jitter = fields.duration("jitter", decoder).unwrap_or_default();
    if jitter > DAY
        && let Some(node) = fields.get("jitter")
    {
        let message = "`jitter` cannot be longer than a day".to_owned();
        decoder.bad_value(node.span, message, "write at most `24h`".to_owned());
    }
    let catch_up = fields.get("catchUp").map(|node| catch_up(node, decoder)).unwrap_or_default();
    Policy { catch_up, jitter }
}

fn catch_up(node: &Node, decoder: &mut Decoder) -> CatchUp {
    let default = CatchUp::default();
    let Some(fields) = decoder.fields(node, &keys::CATCH_UP) else { return default };
    decoder.required(&fields, "window");
    CatchUp {
        window: fields.duration("window", decoder).unwrap_or_default(),
        keep: fields.choice("keep", decoder).unwrap_or_default(),
        max: fields.integer("max", decoder).unwrap_or(default.max),
    }
}
