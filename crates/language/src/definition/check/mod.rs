//! Static rules, one per file. A rule reads decoded values and adds diagnostics to the decoder.

pub(super) mod argv;
pub(super) mod dependencies;
pub(super) mod duplicates;
mod interpreters;
pub(super) mod name_clash;
pub(super) mod name_form;
pub(super) mod named_specialists;
pub(super) mod param_values;
pub(super) mod pattern;
pub(super) mod secret_variables;
pub(super) mod shell_text;
pub(super) mod tool_input;
pub(super) mod url;

pub use argv::{refuse_computed_code, refuse_options};
pub use interpreters::{is_interpreter, value_as_code};
