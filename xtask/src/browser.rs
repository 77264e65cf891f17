//! A headless Chromium, driven through its DevTools protocol over a pipe: JSON, each message ended by a zero byte.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// Longest wait for an answer: a page of megabytes on a busy machine, with room.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    session: Option<String>,
    next: u64,
    // Deleted when the browser is.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts `program`, with an empty profile.
    pub fn start(program: &str) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        // The protocol is spoken on descriptors 3 and 4, which only a shell can set without unsafe code.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2", program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("`{program}` cannot be started; scripts/browser-test.sh installs it"))?;
        let input = process.stdin.take().context("the browser has no input")?;
        let mut output = process.stdout.take().context("the browser has no output")?;
        let (send, messages) = channel();
        std::thread::spawn(move || {
            let (mut pending, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                pending.extend_from_slice(&chunk[..count]);
                while let Some(end) = pending.iter().position(|&byte| byte == 0) {
                    let message = serde_json::from_slice(&pending[..end]);
                    pending.drain(..=end);
                    if message.is_ok_and(|message| send.send(message).is_err()) {
                        return;
                    }
                }
            }
        });
        let events = VecDeque::new();
        let mut browser = Browser { process, input, messages, events, session: None, next: 0, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// One command and its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).context("the browser has gone")?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left).with_context(|| format!("no answer to {method}"))?;
            if answer["id"] == self.next {
                if let Some(error) = answer.get("error") {
                    bail!("{method}: {error}");
                }
                return Ok(answer["result"].clone());
            }
            self.events.push_back(answer);
        }
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&mut self, file: &Path) -> Result<()> {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}))?;
        let until = Instant::now() + PATIENCE;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.messages.recv_timeout(left).context("the page did not load")?;
            self.events.push_back(event);
        }
        Ok(())
    }

    /// What an expression, or the promise that it gives, comes to.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", parameters)?;
        if let Some(fault) = answer.get("exceptionDetails") {
            bail!("{expression}: {}", fault["exception"]["description"].as_str().unwrap_or("an exception"));
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until the page has been laid out and drawn anew.
    pub fn settle(&mut self) -> Result<()> {
        let twice = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))";
        self.evaluate(twice).map(drop)
    }

    /// A window of this size, as on a telephone or not.
    pub fn window(&mut self, width: u32, height: u32, mobile: bool) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// On a screen or on paper, light or dark.
    pub fn media(&mut self, media: &str, scheme: &str) -> Result<()> {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": media, "features": features})).map(drop)
    }

    /// Moves the pointer along these places, with the button held from the first to the last if `held`.
    pub fn pointer(&mut self, places: &[(f64, f64)], held: bool) -> Result<()> {
        let last = places.len().saturating_sub(1);
        for (i, (x, y)) in places.iter().enumerate() {
            let mut event = |kind: &str, button: &str| {
                let parameters = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1,
                    "buttons": u8::from(held)});
                self.call("Input.dispatchMouseEvent", parameters)
            };
            event("mouseMoved", if held && i > 0 { "left" } else { "none" })?;
            if held && i == 0 {
                event("mousePressed", "left")?;
            }
            if held && i == last {
                event("mouseReleased", "left")?;
            }
        }
        Ok(())
    }

    /// A key, as from a keyboard, for what has the focus.
    pub fn enter(&mut self) -> Result<()> {
        for kind in ["keyDown", "keyUp"] {
            let key = json!({"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"});
            self.call("Input.dispatchKeyEvent", key)?;
        }
        Ok(())
    }

    /// Events of the page since it was opened.
    pub fn events(&self) -> impl Iterator<Item = &Value> {
        self.events.iter()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have gone already; there is nobody to tell.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
