//! The expression language: placeholders, references with strengths, typed values.
//!
//! Pure. A text is parsed once against the declared [`Names`] and evaluated any number of times against
//! a [`Scope`]. Values are never inserted into source text; evaluation is deterministic and limited in
//! time and memory. The engine is `minijinja`; its types do not appear outside this module.
//!
//! `scan` finds the placeholders of a text. `compile` parses each with minijinja; `lower` resolves names
//! (`resolve`) and rewrites the tree: reads become slots, operators become typed functions with limits.
//! The result is a `program`: a plain path that needs no engine (most placeholders), a constant, or
//! compiled code. Start reading at [`Template`] and [`Expression`].

mod brackets;
mod compile;
mod convert;
mod engine;
mod fault;
mod following;
mod foreign;
mod in_scripts;
mod keys;
mod lower;
mod method_filter;
mod names;
mod operators;
mod outcomes;
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

pub use engine::{FILTERS, TESTS};
pub use following::{names_below, outcome_words};
pub use foreign::{ForeignPlaceholder, foreign_placeholders};
pub use in_scripts::{ScriptName, ScriptPlaceholder, placeholders_in};
pub use names::{Names, Origin, Style};
pub use parsed_expression::Expression;
pub use reference::{Reference, Root, Strength};
pub use resolve::STEP_FIELDS;
pub use scan::bare_names;
pub use scope::{EvalError, NoValues, Scope};
pub use template::{Template, ValueMap, ValueTemplate};

/// Names that a step or parameter cannot have: roots of the scope and keywords.
pub const RESERVED_ROOTS: &[&str] = &[
    "params", "steps", "run", "env", "secrets", "item", "index", "loop", "true", "false", "none",
    "null", "True", "False", "None", "and", "or", "not", "in", "is", "if", "else", "self", "range",
];
