//! The language of `kb`: expressions, tools, schedules, definitions and plans. Pure.

pub mod definition;
pub mod expression;
pub mod plan;
pub mod schedule;
pub mod toolspec;
