//! The last words of a thread that panics, on their way to a terminal or into a file of what was said.

use crate::running::Start;
use kb::redaction::{Redactor, Redactors};
use std::process::Command;
use std::sync::Arc;

#[test]
fn the_words_of_a_panic_are_masked() {
    for backtrace in ["0", "1"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "secrets::panics::panicking", "--ignored", "--nocapture"]);
        let output = command.env("RUST_BACKTRACE", backtrace).finish();
        assert!(!output.status.success());
        let (out, said) = (output.stdout, String::from_utf8(output.stderr).unwrap());
        let words = said.split_once("internal error in kb: ").map_or("", |(_, words)| words);
        assert!(words.contains("tests/it/secrets/panics.rs:"), "where it was: {said}");
        assert!(words.contains("\ncannot read [\"«secret:T»\"]\n"), "{said}");
        let all = said + &String::from_utf8(out).unwrap();
        assert!(!all.contains("5wordf") && !all.contains("tul"), "{all}");
    }
}

/// Not a test by itself: a process has one hook for all panics, and this one's is `kb`'s.
#[test]
#[ignore = "started by another test"]
fn panicking() {
    let redactors = Redactors::default();
    // The arguments of this program are invalid for `kb`, which installs its panic hook all the same.
    let _ = kb::cli::run_with(redactors.clone());
    let redactor = Arc::new(Redactor::default());
    assert!(redactor.add("T", "5wordf\"ish\ntulip"));
    redactors.register(&redactor);
    panic!("cannot read {:?}", ["5wordf\"ish\ntulip"]);
}
