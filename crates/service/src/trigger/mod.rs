//! Triggers: their state, what they fired, and how a payload becomes parameters.
//!
//! [`TriggerStore`] is the database `serve.sqlite3` in the state folder of a project: which triggers are
//! enabled, the cursor of each schedule, every nominal time and event with its result (a [`Fire`]), and
//! the webhook deliveries that were seen. A fire and the cursor are written in one transaction, and the
//! id of a run is a function of the trigger and the key of the fire ([`run_id`]): the journal creates a
//! run with that id once, so a fire that is started again after a crash starts nothing twice.
//!
//! [`parameters`] and [`verify_webhook`] are pure.

mod ids;
mod payload;
mod serving;
mod signature;
mod store;

pub use ids::{FiredFile, definition_digest, playbook_of, run_id, schedule_key, trigger_id};
pub use payload::{PayloadError, parameters};
pub use serving::{LEASE_FILE, daemon_of, daemon_problem, write_lease};
pub use signature::{
    SignatureError, VerifiedWebhook, has_signature, sign_standard, verify_webhook,
};
pub use store::{
    API_TRIGGER, Change, Delivery, Enabled, Fire, FireFilter, FireState, MCP_TRIGGER, NewFire,
    NewNotification, Notification, NotificationState, Recorded, Role, StoredMessage, TokenRow,
    TriggerState, TriggerStore,
};
