//! Kill it anywhere: at every write that a run makes, and at random times, also while it is taken over.
//!
//! What counts is written outside of `kb`: every process and every request of a step writes into a
//! [`ledger`] that it begins and that it has ended, with the key and the attempt that it was told.
//! [`law`] holds ledger and journal to what DESIGN §4 promises.
//!
//! * [`library`]: the engine over a journal that stops everything before or after its n-th write, for
//!   every n of a run; the list of transitions is read from the source of `run::Event`.

mod case;
mod dice;
mod law;
mod ledger;
mod leftovers;
mod library;
mod mortal;
mod points;
mod project;
mod random;
mod reader;
mod remains;
mod server;
mod transitions;
mod work;
