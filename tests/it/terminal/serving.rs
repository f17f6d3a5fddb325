//! What a terminal shows of `kb serve`.

use super::project;
use super::pty::Pty;
use crate::running::Start;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn a_quiet_open_shows_the_link_only_where_no_browser_was_started() {
    let scratch = project("  - {id: a, run: \"true\"}\n");
    scratch.write("bin/xdg-open", "#!/bin/sh\nexit 0\n");
    let program = scratch.root().join("bin/xdg-open");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", scratch.root().join("bin").display());
    let mut daemon = scratch.command();
    let mut daemon = daemon.args(["serve", "--port", "0"]).stderr(Stdio::piped()).start();
    let mut log = BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("listening on")));
    let shown = |browser: &str, args: &[&str]| {
        let variables = [("PATH", path.as_str()), ("BROWSER", browser), ("DISPLAY", "")];
        let (code, text) = Pty::start_with(&scratch, 24, 160, &variables, args).end();
        assert_eq!(code, 0, "{text}");
        text
    };
    assert!(shown("firefox", &["serve", "--open"]).contains("/login#"));
    assert_eq!(shown("firefox", &["serve", "--open", "--quiet"]), "");
    assert!(shown("", &["serve", "--open", "--quiet"]).contains("/login#"));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
