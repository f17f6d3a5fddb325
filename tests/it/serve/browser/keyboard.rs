//! The pages with the keyboard alone.

use super::driver::{Browser, SIZES};
use super::{ASKS, demo, listen, sign_in, url};
use crate::scratch::Scratch;
use crate::serve::site::Site;
use kb::trigger::Role;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";

#[test]
fn the_keyboard_reaches_everything() {
    let Some(browser) = Browser::start() else { return };
    let site = demo();
    let run = site.scratch.last_run();
    sign_in(&browser, &site, Role::Read);
    browser.open(&url(&site, &format!("/runs/{run}")));
    let focused = || {
        let script = "const e = document.activeElement; return (e.getAttribute('aria-label') || e.innerText || e.id).trim()";
        browser.run(script, &[]).as_str().unwrap_or_default().to_owned()
    };
    // The window may get the focus later than the page is loaded.
    let mut presses = 0;
    while focused() != "Skip to content" {
        assert!(presses < 50, "the first stop is `{}`", focused());
        browser.press(TAB);
        presses += 1;
    }
    let mut seen = Vec::new();
    while !focused().starts_with("implement ") {
        assert!(seen.len() < 60, "the graph is not reached: {seen:?}");
        browser.press(TAB);
        let ring = "const e = document.activeElement; const s = getComputedStyle(e.matches('.node') ? e.querySelector('rect') : e);
            return e === document.body || s.outlineStyle !== 'none' || parseFloat(s.strokeWidth) > 2";
        assert_eq!(browser.run(ring, &[]), true, "`{}` shows no focus", focused());
        seen.push(focused());
    }
    browser.press(ENTER);
    browser.until("the step", "return location.search.includes('step=implement')");
    assert!(browser.text("#step h2").contains("implement"));
}

/// Presses Tab until the element with the focus, `e`, fulfils a condition.
#[track_caller]
fn tab_to(browser: &Browser, what: &str) {
    let script = format!("const e = document.activeElement; return {what}");
    for _ in 0..120 {
        if browser.run(&script, &[]) == true {
            return;
        }
        browser.press(TAB);
    }
    panic!("`{what}` is not reached");
}

/// A run is started from a form, approved in the inbox, and a schedule is enabled, paused and fired.
#[test]
fn everything_is_done_without_a_mouse() {
    let Some(browser) = Browser::start() else { return };
    let site = Site::of(Scratch::new(&[("playbooks/asks.yml", ASKS)]), &listen());
    for size in SIZES {
        browser.size(size, size == SIZES[0]);
        sign_in(&browser, &site, Role::Admin);
        tab_to(&browser, "e.matches('.top nav a') && e.pathname === '/playbooks'");
        browser.press(ENTER);
        browser.until("the playbooks", "return location.pathname === '/playbooks'");
        tab_to(&browser, "e.pathname === '/playbooks/asks'");
        browser.press(ENTER);
        browser.until("the form", "return !!document.getElementById('p-count')");
        tab_to(&browser, "e.id === 'p-count'");
        browser.press("7");
        browser.press(ENTER);
        browser.until("the question", "return !!document.querySelector('.banner.waiting a')");
        tab_to(&browser, "e.matches('.banner.waiting a')");
        browser.press(ENTER);
        browser.until("the inbox", "return !!document.querySelector('.ask h2')");
        tab_to(&browser, "e.matches('button[value=approve]')");
        browser.press(ENTER);
        browser.until("an empty inbox", "return !!document.querySelector('.empty')");
        let run = site.scratch.last_run();
        browser.open(&url(&site, &format!("/runs/{run}")));
        browser.until(
            "the end of the run",
            "return document.getElementById('summary').dataset.status === 'succeeded'",
        );
        tab_to(&browser, "e.matches('.top nav a') && e.pathname === '/triggers'");
        browser.press(ENTER);
        browser.until("the triggers", "return location.pathname === '/triggers'");
        browser.run("window.confirm = () => true", &[]);
        let is = |state: &str| {
            format!(
                "return document.querySelector('.card .head .status')?.innerText.trim() === '{state}'"
            )
        };
        let press = |action: &str| {
            tab_to(&browser, &format!("!!e.closest('form[data-action$=\"/{action}\"]')"));
            browser.press(ENTER);
        };
        if size == SIZES[0] {
            press("enable");
        }
        browser.until("enabled", &is("enabled"));
        press("pause");
        browser.until("paused", &is("paused"));
        press("resume");
        browser.until("enabled again", &is("enabled"));
        if size == SIZES[0] {
            continue;
        }
        let count = "return document.querySelectorAll('ul.times a[href^=\"/runs/\"]').length";
        let before = browser.run(count, &[]).as_u64().unwrap();
        press("fire");
        browser.until("the run", &format!("{count} > {before}"));
    }
    assert_eq!(browser.console(), Vec::<String>::new());
}
