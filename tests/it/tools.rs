//! The built-in tools of LANGUAGE §7, through the one entry that everybody uses.

pub(crate) mod bench;
mod edit;
mod files;
mod guard;
mod http;
mod manifest;
mod policy;
mod shell;
