//! Requests that are malformed, too large, too slow or too many, and what answers reveal.

use crate::running::Start;
use crate::serve::api;
use crate::serve::site::{Site, read_answer};
use kb::trigger::Role;
use kb::web::{Access, Method, ROUTE_GROUPS};
use serde_json::json;
use std::io::{Read, Write};

#[test]
fn ids_are_never_paths() {
    let site = api::site();
    let token = site.token(Role::Admin);
    let long = "a".repeat(10_240);
    let ids = [
        "..",
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "%00",
        "a%00b",
        "%0d%0aX-A:b",
        "%ff",
        "@last",
        &long,
    ];
    for route in ROUTE_GROUPS.iter().flat_map(|group| group.iter()).filter(|r| r.path.contains('{'))
    {
        for id in ids {
            let part =
                |part: &str| if part.starts_with('{') { id.to_owned() } else { part.to_owned() };
            let path = route.path.split('/').map(part).collect::<Vec<_>>().join("/");
            let answer = match route.method {
                Method::Get => site.get(&path, &token),
                Method::Post => site.post(&path, &token, ""),
            };
            let wanted = [400, 401, 404, 409, 414, 422, 431];
            assert!(wanted.contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
            assert!(answer.header("x-a").is_empty());
        }
    }
    for path in [
        "/assets/../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2fmod.rs",
        "//etc/passwd",
        "/assets/",
    ] {
        let answer = site.get(path, &token);
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[test]
fn reading_has_no_effect_and_every_answer_has_its_headers() {
    let site = api::site();
    let token = site.token(Role::Admin);
    let run = site.run(&token, &json!({"definition": "p"}), &["succeeded"]);
    site.until("the end is recorded", || {
        crate::serve::fires(&site.store).iter().all(|fire| !fire.state.is_open()).then_some(())
    });
    let state = || {
        let runs = site.scratch.command().args(["run", "list", "--json"]).finish().stdout;
        (
            crate::serve::fires(&site.store),
            site.store.states().unwrap(),
            site.store.tokens().unwrap(),
            runs,
        )
    };
    let before = state();
    for route in ROUTE_GROUPS.iter().flat_map(|group| group.iter()) {
        if route.method != Method::Get || route.path == "/api/v1/changes" {
            continue;
        }
        let value = |part: &str| match part {
            "{run}" => run.clone(),
            "{step}" => "a".to_owned(),
            "{playbook}" => "p".to_owned(),
            "{trigger}" => "p.schedule".to_owned(),
            other => other.to_owned(),
        };
        let path = route.path.split('/').map(value).collect::<Vec<_>>().join("/");
        let path = if route.path == "/runs/{run}/log" { path + "?step=a" } else { path };
        let answer = site.get(&path, &token);
        // The run left no artifact, changed no file, and is none of a plan.
        let none = ["{artifact}", "{file}", "{goal}", "/answer"];
        let has_none = none.iter().any(|end| path.ends_with(end));
        let status = if has_none { 404 } else { 200 };
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(
            answer.header("content-security-policy").contains("frame-ancestors 'none'"),
            "{path}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{path}");
        assert!(answer.header("access-control-allow-origin").is_empty(), "{path}");
        // The same address without writing.
        if !matches!(route.access, Access::Public) {
            let headers = [("Authorization", format!("Bearer {token}"))];
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
            assert_eq!(site.send("HEAD", &path, &headers, "").status, status, "{path}");
        }
    }
    assert_eq!(state(), before);
}

#[test]
fn bodies_and_headers_are_limited() {
    let site = api::site();
    let token = site.token(Role::Run);
    let large = format!("{{\"definition\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(site.post("/api/v1/runs", &token, &large).status, 413);
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nConnection: close\r\n",
        site.host
    );
    // In chunks, without a length.
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(17));
    assert_eq!(site.raw(chunked.as_bytes()).status, 413);
    let many: String = (0..100).map(|n| format!("X-{n}: a\r\n")).collect();
    assert_eq!(site.raw(format!("{head}{many}\r\n").as_bytes()).status, 431);
    let long = format!("{head}X-Long: {}\r\n\r\n", "a".repeat(64 << 10));
    assert_eq!(site.raw(long.as_bytes()).status, 431);
    let deep = format!(
        "{{\"definition\": \"p\", \"params\": {{\"who\": {}1{}}}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    assert_eq!(site.post("/api/v1/runs", &token, &deep).status, 400);
    for garbage in ["\r\n\r\n", "GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"]
    {
        let status = site.raw(garbage.as_bytes()).status;
        assert!([0, 400, 505].contains(&status), "{garbage:?}: {status}");
    }
    assert_eq!(site.get("/api/v1/runs", &token).status, 200);
}

#[test]
fn slow_and_idle_connections_are_closed() {
    let site = api::site();
    // A head that never ends: the server ends the connection, not the client.
    let mut slow = site.connect();
    slow.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nX-A: ", site.host).as_bytes())
        .unwrap();
    // A body that never ends.
    let token = site.token(Role::Run);
    let mut body = site.connect();
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 99\r\nConnection: close\r\n\r\n{{",
        site.host
    );
    body.write_all(head.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut body).status, 408);
    let mut rest = Vec::new();
    let ended = slow.read_to_end(&mut rest);
    assert!(ended.is_ok(), "the server waits for ever: {ended:?}");
}

#[test]
fn connections_are_limited() {
    let site = api::site();
    let open: Vec<_> = (0..256).map(|_| site.connect()).collect();
    let request =
        format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", site.host);
    site.until("more are refused", || {
        let mut more = site.connect();
        let _ = more.write_all(request.as_bytes());
        (read_answer(&mut more).status == 0).then_some(())
    });
    drop(open);
    site.until("it serves again", || {
        let mut more = site.connect();
        let _ = more.write_all(request.as_bytes());
        (read_answer(&mut more).status == 200).then_some(())
    });
}

#[test]
fn secrets_are_masked_in_every_view() {
    let secret = "correct-horse-battery";
    let site = Site::new(&[
        (".kb/kb.config.yml", "secrets: {TOKEN: file:token.secret}\n"),
        ("token.secret", secret),
        (
            "playbooks/s.yml",
            "schema: kb.playbook/1\nid: s\nsteps: [{id: a, run: \"echo it is $T; echo $T > made.txt\", env: {T: \"{{secrets.TOKEN}}\"}, evidence: full}]\noutputs: {said: \"{{a.output}}\"}\n",
        ),
    ]);
    let token = site.token(Role::Run);
    let run = site.run(&token, &json!({"definition": "s"}), &["succeeded"]);
    let mut seen = 0;
    for part in [
        "",
        "/graph",
        "/outputs",
        "/outputs?step=a",
        "/diff",
        "/verify",
        "/events",
        "/events?format=jsonl",
        "/steps/a/log",
        "/steps/a/log?format=text",
    ] {
        let text = site.get(&format!("/api/v1/runs/{run}{part}"), &token).text();
        assert!(!text.contains(secret), "{part}: {text}");
        seen += usize::from(text.contains("it is"));
    }
    assert!(seen >= 4, "the texts are there");
    for path in ["/api/v1/runs", "/api/v1/playbooks/s", "/api/v1/triggers", "/api/v1/projects"] {
        assert!(!site.get(path, &token).text().contains(secret), "{path}");
    }
}

#[test]
fn tokens_and_codes_are_in_no_log_address_or_event() {
    let scratch = crate::scratch::Scratch::new(api::FILES);
    let said = scratch
        .command()
        .args(["serve", "token", "create", "--name", "x", "--role", "admin"])
        .finish();
    let token = String::from_utf8(said.stdout).unwrap().trim().to_owned();
    let mut daemon = scratch
        .command()
        .args(["serve", "--port", "0"])
        .env("KB_LOG", "trace")
        .stderr(std::process::Stdio::piped())
        .start();
    let address = crate::serve::project(&scratch).context.state_dir.join("serve.address");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let url = loop {
        match std::fs::read_to_string(&address) {
            Ok(url) if url.ends_with('\n') => break url.trim().to_owned(),
            _ => assert!(std::time::Instant::now() < deadline, "the daemon does not start"),
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let host = url.replace("http://", "");
    for path in
        ["/api/v1/runs", &format!("/api/v1/runs?token={token}"), &format!("/api/v1/runs/{token}")]
    {
        let mut stream = std::net::TcpStream::connect(&host).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).unwrap();
        assert_ne!(read_answer(&mut stream).status, 0);
    }
    // What a token starts and decides names it, and does not have its text.
    let body = "{\"definition\": \"ask\"}";
    let mut stream = std::net::TcpStream::connect(&host).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let text = format!(
        "POST /api/v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).status, 201);
    crate::scratch::until("the run", || {
        let runs = scratch.json(&["run", "list", "--json"]);
        runs[0]["status"] == "waiting"
    });
    let state = crate::serve::project(&scratch).context.state_dir;
    for file in ["journal.sqlite3", "journal.sqlite3-wal", "serve.sqlite3", "serve.sqlite3-wal"] {
        let bytes = std::fs::read(state.join(file)).unwrap_or_default();
        let found = bytes.windows(token.len()).any(|part| part == token.as_bytes());
        assert!(!found, "the token is in {file}");
    }
    let pid = rustix::process::Pid::from_raw(daemon.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut log = String::new();
    daemon.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    daemon.wait().unwrap();
    assert!(log.contains("listening on"), "{log}");
    assert!(!log.contains(&token), "the token is in the log");
}

/// A client that asks for much and reads nothing is disconnected, and its place is freed.
#[test]
fn a_client_that_does_not_read_is_disconnected() {
    use std::io::{ErrorKind, Write};
    use std::time::{Duration, Instant};
    let site = Site::new(&[]);
    let mut stream = site.connect();
    stream.set_nonblocking(true).unwrap();
    let request = format!("GET /assets/kb.css HTTP/1.1\r\nHost: {}\r\n\r\n", site.host);
    let requests = request.repeat(64);
    let (began, deadline) = (Instant::now(), Instant::now() + Duration::from_secs(120));
    // It writes until the server reads no more, and then until the connection is reset.
    let ended = loop {
        assert!(Instant::now() < deadline, "the connection stays open");
        match stream.write(requests.as_bytes()) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(error) => break error.kind(),
        }
    };
    assert!(matches!(ended, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{ended:?}");
    assert!(began.elapsed() > Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(site.send("GET", "/healthz", &[], "").status, 200);
}

/// Who may start runs chooses no file and no variable of the machine.
#[test]
fn a_start_gives_only_secrets_that_the_project_names() {
    let site = Site::new(&[
        (".kb/kb.config.yml", "secrets: {TOKEN: file:token.secret}\n"),
        ("token.secret", "correct-horse-battery"),
        (
            "playbooks/s.yml",
            "schema: kb.playbook/1\nid: s\nparams: [{name: key, type: secret, default: 'env:KEY'}]\nsteps: [{id: a, run: 'true', env: {K: '{{key}}'}}]\n",
        ),
    ]);
    let token = site.token(Role::Run);
    for (given, status) in [
        ("file:/etc/passwd", 422),
        ("file:../token.secret", 422),
        ("env:HOME", 422),
        ("env:KEY", 201),
        ("file:token.secret", 201),
    ] {
        let body = json!({"definition": "s", "params": {"key": given}}).to_string();
        let answer = site.post("/api/v1/runs", &token, &body);
        assert_eq!(answer.status, status, "{given}: {}", answer.text());
    }
}
