//! The built-in tools, called through the toolbox.

pub(crate) mod bench;
mod code;
mod edit;
mod files;
mod guard;
mod http;
mod manifest;
mod matrix;
mod mind;
mod policy;
mod reference;
mod shell;
