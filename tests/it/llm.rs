//! Models: scripts, tiers, prices, and providers against fakes for every trap.

mod choose;
mod compatible;
mod fake;
mod others;
mod play;
mod price;
mod record;
mod wire_forms;
