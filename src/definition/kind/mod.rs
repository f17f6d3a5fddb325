//! The kinds of steps: one module each, with its decoding and its static rules.
//!
//! Start at [`Kind`] and [`KINDS`]. A new kind is a module with a [`Kind`], an entry in [`KINDS`], its
//! keys in `keys::step`, and a variant of [`StepKind`].

/// The common keys that a kind that only waits cannot have, each with the help: those about attempts,
/// `timeout` and `output`.
macro_rules! waiting_exclusions {
    ($kind:literal, $timeout:literal, $output:literal) => {
        &[
            ("verify", waiting_exclusions!(@ $kind)),
            ("retry", waiting_exclusions!(@ $kind)),
            ("recovery", waiting_exclusions!(@ $kind)),
            ("maxAttempts", waiting_exclusions!(@ $kind)),
            ("cache", waiting_exclusions!(@ $kind)),
            ("loop", waiting_exclusions!(@ $kind)),
            ("timeout", $timeout),
            ("output", $output),
        ]
    };
    (@ $kind:literal) => {
        concat!("remove it; a `", $kind, "` step has no attempts, it only waits")
    };
}

mod approve;
mod ask;
mod gate;
mod http;
mod playbook;
mod run;
mod set;
mod spec;
mod specialist;
mod tool;
mod wait;

pub(crate) use spec::Kind;
pub(crate) use specialist::profile_path;

/// All kinds, in the order in which messages list them.
pub(crate) static KINDS: [&Kind; 11] = [
    &specialist::SPECIALIST,
    &specialist::AGENT,
    &run::RUN,
    &tool::TOOL,
    &http::HTTP,
    &playbook::PLAYBOOK,
    &ask::ASK,
    &approve::APPROVE,
    &set::SET,
    &wait::WAIT,
    &gate::GATE,
];
