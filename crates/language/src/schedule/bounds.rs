//! [`Bounds`]: the first and the last time of a schedule, and the dates that it leaves out.

use jiff::civil::{Date, DateTime, Time};
use std::collections::BTreeSet;

/// Which nominal times of a schedule count, in its zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The first local time that counts.
    pub from: Option<DateTime>,
    /// The last local time that counts.
    pub until: Option<DateTime>,
    /// Dates without a time.
    pub except: BTreeSet<Date>,
}

/// Reads a local time such as `2026-12-24T18:00`, or a date, which is its first moment.
pub fn local_start(text: &str) -> Option<DateTime> {
    local(text, Time::midnight())
}

/// Reads a local time such as `2026-12-24T18:00`, or a date, which is its last moment.
pub fn local_end(text: &str) -> Option<DateTime> {
    local(text, Time::MAX)
}

/// Reads a date such as `2026-12-24`.
pub fn date(text: &str) -> Option<Date> {
    let is_date = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    text.parse().ok().filter(|_| is_date)
}

fn local(text: &str, of_date: Time) -> Option<DateTime> {
    if let Some(date) = date(text) {
        return Some(date.to_datetime(of_date));
    }
    let (day, time) = text.split_once(['T', ' '])?;
    // A time with an offset would be read as another one than the zone says.
    let is_time = time.bytes().all(|b| b.is_ascii_digit() || b == b':') && time.len() >= 5;
    let time: Time = time.parse().ok().filter(|_| is_time)?;
    Some(date(day)?.to_datetime(time))
}
