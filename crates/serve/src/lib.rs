//! The daemon of `kb serve`, its HTTP API and its pages.

pub mod serve;
pub mod web;
