//! What is pinned of servers of the Model Context Protocol: the declarations of their tools, checked, and the lock file
//! that contains them.

mod catalog;
mod declaration;
mod lock;

pub use catalog::PinnedServer;
pub(super) use catalog::{of_specialists, with_server};
pub use declaration::{ToolDeclaration, is_server_name};
pub use lock::{LOCK_PATH, McpLock, McpPin, ToolChange};
