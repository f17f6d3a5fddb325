//! The public, versioned JSON forms: events, views of runs and definitions, problems.
//!
//! Scripts read these forms with `--json`, and all displays use them. They are separate from
//! `run::Event`, the form that the journal stores. Within one version, fields are added but never
//! changed or removed. [`Translator`] turns stored events into [`Event`]s; views are made from the
//! state of a run. Start at [`Event`] and [`RunView`].

mod body;
mod body_type;
mod definition_view;
mod event;
mod exchange_body;
mod exchange_views;
mod following;
mod instance_reason;
mod instances;
mod otlp;
mod parts;
mod pass_view;
mod plan_revision_view;
mod problem;
mod question_view;
mod record_body;
mod recovery_view;
mod run_view;
mod schema;
mod spans;
mod specialist_view;
mod step_ends;
mod translator;
mod verdicts;
mod work_time;

pub use crate::evidence::{
    ChangeKind, Confidence, InvocationStatus, ProcessEvidence, REPORTED, Verdict,
};
pub use crate::run::{Question, QuestionKind, RunStatus, StepStatus};
pub use body::Body;
pub use definition_view::{DefinitionView, ParamView, StepOutline};
pub use event::{Event, InstanceRef, VERSION};
pub use exchange_views::{BlackboardView, DelegateView, MessageView, SubscriberView};
pub use following::FollowingStep;
pub use kb_base::value::RecoveryHint;
pub use otlp::trace_request;
pub use parts::{
    BlobRef, CacheHitView, CheckView, ErrorView, EvidenceView, FileChange, KeptView, MergedView,
    OutputView, PhaseView, RequestView, UsageView, change_kind_name,
};
pub use pass_view::PassView;
pub use plan_revision_view::{PlanRevisionView, StepActionView, StepFailureView};
pub use problem::Problem;
pub use question_view::QuestionView;
pub use recovery_view::RecoveryView;
pub use run_view::{
    BaseView, CachedFromView, InstanceView, ParentView, RunHead, RunView, TreeView,
};
pub use schema::event_schema;
pub use spans::{Spans, TraceContext};
pub use specialist_view::{ExampleView, SpecialistLimits, SpecialistView};
pub use translator::Translator;
pub use verdicts::VerdictsView;
pub use work_time::WorkTime;
