//! References: reads of names in an expression.

use super::keys::{KeyRef, Keys};
use kb_base::diagnostic::Span;
use kb_base::value::StepId;
use serde::Serialize;

/// The root of a reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// A step, as `ID` or `steps['ID']`.
    Step(StepId),
    /// A parameter, as `NAME` or `params.NAME`.
    Param(Box<str>),
    /// All parameters: `params` alone.
    Params,
    /// `run`: id, definition and start of the run.
    Run,
    /// `env.NAME`: a variable that the settings pass on.
    Env(Box<str>),
    /// `secrets.NAME`: a secret of the settings.
    Secret(Box<str>),
    /// The current item of a `forEach`, under any name.
    Item,
    /// The index of the current item, from 0.
    Index,
    /// `loop`: number and previous result of the current pass.
    Loop,
}

/// How much the outcome of a dependency matters to the step that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// A read of `.status`, `.error` or `.verdict`: the step waits, but every outcome is accepted.
    Watch,
    /// A read in the condition, or under `default(…)` or `is defined`: a skipped step is accepted, a
    /// failed one is not.
    MaySkip,
    /// A plain reference or `dependsOn`: the other step must succeed.
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

/// One read of a name, found when a definition is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The root, such as a step.
    pub root: Root,
    /// The literal keys after the root.
    pub(super) keys: Keys,
    /// Whether it is an operand of `default(…)`, `is defined` or `is undefined`.
    pub guarded: bool,
    /// Whether it is compared with a number, `true` or `false`.
    pub beside_number: bool,
    /// The position in the file.
    pub span: Span,
}

impl Reference {
    /// A plain reference to a step that no text contains.
    pub fn to_step(step: StepId, span: Span) -> Reference {
        let keys = Keys::of(None, &[]);
        Reference { root: Root::Step(step), keys, guarded: false, beside_number: false, span }
    }

    /// The strength of the reference outside a condition.
    pub fn strength(&self) -> Strength {
        match self.field() {
            Some("status" | "error" | "verdict" | "verdictDetails") => Strength::Watch,
            _ if self.guarded => Strength::MaySkip,
            _ => Strength::Needs,
        }
    }

    /// The literal names after the root, such as `output`, `files`, up to the first index.
    pub fn path(&self) -> Vec<&str> {
        self.names().collect()
    }

    /// The first name after the root.
    pub fn field(&self) -> Option<&str> {
        self.names().next()
    }

    /// The literal names after the first field and an index, as in `output[0].files`; nothing without an
    /// index there.
    pub fn path_of_element(&self) -> Option<Vec<&str>> {
        let mut keys = self.keys.iter().skip(1);
        match keys.next()? {
            KeyRef::Index(_) => {}
            KeyRef::Name(_) => return None,
        }
        let names = keys.map_while(|key| match key {
            KeyRef::Name(name) => Some(name),
            KeyRef::Index(_) => None,
        });
        Some(names.collect())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map_while(|key| match key {
            KeyRef::Name(name) => Some(name),
            KeyRef::Index(_) => None,
        })
    }
}
