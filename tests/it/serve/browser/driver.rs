//! A real Chromium, driven through chromedriver (W3C WebDriver).
//!
//! A test is skipped where the browser is missing, and says so; with `KB_BROWSER=required`, as in
//! `.ci/run`, a missing browser fails it. Browsers run one at a time.

use crate::running::{Running, Start};
use crate::serve::Runtime;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The sizes of the tests: a laptop and a phone.
pub(super) const SIZES: [(u32, u32); 2] = [(1280, 800), (390, 844)];

static ONE: Mutex<()> = Mutex::new(());

/// A browser with one window.
pub(super) struct Browser {
    _driver: Running,
    session: String,
    base: String,
    client: reqwest::Client,
    runtime: Runtime,
    _profile: TempDir,
    _turn: MutexGuard<'static, ()>,
}

fn program(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&folders).flat_map(|f| names.iter().map(move |n| f.join(n)));
    all.into_iter().find(|path| path.is_file())
}

/// Whether a part that is missing here must be there.
fn is_required() -> bool {
    std::env::var("KB_BROWSER").is_ok_and(|value| value == "required")
}

fn missing(what: &str) {
    assert!(!is_required(), "{what} is not installed, and KB_BROWSER=required");
    eprintln!("skipped: {what} is not installed");
}

/// The script of axe-core, from `KB_AXE` or `target/axe`.
pub(super) fn axe() -> Option<String> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/target/axe/node_modules/axe-core/axe.min.js");
    let path = std::env::var_os("KB_AXE").map_or_else(|| PathBuf::from(own), PathBuf::from);
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        missing("axe-core");
    }
    text
}

/// Starts the driver on a port of its choice; `None` if it exits.
fn started(driver: &Path, home: &Path) -> Option<(Running, u16)> {
    let mut child = Command::new(driver)
        .arg("--port=0")
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let rest = line.split("started successfully on port ").nth(1)?;
        rest.trim_end_matches('.').trim().parse::<u16>().ok()
    });
    let Some(port) = port else {
        child.wait().unwrap();
        return None;
    };
    // Its further lines are read, so that it never waits for a reader.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Some((child, port))
}

impl Browser {
    /// Starts the browser; `None` where it is not installed.
    pub(super) fn start() -> Option<Browser> {
        let chromium = program("KB_CHROMIUM", &["chromium", "chromium-browser", "google-chrome"]);
        let driver = program("KB_CHROMEDRIVER", &["chromedriver"]);
        let (Some(chromium), Some(driver)) = (chromium, driver) else {
            missing("chromium or chromedriver");
            return None;
        };
        let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = tempfile::tempdir().unwrap();
        // It exits if the port that it chose for IPv6 is taken for IPv4 by another test.
        let (driver, port) = (0..20)
            .find_map(|_| started(&driver, profile.path()))
            .expect("chromedriver starts and names its port");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let runtime = super::super::runtime();
        let base = format!("http://127.0.0.1:{port}");
        let mut browser = Browser {
            _driver: driver,
            session: String::new(),
            base,
            client,
            runtime,
            _profile: profile,
            _turn: turn,
        };
        let folder = format!("--user-data-dir={}", browser._profile.path().join("p").display());
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--force-prefers-reduced-motion",
            &folder,
        ];
        let options = json!({"binary": chromium, "args": args});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 60_000, "pageLoad": 60_000},
        }}});
        let made = browser.call("/session", Some(wanted));
        browser.session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        Some(browser)
    }

    #[track_caller]
    fn call(&self, path: &str, body: Option<Value>) -> Value {
        self.try_call(path, body).unwrap_or_else(|message| panic!("{path}: {message}"))
    }

    /// The result of a command, or the message of the driver that refused it.
    fn try_call(&self, path: &str, body: Option<Value>) -> Result<Value, String> {
        let url = format!("{}{}{path}", self.base, self.session);
        let request = match body {
            Some(body) => self.client.post(url).json(&body),
            None => self.client.get(url),
        };
        let (status, text) = self.runtime.block_on(async {
            let response = request.timeout(Duration::from_secs(90)).send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        });
        let mut found: Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        if status.is_success() {
            Ok(found["value"].take())
        } else {
            Err(found["value"]["message"].to_string())
        }
    }

    /// Sets the size of the window and the colour scheme.
    pub(super) fn size(&self, (width, height): (u32, u32), dark: bool) {
        let cdp = |cmd: &str, params: Value| {
            self.call("/goog/cdp/execute", Some(json!({"cmd": cmd, "params": params})))
        };
        cdp(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        cdp("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Opens an address and waits until it is loaded.
    pub(super) fn open(&self, url: &str) {
        self.call("/url", Some(json!({"url": url})));
    }

    /// The value of a script in the page; a promise is waited for.
    #[track_caller]
    pub(super) fn run(&self, script: &str, args: &[Value]) -> Value {
        self.call("/execute/sync", Some(json!({"script": script, "args": args})))
    }

    /// The text of the first element of a selector.
    #[track_caller]
    pub(super) fn text(&self, selector: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
        self.run(script, &[json!(selector)]).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a script in the page returns something true.
    #[track_caller]
    pub(super) fn until(&self, what: &str, script: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let found = self.run(script, &[]);
            if found.as_bool().unwrap_or(!found.is_null()) {
                return;
            }
            let body = || self.text("body").chars().take(1500).collect::<String>();
            assert!(Instant::now() < deadline, "{what} does not happen:\n{}", body());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[track_caller]
    fn element(&self, selector: &str) -> String {
        self.find(selector).unwrap_or_else(|message| panic!("{selector}: {message}"))
    }

    fn find(&self, selector: &str) -> Result<String, String> {
        let wanted = json!({"using": "css selector", "value": selector});
        let found = self.try_call("/element", Some(wanted))?;
        Ok(found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned())
    }

    /// Clicks on an element as a person does, who scrolls it away from the bars of the page first: it must be visible and
    /// not covered. A page that is being updated may replace the element in between, so a click that the driver refuses is
    /// repeated.
    #[track_caller]
    pub(super) fn click(&self, selector: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let click = || {
            let element = self.find(selector)?;
            let middle = "document.querySelector(arguments[0])?.scrollIntoView({block: 'center'})";
            let scroll = json!({"script": middle, "args": [selector]});
            self.try_call("/execute/sync", Some(scroll))?;
            self.try_call(&format!("/element/{element}/click"), Some(json!({})))
        };
        while let Err(message) = click() {
            assert!(Instant::now() < deadline, "{selector}: {message}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types into a field.
    #[track_caller]
    pub(super) fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.call(&format!("/element/{element}/value"), Some(json!({"text": text})));
    }

    /// Presses a key: a character, or a key of WebDriver such as `\u{e004}` (Tab).
    pub(super) fn press(&self, key: &str) {
        let actions = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        let source = json!({"type": "key", "id": "keys", "actions": actions});
        self.call("/actions", Some(json!({"actions": [source]})));
    }

    /// The errors and warnings of the console since the last call.
    pub(super) fn console(&self) -> Vec<String> {
        let found = self.call("/se/log", Some(json!({"type": "browser"})));
        let lines = found.as_array().cloned().unwrap_or_default();
        let is_bad = |line: &&Value| line["level"] == "SEVERE" || line["level"] == "WARNING";
        lines.iter().filter(is_bad).map(|line| line["message"].to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let url = format!("{}{}", self.base, self.session);
        let end = self.client.delete(url).timeout(Duration::from_secs(20));
        let _ = self.runtime.block_on(async { end.send().await });
    }
}
