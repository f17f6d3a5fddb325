//! The MCP server of `kb mcp serve`: playbooks and runs as tools of a client.
//!
//! `server` speaks the protocol, `tools` is the table of tools, `runs` and `playbooks` carry them out,
//! `resources` has the whole texts of what an answer shortens. No tool approves anything: a person does.

mod answer;
mod arguments;
mod bounded_lines;
mod http;
mod playbooks;
mod resources;
mod runs;
mod server;
mod session;
mod tools;

pub use http::over_http;
pub use server::serve;
