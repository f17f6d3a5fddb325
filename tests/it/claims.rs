//! Claims of an output against recorded tool calls and the disk: a table of lies and a table of honest
//! reports over real files and processes, and the same through the binary.
//!
//! `cargo test --test it -- claims:: --nocapture` prints the verdicts of each operator.

#[path = "claims/annotated.rs"]
mod annotated;
#[path = "claims/bench.rs"]
mod bench;
#[path = "claims/call_outcomes.rs"]
mod call_outcomes;
#[path = "claims/deciding.rs"]
mod deciding;
#[path = "claims/earlier.rs"]
mod earlier;
#[path = "claims/faults.rs"]
mod faults;
#[path = "claims/honest.rs"]
mod honest;
#[path = "claims/lies.rs"]
mod lies;
#[path = "claims/named.rs"]
mod named;
#[path = "claims/other_words.rs"]
mod other_words;
#[path = "claims/shares.rs"]
mod shares;
#[path = "claims/sourced.rs"]
mod sourced;
#[path = "claims/suite/mod.rs"]
mod suite;
#[path = "claims/unchanged.rs"]
mod unchanged;
#[path = "claims/whole_run.rs"]
mod whole_run;
#[path = "claims/written.rs"]
mod written;
