//! The integration tests, one binary, a file a subject.

mod architecture;
mod cli;
mod conformance;
mod definition;
mod demo;
mod disk;
mod engine;
mod executor;
mod expression;
mod faults;
mod journal;
mod llm;
mod plan;
mod process;
mod proof;
mod real_model;
mod redaction;
mod run;
mod run_commands;
mod scratch;
mod shipped;
mod simulate;
mod specialist;
mod tools;
mod verify;
mod wire;
