//! The page of the memory, and what a person decides there.

use super::site::Site;
use kb::trigger::Role;

const PLAYBOOK: &str =
    "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: team/helper, task: Help.}\n";
const SPECIALIST: &str = "schema: kb.specialist/1\nid: team/helper\nrole: You help.\ntools: ['fs:read']\nmemory: {propose: true}\n";
const SCRIPT: &str = "schema: kb.script/1\nsteps:\n  a:\n    - calls: [{tool: 'memory:propose', args: {kind: pitfall, text: The port <b>8080</b> is taken, tags: [Web], anchors: [{path: src/port.txt}], checks: [{file: src/port.txt}]}}]\n    - output: {summary: done}\n";

fn site(settings: &str) -> Site {
    Site::new(&[
        (".kb/kb.config.yml", settings),
        (".kb/specialists/helper.yml", &SPECIALIST.replace("team/helper", "helper")),
        ("playbooks/p.yml", &PLAYBOOK.replace("team/helper", "helper")),
        ("script.yml", SCRIPT),
        ("src/port.txt", "8080\n"),
    ])
}

#[test]
fn the_page_says_that_the_memory_is_off_that_it_is_empty_and_that_nothing_matches() {
    let off = site("{}\n");
    let text = off.get("/memory", &off.token(Role::Read)).text();
    for said in
        ["<h2>Memory is off</h2>", "memory: {enabled: true}", "Specialists are shown nothing"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let on = site("memory: {enabled: true}\n");
    let token = on.token(Role::Read);
    let text = on.get("/memory", &token).text();
    assert!(
        text.contains("<h2>Nothing is remembered yet</h2>") && text.contains("enabled: false"),
        "{text}"
    );
    on.scratch.kb(&["memory", "add", "Use tabs.", "--kind", "preference"]).code(0);
    let text = on.get("/memory?text=submarine", &token).text();
    assert!(text.contains("<h2>No entry matches</h2>") && !text.contains("Use tabs"), "{text}");
}

#[test]
fn entries_are_shown_with_their_origin_found_by_kind_tag_and_author_and_approved() {
    let site = site("memory: {enabled: true}\n");
    let (admin, read) = (site.token(Role::Admin), site.token(Role::Read));
    site.scratch.kb(&["playbook", "run", "p", "--script", "script.yml", "--quiet"]).code(0);
    site.scratch
        .kb(&["memory", "add", "Use tabs.", "--kind", "preference", "--tag", "style"])
        .code(0);
    let run = site.scratch.json(&["run", "show", "--json"])["run"].as_str().unwrap().to_owned();
    let all = site.scratch.json(&["memory", "list", "--json"]);
    let entries = all["entries"].as_array().unwrap();
    let own = entries.iter().find(|own| own["kind"] == "pitfall").unwrap();
    let id = own["id"].as_str().unwrap();

    // A template writes `/` as a reference.
    let page = |path: &str| site.get(path, &read).text().replace("&#x2f;", "/");
    let text = page("/memory");
    for said in [
        "The port &lt;b&gt;8080",
        "<h2>Waits for a decision (2)</h2>",
        "from helper in run",
        &format!("href=\"/runs/{run}?step=a\""),
        "checks passed <time",
        "rests on <code>src/port.txt</code>",
        "<title>Runs, the entries that they proposed",
        "Your role cannot decide.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("/approve") && !text.contains("<b>8080"), "{text}");
    for (query, has_port, has_tabs) in [
        ("text=ports", true, false),
        ("text=tab", false, true),
        ("kind=pitfall", true, false),
        ("kind=mistake", true, false),
        ("tag=WEB", true, false),
        ("author=helper", true, false),
        ("text=port&author=nobody", false, false),
    ] {
        let text = page(&format!("/memory?{query}"));
        let has = (text.contains("is taken"), text.contains("Use tabs."));
        assert_eq!(has, (has_port, has_tabs), "{query}");
    }

    // A person decides, with the role for it.
    let approve = format!("/api/v1/memory/{id}/approve");
    assert_eq!(site.post(&approve, &site.token(Role::Run), "").status, 403);
    assert_eq!(site.post("/api/v1/memory/m-0/approve", &admin, "").status, 404);
    assert_eq!(site.post(&approve.replace(id, &id[..6]), &admin, "").status, 404);
    let done = site.post(&approve, &admin, "").json();
    assert_eq!((&done["state"], done["entry"].as_str()), (&"shared".into(), Some(id)));
    let file = site.scratch.read(done["file"].as_str().unwrap());
    assert!(file.contains("is taken") && !file.contains("approvedBy: \"\""), "{file}");
    assert!(page("/memory").contains("approved by "));
    let tabs =
        entries.iter().find(|own| own["kind"] == "preference").unwrap()["id"].as_str().unwrap();
    let rejected =
        site.post(&format!("/api/v1/memory/{tabs}/reject"), &admin, "{\"reason\": \"no\"}");
    assert_eq!(rejected.json()["state"], "forgotten");
    assert!(!page("/memory").contains("Use tabs."));
    assert_eq!(site.post(&format!("/api/v1/memory/{id}/reject"), &admin, "{}").status, 409);
}
