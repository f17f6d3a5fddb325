//! Test files (`kb.test/1`): tests of playbooks, for `kb playbook test`.

mod case;
mod doubles;
mod expectations;
mod fault;
mod parts;

pub use case::{TestCase, TestFile, TestScript};
pub use doubles::{Stub, TestReply, ToolStub};
pub use expectations::{Expectations, FileExpectation};
pub use fault::{Fault, FaultKind, ModelFault};

pub(super) use case::{TEST_FILE, test_file};
