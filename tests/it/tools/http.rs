//! `http:request`: permitted hosts, redirects, sizes and results.

use super::bench::{Bench, Setup, bench, call, told};
use kb::definition::Settings;
use kb::http::{HttpClient, HttpError, HttpRequest};
use kb::value::{Digest, Json};
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{body_json, body_string, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn allowing(hosts: &[&str]) -> Bench {
    let allowed_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut settings = Settings::default();
    settings.tools.http.allow_private = allowed_hosts;
    Setup { settings, ..Setup::default() }.bench()
}

async fn served(mocks: Vec<Mock>) -> (MockServer, Bench) {
    let server = MockServer::start().await;
    for mock in mocks {
        mock.mount(&server).await;
    }
    let bench = allowing(&[&server.address().to_string()]);
    (server, bench)
}

fn answer(status: u16, body: &str, kind: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw(body.as_bytes().to_vec(), kind)
}

#[tokio::test]
async fn gives_status_headers_and_body() {
    let (server, bench) = served(vec![
        Mock::given(path("/json")).respond_with(answer(
            200,
            r#"{"a": [1]}"#,
            "application/problem+json; charset=utf-8",
        )),
        Mock::given(path("/text"))
            .respond_with(answer(404, "not here", "text/plain").insert_header("x-One", "1")),
        Mock::given(path("/broken")).respond_with(answer(200, "{oops", "application/json")),
        Mock::given(path("/bytes"))
            .respond_with(ResponseTemplate::new(200).set_body_bytes(vec![0xff, 0])),
    ])
    .await;
    let get = async |at: &str| {
        bench.ok("http:request", json!({"url": format!("{}{at}", server.uri())})).await
    };
    let fetched = bench.ok("http:fetch", json!({"url": format!("{}/text", server.uri())})).await;
    assert_eq!(fetched["body"], "not here");
    let post = json!({"url": format!("{}/text", server.uri()), "method": "POST"});
    assert!(bench.refused("http:fetch", post).await.contains("method"));
    let answer = get("/json").await;
    assert_eq!((&answer["status"], &answer["body"]), (&json!(200), &json!({"a": [1]})));
    let answer = get("/text").await;
    assert_eq!((&answer["status"], &answer["body"]), (&json!(404), &json!("not here")));
    assert_eq!(answer["headers"]["x-one"], "1");
    assert_eq!(get("/broken").await["body"], "{oops");
    let answer = get("/bytes").await;
    assert_eq!((&answer["body"], &answer["bodyBase64"]), (&Json::Null, &json!("/wA=")));
}

#[tokio::test]
async fn sends_method_headers_query_and_body() {
    let (server, bench) = served(vec![
        Mock::given(method("POST"))
            .and(path("/made"))
            .and(header("x-token", "t"))
            .and(header("content-type", "application/json"))
            .and(query_param("q", "a b&c"))
            .and(query_param("n", "1"))
            .and(body_json(json!({"k": "v"})))
            .respond_with(answer(201, "made", "text/plain")),
        Mock::given(method("PUT")).and(body_string("plain")).respond_with(answer(
            200,
            "put",
            "text/plain",
        )),
    ])
    .await;
    let post = json!({
        "url": format!("{}/made?n=1", server.uri()), "method": "POST",
        "headers": {"X-Token": "t"}, "query": {"q": "a b&c"}, "body": {"k": "v"},
    });
    let (result, invocation) = bench.make(&call("http:request", post)).await;
    assert_eq!(result.result["status"], 201);
    let reference = &invocation.evidence[0];
    assert_eq!(reference.reference, format!("{}/made", server.uri()));
    assert_eq!(reference.sha256, Some(Digest::of("made")));
    let put = json!({"url": server.uri(), "method": "PUT", "body": "plain"});
    assert_eq!(bench.ok("http:request", put).await["body"], "put");
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_form() {
    let (server, _) = served(vec![]).await;
    let bench = bench(&[]);
    let port = server.address().port();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.3.4",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00::1]",
        "１２７.0.0.1",
    ] {
        let url = format!("http://{host}:{port}/");
        let told = bench.refused("http:request", json!({"url": url})).await;
        assert!(told.starts_with("Denied KB0617"), "{host}: {told}");
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn urls_of_other_kinds_are_refused() {
    let bench = bench(&[]);
    let cases = [
        (
            "file:///etc/passwd",
            "Denied KB0617 the URL `file:///etc/passwd` is not allowed: the scheme must be http or https",
        ),
        (
            "ftp://example.com/",
            "Denied KB0617 the URL `ftp://example.com/` is not allowed: the scheme must be http or https",
        ),
        (
            "http://me:secret@example.com/?q=1",
            "Denied KB0617 the URL `http://example.com/` is not allowed: it contains a user name or password; send a header instead",
        ),
        ("example.com", "Failed KB0603 `example.com` is not a URL: relative URL without a base"),
        ("http://", "Failed KB0603 `http://` is not a URL: empty host"),
    ];
    for (url, expected) in cases {
        assert_eq!(bench.refused("http:request", json!({"url": url})).await, expected);
    }
    for headers in [
        json!({"Host": "x"}),
        json!({"content-length": "1"}),
        json!({"a": "b\r\nc: d"}),
        json!({"a b": "c"}),
    ] {
        let args = json!({"url": "http://example.com", "headers": headers});
        assert!(
            bench.refused("http:request", args).await.starts_with("Failed KB0603"),
            "{headers}"
        );
    }
}

#[tokio::test]
async fn a_host_is_allowed_with_its_port_only() {
    let (server, bench) =
        served(vec![Mock::given(path("/")).respond_with(answer(200, "", "text/plain"))]).await;
    let port = server.address().port();
    bench.ok("http:request", json!({"url": server.uri()})).await;
    let named = json!({"url": format!("http://localhost:{port}/")});
    assert!(bench.refused("http:request", named.clone()).await.starts_with("Denied KB0617"));
    allowing(&["LocalHost"]).ok("http:request", named.clone()).await;
    let elsewhere = allowing(&[&format!("localhost:{}", port.wrapping_add(1))]);
    assert!(elsewhere.refused("http:request", named).await.starts_with("Denied KB0617"));
}

#[tokio::test]
async fn redirects_are_held_to_the_same_rules() {
    let hidden = MockServer::start().await;
    let to = |target: &str| ResponseTemplate::new(302).insert_header("location", target);
    let (server, bench) = served(vec![
        Mock::given(path("/private")).respond_with(to(&hidden.uri())),
        Mock::given(path("/metadata")).respond_with(to("http://169.254.169.254/latest")),
        Mock::given(path("/file")).respond_with(to("file:///etc/passwd")),
        Mock::given(path("/good")).respond_with(to("/end?x=1")),
        Mock::given(path("/loop")).respond_with(to("/loop")),
        Mock::given(path("/end")).respond_with(answer(200, "end", "text/plain")),
    ])
    .await;
    let url = |at: &str| json!({"url": format!("{}{at}", server.uri())});
    for at in ["/private", "/metadata", "/file"] {
        let told = bench.refused("http:request", url(at)).await;
        assert!(told.starts_with("Denied KB0617"), "{at}: {told}");
    }
    assert_eq!(hidden.received_requests().await.unwrap().len(), 0);
    assert_eq!(bench.ok("http:request", url("/good")).await["body"], "end");
    let told = bench.refused("http:request", url("/loop")).await;
    assert!(told.ends_with("redirects more than 5 times"), "{told}");
    let asked = server.received_requests().await.unwrap();
    assert_eq!(asked.iter().filter(|request| request.url.path() == "/loop").count(), 6);
}

#[tokio::test]
async fn a_redirect_takes_no_credentials_and_no_body_elsewhere() {
    let other = MockServer::start().await;
    Mock::given(path("/")).respond_with(answer(200, "", "text/plain")).mount(&other).await;
    let server = MockServer::start().await;
    for (at, status) in [("/see", 303), ("/keep", 307)] {
        let target = ResponseTemplate::new(status).insert_header("location", other.uri());
        Mock::given(path(at)).respond_with(target).mount(&server).await;
    }
    let bench = allowing(&["127.0.0.1"]);
    for at in ["/see", "/keep"] {
        let headers = json!({"Authorization": "Bearer x", "Cookie": "c", "X-Api-Key": "o", "Accept": "text/plain"});
        let args = json!({"url": format!("{}{at}", server.uri()), "method": "POST", "headers": headers, "body": "b"});
        bench.ok("http:request", args).await;
    }
    let got = other.received_requests().await.unwrap();
    let seen: Vec<_> = got
        .iter()
        .map(|r| {
            let has = |name: &str| r.headers.contains_key(name);
            (
                r.method.as_str(),
                r.body.as_slice(),
                has("authorization") || has("cookie"),
                has("x-api-key"),
                has("accept"),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [("GET", &b""[..], false, false, true), ("POST", &b""[..], false, false, true)]
    );
}

#[tokio::test]
async fn says_why_there_is_no_answer() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let client = HttpClient::new(&["127.0.0.1".to_owned()]);
    let request = HttpRequest { url: format!("http://{address}/x?token=1"), ..Default::default() };
    let cancel = CancellationToken::new();
    let error = client.send(&request, &cancel).await.unwrap_err();
    assert!(matches!(error, HttpError::Transient(_)), "{error:?}");
    let expected = format!("the request to `http://{address}/x` failed: ");
    assert!(error.failure().message.starts_with(&expected), "{error}");

    let slow = MockServer::start().await;
    let never = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    Mock::given(path("/")).respond_with(never).mount(&slow).await;
    let request = HttpRequest {
        url: slow.uri(),
        timeout: Some(Duration::from_millis(50)),
        ..Default::default()
    };
    let error = client.send(&request, &cancel).await.unwrap_err();
    assert!(matches!(error, HttpError::TimedOut(_)), "{error:?}");
    cancel.cancel();
    assert_eq!(client.send(&request, &cancel).await, Err(HttpError::Cancelled));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_taken_in() {
    let body = vec![b'x'; (8 << 20) + 1];
    let large =
        Mock::given(path("/")).respond_with(ResponseTemplate::new(200).set_body_bytes(body));
    let (server, bench) = served(vec![large]).await;
    let told_it = told(&bench.run("http:request", json!({"url": server.uri()})).await);
    assert!(told_it.ends_with("is larger than 8 MiB"), "{told_it}");
}

/// A server that answers one request with these parts; it sends each when it is told to, and closes at the end.
async fn in_parts(parts: Vec<Vec<u8>>) -> (String, tokio::sync::mpsc::UnboundedSender<()>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/events", listener.local_addr().unwrap());
    let (go, mut told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let _ = stream.read(&mut head).await.unwrap();
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        for part in parts {
            if told.recv().await.is_none() || stream.write_all(&part).await.is_err() {
                return;
            }
        }
        // Without a word it stays open.
        let _ = told.recv().await;
    });
    (url, go)
}

#[tokio::test]
async fn a_body_is_read_while_it_arrives_within_limits() {
    let client = HttpClient::new(&["127.0.0.1".to_owned()]);
    let cancel = CancellationToken::new();
    let request = |url: &str, wait: u64| HttpRequest {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        query: Vec::new(),
        body: None,
        timeout: Some(Duration::from_millis(wait)),
    };
    // Each part comes before the next one is sent.
    let (url, go) = in_parts(vec![b"data: 1\n\n".to_vec(), b"data: 2\n\n".to_vec()]).await;
    let mut stream = client.stream(&request(&url, 60_000), 1 << 20, &cancel).await.unwrap();
    assert_eq!((stream.status(), stream.header("Content-Type")), (200, Some("text/event-stream")));
    for part in ["data: 1\n\n", "data: 2\n\n"] {
        go.send(()).unwrap();
        assert_eq!(stream.next(&cancel).await.unwrap().as_deref(), Some(part.as_bytes()));
    }
    go.send(()).unwrap();
    assert_eq!(stream.next(&cancel).await, Ok(None));
    // A flood ends at the limit.
    let (url, go) = in_parts(vec![vec![b'x'; 1 << 20]; 8]).await;
    (0..8).for_each(|_| go.send(()).unwrap());
    let mut stream = client.stream(&request(&url, 60_000), 2 << 20, &cancel).await.unwrap();
    let mut read = 0;
    let error = loop {
        match stream.next(&cancel).await {
            Ok(part) => read += part.unwrap().len(),
            Err(error) => break error,
        }
    };
    assert!(read <= 2 << 20 && error.to_string().contains("more than 2048 KiB"), "{read} {error}");
    // Silence ends after the timeout, and a wait when it is cancelled.
    let (url, _go) = in_parts(vec![Vec::new()]).await;
    let mut stream = client.stream(&request(&url, 200), 1 << 20, &cancel).await.unwrap();
    let error = stream.next(&cancel).await.unwrap_err();
    assert!(matches!(error, HttpError::TimedOut(_)), "{error}");
    let (url, _go) = in_parts(vec![Vec::new()]).await;
    let mut stream = client.stream(&request(&url, 60_000), 1 << 20, &cancel).await.unwrap();
    let later = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        later.cancel();
    });
    assert_eq!(stream.next(&cancel).await, Err(HttpError::Cancelled));
    // The rules about addresses hold.
    let guarded = HttpClient::new(&[]);
    let refused = guarded.stream(&request(&url, 200), 1, &CancellationToken::new()).await;
    assert!(matches!(refused.err().unwrap(), HttpError::Refused(_)));
}
