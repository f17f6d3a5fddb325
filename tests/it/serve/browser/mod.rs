//! The pages in a real Chromium.

mod driver;

use super::site::Site;
use crate::scratch::Scratch;
use driver::{Browser, SIZES, axe};
use kb::trigger::Role;
use kb::web::Listen;
use serde_json::json;
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
        "/system".to_owned(),
        "/login".to_owned(),
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
                    let script = format!(
                        "{axe};\nreturn axe.run(document, {{resultTypes: ['violations']}}).then(r => r.violations.map(v => [v.id, v.nodes.map(n => [n.target, n.any.map(a => a.message)])]))"
                    );
                    let found = browser.run(&script, &[]);
                    assert_eq!(found, json!([]), "{page} {size:?} dark: {dark}");
                }
            }
        }
        assert_eq!(browser.console(), Vec::<String>::new(), "{page}");
    }
}

#[test]
fn the_keyboard_reaches_everything() {
    let Some(browser) = Browser::start() else { return };
    let site = demo();
    let run = site.scratch.last_run();
    sign_in(&browser, &site, Role::Read);
    browser.open(&url(&site, &format!("/runs/{run}")));
    let (tab, enter) = ("\u{e004}", "\u{e007}");
    let focused = || {
        let script = "const e = document.activeElement; return (e.getAttribute('aria-label') || e.innerText || e.id).trim()";
        browser.run(script, &[]).as_str().unwrap_or_default().to_owned()
    };
    // The window may get the focus later than the page is loaded.
    let mut presses = 0;
    while focused() != "Skip to content" {
        assert!(presses < 50, "the first stop is `{}`", focused());
        browser.press(tab);
        presses += 1;
    }
    let mut seen = Vec::new();
    while !focused().starts_with("implement ") {
        assert!(seen.len() < 60, "the graph is not reached: {seen:?}");
        browser.press(tab);
        let ring = "const e = document.activeElement; const s = getComputedStyle(e.matches('.node') ? e.querySelector('rect') : e);
            return e === document.body || s.outlineStyle !== 'none' || parseFloat(s.strokeWidth) > 2";
        assert_eq!(browser.run(ring, &[]), true, "`{}` shows no focus", focused());
        seen.push(focused());
    }
    browser.press(enter);
    browser.until("the step", "return location.search.includes('step=implement')");
    assert!(browser.text("#step h2").contains("implement"));
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
    browser.open(&url(&site, &format!("/runs/{run}?step=a#L1000000")));
    let shows = |number: &str, text: &str| {
        format!(
            "return [...document.querySelectorAll('.line')].some(l => l.innerText.replace(/\\s+/g, ' ').trim() === '{number} {text}'.trim())"
        )
    };
    browser.until("the last line", &shows("1000000", "last"));
    assert_eq!(browser.text("#log-count"), "1,000,000 lines");
    let set = "const f = document.getElementById('log-line'); f.value = arguments[0]; f.dispatchEvent(new Event('change'))";
    browser.run(set, &[json!(500_000)]);
    browser.until("the middle", &shows("500000", ""));
    browser.run(set, &[json!(1)]);
    browser.until("the first line", &shows("1", "first"));
    let count = browser.run("return document.querySelectorAll('.line').length", &[]);
    assert!(count.as_u64().unwrap() < 100, "only the lines in view: {count}");
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
        .spawn()
        .unwrap();
    gzip.stdin.take().unwrap().write_all(bytes).unwrap();
    gzip.wait_with_output().unwrap().stdout.len()
}

#[test]
fn the_first_paint_is_small() {
    let site = demo();
    let run = site.scratch.last_run();
    let token = site.token(Role::Read);
    let page = site.get(&format!("/runs/{run}"), &token);
    assert_eq!(page.status, 200, "{}", page.text());
    let parts =
        ["/assets/kb.css", "/assets/kb.js", "/assets/log.js"].map(|path| site.get(path, ""));
    assert!(parts.iter().all(|part| part.status == 200));
    let all = parts.iter().map(|part| &part.body).chain([&page.body]);
    let sum: usize = all.map(|body| compressed(body)).sum();
    assert!(sum <= 30_000, "{sum} bytes");
}
