//! The public, versioned forms: events, run and definition views, problems.
//!
//! What scripts read (`--json`) and what every display is drawn from, live or later. Pure, and
//! apart from `run::Event`, which belongs to the journal and changes for its own reasons. Within one
//! `v`, fields and types are added and never change or go. [`Translator`] turns what the journal holds
//! into [`Event`]s; the views are made from folded state.

mod body;
mod definition_view;
mod event;
mod instances;
mod parts;
mod problem;
mod record_body;
mod run_view;
mod schema;
mod specialist_view;
mod translator;

pub use crate::evidence::{ChangeKind, Confidence, InvocationStatus, Verdict};
pub use crate::run::{Question, QuestionKind, RunStatus, StepStatus};
pub use body::Body;
pub use definition_view::{DefinitionView, ParamView, StepOutline};
pub use event::{Event, InstanceRef, VERSION};
pub use parts::{
    BlobRef, CheckView, ErrorView, EvidenceView, FileChange, RequestView, UsageView,
    change_kind_name,
};
pub use problem::Problem;
pub use run_view::{InstanceView, RunHead, RunView};
pub use schema::event_schema;
pub use specialist_view::{ExampleView, SpecialistLimits, SpecialistView};
pub use translator::Translator;
