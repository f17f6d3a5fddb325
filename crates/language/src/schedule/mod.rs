//! Schedules as pure functions: cron expressions, time zones, the next time, and what happens to each
//! nominal time.
//!
//! Pure: the caller passes the time. [`Cron`] is a checked expression (`cron.rs` is the only file that
//! uses croner), [`Schedule`] adds the zone and answers [`Schedule::next`], [`account`] decides about
//! the nominal times that have passed, and [`overlap`] about a start while other runs are active.
//!
//! An hour field without `*` is a fixed time of day: in a gap of the clock it fires once at the end of
//! the gap, in an overlap only the first time. All other schedules follow real time.

mod account;
mod bounds;
mod cron;
mod field;
mod overlap;
mod times;
mod zone;

pub use account::{Accounting, CatchUp, Entry, Keep, Policy, Verdict, account, jitter};
pub use bounds::{Bounds, date, local_end, local_start};
pub use cron::{Cron, CronError};
pub use overlap::{ActiveRuns, Decision, Overlap, next_in_queue, overlap};
pub use times::{ClockChange, Occurrence, Schedule, Times};
pub use zone::{Zone, ZoneError};
