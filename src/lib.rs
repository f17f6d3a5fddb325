//! `kb` — a declarative engine that turns playbooks into verified work by LLM specialists.

pub mod attempt;
pub mod clock;
pub mod definition;
pub mod diagnostic;
pub mod engine;
pub mod evidence;
pub mod executor;
pub mod expression;
pub mod journal;
pub mod llm;
pub mod plan;
pub mod process;
pub mod project;
pub mod redaction;
pub mod run;
pub mod service;
pub mod specialist;
pub mod tool;
pub mod value;
pub mod verify;
pub mod wire;

pub mod cli;
