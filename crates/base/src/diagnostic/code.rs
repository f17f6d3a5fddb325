//! Stable codes of diagnostics and failures.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A stable code such as `KB0101`. Its meaning never changes.
///
/// | range | subject |
/// |---|---|
/// | `KB01xx` | files and YAML: reading, keys, types |
/// | `KB02xx` | playbooks, steps, specialists, settings, scripts |
/// | `KB03xx` | expressions, templates, references |
/// | `KB04xx` | the plan: circular dependencies, unguarded reads, unordered writers |
/// | `KB05xx` | how steps and attempts end |
/// | `KB06xx` | tools, policies, processes |
/// | `KB07xx` | models |
/// | `KB08xx` | journal, runs, environment |
/// | `KB09xx` | parts of the language that are not supported yet |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub(super) &'static str);

impl Code {
    /// A code that this version does not know, from a journal of another version.
    pub const OTHER: Code = Code("KB0000");

    /// The code as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Code {
    /// A text that is no code of this version becomes [`Code::OTHER`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Code::find(&text).unwrap_or(Code::OTHER))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
