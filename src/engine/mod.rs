//! The first home of the heart: tokio, one dispatcher a run, timers, slots, recovery at start.
//!
//! The dispatcher is the sole owner of the state. Everything else (attempts, gates, people, timers)
//! talks to it through messages. A tick takes in what has come, decides, appends all events at
//! once, and only then starts and stops attempts, gates and timers: nothing that others can see
//! precedes its event. What only computes (conditions, items, outputs) is answered in between.

mod attempts;
mod compute;
mod dispatcher;
mod durability;
mod evaluating;
mod event_channel;
mod fetching;
mod fold;
mod inbox;
mod json_list;
mod payloads;
mod performing;
mod prepare;
mod prompts;
mod scope;
mod setup;
mod ticking;
mod waiting;

pub use dispatcher::{drive, drive_on};
pub use event_channel::{EventReceiver, EventSender, event_channel};
pub use fold::Folded;
pub use payloads::Payloads;
pub use scope::{RunScope, Secrets, Snapshot};
pub use setup::{Parts, RunControl, Setup, StartMode, Summary, Update};
