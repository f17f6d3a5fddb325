//! The one expression language (docs/reference/expressions.md): placeholders, references with strengths, typed values.
//!
//! Pure. Parse once at load against the known [`Names`]; evaluate any number of times against a
//! [`Scope`]. Values are never pasted into source; evaluation is total, bounded and deterministic.
//! The engine below is `minijinja`, and no type of it leaves this module.
//!
//! One text goes through `scan` (where are placeholders), `compile` (the engine's own parser, whose
//! tree `lower` resolves against the names and rewrites: reads become slots, operators become typed
//! and bounded ones of `kb`), and ends as a `program`: a plain path read without the engine, which is
//! what most placeholders are, a constant, or compiled code.

mod brackets;
mod compile;
mod convert;
mod engine;
mod fault;
mod keys;
mod lower;
mod names;
mod operators;
mod parsed_expression;
mod path;
mod program;
mod reference;
mod resolve;
mod scan;
mod scope;
mod source_text;
mod syntax_error;
mod template;

pub use names::{Names, Origin, Style};
pub use parsed_expression::Expression;
pub use reference::{Reference, Root, Strength};
pub use resolve::STEP_FIELDS;
pub use scan::{bare_names, placeholders_in};
pub use scope::{EvalError, Scope};
pub use template::{Template, ValueMap, ValueTemplate};

/// Words that cannot be the id of a step or the name of a parameter: roots of the scope and words of
/// the language itself.
pub const RESERVED_ROOTS: &[&str] = &[
    "params", "steps", "run", "env", "secrets", "item", "index", "loop", "true", "false", "none",
    "null", "True", "False", "None", "and", "or", "not", "in", "is", "if", "else", "self", "range",
];
