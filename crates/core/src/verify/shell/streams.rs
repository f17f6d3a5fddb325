//! Where commands read from and write to.

use super::syntax::Redirected;

/// The standard streams of a command, those of the groups around it included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::verify) struct Streams {
    /// The file that gets its standard output, `/dev/null` included.
    pub(in crate::verify) output: Option<String>,
    /// Whether another command reads its standard output.
    pub(in crate::verify) piped: bool,
    /// Whether it reads what another command printed.
    pub(in crate::verify) reads: bool,
}

impl Streams {
    /// Those of a command within these, at a place of a pipeline of `length` commands.
    pub(super) fn within(&self, to: &Redirected, at: usize, length: usize) -> Streams {
        let is_last = at + 1 == length;
        let outer = self.output.as_ref().filter(|_| is_last);
        Streams {
            output: to.output.as_ref().or(outer).cloned(),
            piped: to.output.is_none() && (!is_last || self.piped),
            reads: at > 0 || self.reads,
        }
    }
}
