//! `knowledge.embeddings`: parts are found by vectors of a server, and by words where it fails.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server with an answer to texts, and what it was asked.
struct Server {
    address: String,
    answer: Arc<Mutex<Answer>>,
    asked: Arc<Mutex<Vec<String>>>,
}

/// The status and the body for these texts; `None`: no answer.
type Answer = fn(&[String]) -> Option<(u16, String)>;

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answer: Arc<Mutex<Answer>> =
            Arc::new(Mutex::new(|texts| Some((200, vectors(texts, 3)))));
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answers, requests) = (answer.clone(), asked.clone());
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (answer, requests) = (*answers.lock().unwrap(), requests.clone());
                std::thread::spawn(move || serve(connection, answer, &requests));
            }
        });
        Server { address, answer, asked }
    }

    fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// The requests since the last look.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// Reads one request, keeps it, and answers it.
fn serve(mut connection: TcpStream, answer: Answer, requests: &Mutex<Vec<String>>) {
    let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
    let request = loop {
        let count = connection.read(&mut buffer).unwrap_or(0);
        got.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&got).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
        });
        if count == 0 || body.len() >= length.unwrap_or(0) {
            break text;
        }
    };
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    requests.lock().unwrap().push(request);
    let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap_or_default();
    match answer(&texts) {
        Some((status, body)) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\n"
            );
            let kind = format!("content-type: application/json\r\ncontent-length: {}", body.len());
            let _ = write!(connection, "{head}{kind}\r\n\r\n{body}");
        }
        None => {
            // Until the client gives up.
            let _ = connection.set_read_timeout(Some(Duration::from_secs(20)));
            let _ = connection.read(&mut buffer);
        }
    }
}

/// Vectors of a model that knows water and fire.
fn vectors(texts: &[String], length: usize) -> String {
    let data = texts.iter().enumerate().map(|(index, text)| {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let mut vector = vec![0.1; length];
        vector[0] += f64::from(u8::from(has(&["pump", "hydraulic"])));
        vector[1] += f64::from(u8::from(has(&["flame", "combustion"])));
        json!({"index": index, "embedding": vector})
    });
    json!({"data": data.collect::<Vec<_>>()}).to_string()
}

fn project(server: &Server, more: &str) -> Scratch {
    let address = &server.address;
    let own = format!("{{endpoint: 'http://{address}/v1/', model: m, timeout: 3s{more}}}");
    let settings = format!(
        "knowledge: {{embeddings: {own}, exclude: [vendor/**], docs: [specs/**]}}\nsecrets: {{OWN: 'env:OWN_SECRET'}}\n"
    );
    Scratch::new(&[
        (".kb/kb.config.yml", &settings),
        ("src/a.conf", "The pump has a leak. hunter2-hunter2\n"),
        ("specs/b.toml", "burner = 'a flame'\n"),
        ("vendor/c.txt", "hydraulic\n"),
    ])
}

fn ask(scratch: &Scratch, text: &str) -> (Vec<String>, String) {
    let answer = scratch.json(&["index", "query", text, "-k", "1", "--json"]);
    let hits = answer["hits"].as_array().unwrap();
    let paths = hits.iter().map(|hit| hit["path"].as_str().unwrap().to_owned()).collect();
    (paths, answer["note"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn parts_are_found_by_their_meaning_and_each_is_sent_once_and_masked() {
    let server = Server::start();
    let scratch = project(&server, ", dimensions: 3, apiKeyEnv: EMBED_KEY");
    let mut command = scratch.command();
    command.env("EMBED_KEY", "key-of-embeddings").env("OWN_SECRET", "hunter2-hunter2");
    command.args(["index", "rebuild"]);
    let done = command.finish();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        said.contains("1 source file and 1 document in 2 parts, 2 with a vector"),
        "{said} {done:?}"
    );
    let asked = server.asked().join("\n");
    assert!(asked.starts_with("POST /v1/embeddings HTTP/1.1"), "{asked}");
    for (text, is_sent) in [
        ("authorization: Bearer key-of-embeddings", true),
        ("\"dimensions\":3", true),
        ("\"model\":\"m\"", true),
        ("src/a.conf", true),
        ("hunter2", false),
        ("vendor", false),
    ] {
        assert_eq!(asked.contains(text), is_sent, "{text}: {asked}");
    }
    assert_eq!(ask(&scratch, "hydraulic"), (vec!["src/a.conf".to_owned()], String::new()));
    // The question alone.
    assert_eq!(server.asked().len(), 1);
    let said = scratch.kb(&["index", "query", "combustion", "--corpus", "docs"]).code(0);
    assert!(said.out.starts_with("specs/b.toml:1-1  (by its meaning)\n"), "{}", said.out);
    scratch.write("src/a.conf", "Nothing of it.\n");
    assert_eq!(ask(&scratch, "combustion").0, ["specs/b.toml"]);
    assert!(server.asked().iter().any(|request| request.contains("Nothing of it")));
    let status = scratch.json(&["index", "status", "--json"]);
    assert_eq!((&status["vectors"], &status["chunks"]), (&json!(2), &json!(2)));
}

#[test]
fn a_specialist_finds_parts_by_their_meaning_and_is_told_when_the_server_fails() {
    let server = Server::start();
    let scratch = project(&server, "");
    let step = "{id: a, tool: 'mind:query', input: {query: hydraulic}}";
    scratch.write("playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\nsteps: [{step}]\n"));
    let run = || {
        scratch.kb(&["playbook", "run", "p", "--quiet"]).code(0);
        scratch.json(&["run", "output", "@last", "a", "--json"])
    };
    let output = run().to_string();
    assert!(output.contains("src/a.conf"), "{output}");
    server.answers(|_| Some((500, json!({"error": {"message": "out\nof memory"}}).to_string())));
    let output = run().to_string();
    assert!(
        output.contains("found by words alone") && output.contains("out of memory"),
        "{output}"
    );
}

#[test]
fn entries_of_the_memory_are_found_by_their_meaning_too() {
    let server = Server::start();
    let scratch = project(&server, "");
    let settings = scratch.read(".kb/kb.config.yml");
    scratch.write(".kb/kb.config.yml", &format!("{settings}memory: {{enabled: true}}\n"));
    let add = |text: &str| {
        scratch
            .kb(&["memory", "add", text, "--share", "--id", text.split(' ').nth(1).unwrap()])
            .code(0)
    };
    add("A pump needs water.");
    add("A flame needs air.");
    scratch.kb(&["faq", "the pump is stuck", "--add", "Turn it by hand", "--share"]).code(0);
    let found = |text: &str| {
        let found = scratch.json(&["memory", "search", text, "-n", "1", "--json"]);
        found[0]["id"].as_str().unwrap_or_default().to_owned()
    };
    server.asked();
    assert_eq!(found("combustion"), "flame");
    // The question, and the three entries together, once.
    assert_eq!(server.asked().len(), 2);
    assert_eq!((found("hydraulic").as_str(), server.asked().len()), ("pump", 1));

    let step = "{id: a, tool: 'mind:query', input: {query: pump, corpus: faq}}";
    scratch.write("playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\nsteps: [{step}]\n"));
    scratch.kb(&["playbook", "run", "p", "--quiet"]).code(0);
    let hits = scratch.json(&["run", "output", "@last", "a", "--json"])["hits"].clone();
    let shown = (&hits[0]["symbol"], &hits[0]["excerpt"], &hits[1]);
    let only = (&json!("the pump is stuck"), &json!("Turn it by hand"), &Value::Null);
    assert_eq!(shown, only);

    // A model with vectors of another length makes all of them again.
    server.answers(|texts| Some((200, vectors(texts, 5))));
    server.asked();
    assert_eq!((found("combustion").as_str(), server.asked().len()), ("flame", 2));
    scratch.kb(&["memory", "forget", "flame", "--purge"]).code(0);
    assert_ne!(found("combustion"), "flame");
    server.answers(|_| Some((500, json!({"error": {"message": "out of memory"}}).to_string())));
    let said = scratch.kb(&["memory", "search", "stuck"]).code(0);
    assert!(
        said.err.starts_with("found by words alone: ") && said.out.contains("Turn it by hand"),
        "{}",
        said.err
    );
}

#[test]
fn a_server_that_fails_leaves_the_words_and_says_why() {
    let server = Server::start();
    let scratch = project(&server, "");
    let faults: [(Answer, &str); 8] = [
        (|_| None, "did not respond within 3.0s"),
        (|_| Some((200, "{\"data\": [{\"embedding\": [1, NaN]}]}".into())), "it answered: "),
        (|_| Some((200, "{\"data\": [{\"embedding\": [1e999]}]}".into())), "it answered: "),
        (|_| Some((200, "{\"data\": [{\"embedding\": [null]}]}".into())), "no finite number"),
        (|_| Some((200, "{\"data\": []}".into())), "0 vectors to 1 texts"),
        (|_| Some((200, "x".repeat(9 << 20))), "larger than 8 MiB"),
        (|_| Some((302, String::new())), "status 302"),
        (|_| Some((401, "{\"error\": {\"message\": \"no key\"}}".into())), "status 401: no key"),
    ];
    for (answer, why) in faults {
        server.answers(answer);
        let (paths, note) = ask(&scratch, "flame");
        assert_eq!(paths, ["specs/b.toml"], "{why}");
        assert!(note.contains(why), "{why}: {note}");
    }
    let said = scratch.kb(&["index", "query", "flame"]).code(0);
    assert!(said.err.starts_with("found by words alone: "), "{}", said.err);
    scratch.kb(&["index", "rebuild"]).code(5).says(&[
        "KB0622",
        "status 401: no key",
        "provider: none",
    ]);

    let doctor = || scratch.kb(&["doctor", "--call"]).out;
    assert!(doctor().contains("status 401: no key"), "{}", doctor());

    // Another length: with a server that answers, all vectors are made again.
    server.answers(|texts| Some((200, vectors(texts, 3))));
    assert!(doctor().contains(": 3 dimensions"), "{}", doctor());
    assert_eq!(ask(&scratch, "combustion").0, ["specs/b.toml"]);
    server.asked();
    server.answers(|texts| Some((200, vectors(texts, 5))));
    assert_eq!(ask(&scratch, "combustion"), (vec!["specs/b.toml".to_owned()], String::new()));
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn settings_that_cannot_work_are_refused_with_a_reason() {
    let of = |text: &str| {
        const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true'}]\n";
        let scratch = Scratch::new(&[(".kb/kb.config.yml", text), ("playbooks/p.yml", PLAYBOOK)]);
        scratch.kb(&["playbook", "validate"]).code(2).err
    };
    let said =
        of("knowledge:\n  embeddings: {provider: static, endpoint: 'http://h/v1', model: m}\n");
    assert!(
        said.contains("kb.config.yml:2:26") && said.contains("they find less than words do"),
        "{said}"
    );
    assert!(of("knowledge: {embeddings: {model: m}}\n").contains("`endpoint`"));
    assert!(of("knowledge: {exclude: [../x]}\n").contains("outside of the project"));
    assert!(of("knowledge: {embedding: {}}\n").contains("embeddings"));
}
