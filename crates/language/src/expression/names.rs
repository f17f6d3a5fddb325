//! The names that a definition declares, and where its texts stand.

use kb_base::diagnostic::{Span, Suggestions};
use kb_base::value::StepId;
use std::collections::{BTreeMap, BTreeSet};

/// The names that a text may refer to. Placeholders are resolved against them when a definition is
/// loaded.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Ids of the steps.
    pub steps: BTreeSet<StepId>,
    /// Names of the parameters.
    pub params: BTreeSet<String>,
    /// Names of the declared environment variables.
    pub env: BTreeSet<String>,
    /// Names of `secrets` in the settings.
    pub secrets: BTreeSet<String>,
    /// The name of the item inside a `forEach`.
    pub item: Option<String>,
    /// For workflows: the declared output keys of each step, so that `{research.findings}` reads
    /// `research.output.findings`.
    pub outputs: BTreeMap<String, Vec<String>>,
    /// The steps whose output is a list, and whether its items have keys.
    pub lists: BTreeMap<String, bool>,
    /// The searches for similar names that are left.
    pub suggestions: Suggestions,
}

/// Which forms of placeholders are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// `{{ e }}` and `<< ref >>`.
    #[default]
    Playbook,
    /// Also `{name}` and `{step.key}`.
    Workflow,
}

/// The position of a text in a file, for diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The whole scalar, quotes included.
    pub span: Span,
    /// The offset at which the decoded text appears unchanged in the file: plain and quoted scalars on
    /// one line without escapes. `None`: diagnostics point at the whole scalar.
    pub verbatim: Option<u32>,
}
