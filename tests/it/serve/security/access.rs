//! Who may do what: hosts, sites, content types, tokens, sessions.

use crate::serve::site::Site;
use kb::trigger::Role;
use kb::web::{Access, Kind, Method, ROUTE_GROUPS, Route};

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: \"true\"}]\n";

fn site() -> Site {
    Site::new(&[("playbooks/p.yml", PLAYBOOK)])
}

fn routes() -> impl Iterator<Item = &'static Route> {
    ROUTE_GROUPS.iter().flat_map(|group| group.iter())
}

/// The path of a route with something in place of its parameters.
fn path(route: &Route) -> String {
    let part = |part: &str| if part.starts_with('{') { "x".to_owned() } else { part.to_owned() };
    route.path.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn method(route: &Route) -> &'static str {
    match route.method {
        Method::Get => "GET",
        Method::Post => "POST",
    }
}

#[test]
fn every_route_needs_a_valid_token_or_session() {
    let site = site();
    let expired = {
        let token = site.token(Role::Admin);
        let revoked = format!("t{}", site.store.tokens().unwrap().len() - 1);
        site.store.revoke_token(&revoked).unwrap();
        token
    };
    let ended = kb::web::new_token(
        &site.store,
        "ended",
        Role::Admin,
        Some(std::time::Duration::from_millis(1)),
        kb::value::Timestamp(0),
    );
    let ended = ended.unwrap().text;
    let wrong = format!("kb_{}", "A".repeat(43));
    let own = site.token(Role::Admin);
    let name = format!("kb_{}", site.host.rsplit_once(':').unwrap().1);
    let credentials = [
        None,
        Some(("Authorization", format!("Bearer {wrong}"))),
        Some(("Authorization", format!("Bearer {expired}"))),
        Some(("Authorization", format!("Bearer {ended}"))),
        Some(("Authorization", format!("Basic {own}"))),
        Some(("Authorization", "Bearer ".to_owned())),
        Some(("Authorization", format!("Bearer {}", "A".repeat(5000)))),
        Some(("Cookie", format!("{name}=abc"))),
        // A token is no session.
        Some(("Cookie", format!("{name}={own}"))),
    ];
    for route in routes().filter(|route| matches!(route.access, Access::Role(_))) {
        for given in &credentials {
            let mut headers = vec![("Content-Type", "application/json")];
            headers.extend(given.iter().map(|(name, value)| (*name, value.as_str())));
            let answer = site.send(method(route), &path(route), &headers, "");
            let expected = if route.kind == Kind::Page { 303 } else { 401 };
            assert_eq!(answer.status, expected, "{} {given:?}", route.path);
            assert!(!answer.text().contains("kb_"), "{}", answer.text());
        }
        // Nor is a token in the address.
        let answer = site.send("GET", &format!("{}?token={own}", path(route)), &[], "");
        assert!([303, 401].contains(&answer.status), "{}", route.path);
    }
    // What does not exist is not told either.
    for path in ["/api/v1/nothing", "/x", "/api/v1/%2e%2e/%2e%2e/etc/passwd", "/healthz/"] {
        assert_eq!(site.send("GET", path, &[], "").status, 401, "{path}");
        assert_eq!(site.get(path, &own).status, 404, "{path}");
    }
    assert_eq!(
        site.send("DELETE", "/healthz", &[("Content-Type", "application/json")], "").status,
        401
    );
}

#[test]
fn a_smaller_role_is_refused() {
    let site = site();
    let tokens = Role::ALL.map(|role| (role, site.token(role)));
    for route in routes() {
        let Access::Role(needed) = route.access else { continue };
        for (role, token) in tokens.iter().filter(|(role, _)| *role < needed) {
            let bearer = format!("Bearer {token}");
            let headers =
                [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
            let answer = site.send(method(route), &path(route), &headers, "");
            assert_eq!(answer.status, 403, "{} with {}", route.path, role.as_str());
        }
    }
}

#[test]
fn only_its_own_hosts_are_served() {
    let site = site();
    let port = site.host.rsplit_once(':').unwrap().1;
    let token = site.token(Role::Read);
    let request = |lines: &str| {
        let text = format!(
            "GET /api/v1/projects HTTP/1.1\r\n{lines}Authorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        site.raw(text.as_bytes()).status
    };
    for good in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        assert_eq!(request(&format!("Host: {good}:{port}\r\n")), 200, "{good}");
    }
    let own = &site.host;
    for bad in [
        String::new(),
        "Host: \r\n".to_owned(),
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\n"),
        format!("Host: localhost.evil.example:{port}\r\n"),
        "Host: localhost\r\n".to_owned(),
        "Host: 127.0.0.1:1\r\n".to_owned(),
        format!("Host: {own}\r\nHost: evil.example\r\n"),
        format!("Host: {own}\r\nHost: {own}\r\n"),
        format!("Host: {own}, evil.example\r\n"),
        format!("Host: evil@{own}\r\n"),
        // What a proxy says is ignored.
        format!("Host: evil.example\r\nX-Forwarded-Host: {own}\r\nForwarded: host={own}\r\n"),
    ] {
        let status = request(&bad);
        assert!([400, 421].contains(&status), "{bad:?}: {status}");
    }
    let absolute = format!(
        "GET http://evil.example/healthz HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(site.raw(absolute.as_bytes()).status, 421);
}

#[test]
fn pages_of_other_sites_are_refused() {
    let site = site();
    let cookie = site.session();
    let own = format!("http://{}", site.host);
    let json = ("Content-Type", "application/json");
    let post = |headers: &[(&str, &str)]| {
        let mut all = vec![("Cookie", cookie.as_str())];
        all.extend(headers);
        site.send("POST", "/logout", &all, "").status
    };
    let other_port = format!("http://127.0.0.1:{}", 1);
    let encrypted = own.replace("http:", "https:");
    let port = site.host.rsplit_once(':').unwrap().1;
    let other_name = format!("http://localhost:{port}");
    for origin in ["null", "http://evil.example", &other_port, &encrypted, &other_name, ""] {
        assert_eq!(post(&[json, ("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(post(&[json, ("Origin", &own), ("Origin", &own)]), 403);
    for fetch in ["cross-site", "same-site", "nonsense"] {
        assert_eq!(post(&[json, ("Origin", &own), ("Sec-Fetch-Site", fetch)]), 403, "{fetch}");
        let get = [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", fetch)];
        assert_eq!(site.send("GET", "/api/v1/projects", &get, "").status, 403);
    }
    // A form or a script of another site can send these without asking.
    for form in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "application/jsonp",
    ] {
        assert_eq!(post(&[("Content-Type", form), ("Origin", &own)]), 415, "{form}");
    }
    assert_eq!(post(&[("Origin", &own)]), 415);
    // Following a link reads a page; it cannot be put into a frame.
    let link = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let answer = site.send("GET", "/login", &link, "");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(answer.header("x-frame-options"), "DENY");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert!(answer.header("access-control-allow-origin").is_empty());
    let frame = [link[0], link[1], ("Sec-Fetch-Dest", "iframe")];
    assert_eq!(site.send("GET", "/login", &frame, "").status, 403);
    assert_eq!(post(&[json, ("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 204);
}

#[test]
fn a_code_opens_one_session_and_logout_ends_it() {
    let site = site();
    // What the browser has before the login is not continued.
    let port = site.host.rsplit_once(':').unwrap().1;
    let planted = format!("kb_{port}=planted");
    let body = format!("{{\"code\": \"{}\"}}", site.code);
    let answer = site.login(&body, &[("Cookie", &planted)]);
    let cookie = answer.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    assert_ne!(cookie, planted);
    let get = |cookie: &str| site.send("GET", "/api/v1/projects", &[("Cookie", cookie)], "").status;
    assert_eq!(get(&planted), 401);
    assert_eq!(get(cookie), 200);
    // Two different ones: another service of this machine may have set one.
    assert_eq!(get(&format!("{planted}; {cookie}")), 401);
    assert_eq!(site.login(&body, &[]).status, 401, "a code is valid once");
    let own = format!("http://{}", site.host);
    let json = ("Content-Type", "application/json");
    let logout = |headers: &[(&str, &str)]| site.send("POST", "/logout", headers, "");
    assert_eq!(logout(&[json, ("Cookie", cookie), ("Origin", &own)]).status, 204);
    assert_eq!(get(cookie), 401);
}

#[test]
fn failed_logins_are_throttled() {
    let site = site();
    let token = site.token(Role::Read);
    let good = format!("{{\"token\": \"{token}\"}}");
    // Headers of proxies do not count.
    let attempt = |n: usize| {
        let from = format!("10.0.0.{n}");
        let headers = [("X-Forwarded-For", from.as_str()), ("Forwarded", "for=10.9.9.9")];
        site.login("{\"token\": \"kb_wrong\"}", &headers).status
    };
    let statuses: Vec<u16> = (0..7).map(attempt).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    let answer = site.login(&good, &[]);
    assert_eq!((answer.status, answer.header("retry-after").is_empty()), (429, false));
    // Tokens in the header are not affected.
    assert_eq!(site.get("/api/v1/projects", &token).status, 200);
}

#[test]
fn a_session_ends_with_its_token() {
    let site = site();
    let token = site.token(Role::Read);
    let answer = site.login(&format!("{{\"token\": \"{token}\"}}"), &[]);
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let get = || site.send("GET", "/api/v1/projects", &[("Cookie", &cookie)], "").status;
    assert_eq!(get(), 200);
    site.store.revoke_token("t1").unwrap();
    assert_eq!(get(), 401);
}

#[test]
fn many_logins_with_one_token_end_no_session_of_others() {
    let site = site();
    let cookie = |body: &str| {
        let answer = site.login(body, &[]);
        assert_eq!(answer.status, 200);
        answer.header("set-cookie").split(';').next().unwrap().to_owned()
    };
    let get = |cookie: &str| site.send("GET", "/api/v1/projects", &[("Cookie", cookie)], "").status;
    let of_code = cookie(&format!("{{\"code\": \"{}\"}}", site.code));
    let of_admin = cookie(&format!("{{\"token\": \"{}\"}}", site.token(Role::Admin)));
    let read = format!("{{\"token\": \"{}\"}}", site.token(Role::Read));
    let of_reader: Vec<String> = (0..70).map(|_| cookie(&read)).collect();
    assert_eq!((get(&of_code), get(&of_admin)), (200, 200));
    // The reader keeps 62 of 64 sessions.
    let statuses: Vec<u16> = of_reader.iter().map(|cookie| get(cookie)).collect();
    let ended = statuses.iter().filter(|status| **status == 401).count();
    assert_eq!(ended, 8, "{statuses:?}");
    assert_eq!(statuses.last(), Some(&200));
}

#[test]
fn files_with_secrets_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let mut site = site();
    let folder = crate::serve::project(&site.scratch).context.state_dir;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in ["serve.token", "serve.address", "serve.sqlite3", "serve.lock", "journal.sqlite3"] {
        let path = folder.join(file);
        if path.exists() || file.starts_with("serve") {
            assert_eq!(mode(&path), 0o600, "{file}");
        }
    }
    let token = std::fs::read_to_string(folder.join("serve.token")).unwrap();
    assert_eq!(site.get("/api/v1/projects", token.trim()).status, 200);
    let database = std::fs::read(folder.join("serve.sqlite3")).unwrap();
    let wal = std::fs::read(folder.join("serve.sqlite3-wal")).unwrap_or_default();
    let has = |bytes: &[u8]| {
        bytes.windows(token.trim().len()).any(|part| part == token.trim().as_bytes())
    };
    assert!(!has(&database) && !has(&wal), "only its digest is kept");
    site.stop();
    assert!(!folder.join("serve.address").exists());
}

/// A session and a one-time code outlive the daemon that made them; a logout, and the end of a token, outlive it too.
#[test]
fn sessions_continue_with_the_next_daemon() {
    let mut site = site();
    let cookie = |site: &Site, body: &str| {
        let answer = site.login(body, &[]);
        assert_eq!(answer.status, 200, "{body}");
        answer.header("set-cookie").split(';').next().unwrap().to_owned()
    };
    let get = |site: &Site, cookie: &str| {
        site.send("GET", "/api/v1/projects", &[("Cookie", cookie)], "").status
    };
    let token = format!("{{\"token\": \"{}\"}}", site.token(Role::Read));
    let (left, ended, revoked) = (cookie(&site, &token), cookie(&site, &token), {
        let other = site.token(Role::Run);
        cookie(&site, &format!("{{\"token\": \"{other}\"}}"))
    });
    let own = format!("http://{}", site.host);
    let headers = [
        ("Content-Type", "application/json"),
        ("Cookie", ended.as_str()),
        ("Origin", own.as_str()),
    ];
    assert_eq!(site.send("POST", "/logout", &headers, "").status, 204);
    let port = site.host.rsplit_once(':').unwrap().1.parse().unwrap();
    let code = site.code.clone();
    site.stop();
    site.store.revoke_token("t2").unwrap();
    // The files of the store have no text of a cookie or code.
    let text = left.split_once('=').unwrap().1.to_owned();
    let state = site.scratch.root().parent().unwrap().join("state");
    for path in files_below(&state) {
        let bytes = std::fs::read(&path).unwrap();
        let has = |part: &str| bytes.windows(part.len()).any(|window| window == part.as_bytes());
        assert!(!has(&text) && !has(&code), "{}", path.display());
    }
    let scratch = std::mem::replace(&mut site.scratch, crate::scratch::Scratch::new(&[]));
    let next = Site::of(scratch, &kb::web::Listen { port: Some(port), ..Default::default() });
    assert_eq!([get(&next, &left), get(&next, &ended), get(&next, &revoked)], [200, 401, 401]);
    let of_code = cookie(&next, &format!("{{\"code\": \"{code}\"}}"));
    assert_eq!(get(&next, &of_code), 200);
}

fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// A browser without scripts sends a form. The token stands in no address, and only the login takes one.
#[test]
fn the_login_works_as_a_form() {
    let site = site();
    let page = site.send("GET", "/login", &[], "").text();
    assert!(page.contains("method=\"post\" action=\"/login\""), "{page}");
    let own = format!("http://{}", site.host);
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let send = |path: &str, token: &str, origin: &str| {
        site.send("POST", path, &[form, ("Origin", origin)], &format!("token={token}"))
    };
    let token = site.token(Role::Read);
    let answer = send("/login", &token, &own);
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_eq!(site.send("GET", "/api/v1/projects", &[("Cookie", &cookie)], "").status, 200);
    let refused = send("/login", "kb_wrong", &own);
    assert_eq!((refused.status, refused.text().contains("This token is not valid.")), (401, true));
    assert_eq!(send("/login", &token, "http://evil.example").status, 403);
    assert_eq!(send("/api/v1/runs", &token, &own).status, 415);
}

/// A request without a body and without a cookie needs no content type: it has no rights that a browser adds by itself.
#[test]
fn a_token_can_write_without_a_body() {
    let site = site();
    let token = site.token(Role::Run);
    let bearer = format!("Bearer {token}");
    let send = |headers: &[(&str, &str)], body: &str| {
        site.send("POST", "/api/v1/runs/none/cancel", headers, body).status
    };
    assert_eq!(send(&[("Authorization", &bearer)], ""), 404);
    assert_eq!(send(&[], ""), 401);
    assert_eq!(send(&[("Authorization", &bearer)], "{}"), 415);
    assert_eq!(send(&[("Authorization", &bearer), ("Content-Type", "text/plain")], ""), 415);
    let cookie = site.session();
    let own = format!("http://{}", site.host);
    assert_eq!(send(&[("Cookie", &cookie), ("Origin", &own)], ""), 415);
}
