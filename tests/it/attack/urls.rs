//! The guard over requests. Two servers listen on this machine and must never be asked by anything
//! that is not allowed by name: every form of their address, every name that leads to them, first
//! redirect, is refused before a connection is made.

use crate::proof;
use crate::running::Start;
use crate::tools::bench::{Setup, call};
use kb::http::{HttpClient, HttpError, HttpRequest, HttpResponse, Lookup};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// A server that keeps what it is asked and answers from a list: `GET /N` gets the N-th.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: Vec<String>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(listener, asked.clone(), answers.clone()));
        // The same port of the other protocol, where there is one.
        if let Ok(listener) = TcpListener::bind(("::1", port)).await {
            tokio::spawn(serve(listener, asked.clone(), answers));
        }
        Server { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(listener: TcpListener, asked: Arc<Mutex<Vec<String>>>, answers: Vec<String>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let (asked, answers) = (asked.clone(), answers.clone());
        asked.lock().unwrap().push(String::new());
        let at = asked.lock().unwrap().len() - 1;
        tokio::spawn(async move {
            let mut head = Vec::new();
            let mut chunk = [0u8; 4096];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut chunk).await {
                    Ok(n) if n > 0 => head.extend_from_slice(&chunk[..n]),
                    _ => break,
                }
            }
            let text = String::from_utf8_lossy(&head).into_owned();
            let wanted = text.split_whitespace().nth(1).unwrap_or_default();
            let n: usize = wanted.trim_start_matches('/').parse().unwrap_or(usize::MAX);
            let answer = answers.get(n).cloned().unwrap_or_else(|| ok("reached"));
            asked.lock().unwrap()[at] = text;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        });
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn redirect(status: u16, to: &str) -> String {
    format!(
        "HTTP/1.1 {status} Go\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

/// Names and their addresses; no other is known.
fn names() -> Lookup {
    let known: BTreeMap<&str, Vec<&str>> = [
        ("public.example", vec!["93.184.216.34"]),
        ("private.example", vec!["10.1.2.3"]),
        ("loopback.example", vec!["127.0.0.1"]),
        ("loopback6.example", vec!["::1"]),
        ("mapped.example", vec!["::ffff:127.0.0.1"]),
        ("mixed.example", vec!["93.184.216.34", "127.0.0.1"]),
        ("mixed6.example", vec!["2606:4700::1111", "fe80::1"]),
        ("metadata.example", vec!["169.254.169.254"]),
        ("nat64.example", vec!["64:ff9b::7f00:1"]),
        ("zero.example", vec!["0.0.0.0"]),
        ("127.0.0.1.nip.example", vec!["127.0.0.1"]),
        ("intranet", vec!["192.168.0.10"]),
        ("metadata", vec!["169.254.169.254"]),
        ("xn--bcher-kva.example", vec!["127.0.0.1"]),
    ]
    .into();
    Arc::new(move |host: &str| {
        let host = host.trim_end_matches('.');
        let found = known.get(host).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(found.iter().map(|address| address.parse().unwrap()).collect())
    })
}

/// Hosts of URLs that must be refused, in every way of writing them.
const REFUSED: &[&str] = &[
    // Loopback, in decimal, octal, hex, short, with zeros, full-width, with dots of other scripts.
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.1.",
    "2130706433",
    "2130706433.",
    "0x7f000001",
    "0X7F000001",
    "0x7f.0.0.1",
    "0x7f.1",
    "0x7f.0x1",
    "0177.0.0.1",
    "0177.1",
    "017700000001",
    "00000177.0.0.1",
    "0177.0x0.0.01",
    "127.0.0.01",
    "127.00.00.01",
    "127.000.000.001",
    "127.255.255.254",
    "127.127.127.127",
    "127.0.0.2",
    "１２７.0.0.1",
    "１２７．０．０．１",
    "127。0。0。1",
    "127｡0｡0｡1",
    "①②⑦.0.0.1",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "127%2e0%2e0%2e1",
    "%31%32%37.0.0.1",
    "127.0\u{ad}.0.1",
    "12\u{200b}7.0.0.1",
    "０x7f.1",
    // This network, the unspecified address, other machines' private networks.
    "0",
    "0.0.0.0",
    "0.0.0.0.",
    "00",
    "0x0",
    "0.1.2.3",
    "000.000.000.000",
    "10.0.0.1",
    "10.1",
    "012.0.0.1",
    "0xa.0.0.1",
    "167772161",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "0xac100001",
    "192.168.0.1",
    "192.168.1",
    "3232235777",
    "0xc0a80101",
    "0300.0250.1.1",
    "１９２.１６８.０.１",
    // Link-local and the metadata of clouds.
    "169.254.169.254",
    "169.254.169.254.",
    "2852039166",
    "0xa9fea9fe",
    "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "169.16689662",
    "①⑥⑨.254.169.254",
    "169.254.0.1",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    // Ranges with a meaning of their own.
    "100.64.0.1",
    "100.127.255.254",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
    "0xffffffff",
    "037777777777",
    // IPv6: itself, with an IPv4 address in it, local, tunnelled, documentation, multicast.
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0001]",
    "[::]",
    "[0::0]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:7f00:0001]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[0:0:0:0:0:FFFF:7F00:0001]",
    "[::ffff:0:127.0.0.1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:169.254.169.254]",
    "[::ffff:0.0.0.0]",
    "[::ffff:192.168.1.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[64:ff9b:1::1]",
    "[2002:7f00:1::]",
    "[2002:7f00:0001::1]",
    "[2002:a00:1::]",
    "[2002:a9fe:a9fe::]",
    "[2002:c0a8:101::1]",
    "[2001::1]",
    "[2001:0:53aa:64c:0:7b2b:80ff:fffe]",
    "[2001:db8::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[100::1]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00::1]",
    "[fd00:ec2::254]",
    "[fd12:3456:789a::1]",
    "[ff02::1]",
    "[ff0e::1]",
    "[4000::1]",
    "[e000::1]",
    // Names that mean this machine or a private network, and names that lead there.
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "ｌｏｃａｌｈｏｓｔ",
    "loca\u{ad}lhost",
    "ⓛocalhost",
    "a.localhost",
    "a.b.localhost.",
    "public.example.localhost",
    "localhost.localdomain",
    "metadata.google.internal",
    "metadata.google.internal.",
    "METADATA.GOOGLE.INTERNAL",
    "host.docker.internal",
    "kubernetes.default.svc.cluster.local",
    "printer.local",
    "nas.home.arpa",
    "internal",
    "private.example",
    "loopback.example",
    "LOOPBACK.example",
    "loopback.example.",
    "loopback6.example",
    "mapped.example",
    "mixed.example",
    "mixed6.example",
    "metadata.example",
    "nat64.example",
    "zero.example",
    "127.0.0.1.nip.example",
    "intranet",
    "metadata",
    "bücher.example",
    "bu\u{308}cher.example",
    "BÜCHER.example",
    "xn--bcher-kva.example",
];

/// Whole URLs that must be refused or are none; `PORT` is the server's.
const NO_REQUEST: &[&str] = &[
    // Users and passwords, which hide the host or are told to it.
    "http://public.example@127.0.0.1:PORT/",
    "http://public.example:80@127.0.0.1:PORT/",
    "http://public.example%2f@127.0.0.1:PORT/",
    "http://public.example%23@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT@public.example/",
    "http://:@127.0.0.1:PORT/",
    "http://me:secret@public.example/",
    "http://me@public.example/",
    "http://:secret@public.example/",
    "http://a@b@127.0.0.1:PORT/",
    // Slashes, backslashes and what is dropped from a URL.
    "http:\\\\127.0.0.1:PORT\\",
    "http:/127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/",
    "http:///127.0.0.1:PORT/",
    "http:////127.0.0.1:PORT/",
    "http://\\127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@public.example/",
    "http://127.0.0.1:PORT#@public.example/",
    "http://127.0.0.1:PORT?@public.example/",
    "ht\ttp://127.0.0.1:PORT/",
    "http://127.0.\n0.1:PORT/",
    "http://127.0.0.1\r:PORT/",
    " http://127.0.0.1:PORT/ ",
    "\u{1}http://127.0.0.1:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "hTTp://127.0.0.1:0PORT/",
    "http://127.0.0.1:PORT/\r\nX: y",
    "http://public.example\u{ff0f}@127.0.0.1:PORT/",
    // Zones, ports, brackets and hosts that are none.
    "http://[fe80::1%25eth0]:PORT/",
    "http://[fe80::1%eth0]/",
    "http://[::1%25lo]:PORT/",
    "http://[::1]]:PORT/",
    "http://[127.0.0.1]:PORT/",
    "http://[::ffff:127.0.0.1/",
    "http://[::ffff:127.1]:PORT/",
    "http://::1:PORT/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:-1/",
    "http://127.0.0.256:PORT/",
    "http://1.2.3.4.5:PORT/",
    "http://0x7f.0.0.0x100:PORT/",
    "http://08.0.0.1:PORT/",
    "http://4294967296:PORT/",
    "http://127.0.0.1 :PORT/",
    "http://127..1:PORT/",
    "http://.127.0.0.1:PORT/",
    "http://public.example\0.127.0.0.1:PORT/",
    "http://public.example%00@127.0.0.1/",
    "http://",
    "http:///",
    "http://?x",
    "",
    "127.0.0.1:PORT",
    "//127.0.0.1:PORT/",
    "/etc/passwd",
    // Other schemes.
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "ftp://public.example/",
    "gopher://127.0.0.1:PORT/_GET",
    "ws://127.0.0.1:PORT/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "jar:http://public.example/!/",
    "unix:/var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "dict://127.0.0.1:PORT/",
    "ldap://127.0.0.1/",
    "view-source:http://127.0.0.1:PORT/",
    "blob:http://127.0.0.1:PORT/",
    // Ports of other services on hosts that are public.
    "http://public.example:22/",
    "http://public.example:25/",
    "https://public.example:6379@127.0.0.1:PORT/",
    "http://public.example:6667/",
    "http://public.example:0/",
];

async fn send(client: &HttpClient, url: &str) -> Result<HttpResponse, HttpError> {
    let timeout = Some(Duration::from_secs(5));
    let request = HttpRequest { url: url.to_owned(), timeout, ..HttpRequest::default() };
    client.send(&request, &CancellationToken::new()).await
}

/// Every form of URL, with the hosts that must be refused on the server's port and on none.
fn forms(port: u16) -> Vec<(String, bool)> {
    let hosts = REFUSED.iter().flat_map(|host| {
        [(format!("http://{host}:{port}/"), true), (format!("https://{host}/x?y#z"), true)]
    });
    let whole = NO_REQUEST.iter().map(|url| (url.replace("PORT", &port.to_string()), false));
    hosts.chain(whole).collect()
}

#[tokio::test]
async fn no_form_of_url_reaches_this_machine() {
    let server = Server::start(Vec::new()).await;
    let client = HttpClient::resolving(&[], names());
    let mut wrong = Vec::new();
    let forms = forms(server.port);
    for (url, refused) in &forms {
        match send(&client, url).await {
            Err(HttpError::Refused(failure)) => {
                assert_eq!(failure.code.as_str(), "KB0617");
                assert!(!failure.message.contains("secret"), "{}", failure.message);
            }
            // What is no URL is no request either.
            Err(HttpError::Invalid(failure)) if failure.code.as_str() == "KB0603" => {
                let told = failure.message.contains("secret");
                assert!(!told, "{}", failure.message);
                if *refused {
                    wrong.push(format!("{url:?} is no URL"));
                }
            }
            other => wrong.push(format!("{url:?}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), forms.len(), wrong.join("\n"));
    assert_eq!(server.asked(), Vec::<String>::new());
    assert!(forms.len() >= 150);
    proof::record("http guard: forms of URL", None, [("forms", forms.len())]);
}

#[tokio::test]
async fn no_redirect_reaches_this_machine() {
    let hidden = Server::start(Vec::new()).await;
    let absolute: Vec<String> = forms(hidden.port)
        .into_iter()
        .map(|(url, _)| url)
        // A header holds no line breaks, and what has no scheme is a path of the first server.
        .filter(|url| !url.contains(['\r', '\n', '\0', '\u{1}', '\t']))
        .filter(|url| {
            url.contains(':') && !url.starts_with(['1', ' ', '/']) && !url.starts_with("http:1")
        })
        .filter(|url| !url.starts_with("http:/127"))
        .collect();
    let codes = [301, 302, 303, 307, 308];
    let answers = absolute.iter().enumerate().map(|(i, url)| redirect(codes[i % 5], url)).collect();
    let first = Server::start(answers).await;
    let at = format!("127.0.0.1:{}", first.port);
    let client = HttpClient::resolving(std::slice::from_ref(&at), names());
    let mut wrong = Vec::new();
    for (i, target) in absolute.iter().enumerate() {
        match send(&client, &format!("http://{at}/{i}")).await {
            Err(HttpError::Refused(_) | HttpError::Invalid(_)) => {}
            // A location that is not ASCII is none; the answer is the redirect itself.
            Ok(answer) if answer.status >= 300 && !target.is_ascii() => {}
            other => wrong.push(format!("{target:?}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), absolute.len(), wrong.join("\n"));
    assert_eq!(hidden.asked(), Vec::<String>::new());
    assert_eq!(first.asked().len(), absolute.len());
    proof::record("http guard: redirects", None, [("targets", absolute.len())]);
}

/// The answer that was checked is the one that is connected to: there is no second question.
#[tokio::test]
async fn a_name_cannot_change_its_answer_after_it_was_checked() {
    let server = Server::start(Vec::new()).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let lookup: Lookup = Arc::new(move |_| {
        // Every second answer is this machine.
        let first = count.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        let address: IpAddr = if first { "192.31.196.1" } else { "127.0.0.1" }.parse().unwrap();
        Ok(vec![address])
    });
    let client = HttpClient::resolving(&[], lookup);
    for round in 0..6 {
        let before = asked.load(Ordering::SeqCst);
        let url = format!("http://changing.example:{}/", server.port);
        let request =
            HttpRequest { url, timeout: Some(Duration::from_secs(1)), ..HttpRequest::default() };
        let answer = client.send(&request, &CancellationToken::new()).await.unwrap_err();
        assert_eq!(asked.load(Ordering::SeqCst), before + 1, "asked again in round {round}");
        let refused = matches!(answer, HttpError::Refused(_));
        assert_eq!(refused, round % 2 == 1, "round {round}: {answer:?}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn an_allowed_name_is_reached_and_no_other_of_the_same_address() {
    let server = Server::start(vec![ok("zero")]).await;
    let port = server.port;
    let allowed = [format!("loopback.example:{port}"), "[::1]".to_owned()];
    let client = HttpClient::resolving(&allowed, names());
    for (host, reached) in [
        (format!("loopback.example:{port}"), true),
        (format!("LOOPBACK.example:{port}"), true),
        (format!("127.0.0.1:{port}"), false),
        (format!("mixed.example:{port}"), false),
        (format!("loopback.example.evil.example:{port}"), false),
        (format!("a.loopback.example:{port}"), false),
        ("loopback.example:1".to_owned(), false),
    ] {
        let answer = send(&client, &format!("http://{host}/0")).await;
        assert_eq!(answer.is_ok(), reached, "{host}: {answer:?}");
    }
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn credentials_are_not_recorded_not_told_and_not_taken_along() {
    let bench = Setup::default().bench();
    for url in [
        "http://me:hunter2@public.example/x",
        "http://me:hunter2@exa mple/",
        "http://hunter2@[::1/",
        "https:\\\\me:hunter2@public.example\\x",
    ] {
        let (result, invocation) = bench.make(&call("http:request", json!({"url": url}))).await;
        let told = format!("{:?} {} {:?}", result.failure, result.result, invocation);
        assert!(!told.contains("hunter2"), "{told}");
    }
    let other = Server::start(Vec::new()).await;
    let there = format!("http://127.0.0.1:{}/", other.port);
    let first =
        Server::start([301, 302, 303, 307, 308].map(|code| redirect(code, &there)).to_vec());
    let first = first.await;
    let client = HttpClient::resolving(&["127.0.0.1".to_owned()], names());
    for (i, name) in
        ["Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization", "Private-Token"]
            .into_iter()
            .enumerate()
    {
        let request = HttpRequest {
            method: "POST".into(),
            url: format!("http://127.0.0.1:{}/{i}", first.port),
            headers: vec![(name.to_owned(), "hunter2".to_owned())],
            body: Some(json!({"token": "hunter2"})),
            ..HttpRequest::default()
        };
        client.send(&request, &CancellationToken::new()).await.unwrap();
        assert!(first.asked()[i].contains("hunter2"), "the first server was told");
    }
    let taken = other.asked().join("\n");
    assert!(!taken.contains("hunter2"), "{taken}");
    assert_eq!(other.asked().len(), 5);
}

#[tokio::test]
async fn a_request_has_no_lines_that_a_value_made() {
    let server = Server::start(Vec::new()).await;
    let at = format!("127.0.0.1:{}", server.port);
    let client = HttpClient::resolving(std::slice::from_ref(&at), names());
    let broken = "x\r\nInjected: yes\r\n\r\nGET /second HTTP/1.1";
    let base = HttpRequest { url: format!("http://{at}/"), ..HttpRequest::default() };
    let requests = [
        HttpRequest { headers: vec![("a".into(), broken.into())], ..base.clone() },
        HttpRequest { headers: vec![(broken.into(), "a".into())], ..base.clone() },
        HttpRequest { headers: vec![("a".into(), "x\0y".into())], ..base.clone() },
        HttpRequest { method: format!("GET / HTTP/1.1\r\n{broken}"), ..base.clone() },
        HttpRequest { url: format!("http://{at}/{broken}"), ..base.clone() },
        HttpRequest { url: format!("http://{at}/?{broken}"), ..base.clone() },
        HttpRequest { url: format!("http://{at}\r\nInjected: yes/"), ..base.clone() },
        HttpRequest { query: vec![(broken.into(), broken.into())], ..base.clone() },
        HttpRequest { headers: vec![("Host".into(), "evil".into())], ..base.clone() },
        HttpRequest { headers: vec![("Transfer-Encoding".into(), "chunked".into())], ..base },
    ];
    for request in requests {
        let _ = client.send(&request, &CancellationToken::new()).await;
    }
    let asked = server.asked();
    assert!(!asked.is_empty());
    for text in asked {
        let lines: Vec<&str> = text.lines().collect();
        assert!(!lines.iter().any(|line| line.starts_with("Injected")), "{text}");
        assert!(!lines[1..].iter().any(|line| line.starts_with("GET /second")), "{text}");
        assert!(text.contains(&format!("host: {at}")), "{text}");
    }
}

/// Answers in a way that takes as long as the client lets it.
async fn never_end(mut stream: TcpStream) -> io::Result<()> {
    let mut head = [0u8; 1024];
    let n = stream.read(&mut head).await?;
    let text = String::from_utf8_lossy(&head[..n]).into_owned();
    let pause = |ms| tokio::time::sleep(Duration::from_millis(ms));
    let path = text.split_whitespace().nth(1).unwrap_or_default();
    if path == "/hops" {
        pause(60).await;
        stream.write_all(redirect(302, "/hops").as_bytes()).await?;
        return stream.shutdown().await;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
    if path == "/headers" {
        loop {
            stream.write_all(b"x-more: 0123456789abcdef\r\n").await?;
        }
    }
    stream
        .write_all(match path {
            "/announced" => b"content-length: 8388609\r\n\r\n",
            "/chunked" => b"transfer-encoding: chunked\r\n\r\n",
            _ => b"connection: close\r\n\r\n",
        })
        .await?;
    let chunk = [&b"10000\r\n"[..], &[b'x'; 65_536], b"\r\n"].concat();
    loop {
        match path {
            "/announced" => pause(60_000).await,
            "/chunked" => stream.write_all(&chunk).await?,
            "/slow" => {
                stream.write_all(b"x").await?;
                pause(5).await;
            }
            _ => stream.write_all(&[b'x'; 65_536]).await?,
        }
    }
}

/// No answer is larger than the limit or takes longer than the one limit of time, however it comes.
#[tokio::test]
async fn an_answer_without_end_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(never_end(stream));
        }
    });
    let client = HttpClient::resolving(std::slice::from_ref(&at), names());
    let cases = [
        ("large", 60_000, "KB0622"),
        ("chunked", 60_000, "KB0622"),
        // What says that it is too large is not waited for.
        ("announced", 30_000, "KB0622"),
        ("slow", 150, "KB0618"),
        // Six answers within the time each, and not all of them.
        ("hops", 200, "KB0618"),
        ("headers", 20_000, "KB0618"),
    ];
    for (path, timeout, code) in cases {
        let request = HttpRequest {
            url: format!("http://{at}/{path}"),
            timeout: Some(Duration::from_millis(timeout)),
            ..HttpRequest::default()
        };
        let cancel = CancellationToken::new();
        let ended = tokio::time::timeout(Duration::from_secs(120), client.send(&request, &cancel));
        let error = ended.await.expect("it ends").unwrap_err();
        assert_eq!(error.failure().code.as_str(), code, "{path}: {error}");
    }
}

/// A proxy of the environment would look the name up itself, past every check.
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_of_the_environment_is_not_asked() {
    let proxy = Server::start(Vec::new()).await;
    let inside = Server::start(Vec::new()).await;
    let dir = tempfile::tempdir().unwrap();
    let put = |at: &str, text: &str| crate::tools::bench::put(dir.path(), at, text);
    let at = format!("127.0.0.1:{}", inside.port);
    put(".kb/kb.config.yml", &format!("tools: {{http: {{allowPrivate: [\"{at}\"]}}}}\n"));
    put(
        ".kb/playbooks/p.yml",
        &format!(
            "schema: kb.playbook/1\nid: p\nname: p\nsteps:\n  - {{id: a, http: {{url: \"http://{at}/x\"}}}}\n  \
             - {{id: b, http: {{url: \"http://169.254.169.254/x\"}}, onError: continue}}\n",
        ),
    );
    let proxy_url = format!("http://127.0.0.1:{}", proxy.port);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kb"));
    command.args(["playbook", "run", "p"]).current_dir(dir.path());
    command.env("XDG_STATE_HOME", dir.path().join("state"));
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    {
        command.env(name, &proxy_url);
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    let ended = tokio::task::spawn_blocking(move || command.finish()).await.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr) + String::from_utf8_lossy(&ended.stdout);
    assert_eq!(inside.asked().len(), 1, "{said}");
    assert_eq!(proxy.asked(), Vec::<String>::new(), "{said}");
    assert!(said.contains("KB0617"), "{said}");
}
