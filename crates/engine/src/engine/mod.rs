//! The engine: drives one run with tokio, the journal and an executor.
//!
//! The dispatcher is the only owner of the state. Attempts, gates, people and timers reach it through
//! messages. In a tick it decides on everything that arrived, stores all events in one append, and
//! only then starts and stops attempts, gates and timers: no effect precedes its event. Effects that
//! only compute (conditions, items, outputs) are answered in between. Start at [`drive`].

mod active;
mod attempt;
mod attempts;
mod caching;
mod compute;
mod context;
mod deciding_changes;
mod dispatcher;
mod durability;
mod earlier_changes;
mod effects;
mod evaluate;
mod event_channel;
mod fold;
mod inbox;
mod item_list;
mod items;
mod json_list;
mod known;
mod left_changes;
mod matrix;
mod payloads;
mod pending_write;
mod prepare;
mod prompts;
mod queue;
mod read_faults;
mod relied;
mod report;
mod scope;
mod secret_fetcher;
mod secrets;
mod session;
mod session_reader;
mod setup;
mod step_ends;
mod step_locks;
mod tick;
mod timers;
mod trees;
mod verified;
mod verified_result;
mod waiting;
mod write_fault;

pub use deciding_changes::DecidingChanges;
pub use dispatcher::drive;
pub use earlier_changes::{EarlierChanges, EarlierWork};
pub use event_channel::{EventReceiver, EventSender, event_channel};
pub use fold::Folded;
pub use known::{Known, LiveKnown};
pub use payloads::Payloads;
pub use read_faults::ReadFaults;
pub use scope::{RunScope, Snapshot};
pub use secrets::Secrets;
pub use setup::{Parts, RETRIED, RunControl, Setup, StartMode, Summary, Update};
pub use verified_result::{VerifiedResult, VerifiedResults};
pub use write_fault::WriteFaults;
