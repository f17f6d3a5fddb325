//! Models: scripts, tiers, prices, and providers against fakes for every trap.

mod play;
