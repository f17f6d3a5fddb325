//! [`Schedule`]: the nominal times of a trigger in a time zone.

use super::bounds::Bounds;
use super::{Cron, Zone};
use jiff::Timestamp as Instant;
use jiff::civil::{Date, DateTime};
use jiff::tz::AmbiguousOffset;
use kb_base::value::Timestamp;
use std::time::Duration;

/// How far ahead a time is searched. A 29 February that is a Monday can be 40 years away.
const YEARS: i16 = 50;
const MINUTE: i64 = 60;

/// Which times a schedule has, before its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Times {
    /// Those of a cron expression.
    Cron(Box<Cron>),
    /// Every so many milliseconds, counted from the start of the schedule, or from 1970 without one.
    Every(i64),
    /// Local times, in order.
    At(Vec<DateTime>),
}

/// Nominal times in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    times: Times,
    zone: Zone,
    bounds: Bounds,
    written: String,
}

/// A nominal time as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The nominal time.
    pub at: Timestamp,
    /// The local time with its offset: `2026-03-29 03:00 +02:00`.
    pub local: String,
    /// A change of the clock that affects this time.
    pub change: Option<ClockChange>,
}

/// How a change of the clock affects a nominal time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockChange {
    /// The written time does not exist on this day; the schedule fires when the clock has changed.
    AfterGap,
    /// The written time occurs twice; the schedule fires the first time only.
    FirstOfTwo,
    /// The local time occurs twice, and this is the first one.
    Repeated,
    /// The local time occurs twice, and this is the second one.
    RepeatedSecond,
}

impl ClockChange {
    /// The human-readable note.
    pub fn note(self) -> &'static str {
        match self {
            ClockChange::AfterGap => {
                "the clock skips the written time; fires at the end of the gap"
            }
            ClockChange::FirstOfTwo => "this local time occurs twice; fires the first time only",
            ClockChange::Repeated => "this local time occurs twice; fires both times, first",
            ClockChange::RepeatedSecond => "this local time occurs twice; fires both times, second",
        }
    }
}

impl Schedule {
    /// Combines times with the zone in which they are read. `written` is the text of the definition.
    pub fn new(times: Times, zone: Zone, written: impl Into<String>) -> Schedule {
        Schedule { times, zone, bounds: Bounds::default(), written: written.into() }
    }

    /// Leaves out the times outside of these bounds.
    pub fn within(self, bounds: Bounds) -> Schedule {
        Schedule { bounds, ..self }
    }

    /// The times as they are written.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether local times of day decide, and not the time that passes.
    pub fn is_fixed(&self) -> bool {
        match &self.times {
            Times::Cron(cron) => cron.is_fixed(),
            Times::At(_) => true,
            Times::Every(_) => false,
        }
    }

    /// The time zone in which the expression is read.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether there is any time at all. 30 February never comes.
    pub fn ever_fires(&self) -> bool {
        self.next(Timestamp(0)).is_some()
    }

    /// The first nominal time after `after`; `None` if there is none within 50 years.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let start = self.bounds.from.and_then(|from| self.instant_of(from));
        let mut after = Instant::from_millisecond(after.0).ok()?;
        if let Some(start) = start {
            // A time at the start itself counts.
            after = after.max(Instant::from_millisecond(start.as_millisecond() - 1).ok()?);
        }
        loop {
            let found = match &self.times {
                Times::Cron(cron) if cron.is_fixed() => self.next_fixed(cron, after)?,
                Times::Cron(cron) => self.next_real(cron, after)?,
                Times::Every(period) => every(*period, start, after)?,
                Times::At(all) => {
                    let instants = all.iter().filter_map(|local| self.instant_of(*local));
                    instants.filter(|at| *at > after).min()?
                }
            };
            let local = self.local(found);
            if self.bounds.until.is_some_and(|until| local > until) {
                return None;
            }
            if !self.bounds.except.contains(&local.date()) {
                return Some(Timestamp(found.as_millisecond()));
            }
            // The last moment of a date that is left out.
            let midnight = self.instant_of(local.date().tomorrow().ok()?.at(0, 0, 0, 0))?;
            let end = Instant::from_millisecond(midnight.as_millisecond() - 1).ok()?;
            after = end.max(found);
        }
    }

    /// The last nominal time before `before` and after `floor`.
    pub fn last(&self, floor: Timestamp, before: Timestamp) -> Option<Timestamp> {
        let mut step = Duration::from_secs(3600);
        loop {
            let back = i64::try_from(step.as_millis()).unwrap_or(i64::MAX);
            let from = Timestamp(before.0.saturating_sub(back)).max(floor);
            let first = self.next(from).filter(|at| *at < before);
            if let Some(mut last) = first {
                while let Some(next) = self.next(last).filter(|at| *at < before) {
                    last = next;
                }
                return Some(last);
            }
            if from == floor {
                return None;
            }
            step *= 4;
        }
    }

    /// A nominal time with its local form and the change of the clock that affects it.
    pub fn describe(&self, at: Timestamp) -> Occurrence {
        let Ok(instant) = Instant::from_millisecond(at.0) else {
            return Occurrence { at, local: at.rfc3339(), change: None };
        };
        let local = self.local(instant);
        let offset = self.zone.tz.to_offset(instant);
        let text =
            format!("{} {}", local.strftime("%Y-%m-%d %H:%M"), offset_text(offset.seconds()));
        let change = match self.zone.tz.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Fold { .. } if self.is_fixed() => Some(ClockChange::FirstOfTwo),
            AmbiguousOffset::Fold { before, .. } if before == offset => Some(ClockChange::Repeated),
            AmbiguousOffset::Fold { .. } => Some(ClockChange::RepeatedSecond),
            _ if !self.is_written(local) => Some(ClockChange::AfterGap),
            _ => None,
        };
        Occurrence { at, local: text, change }
    }

    /// Whether a nominal time has the local time that the definition asks for.
    fn is_written(&self, local: DateTime) -> bool {
        match &self.times {
            Times::Cron(cron) => !cron.is_fixed() || matches(cron, local),
            Times::Every(_) => true,
            Times::At(all) => all.contains(&local),
        }
    }

    fn local(&self, at: Instant) -> DateTime {
        self.zone.tz.to_datetime(at)
    }

    /// Fixed times of day: local times in their order, each at its instant.
    fn next_fixed(&self, cron: &Cron, after: Instant) -> Option<Instant> {
        let start = self.local(after);
        let last = start.year().saturating_add(YEARS);
        let mut date = start.date();
        while date.year() <= last {
            if cron.matches_date(date) {
                let earliest = if date == start.date() { Some(start) } else { None };
                let found = self.instants_of(cron, date, earliest).find(|at| *at > after);
                if found.is_some() {
                    return found;
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The instants of a date's matching times, from the local time `earliest` on.
    fn instants_of<'s>(
        &'s self,
        cron: &'s Cron,
        date: Date,
        earliest: Option<DateTime>,
    ) -> impl Iterator<Item = Instant> + 's {
        let hours = (0..24i8).filter(|hour| cron.matches_hour(*hour));
        let minutes = |hour| (0..60i8).filter(|m| cron.matches_minute(*m)).map(move |m| (hour, m));
        let times = hours.flat_map(minutes).map(move |(hour, minute)| date.at(hour, minute, 0, 0));
        times
            .filter(move |time| earliest.is_none_or(|earliest| *time >= earliest))
            .filter_map(|time| self.instant_of(time))
    }

    /// The instant of a local time: the first one of an overlap, the end of a gap.
    fn instant_of(&self, local: DateTime) -> Option<Instant> {
        let ambiguous = self.zone.tz.to_ambiguous_timestamp(local);
        match ambiguous.offset() {
            // The offset before the gap yields the instant of the change of the clock or a later one.
            AmbiguousOffset::Gap { .. } => {
                let at = ambiguous.compatible().ok()?;
                let beyond = Instant::from_second(at.as_second() + 1).ok()?;
                let end = self.zone.tz.preceding(beyond).next()?.timestamp();
                Some(end)
            }
            _ => ambiguous.compatible().ok(),
        }
    }

    /// Real time: every minute whose local time matches, whatever the offset.
    fn next_real(&self, cron: &Cron, after: Instant) -> Option<Instant> {
        let mut at = after;
        let last = self.local(after).year().saturating_add(YEARS);
        let mut first = true;
        loop {
            let local = self.local(at);
            if local.year() > last {
                return None;
            }
            let on_minute = local.second() == 0 && local.subsec_nanosecond() == 0;
            if !first && on_minute && matches(cron, local) {
                return Some(at);
            }
            at = self.step(cron, at, local, first)?;
            first = false;
        }
    }

    /// The next instant that can match: the next minute, hour or date, and never beyond a change of
    /// the clock.
    fn step(&self, cron: &Cron, at: Instant, local: DateTime, first: bool) -> Option<Instant> {
        if !cron.matches_date(local.date()) && !first {
            let midnight = local.date().tomorrow().ok()?.at(0, 0, 0, 0);
            return self.zone.tz.to_ambiguous_timestamp(midnight).compatible().ok();
        }
        let second = i64::from(local.second());
        let to_next_hour = MINUTE - i64::from(local.minute());
        let later = (local.minute() + 1..60).find(|minute| cron.matches_minute(*minute));
        let minutes = match later.filter(|_| cron.matches_hour(local.hour())) {
            Some(minute) => i64::from(minute - local.minute()),
            None => to_next_hour,
        };
        let whole = Instant::from_second(at.as_second()).ok()?;
        let next = Instant::from_second(whole.as_second() + minutes * MINUTE - second).ok()?;
        let change = self.zone.tz.following(at).next().map(|change| change.timestamp());
        Some(change.filter(|change| *change < next).unwrap_or(next))
    }
}

fn matches(cron: &Cron, local: DateTime) -> bool {
    cron.matches_date(local.date())
        && cron.matches_hour(local.hour())
        && cron.matches_minute(local.minute())
}

/// The first instant after `after` that is a whole number of periods from the start.
fn every(period: i64, start: Option<Instant>, after: Instant) -> Option<Instant> {
    let start = start.map_or(0, Instant::as_millisecond);
    let passed = (after.as_millisecond() - start).div_euclid(period);
    let next = passed.checked_add(1)?.checked_mul(period)?.checked_add(start)?;
    Instant::from_millisecond(next).ok()
}

fn offset_text(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}
