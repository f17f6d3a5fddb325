//! From the answer of a planner to a playbook.
//!
//! Pure: JSON in, JSON out. [`answer_schema`] is what a planner may answer, [`Answer`] is that answer, and
//! [`Answer::playbook`] the playbook that it means. Nothing of an answer becomes code: every text is written so that
//! it has no placeholders, and a subtask can name only what [`Subtask`] has. The playbook is then loaded and checked
//! like the file of a person.

mod answer;
mod check;
mod literal;
mod name;
mod playbook;
mod revision;
mod schema;
mod synthesis;

pub use answer::{Answer, Subtask};
pub use check::{FileGoal, GoalCheck};
pub use name::{plan_id, plan_name};
pub use playbook::{AFTER, Goal, Member};
pub use revision::{Earlier, revised};
pub use schema::{MAX_CHECKS, MAX_SUBTASKS, answer_schema};
