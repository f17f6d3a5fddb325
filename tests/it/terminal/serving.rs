//! What a terminal shows of `kb serve`.

use super::project;
use super::pty::Pty;
use crate::running::Start;
use crate::scratch::until;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn a_quiet_open_shows_the_link_only_where_no_browser_was_started() {
    let scratch = project("  - {id: a, run: \"true\"}\n");
    let started = scratch.root().join("started");
    let path = |folder: &str| {
        let text = format!("#!/bin/sh\necho {folder} >> {}\n", started.display());
        scratch.write(&format!("{folder}/xdg-open"), &text);
        let program = scratch.root().join(folder).join("xdg-open");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:/usr/bin:/bin", scratch.root().join(folder).display())
    };
    let (outside, inside) = (path("../programs"), path("bin"));
    let mut daemon = scratch.command();
    let mut daemon = daemon.args(["serve", "--port", "0"]).stderr(Stdio::piped()).start();
    let mut log = BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("listening on")));
    let shown = |browser: &str, path: &str, args: &[&str]| {
        let variables = [("PATH", path), ("BROWSER", browser), ("DISPLAY", "")];
        let (code, text) = Pty::start_with(&scratch, 24, 160, &variables, args).end();
        assert_eq!(code, 0, "{text}");
        text
    };
    assert!(shown("true", &outside, &["serve", "--open"]).contains("/login#"));
    assert_eq!(shown("true", &outside, &["serve", "--open", "--quiet"]), "");
    assert!(shown("", &outside, &["serve", "--open", "--quiet"]).contains("/login#"));
    // A program that a specialist could write opens no session: that of the system does, or none.
    shown("true", &inside, &["serve", "--open"]);
    shown("true", &outside, &["serve", "--open"]);
    let lines = || std::fs::read_to_string(&started).unwrap_or_default().lines().count();
    until("each browser was started", || lines() == 3);
    assert!(!scratch.read("started").contains("bin"));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
