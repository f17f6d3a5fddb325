//! `kb do`: from a sentence to a plan, which is a playbook.
//!
//! A planning run is an ordinary run of an internal playbook: one specialist, the planner, whose output is the plan. So
//! it is recorded, resumed, budgeted and shown as any other. The plan becomes the text of a playbook ([`Draft`]), which
//! is loaded and checked like the file of a person, and which starts as an ordinary run once a person has seen it.
//! If that run fails, a planner is asked for other steps ([`failed_plan`]): the new plan is a run of its own, which keeps
//! the results of the first one and records why it was revised. Start at [`plan`] and [`read_plan`].

mod answer;
mod decision;
mod draft;
mod failed;
mod goal_view;
mod planner;
mod reading;
mod survey;
mod team;

pub use answer::{GoalAnswer, goal_answer};
pub use decision::{PlanDecision, decide_plan, plan_decision};
pub use draft::{Draft, require_free};
pub use failed::{FailedPlan, failed_plan};
pub use goal_view::{GoalState, GoalView, ProposedPlan, goal_view, list_goals, require_plannable};
pub use kb_goal::Statement;
pub use planner::{
    MAX_REVISIONS, PlanRequest, Revision, continue_plan, open_plan, plan, revising_plan,
};
pub use reading::{Planned, Unusable, read_plan};
pub use team::ORCHESTRATOR;
