//! Proxies of the environment: calls of models use them, all other requests do not.

use crate::scratch::Scratch;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A proxy that keeps the first line of each request and answers each with 401.
struct Proxy {
    address: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let own = lines.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                let mut first = String::new();
                let _ = reader.read_line(&mut first);
                own.lock().unwrap().push(first.trim().to_owned());
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|size| size > 2) {
                    line.clear();
                }
                let answer =
                    "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = reader.get_mut().write_all(answer.as_bytes());
            }
        });
        Proxy { address, lines }
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    /// `kb` with this proxy for everything, and these variables.
    fn kb(&self, scratch: &Scratch, args: &[&str], variables: &[(&str, &str)]) -> String {
        let said = scratch.kb_with(args, |command| {
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"] {
                command.env(name, format!("http://{}", self.address));
            }
            command.env_remove("NO_PROXY").env_remove("no_proxy");
            command.envs(variables.iter().copied());
        });
        format!("{}{}", said.out, said.err)
    }
}

#[test]
fn calls_of_models_use_the_proxy_of_the_environment() {
    let (scratch, proxy) = (Scratch::new(&[]), Proxy::start());
    let model = |endpoint: &'static str| [("KB_LLM_ENDPOINT", endpoint), ("KB_LLM_MODEL", "m")];
    let call = ["doctor", "--call"];
    let said = proxy.kb(&scratch, &call, &model("http://models.example.test/v1"));
    let lines = proxy.lines();
    assert!(
        !lines.is_empty()
            && lines.iter().all(|l| l.starts_with("POST http://models.example.test/v1/")),
        "{lines:?}\n{said}"
    );
    assert!(said.contains("401"), "{said}");
    proxy.kb(&scratch, &call, &model("https://models.example.test/v1"));
    let lines = proxy.lines();
    assert!(
        !lines.is_empty() && lines.iter().all(|l| l.starts_with("CONNECT models.example.test:443")),
        "{lines:?}"
    );
    // Hosts of NO_PROXY and servers of this machine are reached directly.
    let mut direct = model("http://models.example.test/v1").to_vec();
    direct.push(("NO_PROXY", "other.test,.example.test"));
    proxy.kb(&scratch, &call, &direct);
    assert_eq!(proxy.lines(), Vec::<String>::new());
    proxy.kb(&scratch, &call, &model("http://127.0.0.1:9/v1"));
    assert_eq!(proxy.lines(), Vec::<String>::new());
}

/// A proxy would look up names itself, so that the rules for addresses would not hold.
#[test]
fn requests_of_steps_and_hooks_use_no_proxy() {
    let steps = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, http: {url: \"http://site.example.test/x\"}}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", steps)]);
    let hook =
        "notify: [{name: hook, on: ended, webhook: {url: \"http://hook.example.test/x\"}}]\n";
    scratch.write(".kb/kb.config.yml", hook);
    let proxy = Proxy::start();
    let said = proxy.kb(&scratch, &["playbook", "run", "p"], &[]);
    assert!(said.contains("site.example.test"), "{said}");
    let said = proxy.kb(&scratch, &["notify", "--test", "hook"], &[]);
    assert!(said.contains("hook.example.test"), "{said}");
    assert_eq!(proxy.lines(), Vec::<String>::new());
}
