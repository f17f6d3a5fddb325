//! Executes attempts on this machine: files, HTTP, tools, models, specialists, isolation, cache.

pub mod agent;
pub mod cache;
pub mod embedding;
pub mod executor;
pub mod git;
pub mod isolation;
pub mod llm;
pub mod specialist;
pub mod tool;
pub mod workspace;
