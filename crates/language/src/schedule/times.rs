//! [`Schedule`]: the nominal times of a cron expression in a time zone.

use super::{Cron, Zone};
use jiff::Timestamp as Instant;
use jiff::civil::{Date, DateTime};
use jiff::tz::AmbiguousOffset;
use kb_base::value::Timestamp;
use std::time::Duration;

/// How far ahead a time is searched. A 29 February that is a Monday can be 40 years away.
const YEARS: i16 = 50;
const MINUTE: i64 = 60;

/// A cron expression in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    cron: Cron,
    zone: Zone,
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
    /// The note for people.
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
    /// Combines an expression with the zone in which it is read.
    pub fn new(cron: Cron, zone: Zone) -> Schedule {
        Schedule { cron, zone }
    }

    /// The expression that gives the times.
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The time zone in which the expression is read.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether the expression matches any date at all. 30 February never comes.
    pub fn ever_fires(&self) -> bool {
        self.next(Timestamp(0)).is_some()
    }

    /// The first nominal time after `after`; `None` if there is none within 50 years.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = Instant::from_millisecond(after.0).ok()?;
        let found = match self.cron.is_fixed() {
            true => self.next_fixed(after),
            false => self.next_real(after),
        };
        found.map(|at| Timestamp(at.as_millisecond()))
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
            AmbiguousOffset::Fold { .. } if self.cron.is_fixed() => Some(ClockChange::FirstOfTwo),
            AmbiguousOffset::Fold { before, .. } if before == offset => Some(ClockChange::Repeated),
            AmbiguousOffset::Fold { .. } => Some(ClockChange::RepeatedSecond),
            _ if self.cron.is_fixed() && !self.matches(local) => Some(ClockChange::AfterGap),
            _ => None,
        };
        Occurrence { at, local: text, change }
    }

    fn matches(&self, local: DateTime) -> bool {
        self.cron.matches_date(local.date())
            && self.cron.matches_hour(local.hour())
            && self.cron.matches_minute(local.minute())
    }

    fn local(&self, at: Instant) -> DateTime {
        self.zone.tz.to_datetime(at)
    }

    /// Fixed times of day: local times in their order, each at its instant.
    fn next_fixed(&self, after: Instant) -> Option<Instant> {
        let start = self.local(after);
        let last = start.year().saturating_add(YEARS);
        let mut date = start.date();
        while date.year() <= last {
            if self.cron.matches_date(date) {
                let earliest = if date == start.date() { Some(start) } else { None };
                let found = self.instants_of(date, earliest).find(|at| *at > after);
                if found.is_some() {
                    return found;
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The instants of a date's matching times, from the local time `earliest` on.
    fn instants_of(
        &self,
        date: Date,
        earliest: Option<DateTime>,
    ) -> impl Iterator<Item = Instant> + '_ {
        let hours = (0..24i8).filter(|hour| self.cron.matches_hour(*hour));
        let minutes =
            |hour| (0..60i8).filter(|m| self.cron.matches_minute(*m)).map(move |m| (hour, m));
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
    fn next_real(&self, after: Instant) -> Option<Instant> {
        let mut at = after;
        let last = self.local(after).year().saturating_add(YEARS);
        let mut first = true;
        loop {
            let local = self.local(at);
            if local.year() > last {
                return None;
            }
            let on_minute = local.second() == 0 && local.subsec_nanosecond() == 0;
            if !first && on_minute && self.matches(local) {
                return Some(at);
            }
            at = self.step(at, local, first)?;
            first = false;
        }
    }

    /// The next instant that can match: the next minute, hour or date, and never beyond a change of
    /// the clock.
    fn step(&self, at: Instant, local: DateTime, first: bool) -> Option<Instant> {
        if !self.cron.matches_date(local.date()) && !first {
            let midnight = local.date().tomorrow().ok()?.at(0, 0, 0, 0);
            return self.zone.tz.to_ambiguous_timestamp(midnight).compatible().ok();
        }
        let second = i64::from(local.second());
        let to_next_hour = MINUTE - i64::from(local.minute());
        let later = (local.minute() + 1..60).find(|minute| self.cron.matches_minute(*minute));
        let minutes = match later.filter(|_| self.cron.matches_hour(local.hour())) {
            Some(minute) => i64::from(minute - local.minute()),
            None => to_next_hour,
        };
        let whole = Instant::from_second(at.as_second()).ok()?;
        let next = Instant::from_second(whole.as_second() + minutes * MINUTE - second).ok()?;
        let change = self.zone.tz.following(at).next().map(|change| change.timestamp());
        Some(change.filter(|change| *change < next).unwrap_or(next))
    }
}

fn offset_text(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}
