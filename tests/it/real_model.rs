//! A real model behind a real server: llama.cpp with a model of 135 million parameters.
//!
//! The answers are poor and the protocol is real: streams, usage, schemas held by the sampler, and
//! connections that break. Skipped, with a line that says so, where there is no such server.

use crate::running::{Running, Start};
use kb::definition::Settings;
use kb::evidence::CallRequest;
use kb::llm::*;
use kb::value::{Json, Money, OutcomeKind, Tier};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The first start ever installs the server, which takes a minute; `.ci/run` does it before.
const START: Duration = Duration::from_secs(240);
/// A busy machine of two cores still answers within this.
const PATIENCE: Duration = Duration::from_secs(240);

/// A model server that ends with this process, however that ends: it is killed when the pipe to
/// its keeper closes.
pub(crate) struct LabServer {
    /// Its OpenAI-compatible address.
    pub(crate) endpoint: String,
    keeper: Mutex<(Running, Option<ChildStdin>)>,
}

/// Runs the server in a group of its own and kills all of it at the end of its own input. The keeper
/// itself stays in the group of these tests: a child in another one is an orphan to those of them
/// that look for what steps have left behind.
const KEEPER: &str = r#"
trap : INT TERM
set -m
"$0" "$1" 2>/dev/null &
read -r _
kill -9 -- "-$!"
wait "$!" 2>/dev/null
"#;

impl LabServer {
    /// Starts one; `None` where there is none to start.
    pub(crate) fn start() -> Option<LabServer> {
        let script = match std::env::var_os("KB_LAB_SERVER") {
            Some(path) => PathBuf::from(path),
            None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/lab/llm-server")),
        };
        if !script.is_file() {
            eprintln!("skipped: no model server ({} is not there)", script.display());
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let mut keeper = Command::new("bash")
            .arg("-c")
            .arg(KEEPER)
            .arg(&script)
            .arg(port.expect("a free port on loopback").port().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .start_for(Duration::from_secs(24 * 3600));
        let input = keeper.stdin.take();
        let output = BufReader::new(keeper.stdout.take().expect("its output is piped"));
        let (ready, waiting) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some(endpoint) = line.strip_prefix("ready ") {
                    let _ = ready.send(endpoint.to_owned());
                }
            }
        });
        let endpoint = waiting.recv_timeout(START).expect("the model server says that it is ready");
        Some(LabServer { endpoint, keeper: Mutex::new((keeper, input)) })
    }

    /// Kills it as a crash would; it is gone on return.
    pub(crate) fn kill(&self) {
        let mut keeper = self.keeper.lock().unwrap();
        drop(keeper.1.take());
        let _ = keeper.0.wait();
        // A dying server's port may still take connections, which it resets at its end.
        let address = self.endpoint.trim_start_matches("http://").split('/').next().unwrap();
        let began = std::time::Instant::now();
        while TcpStream::connect(address).is_ok() && began.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// A provider whose tiers are all this server's model.
    pub(crate) fn provider(&self) -> GenaiProvider {
        let pairs = [("KB_LLM_ENDPOINT", self.endpoint.as_str()), ("KB_LLM_MODEL", "smollm2")];
        let env = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        GenaiProvider::new(Tiers::from(&Settings::default(), &BTreeMap::from(env)))
    }
}

impl Drop for LabServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The server that the tests of this process share.
pub(crate) fn lab() -> Option<&'static LabServer> {
    static LAB: OnceLock<Option<LabServer>> = OnceLock::new();
    LAB.get_or_init(LabServer::start).as_ref()
}

fn question(text: &str, max_tokens: u32) -> ChatRequest {
    ChatRequest {
        reasoning: None,
        model: ModelRef { name: "smollm2".into(), tier: Some(Tier::Small) },
        messages: vec![Message::User(text.into())],
        tools: Vec::new(),
        response_schema: None,
        temperature: Some(0.0),
        max_tokens: Some(max_tokens),
        timeout: PATIENCE,
        origin: CallOrigin { turn: 1, ..CallOrigin::default() },
    }
}

async fn ask(server: &LabServer, request: ChatRequest) -> Result<ChatReply, ModelError> {
    server.provider().chat(request, &|_| {}, &CancellationToken::new()).await
}

#[tokio::test]
async fn a_structured_answer_always_fits_its_schema() {
    let Some(server) = lab() else { return };
    let check = async |schema: Json| {
        let request = ChatRequest {
            response_schema: Some(schema.clone()),
            ..question("Describe the weather of today.", 300)
        };
        let reply = ask(server, request).await.unwrap();
        assert!(!reply.cut_short, "{}", reply.text);
        let answer: Json = serde_json::from_str(&reply.text).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(validator.is_valid(&answer), "{answer} does not fit {schema}");
    };
    check(json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "kind": {"enum": ["sun", "rain"]},
            "degrees": {"type": "integer"},
            "note": {"type": "string", "maxLength": 20},
        },
        "required": ["ok", "kind", "degrees"],
        "additionalProperties": false,
    }))
    .await;
    check(json!({
        "type": "object",
        "properties": {
            "hours": {"type": "array", "maxItems": 2, "items": {"enum": ["noon", "night"]}},
            "free": {
                "type": "object",
                "maxProperties": 1,
                "additionalProperties": {"type": "string", "maxLength": 5},
            },
        },
        "required": ["hours"],
        "additionalProperties": false,
    }))
    .await;
}

#[tokio::test]
async fn text_streams_and_its_use_is_counted() {
    let Some(server) = lab() else { return };
    let tokens = Mutex::new(Vec::new());
    // An empty text is reasoning or a part of a tool call.
    let heard = |token: &str| {
        if !token.is_empty() {
            tokens.lock().unwrap().push(token.to_owned());
        }
    };
    let request = question("Count from one to one hundred, in words.", 6);
    let provider = server.provider();
    let reply = provider.chat(request.clone(), &heard, &CancellationToken::new()).await.unwrap();
    let tokens = tokens.into_inner().unwrap();
    assert!(tokens.len() > 3, "{tokens:?}");
    assert_eq!(tokens.concat(), reply.text);
    assert!(reply.cut_short, "{}", reply.text);
    assert_eq!((reply.usage.completion_tokens, reply.usage.model_calls), (6, 1));
    assert!(reply.usage.prompt_tokens > 10, "{:?}", reply.usage);
    assert_eq!(reply.usage.cost_usd, Some(Money::ZERO));
    assert_eq!(reply.model, "smollm2");

    let again = ask(server, request).await.unwrap();
    assert!(again.usage.cached_tokens > 0, "{:?}", again.usage);
    assert!(again.usage.cached_tokens <= again.usage.prompt_tokens, "{:?}", again.usage);
}

#[tokio::test]
async fn a_conversation_with_tools_is_understood() {
    let Some(server) = lab() else { return };
    let call = CallRequest { id: "c1".into(), tool: "fs:list".into(), args: json!({"path": "."}) };
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let mut request = question("Which files are there?", 16);
    request.messages.insert(0, Message::System("You are terse.".into()));
    request.messages.push(Message::Assistant {
        text: "Looking.".into(),
        calls: vec![call],
        reasoning: None,
    });
    request.messages.push(Message::Tool {
        call_id: "c1".into(),
        tool: "fs:list".into(),
        content: "README.md".into(),
    });
    let description = "lists a folder".to_owned();
    request.tools = vec![ToolDescription { name: "fs:list".into(), description, schema }];
    let reply = ask(server, request).await.unwrap();
    assert!(!reply.text.is_empty() || !reply.calls.is_empty(), "{reply:?}");
}

#[tokio::test]
async fn cancelling_in_mid_stream_leaves_a_server_that_answers() {
    let Some(server) = lab() else { return };
    let cancel = CancellationToken::new();
    let first = |_: &str| cancel.cancel();
    let provider = server.provider();
    let reply = provider.chat(question("Tell a long story.", 2000), &first, &cancel).await;
    assert_eq!(reply, Err(ModelError::Cancelled));
    // Were the story still told, its 2,000 tokens would not leave the server in this time.
    assert!(ask(server, question("Say one word.", 4)).await.is_ok());
}

#[tokio::test]
async fn a_server_killed_in_mid_answer_is_transient() {
    let Some(server) = LabServer::start() else { return };
    let provider = server.provider();
    let first = |_: &str| server.kill();
    let story = question("Tell a long story.", 2000);
    let error = provider.chat(story.clone(), &first, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.outcome(), OutcomeKind::Transient);
    assert!(error.to_string().contains("was interrupted"), "{error}");

    let error = ask(&server, story).await.unwrap_err();
    assert_eq!(error.outcome(), OutcomeKind::Transient);
    let start = format!("cannot reach `{}/`: ", server.endpoint);
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[tokio::test]
async fn a_local_server_is_found_with_its_model() {
    let Some(server) = lab() else { return };
    let endpoint = format!("{}/", server.endpoint);
    let found = servers_at(&[("llama.cpp", &endpoint)]).await;
    let tiers = Tiers::from(&Settings::default(), &BTreeMap::new()).with_local(&found);
    assert!(tiers.resolve(Tier::Medium, None).unwrap().name.contains("SmolLM2"), "{found:?}");
}
