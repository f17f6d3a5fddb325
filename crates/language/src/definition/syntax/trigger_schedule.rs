//! Decodes `on.schedule`: times, their zone and bounds, and what follows from late ones.

use super::trigger_values::{CommonKeys, overlap_key, payload_key};
use super::{Decoder, Fields, Node, Unread};
use crate::definition::keys::KeyType::{Integer, ListOrOne, Text};
use crate::definition::keys::{KeySpec, KeyType, Named, keys};
use crate::definition::model::TriggerSource;
use crate::schedule::{
    Bounds, CatchUp, Cron, Keep, Policy, Schedule, Times, Zone, date, local_end, local_start,
};
use kb_base::diagnostic::{Code, Diagnostic, Span};
use kb_base::value::format_duration;
use std::time::Duration;

keys! {
    /// A schedule. A text is short for `{cron: TEXT}`.
    struct ScheduleKeys(): SCHEDULE = ("schedule", "`schedule`", also CommonKeys::KEYS, also OF_SCHEDULES) {
        /// Minute, hour, day of month, month, day of week (OCPS 1.0), or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
        cron: Option<(Times, String)> = "cron" as Text => cron, example("\"30 6 * * MON-FRI\"");
        /// Time between two starts, instead of `cron`. It is counted from `from`, or from 1970-01-01 in UTC.
        every: Option<(Times, String)> = "every" as KeyType::Duration => every, example("36h");
        /// Local times, instead of `cron`: each starts one run.
        at: Option<(Times, String)> = "at" as ListOrOne(&Text) => at, example("\"2027-03-01T09:00\"");
        /// The first local time that counts, or a date.
        _from: Unread = "from" as Text, default("none"), example("2027-01-01");
        /// The last local time that counts, or a date, which counts as a whole.
        _until: Unread = "until" as Text, default("none"), example("2027-06-30");
        /// Dates without a start.
        _except: Unread = "except" as ListOrOne(&Text), default("none"), example("[2027-12-25, 2027-12-26]");
        /// Time zone, by its IANA name.
        _zone: Unread = "zone" as Text, default("UTC"), example("Europe/Berlin"), names(Named::TimeZone);
        /// What follows from times that passed while `kb serve` did not run.
        catch_up: Option<CatchUpKeys> = "catchUp", example("{window: 6h}");
        /// Maximum delay of a start; the delay of each time is fixed.
        jitter: Option<Duration> = "jitter" => jitter, default("none"), example("5m");
    }

    /// Late starts. A time that is at most 60 s old always counts as on time.
    struct CatchUpKeys(): CATCH_UP = ("catchUp", "`catchUp`") {
        /// How old a time may be to be started late.
        window: Duration = "window", required, example("6h");
        /// `latest` starts one run for all late times, `all` one for each.
        keep: Keep = "keep", default("latest");
        /// Maximum number of late starts with `keep: all`.
        max: u32 = "max" as Integer(1, 1000), default("10");
    }
}

const OF_SCHEDULES: &[KeySpec] = &[payload_key("{day: date}"), overlap_key("skip")];

/// The shortest period of `every`.
const SHORTEST: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// `schedule: "0 6 * * *"`.
pub(super) fn of_text(node: &Node, decoder: &mut Decoder) -> Option<TriggerSource> {
    let (times, written) = cron(node, "cron", decoder)?;
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
    let found = ScheduleKeys::of(fields, decoder)?;
    let (zone, bounds) = (zone(fields, decoder), bounds(fields, decoder));
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
    let (times, written) = found.cron.or(found.every).or(found.at)?;
    let catch_up = found.catch_up.map(|late| {
        let CatchUpKeys { window, keep, max } = late;
        CatchUp { window, keep, max }
    });
    let policy =
        Policy { catch_up: catch_up.unwrap_or_default(), jitter: found.jitter.unwrap_or_default() };
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

fn cron(node: &Node, key: &str, decoder: &mut Decoder) -> Option<(Times, String)> {
    let text = decoder.text(node, key)?;
    match Cron::parse(text) {
        Ok(cron) => Some((Times::Cron(Box::new(cron)), text.to_owned())),
        Err(error) => {
            let problem = Diagnostic::error(Code::BAD_CRON, node.span, error.message);
            decoder.push(problem.help(error.help));
            None
        }
    }
}

fn every(node: &Node, key: &str, decoder: &mut Decoder) -> Option<(Times, String)> {
    let period = decoder.duration(node, key)?;
    if period < SHORTEST {
        let message = "`every` cannot be shorter than 10 seconds".to_owned();
        decoder.bad_value(node.span, message, "write at least `10s`".to_owned());
        return None;
    }
    let milliseconds = i64::try_from(period.as_millis()).ok()?;
    Some((Times::Every(milliseconds), format!("every {}", format_duration(period))))
}

fn at(node: &Node, key: &str, decoder: &mut Decoder) -> Option<(Times, String)> {
    let texts = decoder.texts(node, key);
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

fn jitter(node: &Node, key: &str, decoder: &mut Decoder) -> Option<Duration> {
    let jitter = decoder.duration(node, key)?;
    if jitter > DAY {
        let message = "`jitter` cannot be longer than a day".to_owned();
        decoder.bad_value(node.span, message, "write at most `24h`".to_owned());
    }
    Some(jitter)
}
