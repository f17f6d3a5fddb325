//! Kill it anywhere: at every write that a run makes, and at random times, also while it is taken over.
//!
//! What counts is written outside of `kb`: every process and every request of a step writes into a
//! [`ledger`] that it begins and that it has ended, with the key and the attempt that it was told.
//! [`law`] holds ledger and journal to what DESIGN §4 promises.
//!
//! * [`library`]: the engine over a journal that stops everything before or after its n-th write, for
//!   every n of a run; the list of transitions is read from the source of `run::Event`.
//! * [`points`]: the real binary, killed by a preloaded library before or after the n-th change that it
//!   makes to any file.
//! * [`constructs`]: the same over child runs, loops, people, locks, stored results and worktrees.
//! * [`random`]: the real binary, its group, everything of it, or the init process of its steps, killed at
//!   random times until the run ends, while somebody reads all that it writes.
//! * [`leftovers`]: small cases of what the kills have brought to light.
//!
//! `KB_PROVE=full` takes every point and 1,000 random kills; `KB_KILLS`, `KB_KILL_SEED`,
//! `KB_CRASH_POINTS` and `KB_CRASH_CHAINS` set the amounts one by one.

mod case;
mod constructs;
pub(crate) mod dice;
mod law;
mod ledger;
mod leftovers;
mod library;
mod mortal;
mod orphans;
mod points;
mod project;
mod random;
mod reader;
mod server;
mod transitions;
mod work;
