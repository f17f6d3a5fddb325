use std::fmt;

/// A stable code such as `KB0101`; it never changes its meaning.
///
/// | range | subject |
/// |---|---|
/// | `KB01xx` | files and YAML: reading, keys, types |
/// | `KB02xx` | playbooks, steps, specialists, settings, scripts |
/// | `KB03xx` | expressions, templates, references |
/// | `KB04xx` | the plan: cycles, joins, guards, conflicts |
/// | `KB05xx` | how steps and attempts end |
/// | `KB06xx` | tools, policies, processes |
/// | `KB07xx` | models |
/// | `KB08xx` | journal, runs, environment |
/// | `KB09xx` | known to the language, not supported yet |
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub(super) &'static str);

impl Code {
    /// The code as text.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The code with that name, if it is one; case does not matter.
    pub fn find(text: &str) -> Option<Code> {
        super::pages::all().map(|page| page.code).find(|code| code.0.eq_ignore_ascii_case(text))
    }

    /// A short title of what it means.
    pub fn title(self) -> &'static str {
        super::pages::page(self).title
    }

    /// The page that `kb explain` shows: what it means, an example, the mend.
    pub fn page(self) -> &'static str {
        super::pages::page(self).text
    }

    /// All codes, in order.
    pub fn all() -> impl Iterator<Item = Code> {
        super::pages::all().map(|page| page.code)
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
