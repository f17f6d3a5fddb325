//! The pages in a real Chromium.

mod driver;
mod forms;
mod keyboard;

use super::site::Site;
use crate::running::Start;
use crate::scratch::Scratch;
use driver::{Browser, SIZES, axe};
use kb::trigger::Role;
use kb::web::Listen;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

/// A text that tries everything: markup, terminal sequences, a change of direction.
const HOSTILE: &str =
    "</span><img src=x onerror=\"document.title='owned'\"><b>\u{1b}[31m\u{202e}txt";

fn listen() -> Listen {
    Listen { port: Some(0), ..Listen::default() }
}

/// A site with the demo, in which a model lies four times.
fn demo() -> Site {
    let scratch = Scratch::bare();
    scratch.kb(&["demo", "--dir", "."]).code(0);
    Site::of(scratch, &listen())
}

/// Signs in through the page.
fn sign_in(browser: &Browser, site: &Site, role: Role) {
    browser.open(&format!("http://{}/login", site.host));
    browser.type_into("#token", &site.token(role));
    browser.click("button[type=submit]");
    browser.until("the session", "return location.pathname === '/'");
}

fn url(site: &Site, path: &str) -> String {
    format!("http://{}{path}", site.host)
}

/// What axe-core finds on the page.
fn violations(browser: &Browser, axe: &str) -> Value {
    let script = format!(
        "{axe};\nreturn axe.run(document, {{resultTypes: ['violations']}}).then(r => r.violations.map(v => [v.id, v.nodes.map(n => [n.target, n.any.map(a => a.message)])]))"
    );
    browser.run(&script, &[])
}

#[test]
fn a_refuted_claim_stands_beside_its_evidence() {
    let Some(browser) = Browser::start() else { return };
    let site = demo();
    let run = site.scratch.last_run();
    for (size, dark) in [(SIZES[0], false), (SIZES[1], true)] {
        browser.size(size, dark);
        sign_in(&browser, &site, Role::Read);
        browser.click(&format!("a[href=\"/runs/{run}\"]"));
        browser.until("the run", "return document.querySelectorAll('a.node').length === 6");
        // The graph leads to the step.
        browser.open(&url(&site, &format!("/runs/{run}?step=implement")));
        let refuted = browser.text(".check.failed .evidence");
        assert!(refuted.contains("no recorded call"), "{refuted}");
        let attempts = browser.run("return document.querySelectorAll('.attempt').length", &[]);
        assert_eq!(attempts, 3);
        assert!(browser.text(".diff").contains("say_greeting()"));
        let colours = "const f = document.querySelector('.check.failed'), p = document.querySelector('.check.passed');
            return getComputedStyle(f).borderLeftColor !== getComputedStyle(p).borderLeftColor";
        assert_eq!(browser.run(colours, &[]), true);
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn on_a_phone_filters_are_folded_all_pages_can_be_reached_and_long_output_has_a_box() {
    let Some(browser) = Browser::start() else { return };
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: long, run: seq 1 400}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let run = scratch.last_run();
    let site = Site::of(scratch, &listen());
    browser.size(SIZES[1], false);
    sign_in(&browser, &site, Role::Read);
    assert_eq!(browser.run("return document.querySelector('.fold').open", &[]), false);
    browser.open(&url(&site, "/system"));
    let in_view =
        "const a = document.querySelector('.top nav [aria-current]').getBoundingClientRect();
        return a.left >= 0 && a.right <= window.innerWidth";
    assert_eq!(browser.run(in_view, &[]), true);
    browser.open(&url(&site, &format!("/runs/{run}?step=long")));
    let height = "return document.querySelector('#step pre.box').getBoundingClientRect().height";
    let tall = |browser: &Browser| browser.run(height, &[]).as_f64().unwrap();
    assert!(tall(&browser) < 500.0, "{}", tall(&browser));
    browser.click("#step .whole input");
    assert!(tall(&browser) > 5000.0, "{}", tall(&browser));
}

#[test]
fn every_page_is_accessible_on_both_sizes_in_both_schemes() {
    let Some(browser) = Browser::start() else { return };
    let site = demo();
    site.scratch.write(
        ".kb/playbooks/asks.yml",
        "schema: kb.playbook/1\nid: asks\nparams: [{name: where, enum: [staging, production], default: staging, description: Where to}]\non: {schedule: {cron: \"30 2 * * *\", zone: Europe/Berlin}}\nsteps:\n  - {id: ok, approve: \"Deploy?\"}\n",
    );
    site.scratch.kb(&["playbook", "run", "asks"]).code(3);
    let run = site.scratch.json(&["run", "list", "--json"]);
    let run = run.as_array().unwrap().iter().find(|run| run["definition"] == "add-feature");
    let run = run.unwrap()["run"].as_str().unwrap().to_owned();
    let axe = axe();
    sign_in(&browser, &site, Role::Admin);
    let pages = [
        "/".to_owned(),
        format!("/runs/{run}?step=test"),
        format!("/runs/{run}?view=timeline"),
        "/inbox".to_owned(),
        "/triggers".to_owned(),
        "/playbooks".to_owned(),
        "/playbooks/asks".to_owned(),
        "/memory".to_owned(),
        "/system".to_owned(),
        "/login".to_owned(),
        "/nothing".to_owned(),
        "/runs/rnothing".to_owned(),
    ];
    browser.console();
    for page in &pages {
        for size in SIZES {
            for dark in [false, true] {
                browser.size(size, dark);
                browser.open(&url(&site, page));
                let wide = "return document.documentElement.scrollWidth <= window.innerWidth";
                assert_eq!(browser.run(wide, &[]), true, "{page} is wider than {size:?}");
                if let Some(axe) = &axe {
                    let found = violations(&browser, axe);
                    assert_eq!(found, json!([]), "{page} {size:?} dark: {dark}");
                }
            }
        }
        // Chromium writes to its console that a page has the status 404.
        let is_own = |line: &String| !(page.contains("nothing") && line.contains("404"));
        let lines: Vec<String> = browser.console().into_iter().filter(is_own).collect();
        assert_eq!(lines, Vec::<String>::new(), "{page}");
    }
}

#[test]
fn a_log_of_a_million_lines_opens_at_any_line() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(
        Scratch::new(&[(
            "playbooks/long.yml",
            "schema: kb.playbook/1\nid: long\nsteps: [{id: a, run: \"echo first; seq 999998 | tr -d 0-9; echo last\"}]\n",
        )]),
        &listen(),
    );
    site.scratch.kb(&["--quiet", "playbook", "run", "long"]).code(0);
    let run = site.scratch.last_run();
    sign_in(&browser, &site, Role::Read);
    let shows = |number: &str, text: &str| {
        format!(
            "return [...document.querySelectorAll('.line')].some(l => l.innerText.replace(/\\s+/g, ' ').trim() === '{number} {text}'.trim())"
        )
    };
    for (size, dark) in [(SIZES[0], true), (SIZES[1], false)] {
        browser.size(size, dark);
        browser.open("about:blank");
        browser.open(&url(&site, &format!("/runs/{run}?step=a#L1000000")));
        browser.until("the last line", &shows("1000000", "last"));
        assert_eq!(browser.text("#log-count"), "1,000,000 lines");
        let set = "const f = document.getElementById('log-line'); f.value = arguments[0]; f.dispatchEvent(new Event('change'))";
        browser.run(set, &[json!(500_000)]);
        browser.until("the middle", &shows("500000", ""));
        browser.run(set, &[json!(1)]);
        browser.until("the first line", &shows("1", "first"));
        let count = browser.run("return document.querySelectorAll('.line').length", &[]);
        assert!(count.as_u64().unwrap() < 100, "only the lines in view: {count}");
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// Colours that a process sets are classes of fixed names; the text stays text.
#[test]
fn colours_of_output_are_shown_and_each_attempt_has_its_log() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(
        Scratch::new(&[(
            "playbooks/p.yml",
            "schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n    retry: {max: 1, on: [exit]}\n    run: \"printf '\\\\033[1;31mred\\\\033[0m <img src=x> \\\\033[38;5;9mx\\\\033]0;t\\\\007\\\\n'; echo attempt-$KB_ATTEMPT; exit 3\"\n",
        )]),
        &listen(),
    );
    site.scratch.kb(&["playbook", "run", "p"]).code(1);
    let run = site.scratch.last_run();
    sign_in(&browser, &site, Role::Read);
    browser.open(&url(&site, &format!("/runs/{run}?step=a")));
    browser.until("the log", "return document.querySelectorAll('.line').length === 4");
    let found = browser.run(
        "const l = document.querySelector('.line'); return [l.querySelector('.t-bold.t-1').textContent, l.innerText.includes('<img src=x> x⟨001B⟩]0;t⟨0007⟩'), document.querySelectorAll('main img').length]",
        &[],
    );
    assert_eq!(found, json!(["red", true, 0]));
    browser.click("a[href*='attempt=1.2']");
    let second = "const l = [...document.querySelectorAll('.line')]; return l.length === 2 && l[1].innerText.includes('attempt-2')";
    browser.until("the log of the second attempt", second);
    if let Some(axe) = axe() {
        assert_eq!(violations(&browser, &axe), json!([]));
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn texts_of_runs_are_inert() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(
        Scratch::new(&[(
            "playbooks/bad.yml",
            "schema: kb.playbook/1\nid: bad\nparams: [{name: text}]\nsteps:\n  - {id: a, run: \"cat bad; exit 3\"}\n  - {id: b, approve: \"{{text}}\", dependsOn: [a], runIf: allDone}\n",
        )]),
        &listen(),
    );
    site.scratch.write("bad", HOSTILE);
    let text = format!("text={HOSTILE}");
    site.scratch.kb(&["playbook", "run", "bad", "--param", &text]);
    let run = site.scratch.last_run();
    sign_in(&browser, &site, Role::Approve);
    let pages = [
        "/".to_owned(),
        format!("/runs/{run}"),
        format!("/runs/{run}?step=a"),
        "/inbox".to_owned(),
    ];
    for page in pages {
        browser.open(&url(&site, &page));
        if page.contains("step=a") {
            browser.until(
                "the log",
                "return document.querySelector('.line')?.innerText.includes('img')",
            );
        }
        let found = browser.run(
            "return [document.title.includes('owned'), document.querySelectorAll('main img, main b').length,
                /[\\u202e\\u001b]/.test(document.body.textContent)]",
            &[],
        );
        assert_eq!(found, json!([false, 0, false]), "{page}");
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

/// The size of bytes after `gzip`.
fn compressed(bytes: &[u8]) -> usize {
    let mut gzip = Command::new("gzip")
        .args(["-c", "-6"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start();
    gzip.stdin.take().unwrap().write_all(bytes).unwrap();
    gzip.finish().stdout.len()
}

#[test]
fn the_first_paint_is_small() {
    let site = demo();
    let run = site.scratch.last_run();
    let token = site.token(Role::Read);
    let page = site.get(&format!("/runs/{run}"), &token);
    assert_eq!(page.status, 200, "{}", page.text());
    let parts = ["kb.css", "kb.js", "log.js", "writing.js"]
        .map(|name| site.get(&format!("/assets/{name}"), ""));
    assert!(parts.iter().all(|part| part.status == 200));
    let all = parts.iter().map(|part| &part.body).chain([&page.body]);
    let sum: usize = all.map(|body| compressed(body)).sum();
    assert!(sum <= 30_000, "{sum} bytes");
}

const ASKS: &str = "schema: kb.playbook/1
id: asks
params:
  - {name: where, enum: [staging, production], default: staging}
  - {name: count, type: integer, required: true}
on: {schedule: {cron: \"30 2 * * *\", zone: Europe/Berlin, params: {count: 1}}}
steps:
  - {id: build, run: \"while [ -e hold ]; do sleep 0.02; done; echo built\"}
  - {id: ok, approve: \"Deploy {{count}} to {{where}}?\", dependsOn: [build]}
  - {id: deploy, run: \"echo deployed\", dependsOn: [ok]}
";

/// Starts a run from the form of its playbook and waits for its page.
fn start_from_form(browser: &Browser, site: &Site, count: &str) {
    browser.open(&url(site, "/playbooks/asks"));
    browser.type_into("#p-count", count);
    browser.run("document.getElementById('p-where').value = 'production'", &[]);
    browser.click("form[data-start] button");
    browser.until("the page of the run", "return location.pathname.startsWith('/runs/')");
}

#[test]
fn a_run_is_started_followed_approved_and_rejected_by_hand() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(Scratch::new(&[("playbooks/asks.yml", ASKS)]), &listen());
    for (size, dark, decision, end) in
        [(SIZES[0], true, "approve", "succeeded"), (SIZES[1], false, "reject", "failed")]
    {
        browser.size(size, dark);
        sign_in(&browser, &site, Role::Admin);
        // A value that is no number is refused where it is typed; the run does not start.
        site.scratch.write("hold", "");
        start_from_form(&browser, &site, "7");
        let node = |step: &str, status: &str| {
            format!(
                "return [...document.querySelectorAll('a.node.{status}')].some(n => n.getAttribute('aria-label').startsWith('{step} '))"
            )
        };
        browser.until("the step runs", &node("build", "running"));
        std::fs::remove_file(site.scratch.root().join("hold")).unwrap();
        // The page follows without a reload.
        browser.until("the step ended", &node("build", "succeeded"));
        browser.until("the question", "return !!document.querySelector('.banner.waiting a')");
        browser.click(".banner.waiting a");
        browser.until("the inbox", "return !!document.querySelector('.ask h2')");
        assert_eq!(browser.text(".ask h2"), "Deploy 7 to production?");
        browser.type_into(".ask textarea", "seen on a small screen");
        browser.click(&format!("button[value={decision}]"));
        browser.until("an empty inbox", "return !!document.querySelector('.empty')");
        let run = site.scratch.last_run();
        browser.open(&url(&site, &format!("/runs/{run}")));
        let status =
            format!("return document.getElementById('summary').dataset.status === '{end}'");
        browser.until("the end of the run", &status);
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn a_schedule_is_enabled_paused_and_fired_by_hand() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(Scratch::new(&[("playbooks/asks.yml", ASKS)]), &listen());
    browser.size(SIZES[1], false);
    sign_in(&browser, &site, Role::Admin);
    browser.open(&url(&site, "/triggers"));
    let state = |name: &str| {
        format!(
            "return document.querySelector('.card .head .status')?.innerText.trim() === '{name}'"
        )
    };
    let press = |action: &str| browser.click(&format!("form[data-action$='/{action}'] button"));
    browser.until("the trigger", &state("disabled"));
    press("enable");
    browser.until("enabled", &state("enabled"));
    assert_eq!(browser.run("return document.querySelectorAll('ol.times li').length", &[]), 5);
    press("pause");
    browser.until("paused", &state("paused"));
    press("resume");
    browser.until("enabled again", &state("enabled"));
    browser.run("window.confirm = () => true", &[]);
    press("fire");
    browser.until("the run", "return !!document.querySelector('ul.times a[href^=\"/runs/\"]')");
    assert_eq!(browser.console(), Vec::<String>::new());
}
