//! The names that a definition declares, and where its texts stand.

use crate::diagnostic::Span;
use crate::value::StepId;
use std::collections::{BTreeMap, BTreeSet};

/// The names that a text may refer to; placeholders are resolved against them at load.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Step ids of the definition.
    pub steps: BTreeSet<StepId>,
    /// Parameter names.
    pub params: BTreeSet<String>,
    /// Declared environment names.
    pub env: BTreeSet<String>,
    /// Names of `secrets` in the settings.
    pub secrets: BTreeSet<String>,
    /// What an item of the present `forEach` is called, inside one.
    pub item: Option<String>,
    /// For workflows: the declared output keys of each step, so that `{research.findings}` reads
    /// `research.output.findings`.
    pub outputs: BTreeMap<String, Vec<String>>,
}

/// Which placeholders are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// `{{ e }}` and `<< ref >>`.
    #[default]
    Playbook,
    /// `{name}` and `{step.key}` too.
    Workflow,
}

/// Where a text stands, so that problems inside it can be pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The whole scalar, quotes included.
    pub span: Span,
    /// The byte at which the decoded text stands verbatim in its file, where it does: plain and
    /// quoted scalars on one line without escapes. Elsewhere problems point at the whole scalar.
    pub verbatim: Option<u32>,
}
