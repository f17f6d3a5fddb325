//! What people wrote, checked: playbooks, workflows, specialists, settings, scripts.
//!
//! Pure. `syntax` reads text into trees with positions, `check` holds one rule a file, `model` is
//! what the rest of the house sees. Only [`load`] makes a [`Catalog`]; nothing in a catalog needs a
//! second look. A file with errors is left out of the catalog and never hides the good ones.

mod check;
mod file_bytes;
mod load;
mod load_script;
mod load_value;
pub mod model;
mod schema;
mod syntax;
mod tool_table;

pub use check::takes_code;
pub use file_bytes::FileBytes;
pub use load::{FileRole, InputFile, load};
pub use load_script::load_script;
pub use load_value::{Entry, PlacedValue, load_value};
pub use model::*;
pub use schema::{Property, Schema, Violation};
pub use tool_table::{KnownTool, ToolArgument, ToolLevel, known_tools};
