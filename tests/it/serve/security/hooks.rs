//! Webhooks: unsigned, altered, old, repeated, concurrent, too large; values are never code.

use crate::serve::fires;
use crate::serve::site::{Answer, Site};
use kb::trigger::sign_standard;
use kb::value::Timestamp;

const SECRET: &str = "first-secret-of-the-hook";
const SECOND: &str = "second-secret-of-the-hook";

fn site() -> Site {
    site_of(
        "schema: kb.playbook/1\nid: p\nparams: [{name: what, default: none}]\non: {webhook: {path: hook, secret: [ONE, TWO], payload: {what: a.b}, overlap: queueAll}}\nsteps: [{id: a, run: \"printf '%s\\\\n' \\\"$WHAT\\\" >> got\", env: {WHAT: \"{{what}}\"}}]\n",
    )
}

/// A site with the playbook `p`, whose hook gives it the parameter `what`.
fn site_of(playbook: &str) -> Site {
    let github = "schema: kb.playbook/1\nid: g\non: {webhook: {secret: ONE, form: github, overlap: queueAll}}\nsteps: [{id: a, run: \"true\"}]\n";
    let site = Site::new(&[
        (
            ".kb/kb.config.yml",
            "secrets: {ONE: file:one.secret, TWO: file:two.secret, LEAKED: file:leaked.secret}\n",
        ),
        ("one.secret", SECRET),
        ("two.secret", SECOND),
        ("playbooks/p.yml", playbook),
        ("playbooks/g.yml", github),
    ]);
    for id in ["p.webhook", "g.webhook"] {
        crate::serve::enable(&site.scratch, id, Timestamp(0));
    }
    site
}

fn now(offset: i64) -> Timestamp {
    Timestamp(kb::clock::Clock::system().now().0 + offset * 1000)
}

fn signed(secret: &str, id: &str, at: Timestamp, body: &str) -> Vec<(&'static str, String)> {
    sign_standard(secret, id, at, body.as_bytes()).to_vec()
}

fn send(site: &Site, name: &str, headers: &[(&'static str, String)], body: &str) -> Answer {
    let mut all = vec![("Content-Type", "application/json")];
    all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
    site.send("POST", &format!("/hooks/{name}"), &all, body)
}

/// `bash` executes a value in an arithmetic expression, so a script that reads the payload runs in the sandbox.
#[test]
fn a_script_that_reads_a_payload_runs_in_the_sandbox() {
    let site = site_of(
        "schema: kb.playbook/1\nid: p\nparams: [{name: what, default: none}]\non: {webhook: {path: hook, secret: [ONE, TWO], payload: {what: a.b}, overlap: queueAll}}\nsteps: [{id: a, run: \"(( WHAT > 3 )) || true\", env: {WHAT: \"{{what}}\"}}, {id: b, dependsOn: a, run: \"touch got\"}]\n",
    );
    let planted = site.scratch.root().parent().unwrap().join("pwned-by-hook");
    let value = format!("PATH[$(echo pwned > {})]", planted.display());
    let body = serde_json::json!({"a": {"b": value}}).to_string();
    let headers = signed(SECRET, "m1", now(0), &body);
    assert_eq!(send(&site, "hook", &headers, &body).status, 202);
    site.until("the end", || {
        let fires = fires(&site.store);
        (!fires.is_empty() && fires.iter().all(|fire| !fire.state.is_open())).then_some(())
    });
    if site.scratch.kb(&["doctor"]).out.contains("Landlock") {
        assert!(site.scratch.has("got"), "{:?}", site.scratch.kb(&["run", "show", "@last"]));
        assert!(!planted.exists());
    }
}

#[test]
fn a_delivery_starts_one_run_and_its_values_are_no_code() {
    let site = site();
    let hostile = "$(touch pwned); `touch pwned` {{secrets.ONE}} ' \" \u{1b}[31m <script>";
    let body = serde_json::json!({"a": {"b": hostile}}).to_string();
    let headers = signed(SECRET, "m1", now(0), &body);
    assert_eq!(send(&site, "hook", &headers, &body).status, 202);
    // The same again, and with a new signature: the id counts.
    assert_eq!(send(&site, "hook", &headers, &body).status, 200);
    let again = signed(SECOND, "m1", now(1), &body);
    assert_eq!(send(&site, "hook", &again, &body).status, 200);
    site.until("the run", || site.scratch.has("got").then_some(()));
    site.until("its end", || {
        fires(&site.store).iter().all(|fire| !fire.state.is_open()).then_some(())
    });
    assert_eq!(site.scratch.read("got"), format!("{hostile}\n"));
    assert!(!site.scratch.has("pwned"));
    assert_eq!(fires(&site.store).len(), 1);
}

#[test]
fn deliveries_that_are_not_signed_are_refused() {
    let site = site();
    let body = "{\"a\":{\"b\":\"x\"}}";
    let good = signed(SECRET, "m2", now(0), body);
    let without = |name: &str| good.iter().filter(|(n, _)| *n != name).cloned().collect::<Vec<_>>();
    let with = |name: &'static str, value: &str| {
        let mut all = without(name);
        all.push((name, value.to_owned()));
        all
    };
    let refused = [
        ("unsigned", Vec::new(), body),
        ("altered", good.clone(), "{\"a\":{\"b\":\"y\"}}"),
        ("id stripped", without("webhook-id"), body),
        ("id replaced", with("webhook-id", "m3"), body),
        ("time stripped", without("webhook-timestamp"), body),
        ("old", signed(SECRET, "m2", now(-301), body), body),
        ("ahead", signed(SECRET, "m2", now(400), body), body),
        ("wrong secret", signed("some-other-secret", "m2", now(0), body), body),
        ("empty secret", signed("", "m2", now(0), body), body),
    ];
    for (index, (what, headers, body)) in refused.iter().enumerate() {
        // After some failures more are refused without a look; a new site starts again.
        let fresh;
        let site = if index % 4 == 3 {
            fresh = self::site();
            &fresh
        } else {
            &site
        };
        let status = send(site, "hook", headers, body).status;
        assert!([401, 429].contains(&status), "{what}: {status}");
        assert!(fires(&site.store).is_empty(), "{what}");
    }
    // A name that does not exist is answered like a wrong signature.
    let site = self::site();
    assert_eq!(send(&site, "nothing", &good, body).status, 401);
    let mut form = good.clone();
    form.push(("Content-Type", "application/x-www-form-urlencoded".to_owned()));
    assert_eq!(send(&site, "hook", &form, body).status, 415);
    let text = "not json";
    assert_eq!(send(&site, "hook", &signed(SECRET, "m9", now(0), text), text).status, 400);
    // Too large: refused by its length, and unsigned before its body is sent.
    let head = |extra: &str| {
        let text = format!(
            "POST /hooks/hook HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{extra}Content-Length: 99999999\r\nConnection: close\r\n\r\n",
            site.host
        );
        site.raw(text.as_bytes()).status
    };
    assert_eq!(head(""), 401);
    assert_eq!(head("webhook-signature: v1,xx\r\n"), 413);
    assert!(fires(&site.store).is_empty());
}

#[test]
fn the_same_delivery_at_the_same_time_starts_one_run() {
    let site = site();
    let body = "{\"a\":{\"b\":\"x\"}}";
    let headers = signed(SECRET, "m4", now(0), body);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let (site, headers) = (&site, &headers);
        let one = || scope.spawn(move || send(site, "hook", headers, body).status);
        let all: Vec<_> = (0..8).map(|_| one()).collect();
        all.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 1, "{statuses:?}");
    assert_eq!(fires(&site.store).len(), 1);
}

#[test]
fn githubs_form_counts_a_body_once() {
    use hmac::{Hmac, Mac};
    let site = site();
    let body = "{\"zen\": \"x\"}";
    let mut mac = <Hmac<sha2::Sha256> as Mac>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let headers = |id: &str| {
        vec![("x-hub-signature-256", format!("sha256={hex}")), ("x-github-delivery", id.to_owned())]
    };
    assert_eq!(send(&site, "g", &headers("one"), body).status, 202);
    assert_eq!(send(&site, "g", &headers("two"), body).status, 200, "the id is not signed");
    assert_eq!(fires(&site.store).len(), 1);
}

#[test]
fn a_disabled_trigger_starts_nothing() {
    let site = site();
    let body = "{\"a\":{\"b\":\"x\"}}";
    site.store.disable("p.webhook", kb::clock::Clock::system().wall()).unwrap();
    assert_eq!(send(&site, "hook", &signed(SECRET, "m5", now(0), body), body).status, 404);
    assert!(fires(&site.store).is_empty());
    // Nor does it remember the delivery: enabled, it may be sent again.
    crate::serve::enable(&site.scratch, "p.webhook", Timestamp(0));
    assert_eq!(send(&site, "hook", &signed(SECRET, "m5", now(0), body), body).status, 202);
}

/// Senders behind one proxy have one address: wrong signatures of one do not keep out the others, nor logins.
#[test]
fn wrong_signatures_do_not_lock_out_others() {
    let site = site();
    let body = "{\"a\":{\"b\":\"x\"}}";
    let wrong = signed("another secret of some length", "m6", now(0), body);
    let statuses: Vec<u16> = (0..8).map(|_| send(&site, "hook", &wrong, body).status).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429, 429]);
    assert_eq!(send(&site, "hook", &signed(SECRET, "m7", now(0), body), body).status, 202);
    let token = site.token(kb::trigger::Role::Read);
    assert_eq!(site.login(&format!("{{\"token\": \"{token}\"}}"), &[]).status, 200);
}

/// A delivery, a message or a start with the value of a secret: neither the store nor the API has it.
#[test]
fn secrets_in_payloads_are_masked_in_the_store_and_in_the_api() {
    const LEAKED: &str = "leaked-token-0123456789";
    let site = site();
    site.scratch.write("leaked.secret", LEAKED);
    let admin = site.token(kb::trigger::Role::Admin);
    let body = serde_json::json!({"a": {"b": format!("token={LEAKED}")}}).to_string();
    assert_eq!(send(&site, "hook", &signed(SECRET, "m1", now(0), &body), &body).status, 202);
    let start = format!("{{\"definition\": \"p\", \"params\": {{\"what\": \"{LEAKED}\"}}}}");
    site.post("/api/v1/runs", &admin, &start);
    site.scratch.write("m.json", &format!("{{\"x\": \"{LEAKED}\"}}"));
    site.scratch.kb(&["trigger", "publish", "topic", "--payload", "m.json"]).code(0);
    let fires = fires(&site.store);
    assert!(fires.iter().any(|fire| fire.params["what"] == "token=«secret:LEAKED»"), "{fires:?}");
    for address in ["/api/v1/triggers", "/api/v1/triggers/p.webhook", "/triggers"] {
        let text = site.get(address, &admin).text();
        assert!(!text.contains(LEAKED), "{address}\n{text}");
    }
    let folder = crate::serve::project(&site.scratch).context.state_dir;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("serve.sqlite3") {
            let bytes = std::fs::read(entry.path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(LEAKED), "{name}");
        }
    }
}

/// GitHub's events by header and branch, a form of Slack with its check of the address, a bearer token.
#[test]
fn deliveries_of_services_are_read_and_filtered() {
    use hmac::{Hmac, Mac};
    let hex = |text: String| {
        let mut mac = <Hmac<sha2::Sha256> as Mac>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect::<String>()
    };
    let playbook = "schema: kb.playbook/1\nid: p\nparams: [{name: what}]\non:\n  webhook:\n    - {name: push, path: push, secret: ONE, form: github, payload: {what: after}, when: \"headers['x-github-event'] == 'push' and payload.ref == 'refs/heads/main'\"}\n    - {name: slack, path: slack, secret: ONE, form: slack, payload: {what: text}}\n    - {name: bearer, path: bearer, secret: ONE, form: bearer, payload: {what: x}, when: \"headers.authorization is undefined\"}\nsteps: [{id: a, run: [\"true\"]}]\n";
    let settings = "secrets: {ONE: file:one.secret}\n";
    let site = Site::new(&[
        (".kb/kb.config.yml", settings),
        ("one.secret", SECRET),
        ("playbooks/p.yml", playbook),
    ]);
    for id in ["p.push", "p.slack", "p.bearer"] {
        crate::serve::enable(&site.scratch, id, Timestamp(0));
    }
    let state = |trigger: &str| -> Vec<String> {
        let all = fires(&site.store);
        let own = all.iter().filter(|fire| fire.trigger == trigger);
        own.map(|fire| fire.reason.clone().unwrap_or_else(|| fire.params["what"].to_string()))
            .collect()
    };
    let push = |event: &str, body: &str| {
        let signature = format!("sha256={}", hex(body.to_owned()));
        send(
            &site,
            "push",
            &[("x-hub-signature-256", signature), ("x-github-event", event.to_owned())],
            body,
        )
        .status
    };
    let main = "{\"ref\": \"refs/heads/main\", \"after\": \"1\"}";
    let other = "{\"ref\": \"refs/heads/other\", \"after\": \"2\"}";
    assert_eq!([push("push", main), push("push", other), push("ping", "{\"zen\": 1}")], [202; 3]);
    let reasons = state("p.push");
    assert_eq!(
        reasons.iter().filter(|reason| reason.starts_with("`when` is false")).count(),
        2,
        "{reasons:?}"
    );
    assert!(reasons.contains(&"\"1\"".to_owned()), "{reasons:?}");

    let slack = |content: &str, body: &str| {
        let time = (kb::clock::Clock::system().now().0 / 1000).to_string();
        let signature = format!("v0={}", hex(format!("v0:{time}:{body}")));
        let headers = [
            ("Content-Type", content),
            ("x-slack-request-timestamp", time.as_str()),
            ("x-slack-signature", signature.as_str()),
        ];
        site.send("POST", "/hooks/slack", &headers, body)
    };
    let asked =
        slack("application/json", "{\"type\": \"url_verification\", \"challenge\": \"3eZb\"}");
    assert_eq!((asked.status, asked.text().contains("3eZb")), (200, true), "{asked:?}");
    let form = "application/x-www-form-urlencoded";
    assert_eq!(slack(form, "command=%2Fdeploy&text=shop+now&trigger_id=1").status, 202);
    assert_eq!(slack(form, "payload=%7B%22text%22%3A%22pressed%22%7D").status, 202);
    assert_eq!(state("p.slack"), ["\"shop now\"", "\"pressed\""]);

    let bearer = |token: &str| {
        send(&site, "bearer", &[("Authorization", format!("Bearer {token}"))], "{\"x\": \"1\"}")
            .status
    };
    assert_eq!([bearer(SECRET), bearer(SECRET), bearer("wrong")], [202, 202, 401]);
    // Each request is a delivery, and a condition does not read the token.
    assert_eq!(state("p.bearer"), ["\"1\"", "\"1\""]);
    // A form that is not signed is what a page of another site can send.
    assert_eq!(site.send("POST", "/hooks/slack", &[("Content-Type", form)], "text=x").status, 401);
}
