//! All routes, one file per group.

mod login;
mod pages;
mod system;

use super::route::Route;

/// The tables of all routes.
pub static ROUTE_GROUPS: &[&[Route]] = &[login::ROUTES, pages::ROUTES, system::ROUTES];
