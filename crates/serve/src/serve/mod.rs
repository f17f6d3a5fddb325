//! The daemon behind `kb serve`, and the use cases of triggers.
//!
//! A [`Daemon`] serves one or more projects. For each it holds the lease of the state folder, accounts
//! for the nominal times of schedules, turns events into fires, and starts the run of each fire as a
//! process of its own (`starts.rs`, the only file that does). It keeps no state that matters: everything
//! is in the trigger store and the journal, so it can be killed at any moment. Runs continue when it
//! stops, and the next daemon follows them again.
//!
//! The functions of `triggers` are the use cases that the command line, the daemon and the HTTP server share. They work
//! on the store alone; a daemon notices the change within a second.

mod accounting;
mod catalog;
mod daemon;
mod delays;
mod event;
mod events;
mod file_scan;
mod files;
mod follow;
mod lease;
mod moved;
mod named_secrets;
mod notify;
mod queue;
mod served;
mod shared;
mod starts;
mod telemetry;
mod trial;
mod trigger_news;
mod triggers;
mod undefined;
mod unit;
mod views;

pub use catalog::{LoadedTrigger, TriggerCatalog, trigger_catalog};
pub use daemon::{Daemon, DaemonOptions};
pub use events::{deliver, publish, webhook_at};
pub use kb_language::definition::is_topic;
pub use kb_process::open_page;
pub use kb_service::trigger::{daemon_of, daemon_problem};
pub use lease::ServeLease;
pub(crate) use lease::{ADDRESS_FILE, address_in};
pub use notify::{NotificationView, notifications, send_test_notification};
pub use served::ServedProject;
pub use shared::{DaemonHandle, ProjectState, RunCommand, SharedProject};
pub use starts::{start_process, take_errors};
pub use telemetry::{Counted, EndedRuns, Telemetry};
pub use trial::{Tested, test};
pub use triggers::{
    Backfill, Fired, backfill, backfill_times, cancel_queued, disable, enable, fire, list,
    next_times, pause, resume, show, start, unique_key,
};
pub use unit::{UnitKind, unit};
pub use views::{ChangeView, FireView, OccurrenceView, TriggerStateName, TriggerView};
