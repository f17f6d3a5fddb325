//! The MCP server behind `kb serve`: each message is answered by itself, for a token with the right role.

use super::site::Site;
use kb::trigger::Role;
use serde_json::{Value, json};

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true'}]\n";

fn ask(site: &Site, token: &str, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = site.post("/mcp", token, &message.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["id"], 7);
    answer.json()
}

#[test]
fn clients_with_a_token_list_and_call_tools_and_read_resources() {
    let site = Site::new(&[("playbooks/p.yml", PLAYBOOK)]);
    let reader = site.token(Role::Read);
    let hello = ask(&site, &reader, "initialize", &json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "kb");
    let listed = ask(&site, &reader, "tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 9, "{listed}");
    assert!(listed["result"]["resultType"].is_null(), "{listed}");
    let call = json!({"name": "playbook_list", "arguments": {}});
    let called = ask(&site, &reader, "tools/call", &call).to_string();
    assert!(called.contains(r#"\"id\":\"p\""#), "{called}");
    // A reader starts nothing.
    let call = json!({"name": "playbook_run", "arguments": {"id": "p"}});
    let refused = ask(&site, &reader, "tools/call", &call);
    assert_eq!(refused["result"]["isError"], true);
    assert!(refused.to_string().contains("needs a token with the role `run`"), "{refused}");
    assert_eq!(site.scratch.json(&["run", "list", "--json"]), json!([]));
    let read = ask(&site, &reader, "resources/read", &json!({"uri": "kb://playbook/p"}));
    assert!(read.to_string().contains("paramsSchema"), "{read}");
    let templates = ask(&site, &reader, "resources/templates/list", &json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 5);
    assert_eq!(ask(&site, &reader, "ping", &json!({}))["result"], json!({}));
    for (method, params, code) in [
        ("prompts/list", json!({}), -32601),
        ("tools/call", json!({"name": "none"}), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/list", json!([]), -32602),
        ("resources/read", json!({"uri": "file:///etc/passwd"}), -32002),
    ] {
        let answer = ask(&site, &reader, method, &params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let accepted = site.post("/mcp", &reader, &notice);
    assert_eq!((accepted.status, accepted.text().as_str()), (202, ""));
}

#[test]
fn strangers_and_pages_of_other_sites_are_refused() {
    let site = Site::new(&[("playbooks/p.yml", PLAYBOOK)]);
    let bearer = format!("Bearer {}", site.token(Role::Run));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let content = ("Content-Type", "application/json");
    let send =
        |headers: &[(&str, &str)], body: &str| site.send("POST", "/mcp", headers, body).status;
    let token = ("Authorization", bearer.as_str());
    assert_eq!(send(&[token, content], &message), 200);
    assert_eq!(send(&[content], &message), 401);
    assert_eq!(send(&[("Authorization", "Bearer none"), content], &message), 401);
    assert_eq!(send(&[token, content, ("Origin", "http://evil.example")], &message), 403);
    assert_eq!(send(&[token, ("Content-Type", "text/plain")], &message), 415);
    assert_eq!(send(&[token, content, ("MCP-Protocol-Version", "1999-01-01")], &message), 400);
    assert_eq!(send(&[token, content, ("MCP-Protocol-Version", "2025-11-25")], &message), 200);
    assert_eq!(send(&[token, content], "no message"), 400);
    assert_eq!(site.send("GET", "/mcp", &[token], "").status, 405);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{message}",
        message.len()
    );
    let evil = site.raw(request.as_bytes());
    assert!((400..500).contains(&evil.status), "{}", evil.text());
    assert!(!evil.text().contains("playbook_run"), "{}", evil.text());
}

#[test]
fn starts_wait_in_the_queue_of_the_daemon() {
    let held = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'while ! test -e go; do sleep 0.02; done'}]\n";
    let site =
        Site::new(&[("playbooks/p.yml", held), (".kb/kb.config.yml", "serve: {maxRuns: 1}\n")]);
    let token = site.token(Role::Run);
    let run = |key: &str| {
        let arguments = json!({"id": "p", "key": key});
        let call = json!({"name": "playbook_run", "arguments": arguments});
        ask(&site, &token, "tools/call", &call)
    };
    for key in ["one", "two", "three"] {
        assert_eq!(run(key)["result"]["isError"], json!(false), "{key}");
    }
    let begun = || site.scratch.json(&["run", "list", "--json"]).as_array().unwrap().len();
    let wait_for = |count: usize| {
        for _ in 0..500 {
            if begun() >= count {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} of {count} runs", begun());
    };
    wait_for(1);
    assert_eq!(begun(), 1);
    site.scratch.write("go", "");
    wait_for(3);
}
