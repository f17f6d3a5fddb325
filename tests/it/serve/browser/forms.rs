//! Buttons and forms of all pages, used by hand in Chromium.

use super::driver::{Browser, SIZES, axe};
use super::{listen, sign_in, url, violations};
use crate::running::Start;
use crate::scratch::Scratch;
use crate::serve::site::Site;
use kb::trigger::Role;
use serde_json::json;
use std::time::{Duration, Instant};

const HOLD: &str = "schema: kb.playbook/1\nid: hold\nsteps: [{id: a, run: \"while [ ! -e go ]; do sleep 0.05; done\", retrySafe: true}]\n";
const FORM: &str = "schema: kb.playbook/1\nid: form\nsteps:\n  - {id: where, ask: {question: \"Where to?\", options: [staging, production]}}\n  - {id: how, dependsOn: [where], ask: {question: \"How many?\", schema: {type: object, properties: {copies: {type: integer, minimum: 1}}, required: [copies]}}}\noutputs: {where: \"{{where.output}}\", copies: \"{{how.output.copies}}\"}\n";
const DAILY: &str = "schema: kb.playbook/1\nid: daily\non: {schedule: {cron: \"0 3 * * *\", zone: UTC}}\nsteps: [{id: a, run: \"true\"}]\n";

/// Presses a button of a form by the end of the address that it sends to, and accepts the question.
fn press(browser: &Browser, action: &str) {
    browser.run("window.confirm = () => true", &[]);
    browser.until(
        action,
        &format!("return !!document.querySelector('form[data-action$=\"/{action}\"] button')"),
    );
    browser.click(&format!("form[data-action$='/{action}'] button"));
}

fn status(browser: &Browser, status: &str) {
    let script = format!("return document.getElementById('summary').dataset.status === '{status}'");
    browser.until(status, &script);
}

#[test]
fn a_run_is_cancelled_retried_and_resumed_by_hand() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(Scratch::new(&[("playbooks/hold.yml", HOLD)]), &listen());
    browser.size(SIZES[1], true);
    sign_in(&browser, &site, Role::Run);
    browser.open(&url(&site, "/playbooks/hold"));
    browser.click("form[data-start] button");
    browser.until("the run", "return !!document.getElementById('summary')");
    status(&browser, "running");
    press(&browser, "cancel");
    status(&browser, "cancelled");
    press(&browser, "retry");
    status(&browser, "running");
    site.scratch.write("go", "");
    status(&browser, "succeeded");
    // A run whose process was killed.
    std::fs::remove_file(site.scratch.root().join("go")).unwrap();
    let mut process = site.scratch.command();
    let mut process = process.args(["playbook", "run", "hold", "--quiet"]).start();
    let running = || {
        let runs = site.scratch.json(&["run", "list", "--json"]);
        let found = runs.as_array()?.iter().find(|run| run["status"] == "running")?;
        found["run"].as_str().map(str::to_owned)
    };
    let run = site.until("the run of a person", running);
    process.kill().unwrap();
    process.wait().unwrap();
    browser.open(&url(&site, &format!("/runs/{run}")));
    press(&browser, "resume");
    site.scratch.write("go", "");
    status(&browser, "succeeded");
    // The list, by its filter.
    browser.open(&url(&site, "/"));
    // On a phone they are folded.
    browser.click(".fold summary");
    browser.run("document.querySelector('.filters [name=status]').value = 'failed'", &[]);
    browser.click(".filters button");
    browser.until("no run", "return location.search.includes('status=failed') && !document.querySelector('a[href^=\"/runs/\"]')");
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// What a model writes appears below its step while it runs, as text, and goes with the step.
#[test]
fn texts_of_models_appear_below_their_step() {
    let Some(browser) = Browser::start() else { return };
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: \"while [ ! -e go ]; do sleep 0.05; done\"}\n  - {id: w, dependsOn: [a], specialist: s, task: Write., verify: {claims: none, expectChanges: false}}\n";
    let specialist = "schema: kb.specialist/1\nid: s\nrole: You write.\ntools: [fs:list]\noutput: {schema: {summary: string}}\n";
    // Each turn takes a while: the process looks once a second for pages that want the text.
    let turn = |n: u32| {
        format!(
            "    - {{say: \"some <img src=x onerror=document.title=1> words\\e[31m \", delayMs: 1500, calls: [{{tool: fs:list, args: {{path: d{n}}}}}]}}\n"
        )
    };
    let script = format!(
        "schema: kb.script/1\nsteps:\n  w:\n{}    - {{output: {{summary: done}}}}\n",
        (0..8).map(turn).collect::<String>()
    );
    let site = Site::of(
        Scratch::new(&[
            ("playbooks/p.yml", playbook),
            (".kb/specialists/s.yml", specialist),
            ("script.yml", &script),
        ]),
        &listen(),
    );
    // Equal calls in a row would end the attempt.
    (0..8).for_each(|n| site.scratch.write(&format!("d{n}/file"), "x"));
    browser.size(SIZES[1], true);
    sign_in(&browser, &site, Role::Read);
    let mut process = site.scratch.command();
    let arguments = ["playbook", "run", "p", "--script", "script.yml", "--quiet"];
    let mut process = process.args(arguments).start();
    let run = site.until("the run", || {
        let runs = site.scratch.json(&["run", "list", "--json"]);
        runs[0]["run"].as_str().map(str::to_owned)
    });
    browser.open(&url(&site, &format!("/runs/{run}?step=w")));
    status(&browser, "running");
    site.scratch.write("go", "");
    // Below its line in the list, and in the panel of the step.
    let shown = "return [...document.querySelectorAll('[data-writing=w]')].filter(a => !a.hidden && a.innerText.includes('some <img src=x onerror=document.title=1> words⟨001B⟩[31m')).length === 2";
    browser.until("the text", shown);
    let inert = "return document.title !== '1' && !document.querySelector('main img')";
    assert_eq!(browser.run(inert, &[]), true);
    if let Some(axe) = axe() {
        assert_eq!(violations(&browser, &axe), json!([]));
    }
    assert!(process.wait().unwrap().success());
    status(&browser, "succeeded");
    assert_eq!(browser.run("return !document.querySelector('[data-writing]')", &[]), true);
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn questions_with_forms_are_answered_by_hand() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(Scratch::new(&[("playbooks/form.yml", FORM)]), &listen());
    browser.size(SIZES[1], false);
    sign_in(&browser, &site, Role::Approve);
    site.scratch.kb(&["playbook", "run", "form"]).code(3);
    let run = site.scratch.last_run();
    browser.open(&url(&site, "/inbox"));
    assert_eq!(browser.text(".ask h2"), "Where to?");
    browser.run("document.querySelector('.ask [name=answer]').value = 'production'", &[]);
    browser.click(".ask button[type=submit]");
    browser.until(
        "the second question",
        "return document.querySelector('.ask h2')?.innerText === 'How many?'",
    );
    // What does not fit is refused where it was typed, and the question stays.
    browser.type_into(".ask [name=copies]", "0");
    browser.click(".ask button[type=submit]");
    let limit = "const f = document.querySelector('.ask [name=copies]'); const low = f.validity.rangeUnderflow; f.removeAttribute('min'); return low";
    assert_eq!(browser.run(limit, &[]), true);
    browser.click(".ask button[type=submit]");
    browser.until("the refusal", "return document.querySelector('.ask .message').innerText !== ''");
    browser.run("document.querySelector('.ask [name=copies]').value = '2'", &[]);
    browser.click(".ask button[type=submit]");
    browser.until("an empty inbox", "return !!document.querySelector('.empty')");
    let token = site.token(Role::Read);
    site.until("the end", || {
        let view = site.get(&format!("/api/v1/runs/{run}"), &token).json();
        (view["status"] == "succeeded").then_some(())
    });
    let outputs = site.get(&format!("/api/v1/runs/{run}/outputs"), &token).json();
    assert_eq!(outputs, json!({"where": "production", "copies": 2}));
    // The refusal is an answer of 422, which Chromium writes to its console.
    let other: Vec<String> =
        browser.console().into_iter().filter(|line| !line.contains("422")).collect();
    assert_eq!(other, Vec::<String>::new());
}

#[test]
fn a_backfill_is_counted_before_it_starts_and_a_session_ends() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(Scratch::new(&[("playbooks/daily.yml", DAILY)]), &listen());
    browser.size(SIZES[0], false);
    sign_in(&browser, &site, Role::Run);
    browser.open(&url(&site, "/triggers"));
    browser.click("details summary");
    for (name, text) in [("from", "2026-03-01T00:00"), ("to", "2026-03-03T12:00")] {
        browser.run(&format!("document.querySelector('[name={name}]').value = '{text}'"), &[]);
    }
    let button = "form[data-dry] button";
    browser.click(button);
    let counted = "return document.querySelector('form[data-dry] .message').innerText.startsWith('3 runs would start')";
    browser.until("the count", counted);
    assert!(
        site.store
            .fires(&kb::trigger::FireFilter { trigger: None, open: false, limit: 9 })
            .unwrap()
            .is_empty()
    );
    browser.click(button);
    browser.until(
        "the runs",
        "return document.querySelectorAll('ul.times a[href^=\"/runs/\"]').length === 3",
    );
    browser.open(&url(&site, "/system"));
    browser.click("form[data-action='/logout'] button");
    browser.until("the login", "return location.pathname === '/login'");
    browser.open(&url(&site, "/triggers"));
    browser.until("the login again", "return location.pathname === '/login'");
    // The address of `kb serve --open`, entered in the tab that shows the login.
    browser.run(&format!("location.hash = '{}'", site.code), &[]);
    browser.until("the pages", "return location.pathname === '/'");
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// `kb init && kb serve --open`: a run starts at once, its lie is refuted, and an approval waits.
#[test]
fn the_demonstration_of_a_new_project_is_on_the_pages() {
    let Some(browser) = Browser::start() else { return };
    let scratch = Scratch::bare();
    scratch.kb(&["init"]).code(0);
    let site = Site::of(scratch, &listen());
    browser.size(SIZES[0], false);
    // What `kb serve --open` opens.
    browser.open(&format!("http://{}/login#{}", site.host, site.code));
    browser.until("the session", "return location.pathname === '/'");
    // The page follows without a reload.
    let deadline = Instant::now() + Duration::from_secs(180);
    let run = "return [...document.querySelectorAll('main a[href^=\"/runs/\"]')].map(a => a.getAttribute('href'))[0] ?? null";
    while browser.run(run, &[]).is_null() {
        assert!(Instant::now() < deadline, "the demonstration does not run");
        std::thread::sleep(Duration::from_millis(200));
    }
    let run = browser.run(run, &[]).as_str().unwrap().to_owned();
    browser.open(&url(&site, &run));
    browser.until("the question", "return !!document.querySelector('.banner.waiting a')");
    browser.open(&url(&site, &format!("{run}?step=write")));
    assert!(browser.text(".check.failed .evidence").contains("no recorded call wrote it"));
    // The second attempt says how its check ended in the first.
    let earlier = browser.text(".attempt:first-of-type .earlier");
    assert!(earlier.contains("Attempt 1: failed"), "{earlier}");
    browser.open(&url(&site, "/inbox"));
    assert!(browser.text(".ask h2").contains("Accept it?"));
    browser.click("button[value=approve]");
    browser.until("an empty inbox", "return !!document.querySelector('.empty')");
    browser.open(&url(&site, "/playbooks/demo"));
    assert!(browser.text("main").contains("model "), "the plan has models");
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// Several runs are retried at once; the drawing is zoomed, and the failed step is in its middle.
#[test]
fn chosen_runs_are_retried_and_the_graph_is_zoomed() {
    let Some(browser) = Browser::start() else { return };
    let steps: String = (0..40)
        .map(|n| match n {
            0 => "  - {id: s0, run: 'true'}\n".to_owned(),
            30 => "  - {id: s30, dependsOn: s29, run: exit 1}\n".to_owned(),
            n => format!("  - {{id: s{n}, dependsOn: s{}, run: 'true'}}\n", n - 1),
        })
        .collect();
    let text = format!("schema: kb.playbook/1\nid: chain\nsteps:\n{steps}");
    let site = Site::of(Scratch::new(&[("playbooks/chain.yml", &text)]), &listen());
    for _ in 0..2 {
        site.scratch.kb(&["playbook", "run", "chain"]).code(1);
    }
    browser.size(SIZES[1], true);
    sign_in(&browser, &site, Role::Run);
    assert_eq!(
        browser.run("return getComputedStyle(document.querySelector('#bulk button')).display", &[]),
        "none"
    );
    for n in 1..=2 {
        browser.click(&format!("li.pick:nth-child({n}) input"));
    }
    site.scratch.write("playbooks/chain.yml", &text);
    browser.click("#bulk button[value=retry]");
    browser.until("the requests", "return document.querySelector('#bulk .message').innerText.includes('2 runs: retry requested')");
    browser.until("the ends", "return document.querySelectorAll('.row .failed').length >= 2 && !document.querySelector('.row .running')");
    let retried = || {
        let runs = site.scratch.json(&["run", "list", "--json"]);
        let attempts = |run: &serde_json::Value| {
            let view = site.scratch.json(&["run", "show", run["run"].as_str().unwrap(), "--json"]);
            let steps = view["steps"].as_array().unwrap();
            steps.iter().find(|step| step["step"] == "s30").unwrap()["iteration"] == 2
        };
        runs.as_array().unwrap().iter().all(attempts).then_some(())
    };
    site.until("both retries", retried);
    browser.click("a[href^='/runs/']");
    browser.until("the graph", "return !!document.querySelector('.node.selected')");
    let middle = "const n = document.querySelector('.node.selected').getBoundingClientRect(), c = document.getElementById('canvas').getBoundingClientRect(); return n.left >= c.left && n.right <= c.right && n.top >= c.top && n.bottom <= c.bottom";
    browser.until("the failed step in view", middle);
    browser.click("[data-zoom=fit]");
    let whole = "const c = document.getElementById('canvas'); return c.scrollWidth <= c.clientWidth + 1 && c.scrollHeight <= c.clientHeight + 1";
    browser.until("the whole graph", whole);
    browser.click("[data-zoom=step]");
    browser.until("the failed step again", middle);
    assert_eq!(browser.console(), Vec::<String>::new());
}
