//! Streams: cursors, ends, stops, and that nothing leaks.

use super::api::site;
use super::site::Site;
use crate::running::Start;
use kb::trigger::Role;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An open stream.
struct Open(BufReader<TcpStream>);

impl Open {
    fn new(site: &Site, path: &str, header: &str) -> Open {
        let mut stream = site.connect();
        let text = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{header}\r\n\r\n", site.host);
        stream.write_all(text.as_bytes()).unwrap();
        Open(BufReader::new(stream))
    }

    fn with(site: &Site, path: &str, token: &str) -> Open {
        Open::new(site, path, &format!("Authorization: Bearer {token}"))
    }

    /// The status line and whether it is a stream.
    fn status(&mut self) -> u16 {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// Reads lines up to one with this text; `None` at the end.
    #[track_caller]
    fn until(&mut self, text: &str) -> Option<String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < deadline, "`{text}` does not come");
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if line.contains(text) {
                return Some(line);
            }
        }
    }
}

#[test]
fn events_follow_a_run_from_a_cursor_to_its_end() {
    let site = site();
    let token = site.token(Role::Run);
    let run = site.run(&token, &json!({"definition": "hold"}), &["running"]);
    let path = format!("/api/v1/runs/{run}/events");
    let mut open = Open::with(&site, &path, &token);
    assert_eq!(open.status(), 200);
    assert!(open.until("content-type: text/event-stream").is_some());
    assert!(open.until("\"type\":\"step:start\"").is_some());
    site.scratch.write("go", "");
    assert!(open.until("\"type\":\"run:end\"").is_some());
    assert!(open.until("event: end").is_some());
    assert!(open.until("\"status\":\"succeeded\"").is_some());
    // The whole history is the output of the command line.
    let all = site.get(&format!("{path}?format=jsonl"), &token).text();
    let out = site.scratch.command().args(["run", "events", &run]).finish().stdout;
    let expected = String::from_utf8(out).unwrap();
    assert_eq!(all.lines().count(), expected.lines().count() + 1, "and one line about the end");
    assert!(all.starts_with(&expected));
    // Each cursor gives what follows it, once.
    let seqs: Vec<u64> = expected
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    let last = *seqs.last().unwrap();
    for cursor in 0..=last {
        let part = site.get(&format!("{path}?format=jsonl&after={cursor}"), &token).text();
        let count = seqs.iter().filter(|seq| **seq > cursor).count();
        assert_eq!(part.lines().count(), count + 1, "after {cursor}");
    }
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Last-Event-ID", "2")];
    let part = site.send("GET", &path, &headers, "").text();
    assert!(part.starts_with("id: 3\n") || part.starts_with("data: "), "{part}");
    assert!(!part.contains("\"seq\":2,"), "{part}");
    // A cursor of another history.
    let part = site.get(&format!("{path}?after=4000000"), &token).text();
    assert!(part.starts_with("event: reset\n"), "{part}");
    assert!(part.contains("\"seq\":1,") && part.contains("event: end"), "{part}");
}

#[test]
fn changes_tell_about_runs_of_other_processes() {
    let site = site();
    let token = site.token(Role::Read);
    let mut open = Open::with(&site, "/api/v1/changes", &token);
    assert!(open.until(": ping").is_some());
    let out = site.scratch.command().args(["playbook", "run", "p"]).finish();
    assert!(out.status.success());
    let line = open.until("\"status\":\"succeeded\"").unwrap();
    assert!(line.contains("\"definition\":\"p\""), "{line}");
}

#[test]
fn streams_need_a_valid_token_all_the_time() {
    let site = site();
    let token = site.token(Role::Run);
    let run = site.run(&token, &json!({"definition": "hold"}), &["running"]);
    let path = format!("/api/v1/runs/{run}/events");
    assert_eq!(Open::with(&site, &path, "kb_wrong").status(), 401);
    let read = site.token(Role::Read);
    let mut by_token = Open::with(&site, &path, &read);
    assert!(by_token.until("step:start").is_some());
    let cookie = site.session();
    let mut by_cookie = Open::new(&site, &path, &format!("Cookie: {cookie}"));
    assert!(by_cookie.until("step:start").is_some());
    // A logout ends the streams of its session at once, a revocation those of the token.
    let own = format!("http://{}", site.host);
    let headers = [("Content-Type", "application/json"), ("Cookie", &cookie), ("Origin", &own)];
    assert_eq!(site.send("POST", "/logout", &headers, "").status, 204);
    assert!(by_cookie.until("run:end").is_none());
    site.store.revoke_token("t2").unwrap();
    assert!(by_token.until("run:end").is_none());
    site.scratch.write("go", "");
    site.until_status(&token, &run, &["succeeded"]);
}

#[test]
fn streams_are_limited_and_their_places_are_freed() {
    let site = site();
    let token = site.token(Role::Read);
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let full = |open: &mut Vec<Open>| loop {
        let mut next = Open::with(&site, "/api/v1/changes", &token);
        match next.status() {
            200 => open.push(next),
            status => break status,
        }
        assert!(open.len() <= 200, "there is no limit");
    };
    let mut open = Vec::new();
    assert_eq!(full(&mut open), 429);
    let most = open.len();
    drop(open);
    let before = files();
    for _ in 0..1000 {
        let mut next = Open::with(&site, "/api/v1/changes", &token);
        // The place of an earlier one is freed when its end is noticed.
        crate::scratch::until("a place is freed", || {
            let is_open = next.status() == 200;
            if !is_open {
                next = Open::with(&site, "/api/v1/changes", &token);
            }
            is_open
        });
    }
    site.until("all places are free", || {
        let mut open = Vec::new();
        full(&mut open);
        (open.len() == most).then_some(())
    });
    site.until("all files are closed", || (files() <= before + 200).then_some(()));
}

#[test]
fn the_server_stops_with_streams_open() {
    let mut site = site();
    let token = site.token(Role::Read);
    let mut open: Vec<Open> =
        (0..20).map(|_| Open::with(&site, "/api/v1/changes", &token)).collect();
    assert!(open.iter_mut().all(|open| open.until(": ping").is_some()));
    let took = site.stop();
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    assert!(open.iter_mut().all(|open| open.until("never").is_none()));
}

/// What a model writes arrives while it writes, without a number, and is not stored.
#[test]
fn texts_of_models_arrive_while_they_are_written() {
    // The process that drives the run looks for receivers once a second; a busy machine needs more time.
    let arrives = [2_500, 10_000, 40_000].into_iter().any(text_of_a_model_arrives);
    assert!(arrives, "no text arrived");
}

/// Whether the text of a model that begins after so many milliseconds arrives.
fn text_of_a_model_arrives(delay: u32) -> bool {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: \"while [ ! -e go ]; do sleep 0.05; done\"}\n  - {id: w, dependsOn: [a], specialist: s, task: Write., verify: {claims: none, expectChanges: false}}\n";
    let specialist = "schema: kb.specialist/1\nid: s\nrole: You write.\ntools: [fs:list]\noutput: {schema: {summary: string}}\n";
    let script = format!(
        "schema: kb.script/1\nsteps:\n  w:\n    - {{say: \"words of a model\", delayMs: {delay}, calls: [{{tool: fs:list, args: {{path: .}}}}]}}\n    - {{output: {{summary: done}}}}\n"
    );
    let site = Site::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/specialists/s.yml", specialist),
        ("script.yml", &script),
    ]);
    let token = site.token(Role::Read);
    let mut process = site
        .scratch
        .command()
        .args(["playbook", "run", "p", "--script", "script.yml", "--quiet"])
        .start();
    let run = site.until("the run", || {
        let runs = site.get("/api/v1/runs?status=running", &token).json();
        runs[0]["run"].as_str().map(str::to_owned)
    });
    let path = format!("/api/v1/runs/{run}/events");
    assert_eq!(site.get(&format!("{path}?tokens=yes"), &token).status, 400);
    let mut open = Open::with(&site, &format!("{path}?tokens=true"), &token);
    assert!(open.until("step:start").is_some());
    site.scratch.write("go", "");
    let line = open.until("step:token");
    if let Some(line) = &line {
        let event: Value = serde_json::from_str(line.trim_start_matches("data: ")).unwrap();
        assert_eq!((&event["instance"], event.get("seq")), (&json!("w"), None), "{event}");
        assert!("words of a model".contains(event["text"].as_str().unwrap()), "{event}");
        assert!(open.until("event: end").is_some());
    }
    assert!(process.wait().unwrap().success());
    let all = site.get(&path, &token).text();
    assert!(all.contains("step:end") && !all.contains("step:token"), "{all}");
    line.is_some()
}
