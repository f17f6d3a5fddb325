//! One attempt: its request, its work, its outcome, and the recorder of its events.
//!
//! Types, and how they block ([`run_blocking`]), shared by the modules that execute attempts (`executor`, `specialist`) and the module
//! that starts them (`engine`). Start at [`Request`] and [`Outcome`].

mod blocking;
mod child_run_id;
mod context;
mod executor;
mod gate;
mod items;
mod left_changes;
mod live;
mod out_of_space;
mod outcome;
mod output_folder;
mod parent_facts;
mod recorder;
mod regular_file;
mod replace_file;
mod request;
mod tree;
mod work;

pub use blocking::run_blocking;
pub use child_run_id::child_run_id;
pub use context::{Context, Shutdown};
pub use executor::Executor;
pub use gate::{GateOf, GateRequest, JudgeSubject, Received};
pub use items::FileItems;
pub use left_changes::{KilledWork, LeftChanges};
pub use live::Live;
pub use out_of_space::is_out_of_space;
pub use outcome::Outcome;
pub use output_folder::OutputFolder;
pub use parent_facts::ParentFacts;
pub use recorder::{Progress, Recorder, Stopped};
pub use regular_file::{open_regular, read_regular};
pub use replace_file::{new_part_of, part_of, replace_file};
pub use request::{CacheRequest, CommandsBefore, Relied, Request, in_variable};
pub use tree::TreeRequest;
pub use work::*;
