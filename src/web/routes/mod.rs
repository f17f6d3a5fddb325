//! All routes, one file per group.

mod login;
mod system;

use super::route::Route;

/// The tables of all routes.
pub static ROUTE_GROUPS: &[&[Route]] = &[login::ROUTES, system::ROUTES];
