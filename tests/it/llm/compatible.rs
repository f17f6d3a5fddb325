//! An OpenAI-compatible server: what it answers well, and every way in which it does not.

use super::fake::*;
use crate::running::Start;
use kb::evidence::CallRequest;
use kb::llm::*;
use kb::value::{Money, OutcomeKind, Usage};
use serde_json::json;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;
use wiremock::ResponseTemplate;

fn transient(message: &str, status: Option<u16>, wait: Option<u64>) -> ModelError {
    let retry_after = wait.map(Duration::from_secs);
    ModelError::Transient { message: message.into(), status, retry_after }
}

fn refused(message: &str, status: u16) -> ModelError {
    ModelError::Refused { message: message.into(), status: Some(status) }
}

fn finished(text: &str) -> String {
    sse(&[delta(json!({"content": text}), Some("stop")), json!("[DONE]")])
}

#[tokio::test]
async fn text_comes_in_pieces_and_whole_with_its_usage() {
    let usage = json!({"prompt_tokens": 23, "completion_tokens": 4, "total_tokens": 27,
                       "prompt_tokens_details": {"cached_tokens": 22}});
    let body = sse(&[
        delta(json!({"role": "assistant", "content": ""}), None),
        delta(json!({"content": "Good "}), None),
        delta(json!({"content": "day"}), None),
        delta(json!({}), Some("stop")),
        json!({"choices": [], "usage": usage}),
        json!("[DONE]"),
    ]);
    let server = server(answer(body)).await;
    let tokens = Mutex::new(Vec::new());
    // An empty text is reasoning or a part of a tool call.
    let heard = |token: &str| {
        if !token.is_empty() {
            tokens.lock().unwrap().push(token.to_owned());
        }
    };
    let request = ChatRequest { temperature: Some(0.5), max_tokens: Some(99), ..question("hi") };
    let provider = provider(&server.uri());
    let reply = provider.chat(request, &heard, &CancellationToken::new()).await.unwrap();
    let usage = Usage {
        prompt_tokens: 23,
        completion_tokens: 4,
        cached_tokens: 22,
        cache_write_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: Some(Money::ZERO),
        model_calls: 1,
        tool_calls: 0,
    };
    let expected = ChatReply {
        text: "Good day".into(),
        calls: Vec::new(),
        usage,
        model: "served-model".into(),
        cut_short: false,
        submitted: None,
        reasoning: None,
    };
    assert_eq!(reply, expected);
    assert_eq!(*tokens.lock().unwrap(), ["Good ", "day"]);

    let body = asked(&server).await;
    let expected = json!({
        "model": "test-model",
        "stream": true,
        "messages": [
            {"role": "system", "content": "You are terse."},
            {"role": "user", "content": "hi"},
        ],
        "stream_options": {"include_usage": true},
        "temperature": 0.5,
        "max_tokens": 99,
    });
    assert_eq!(body, expected);
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.url.path(), "/v1/chat/completions");
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
}

#[tokio::test]
async fn tool_names_are_translated_both_ways() {
    let call = |index: u32, id: &str, name: &str, arguments: &str| {
        let function = json!({"name": name, "arguments": arguments});
        delta(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}), None)
    };
    let more = json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"a\"}"}}]});
    let body = sse(&[
        call(0, "c1", "fs_read", "{\"path\": "),
        delta(more, None),
        call(1, "c1", "no_such", "[1"),
        call(2, "", "fs_read_2", ""),
        delta(json!({}), Some("tool_calls")),
        json!("[DONE]"),
    ]);
    let server = server(answer(body)).await;
    let mut request = question("read it");
    request.tools = vec![tool("fs:read"), tool("fs_read")];
    let earlier = CallRequest { id: "c0".into(), tool: "fs:read".into(), args: json!("oops") };
    let tool_answer = |id: &str| Message::Tool {
        call_id: id.into(),
        tool: "fs:read".into(),
        content: "no".into(),
    };
    request.messages.push(Message::Assistant {
        text: String::new(),
        calls: vec![earlier],
        reasoning: None,
    });
    request.messages.push(tool_answer("c0"));
    let reply = ask(&provider(&server.uri()), request).await.unwrap();
    let calls: Vec<_> = reply.calls.iter().map(|c| (&*c.id, &*c.tool, c.args.clone())).collect();
    let expected = [
        ("c1", "fs:read", json!({"path": "a"})),
        ("call-1-1-2", "no_such", json!("[1")),
        ("call-1-1-3", "fs_read", json!({})),
    ];
    assert_eq!(calls, expected);

    let body = asked(&server).await;
    let names: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|t| t["function"]["name"].clone()).collect();
    assert_eq!(names, [json!("fs_read"), json!("fs_read_2")]);
    let function = &body["messages"][2]["tool_calls"][0]["function"];
    assert_eq!(*function, json!({"name": "fs_read", "arguments": "{\"invalid\":\"oops\"}"}));
    let answer = json!({"role": "tool", "content": "no", "tool_call_id": "c0"});
    assert_eq!(body["messages"][3], answer);
}

#[tokio::test]
async fn a_schema_goes_out_as_the_structured_output_mode() {
    let format = async |schema: serde_json::Value| {
        let server = server(answer(finished("{}"))).await;
        let request = ChatRequest { response_schema: Some(schema), ..question("hi") };
        ask(&provider(&server.uri()), request).await.unwrap();
        asked(&server).await["response_format"].clone()
    };
    let closed =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let sent = format(closed).await;
    assert_eq!(
        (&sent["type"], &sent["json_schema"]["strict"]),
        (&json!("json_schema"), &json!(true))
    );
    assert_eq!(sent["json_schema"]["schema"]["properties"]["n"], json!({"type": "integer"}));

    // The strict mode would take an object with free keys for an empty one.
    let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let sent = format(open.clone()).await;
    assert_eq!(sent["json_schema"], json!({"name": "answer", "strict": false, "schema": open}));
}

#[tokio::test]
async fn a_busy_provider_is_transient_with_what_it_asks_for() {
    let busy = |name: &str, value: &str| {
        let body = json!({"error": {"message": "slow down"}});
        ResponseTemplate::new(429).insert_header(name, value).set_body_json(body)
    };
    let message = "`test-model` answered with status 429: slow down";
    assert_eq!(error(busy("retry-after", "7")).await, transient(message, Some(429), Some(7)));
    assert_eq!(error(busy("retry-after-ms", "3000")).await, transient(message, Some(429), Some(3)));
    assert_eq!(error(busy("retry-after", "soon")).await, transient(message, Some(429), None));
    assert_eq!(error(busy("retry-after", "1e99")).await, transient(message, Some(429), Some(3600)));
    let past = "Wed, 21 Oct 2015 07:28:00 GMT";
    assert_eq!(error(busy("retry-after", past)).await, transient(message, Some(429), Some(0)));
    // A date counts from the date of the response, whatever the clock of this machine shows.
    let dated = busy("retry-after", "Wed, 21 Oct 2015 07:28:09 GMT").insert_header("date", past);
    assert_eq!(error(dated).await, transient(message, Some(429), Some(9)));

    let broken = ResponseTemplate::new(500).set_body_string("worker\n\u{1b}[31mdied");
    let message = "`test-model` answered with status 500: worker [31mdied";
    assert_eq!(error(broken).await, transient(message, Some(500), None));
}

#[tokio::test]
async fn a_refusal_says_what_to_check_and_never_the_key() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}});
    let unauthorized = ResponseTemplate::new(401).set_body_json(body);
    let message = "`test-model` answered with status 401: Incorrect API key provided: ***; \
                   check the API key in `KB_LLM_API_KEY`";
    assert_eq!(error(unauthorized).await, refused(message, 401));

    let missing = ResponseTemplate::new(404).set_body_raw("<html>not here</html>", "text/html");
    let server = server(missing).await;
    let error = ask(&provider(&server.uri()), question("hi")).await.unwrap_err();
    let message = format!(
        "`test-model` answered with status 404: an HTML page, as from a proxy or a web site; \
         check the model name `test-model` and the endpoint `{}/v1/` (`llm.tiers`, \
         `KB_LLM_MODEL`, `KB_LLM_ENDPOINT`)",
        server.uri()
    );
    assert_eq!(error, refused(&message, 404));
    assert_eq!(error.outcome(), OutcomeKind::Unknown);

    let bad = ResponseTemplate::new(400).set_body_json(json!({"message": "no tools here"}));
    let error = super::fake::error(bad).await;
    assert_eq!(error, refused("`test-model` answered with status 400: no tools here", 400));
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_a_key() {
    let away = ResponseTemplate::new(307).insert_header("location", "https://elsewhere.example/");
    let server = server(away).await;
    let error = ask(&provider(&server.uri()), question("hi")).await.unwrap_err();
    let message = format!(
        "`test-model` answered with status 307; `{}/v1/` redirects to `https://elsewhere.example/`: \
         set that URL as the endpoint",
        server.uri()
    );
    assert_eq!(error, refused(&message, 307));
}

#[tokio::test]
async fn an_answer_without_its_end_is_none() {
    let cut = sse(&[delta(json!({"content": "Good "}), None)]);
    let message = "the response of `test-model` was interrupted";
    assert_eq!(error(answer(cut)).await, transient(message, None, None));

    for page in ["<html>Welcome</html>", "{\"choices\": []}", ""] {
        let template = ResponseTemplate::new(200).set_body_raw(page, "text/html");
        let error = error(template).await;
        assert!(error.to_string().contains("did not send an event stream"), "{page}: {error}");
        assert_eq!(error.outcome(), OutcomeKind::Transient);
    }
}

#[tokio::test]
async fn an_empty_answer_is_a_failure_and_an_empty_finished_one_is_not() {
    let nothing = sse(&[json!({"choices": []}), json!("[DONE]")]);
    let message = "`test-model` sent an empty response";
    assert_eq!(error(answer(nothing)).await, transient(message, None, None));

    let server = server(answer(finished(""))).await;
    let reply = ask(&provider(&server.uri()), question("hi")).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("", 0));
    // No usage came: nothing is known to have been used.
    assert_eq!((reply.usage.prompt_tokens, reply.usage.completion_tokens), (0, 0));
}

#[tokio::test]
async fn an_answer_at_its_length_limit_says_so() {
    let body = sse(&[delta(json!({"content": "{\"n\": "}), Some("length")), json!("[DONE]")]);
    let server = server(answer(body)).await;
    let reply = ask(&provider(&server.uri()), question("hi")).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.cut_short), ("{\"n\": ", true));
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_has_its_own_status() {
    let check = async |event: serde_json::Value, expected: ModelError| {
        let body = sse(&[delta(json!({"content": "Go"}), None), event]);
        assert_eq!(error(answer(body)).await, expected);
    };
    let said = |status: u16| format!("`test-model` answered with status {status}: why");
    check(
        json!({"error": {"code": 503, "message": "why"}}),
        transient(&said(503), Some(503), None),
    )
    .await;
    check(
        json!({"error": {"type": "rate_limit_error", "message": "why"}}),
        transient(&said(429), Some(429), None),
    )
    .await;
    check(json!({"error": {"code": 400, "message": "why"}}), refused(&said(400), 400)).await;
    check(
        json!("{\"choices\": [{\"del"),
        transient(
            "`test-model` sent an invalid response: EOF while parsing a string at line 1 \
             column 18",
            None,
            None,
        ),
    )
    .await;
}

#[tokio::test]
async fn a_hostile_stream_harms_nothing() {
    let huge = |index: u64| {
        let call = json!({"index": index, "id": "x", "function": {"name": "fs_read"}});
        delta(json!({"tool_calls": [call]}), None)
    };
    let end = delta(json!({}), Some("tool_calls"));
    let server = server(answer(sse(&[huge(4_294_967_295), end, json!("[DONE]")]))).await;
    let reply = ask(&provider(&server.uri()), question("hi")).await.unwrap();
    assert_eq!(reply.calls.len(), 1);

    let endless = delta(json!({"content": "x".repeat(5 << 20)}), None);
    let error = error(answer(sse(&[endless]))).await;
    assert_eq!(error.to_string(), "the response of `test-model` exceeds 4 MiB");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/v1/", gone.local_addr().unwrap());
    drop(gone);
    let error = ask(&provider(&endpoint), question("hi")).await.unwrap_err();
    assert_eq!(error.outcome(), OutcomeKind::Transient);
    let start = format!("cannot reach `{endpoint}`: ");
    let text = error.to_string();
    assert!(text.starts_with(&start) && text.ends_with("; is the server running?"), "{text}");
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_middle_is_transient() {
    let (endpoint, connection) = wire().await;
    let provider = provider(&endpoint);
    let breaking = async {
        let mut stream = connection.await;
        let part = sse(&[delta(json!({"content": "Go"}), None)]);
        stream.write_all(part.as_bytes()).await.unwrap();
    };
    let (reply, ()) = tokio::join!(ask(&provider, question("hi")), breaking);
    let message = "the response of `test-model` was interrupted";
    assert_eq!(reply, Err(transient(message, None, None)));
}

#[tokio::test]
async fn a_silent_server_meets_the_timeout() {
    let (endpoint, connection) = wire().await;
    let provider = provider(&endpoint);
    let limit = Duration::from_millis(50);
    let request = ChatRequest { timeout: limit, ..question("hi") };
    let serving = async {
        let _open = connection.await;
        std::future::pending::<()>().await;
    };
    let reply = tokio::select! {
        reply = ask(&provider, request) => reply,
        () = serving => unreachable!("a silent server says nothing"),
    };
    let timeout = ModelError::Timeout { model: "test-model".into(), limit };
    assert_eq!(reply, Err(timeout));
}

#[tokio::test]
async fn cancelling_in_mid_stream_closes_the_connection() {
    let (endpoint, connection) = wire().await;
    let provider = provider(&endpoint);
    let cancel = CancellationToken::new();
    // The first token proves that the answer is under way.
    let on_token = |_: &str| cancel.cancel();
    let serving = async {
        let mut stream = connection.await;
        let part = sse(&[delta(json!({"content": "Go"}), None)]);
        stream.write_all(part.as_bytes()).await.unwrap();
        // Reading ends when the other side has gone.
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    };
    let asking = provider.chat(question("hi"), &on_token, &cancel);
    let both = async { tokio::join!(asking, serving) };
    let (reply, ()) = tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
    assert_eq!(reply, Err(ModelError::Cancelled));
}

/// A handshake needs the one TLS stack; a server that speaks none is a broken connection.
#[tokio::test]
async fn tls_is_tried_and_its_failure_is_transient() {
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("https://{}/v1/", plain.local_addr().unwrap());
    let provider = provider(&endpoint);
    let serving = async {
        let (mut stream, _) = plain.accept().await.unwrap();
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).await.unwrap();
        // A TLS record of the handshake kind.
        assert_eq!(hello[0], 22);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let (reply, ()) = tokio::join!(ask(&provider, question("hi")), serving);
    let error = reply.unwrap_err();
    assert_eq!(error.outcome(), OutcomeKind::Transient);
    assert!(error.to_string().starts_with(&format!("cannot reach `{endpoint}`: ")), "{error}");
}

#[tokio::test]
async fn many_questions_are_asked_at_the_same_time() {
    let slow = answer(finished("yes")).set_delay(Duration::from_millis(200));
    let server = server(slow).await;
    let provider = provider(&server.uri());
    let all = (0..200).map(|_| ask(&provider, question("hi")));
    let replies = futures::future::join_all(all).await;
    assert!(replies.iter().all(Result::is_ok));
}

/// Sends an error whose body has no end; how many bytes of it were taken.
async fn endless_error(listener: tokio::net::TcpListener, status: u16) -> usize {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut buffer = vec![0; 64 << 10];
    let _ = stream.read(&mut buffer).await.unwrap();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        200 << 20
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (part, mut sent) = (vec![b'x'; 64 << 10], 0);
    while sent < 200 << 20 {
        match stream.write(&part).await {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_whose_body_has_no_end_is_not_read_to_its_end() {
    for status in [400, 503] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let sending = tokio::spawn(endless_error(listener, status));
        let error = ask(&provider(&endpoint), question("hi")).await.unwrap_err();
        let expected =
            format!("`test-model` answered with status {status} and a body that exceeds the limit");
        match status {
            400 => assert_eq!(error, refused(&expected, 400)),
            _ => assert_eq!(error, transient(&expected, Some(503), None)),
        }
        let sent = sending.await.unwrap();
        assert!(sent < 64 << 20, "{} MiB were taken", sent >> 20);
    }
}

#[test]
fn a_server_of_this_machine_is_asked_without_certificates() {
    let mut own = std::process::Command::new(std::env::current_exe().unwrap());
    own.args(["--exact", "llm::compatible::asked_without_certificates", "--ignored"]);
    own.env("SSL_CERT_FILE", "/nonexistent").env("SSL_CERT_DIR", "/nonexistent");
    assert!(own.stdout(std::process::Stdio::null()).finish().status.success());
}

/// Not a test by itself: it needs a machine without certificates.
#[tokio::test]
#[ignore = "started by another test"]
async fn asked_without_certificates() {
    let server = server(answer(finished("here"))).await;
    assert_eq!(ask(&provider(&server.uri()), question("hi")).await.unwrap().text, "here");
    let encrypted = ask(&provider("https://127.0.0.1:1/v1"), question("hi")).await;
    let ModelError::Refused { message, .. } = encrypted.unwrap_err() else { panic!("not refused") };
    assert!(message.starts_with("cannot connect to `https://127.0.0.1:1/v1/`"), "{message}");
}
