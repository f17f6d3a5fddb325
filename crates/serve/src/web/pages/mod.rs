//! The pages: what they show, as values for the templates in `assets/pages/`.
//!
//! The server renders whole pages. The script `kb.js` follows the events, fetches the page again, and
//! replaces the parts with `data-live` that changed, so that only one place decides how something looks.
//! A page reads through the use cases of `service` and `serve`; its forms send JSON to the API.
//! Start at `routes/pages.rs`.

mod changed_files;
mod form_fields;
mod format;
mod frame;
mod goals;
mod graph;
mod inbox;
mod layout;
mod memory;
mod playbooks;
mod run;
mod runs;
mod step;
mod system;
mod template;
mod timeline;
mod triggers;

pub(super) use frame::problem;
pub(super) use goals::{goal, goals};
pub(super) use inbox::inbox;
pub(super) use memory::memory;
pub(super) use playbooks::{playbook, playbooks};
pub(super) use run::run;
pub(super) use runs::runs;
pub(super) use system::system;
pub(super) use triggers::triggers;
