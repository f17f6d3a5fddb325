use super::keys::{KeyRef, Keys};
use crate::diagnostic::Span;
use crate::value::StepId;

/// What a reference starts from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// A step, as `ID` or `steps['ID']`.
    Step(StepId),
    /// A parameter, as `NAME` or `params.NAME`.
    Param(Box<str>),
    /// All parameters: `params` alone.
    Params,
    /// `run`.
    Run,
    /// `env.NAME`.
    Env(Box<str>),
    /// `secrets.NAME`.
    Secret(Box<str>),
    /// The current item of a `forEach`, by whichever name it has.
    Item,
    /// The index of the current item, from 0.
    Index,
    /// `loop`.
    Loop,
}

/// How much an outcome of the dependency matters to the join (docs/reference/language.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// A read of `.status`, `.error`, `.verdict`: no outcome matters.
    Watch,
    /// Read in the step's own condition, or under `default(…)` or `is defined`: skipped does not
    /// matter, failed does.
    MaySkip,
    /// A plain reference, or `dependsOn`.
    Needs,
}

impl Strength {
    /// The name as `kb playbook graph` prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Strength::Watch => "watch",
            Strength::MaySkip => "may-skip",
            Strength::Needs => "needs",
        }
    }
}

/// One read of a name, found at load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// What it starts from.
    pub root: Root,
    /// The literal keys after the root.
    pub(super) keys: Keys,
    /// Whether it stands under `default(…)` or `is defined` / `is undefined`.
    pub guarded: bool,
    /// Where it is written.
    pub span: Span,
}

impl Reference {
    /// The strength that the reference has by itself, outside of a condition.
    pub fn strength(&self) -> Strength {
        match self.field() {
            Some("status" | "error" | "verdict" | "verdictDetails") => Strength::Watch,
            _ if self.guarded => Strength::MaySkip,
            _ => Strength::Needs,
        }
    }

    /// The literal names after the root: `output`, `files`. An index ends them.
    pub fn path(&self) -> Vec<&str> {
        self.names().collect()
    }

    /// The first of them.
    pub fn field(&self) -> Option<&str> {
        self.names().next()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map_while(|key| match key {
            KeyRef::Name(name) => Some(name),
            KeyRef::Index(_) => None,
        })
    }
}
