//! An HTTP server that counts the requests of a run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

/// A server that writes each request into the ledger of its project, as work that begins and ends.
/// One for all tests; its thread lives as long as they do.
pub(super) struct Server {
    pub(super) port: u16,
    ledgers: Ledgers,
}

type Ledgers = Arc<Mutex<BTreeMap<usize, PathBuf>>>;

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ledgers: Ledgers = Arc::default();
    let known = ledgers.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let known = known.clone();
            // Who is killed in the middle of a request leaves half of one.
            std::thread::spawn(move || answer(&stream, &known));
        }
    });
    Server { port, ledgers }
});

impl Server {
    pub(super) fn shared() -> &'static Server {
        &SERVER
    }

    /// A project's ledger; the number is the first part of its paths.
    pub(super) fn enlist(&self, ledger: PathBuf) -> usize {
        let mut ledgers = self.ledgers.lock().unwrap();
        let number = ledgers.len();
        ledgers.insert(number, ledger);
        number
    }
}

fn answer(mut stream: &TcpStream, ledgers: &Mutex<BTreeMap<usize, PathBuf>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().map(|_| line.trim_end().to_owned())
    };
    let first = next()?;
    let (mut key, mut body) = (None, 0);
    while let Some((name, value)) = next()?.split_once(": ") {
        match name.to_ascii_lowercase().as_str() {
            "x-key" => key = Some(value.to_owned()),
            "content-length" => body = value.parse().ok()?,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; body]).ok()?;
    let number = first.split('/').nth(1)?.parse::<usize>().ok()?;
    let path = ledgers.lock().unwrap().get(&number)?.clone();
    let (key, port) = (key?, stream.peer_addr().ok()?.port());
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).ok()?;
    let line = |kind: &str| format!("{kind} http{port} {key} 1 request\n");
    file.write_all(line("S").as_bytes()).ok()?;
    file.write_all(line("E").as_bytes()).ok()?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").ok()
}
