//! The console in a real Chromium without a window, from a clean install: a new home folder, the service, decisions, each view.
//!
//! Needs Chromium and ChromeDriver (Debian: `apt-get install chromium chromium-driver`), so it runs when it is asked for:
//! `cargo test --release --test it browser -- --ignored`. Screenshots go to `target/browser`, or to `AGRAIL_SCREENSHOTS`.

use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that ends with the test, and what it has started.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

fn agrail(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrail"));
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
    command
}

/// The service of a new home, and the link to its console that it prints.
fn serve(home: &Path) -> (Ends, String) {
    let root = home.join("root");
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::create_dir_all(root.join("srv")).unwrap();
    fs::write(root.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n").unwrap();
    fs::write(root.join("srv/b"), "b").unwrap();
    let mut command = agrail(home);
    command.args(["serve", "--listen", "127.0.0.1:0", "--user", "alice", "--root"]).arg(&root);
    let mut child = command.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let link = lines.by_ref().map_while(Result::ok).find_map(|l| l.strip_prefix("console: ").map(str::to_owned));
    (Ends(child), link.unwrap())
}

async fn browser() -> (Ends, Client) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let driver =
        Command::new("chromedriver").arg(format!("--port={port}")).stdout(Stdio::null()).process_group(0).spawn();
    let driver = Ends(driver.expect("chromedriver; Debian: apt-get install chromium chromium-driver"));
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1200,900",
    ];
    let options = json!({"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"browser": "ALL"}});
    let Value::Object(options) = options else { unreachable!() };
    let url = format!("http://127.0.0.1:{port}");
    for _ in 0..100 {
        let mut builder = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        if let Ok(client) = builder.capabilities(options.clone()).connect(&url).await {
            return (driver, client);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("chromedriver does not answer on {url}");
}

/// One page of the console.
struct Console {
    client: Client,
    shots: PathBuf,
}

impl Console {
    /// Waits for an element.
    async fn find(&self, css: &str) -> fantoccini::elements::Element {
        let found = self.client.wait().at_most(Duration::from_secs(10)).for_element(Locator::Css(css)).await;
        match found {
            Ok(found) => found,
            Err(why) => panic!("{css}: {why}; the page says: {}", self.says().await),
        }
    }

    async fn press(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    async fn button(&self, label: &str) {
        let path = format!("//button[starts-with(normalize-space(.), '{label}')]");
        let found = self.client.wait().at_most(Duration::from_secs(10)).for_element(Locator::XPath(&path)).await;
        match found {
            Ok(found) => found.click().await.unwrap(),
            Err(why) => panic!("{label}: {why}; the page says: {}", self.says().await),
        }
    }

    async fn says(&self) -> String {
        self.client.find(Locator::Css("body")).await.unwrap().text().await.unwrap()
    }

    /// Waits until the page says this.
    async fn until(&self, words: &str) {
        for _ in 0..100 {
            if self.says().await.contains(words) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("'{words}' is not on the page: {}", self.says().await);
    }

    async fn keep(&self, name: &str) {
        let picture = self.client.screenshot().await.unwrap();
        assert!(picture.len() > 5_000, "{name} is empty");
        fs::write(self.shots.join(format!("{name}.png")), picture).unwrap();
    }
}

#[ignore = "needs Chromium and ChromeDriver: apt-get install chromium chromium-driver; then add -- --ignored"]
#[tokio::test(flavor = "multi_thread")]
async fn every_view_of_the_console_works_in_chromium() {
    let home = tempfile::tempdir().unwrap();
    let (_served, link) = serve(home.path());
    let (url, token) = link.split_once("/#token=").unwrap();
    let http = reqwest::Client::new();
    let check = async |command: &str| -> Value {
        let body = json!({"action": {"type": "shell", "command": command}, "context": {"request": "tidy up"}});
        http.post(format!("{url}/v1/check")).body(body.to_string()).send().await.unwrap().json().await.unwrap()
    };
    let denied = check("rm -rf /etc").await;
    assert_eq!(denied["decision"], "deny");
    assert_eq!(check("ls /srv").await["decision"], "allow");
    let asked = check("frobnicate /srv/b").await;
    assert_eq!(asked["decision"], "ask");

    let shots = std::env::var_os("AGRAIL_SCREENSHOTS").map_or_else(
        || Path::new(env!("CARGO_BIN_EXE_agrail")).ancestors().nth(2).unwrap().join("browser"),
        PathBuf::from,
    );
    fs::create_dir_all(&shots).unwrap();
    let (_driver, client) = browser().await;
    let page = Console { client, shots };

    // without a token nothing is shown
    page.client.goto(url).await.unwrap();
    page.until("requires the token of an operator").await;
    assert!(!page.says().await.contains("rm -rf"));
    // the link of the terminal brings it, and does not stay in the address
    page.client.goto(&link).await.unwrap();
    page.client.refresh().await.unwrap();
    page.until("rm -rf /etc").await;
    assert!(!page.client.current_url().await.unwrap().as_str().contains(token));
    page.until("frobnicate").await;
    page.keep("decisions").await;

    // a person approves once; the same action is then allowed once
    page.press("nav button[data-view=approvals]").await;
    page.press(&format!("button[aria-label='Approve {}']", asked["id"].as_str().unwrap())).await;
    page.until("Nothing waits for an answer").await;
    page.keep("approvals").await;
    assert_eq!(check("frobnicate /srv/b").await["decision"], "allow");
    assert_eq!(check("frobnicate /srv/b").await["decision"], "ask");

    // one decision in full
    page.press("nav button[data-view=decisions]").await;
    page.press(&format!("button[aria-label='Explain {}']", denied["id"].as_str().unwrap())).await;
    page.until(denied["reason"].as_str().unwrap()).await;
    page.find("table[aria-label=Effects] tbody tr").await;
    page.find("table[aria-label=Checks] tbody tr").await;
    page.keep("decision").await;
    page.button("reject").await;
    page.until("Noted: reject").await;
    // a second word on the same is a second version of what was learnt
    let again = check("rm -rf /etc").await;
    page.button("Back").await;
    page.press(&format!("button[aria-label='Explain {}']", again["id"].as_str().unwrap())).await;
    page.until(&format!("Decision {}", again["id"].as_str().unwrap())).await;
    page.button("reject").await;
    page.until("Noted: reject").await;

    // an entry of the memory: its history, a comparison, and back to an earlier version
    page.press("nav button[data-view=memory]").await;
    page.press("table[aria-label=Entries] button").await;
    page.find("table[aria-label=History] tbody tr").await;
    page.keep("entry").await;
    page.button("Compare with version").await;
    page.find("main > pre:not([hidden])").await;
    page.button("Roll back to version").await;
    page.until("Rolled back to version").await;
    page.keep("rolled-back").await;
    page.button("Quarantine").await;
    page.until("quarantined").await;

    page.press("nav button[data-view=rates]").await;
    page.find("svg polyline.deny").await;
    page.find("svg polyline.recalled").await;
    page.until("denied").await;
    page.keep("rates").await;

    page.press("nav button[data-view=audit]").await;
    page.until("entries, unchanged").await;
    page.keep("audit").await;

    // it works without a mouse: the first stop is the way past the menu, and each control has a name
    let nameless = "return [...document.querySelectorAll('button, input')].filter(e => !(e.textContent.trim() || \
                    e.getAttribute('aria-label') || e.labels?.length)).length";
    assert_eq!(page.client.execute(nameless, vec![]).await.unwrap(), json!(0));
    // nothing came from elsewhere
    let sources = "return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)";
    let origins = page.client.execute(sources, vec![]).await.unwrap();
    assert!(origins.as_array().unwrap().iter().all(|origin| origin == url), "{origins}");
    page.client.close().await.unwrap();
}
