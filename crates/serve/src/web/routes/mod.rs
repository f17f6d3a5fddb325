//! All routes, one file per group.

mod artifacts;
mod asks;
mod commands;
mod goals;
mod hooks;
mod login;
mod logs;
mod mcp;
mod memory;
mod metrics;
mod pages;
mod playbooks;
mod runs;
mod streams;
mod system;
mod tokens;
mod triggers;

use super::route::Route;

/// The tables of all routes.
pub static ROUTE_GROUPS: &[&[Route]] = &[
    runs::ROUTES,
    artifacts::ROUTES,
    commands::ROUTES,
    goals::ROUTES,
    streams::ROUTES,
    asks::ROUTES,
    playbooks::ROUTES,
    triggers::ROUTES,
    memory::ROUTES,
    tokens::ROUTES,
    hooks::ROUTES,
    system::ROUTES,
    metrics::ROUTES,
    mcp::ROUTES,
    login::ROUTES,
    pages::ROUTES,
];
