//! From the answer of a planner to a playbook.
//!
//! Pure: JSON in, JSON out. [`answer_schema`] is what a planner may answer, [`Answer`] is that answer, and
//! [`Answer::playbook`] the playbook that it means. Nothing of an answer becomes code: every text is written so that
//! it has no placeholders, and a subtask can name only what [`Subtask`] has. The playbook is then loaded and checked
//! like the file of a person.

mod answer;
mod check;
mod cited;
mod literal;
mod member;
mod name;
mod parts;
mod playbook;
mod revision;
mod schema;
mod stop;
mod synthesis;

pub use answer::{Answer, Subtask, Taken};
pub use check::{FileGoal, GoalCheck};
pub use cited::{CitedAnswer, CitedFile, Finding, Gap, Statement, Unread};
pub use member::Member;
pub use name::{plan_id, plan_name};
pub use parts::AFTER;
pub use playbook::Goal;
pub use revision::{Earlier, revised};
pub use schema::{MAX_CHECKS, MAX_SUBTASKS, answer_schema};
