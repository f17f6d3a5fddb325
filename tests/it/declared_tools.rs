//! Tools that are known only at run time: from the name in a definition to the policy, the call, its evidence, the
//! verdict and the display.

use futures::future::BoxFuture;
use kb::clock::Clock;
use kb::run::RunStatus;
use kb::service::runs::{
    Decision, Overrides, Prepared, ProjectContext, Replied, ReplyRequest, reply,
};
use kb::service::{self, Environment, Project, StartRequest};
use kb::tool::{ServerPlace, ToolImplementation, ToolServer};
use kb::toolspec::{ToolLevel, ToolSpec};
use kb::value::{Failure, Json};
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

/// A server with two tools, which says what the test says.
#[derive(Default)]
struct Shop {
    called: Mutex<Vec<(String, Json)>>,
    answer: Json,
}

impl ToolServer for Shop {
    fn call<'a>(
        &'a self,
        tool: &'a ToolSpec,
        args: &'a Json,
        _: ServerPlace<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Json, Failure>> {
        self.called.lock().unwrap().push((tool.name.to_string(), args.clone()));
        Box::pin(async { Ok(self.answer.clone()) })
    }
}

fn object(properties: Json) -> Json {
    let names: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// `mcp:shop:order` as it is declared, and `mcp:shop:look`, which a person has declared harmless.
fn declared(order: Json) -> [ToolSpec; 2] {
    let output = object(json!({"order": {"type": "integer"}}));
    let about = |name: &str, input: Json| {
        ToolSpec::declared(("shop", name), "Deals with the shop.", input, output.clone())
    };
    let look = about("look", object(json!({})));
    let look = ToolSpec {
        level: ToolLevel::Safe,
        only_reads: true,
        writes: false,
        leaves_sandbox: false,
        ..look
    };
    [about("order", order), look]
}

const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  \
    - {id: a, specialist: buyer, task: Buy tea., verify: {maxReworks: 0, expectChanges: false}}\n";
const BUYER: &str = "schema: kb.specialist/1\nid: buyer\nrole: You buy.\ntools: ['mcp:shop:*']\n";

struct Market {
    folder: tempfile::TempDir,
    shop: Arc<Shop>,
    tools: Vec<ToolSpec>,
}

impl Market {
    fn new(turns: Json) -> Market {
        let folder = tempfile::tempdir().unwrap();
        let script = json!({"schema": "kb.script/1", "steps": {"a": turns}}).to_string();
        for (path, text) in [
            ("project/.kb/playbooks/p.yml", PLAYBOOK),
            ("project/.kb/specialists/buyer.yml", BUYER),
            ("project/script.yml", &script),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let shop = Arc::new(Shop { answer: json!({"order": 4711}), ..Shop::default() });
        let tools = declared(object(json!({"item": {"type": "string"}}))).into();
        Market { folder, shop, tools }
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.folder.path().join("project").join(path), text).unwrap();
    }

    fn environment(&self) -> Environment {
        let state = self.folder.path().join("state").display().to_string();
        let path = std::env::var("PATH").unwrap();
        let variables = [("PATH", path), ("XDG_STATE_HOME", state)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into();
        let server: Arc<dyn ToolServer> = self.shop.clone();
        let tools = self.tools.iter().cloned().map(Arc::new);
        let tools = tools.map(|spec| ToolImplementation::declared(spec, server.clone())).collect();
        let root = self.folder.path().join("project");
        Environment { tools, ..Environment::new(root, variables, Clock::system()) }
    }

    fn context(&self) -> ProjectContext {
        ProjectContext::find(&self.environment()).unwrap()
    }

    async fn run(&self, yes: bool) -> (String, RunStatus) {
        let project = Project::find(&self.environment()).unwrap();
        let request = StartRequest {
            definition: "p".to_owned(),
            script: Some(Path::new("script.yml").to_owned()),
            overrides: Overrides { yes, ..Overrides::default() },
            ..StartRequest::default()
        };
        let prepared = service::start(project, request, None).await;
        drive(prepared.unwrap_or_else(|error| panic!("{error}: {error:?}"))).await
    }

    async fn approve(&self, run: &str) -> RunStatus {
        let request = ReplyRequest {
            step: None,
            decision: Decision::Approve,
            comment: None,
            by: "ada".to_owned(),
            about: None,
            seen: None,
        };
        match reply(self.context(), run, request).unwrap() {
            Replied::Ready(prepared) => drive(*prepared).await.1,
            Replied::Delivered(_) => panic!("nobody drives the run"),
        }
    }

    /// The calls with their levels and how they ended.
    fn calls(&self, run: &str) -> Vec<String> {
        let calls = service::audited_calls(&self.context(), run).unwrap();
        let call = |call: &service::AuditedCall| {
            let level = call.level.map_or("no level", ToolLevel::as_str);
            let code = call.code.map(|code| format!(" {code}")).unwrap_or_default();
            format!("{} {level} {}{code}", call.tool, call.status.unwrap().as_str())
        };
        calls.iter().map(call).collect()
    }

    fn called(&self) -> Vec<(String, Json)> {
        self.shop.called.lock().unwrap().clone()
    }

    fn shown(&self, run: &str) -> Json {
        serde_json::to_value(service::show_run(&self.context(), run).unwrap()).unwrap()
    }
}

async fn drive(prepared: Prepared) -> (String, RunStatus) {
    let run = prepared.run().to_string();
    let (_keep, commands) = unbounded_channel();
    let ended = prepared.drive(None, commands).await.unwrap_or_else(|error| panic!("{error}"));
    (run, ended.status)
}

fn call(tool: &str, args: Json) -> Json {
    json!({"calls": [{"tool": tool, "args": args}]})
}

fn claim(tool: &str) -> Json {
    json!({"output": {"summary": "I ordered tea.", "toolCalls": [{"tool": tool, "args": {"item": "tea"}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_tool_passes_the_policy_the_schema_the_gate_and_the_audit() {
    let market = Market::new(json!([
        call("mcp:shop:look", json!({})),
        call("mcp:shop:order", json!({"item": 7})),
        call("mcp:shop:order", json!({"item": "tea"})),
        call("mcp:shop:steal", json!({"item": "tea"})),
        claim("order"),
    ]));
    let (run, _) = market.run(true).await;
    let tea = ("mcp:shop:order".to_owned(), json!({"item": "tea"}));
    assert_eq!(market.called(), [("mcp:shop:look".to_owned(), json!({})), tea]);
    assert_eq!(
        market.calls(&run),
        [
            "mcp:shop:look safe success",
            "mcp:shop:order critical failed KB0603",
            "mcp:shop:order critical success",
            "mcp:shop:steal no level denied KB0602",
        ]
    );
    let step = market.shown(&run)["steps"][0].clone();
    assert_eq!(step["verdict"], "inconclusive", "{step}");
    assert!(step.to_string().contains("its effect is remote and cannot be checked"), "{step}");
    let audit = service::audit_run(&market.context(), &run, None).unwrap();
    assert_eq!((audit.verdicts, audit.faults.len()), (1, 0), "{:?}", audit.faults);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_about_a_declared_tool_is_compared_with_its_recorded_output() {
    let mut lie = claim("mcp:shop:order");
    lie["output"]["toolCalls"][0]["output"] = json!({"order": 1});
    let market = Market::new(json!([call("mcp:shop:order", json!({"item": "tea"})), lie]));
    let (run, _) = market.run(true).await;
    let step = market.shown(&run)["steps"][0].clone();
    assert_eq!(step["verdict"], "failed", "{step}");
    assert!(step.to_string().contains("another `order` than it did"), "{step}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_against_the_declared_schema_is_a_failed_call() {
    let mut market =
        Market::new(json!([call("mcp:shop:order", json!({"item": "tea"})), claim("order")]));
    market.shop = Arc::new(Shop { answer: json!({"order": "soon"}), ..Shop::default() });
    let (run, _) = market.run(true).await;
    assert_eq!(market.calls(&run), ["mcp:shop:order critical failed KB0624"]);
    assert_eq!(market.shown(&run)["steps"][0]["verdict"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_an_approval_and_holds_to_the_frozen_declaration() {
    let turns = || json!([call("mcp:shop:order", json!({"item": "tea"})), claim("order")]);
    let market = Market::new(turns());
    let (run, status) = market.run(false).await;
    assert_eq!((status, market.called().len()), (RunStatus::Waiting, 0));
    market.approve(&run).await;
    assert_eq!(market.calls(&run), ["mcp:shop:order critical success"]);

    let mut market = Market::new(turns());
    let (run, _) = market.run(false).await;
    // The server asks for more than it declared when the run began.
    market.tools = declared(object(json!({"card": {"type": "string"}}))).into();
    market.approve(&run).await;
    assert!(market.called().is_empty());
    assert_eq!(market.calls(&run), ["mcp:shop:order critical denied KB0602"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_and_settings_name_declared_tools() {
    let market = Market::new(json!([call("mcp:shop:look", json!({})), claim("order")]));
    let problems = || {
        let project = Project::find(&market.environment()).unwrap();
        let found = project.diagnostics.iter().map(|problem| problem.message.clone());
        found.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(problems(), "");
    market.write(".kb/specialists/buyer.yml", &BUYER.replace("shop:*", "shop:ordr"));
    assert_eq!(problems(), "unknown tool `mcp:shop:ordr`");
    // A glob that does not name the server stands for none of its tools.
    market.write(".kb/specialists/buyer.yml", &BUYER.replace("mcp:shop:*", "*:l*"));
    let (run, _) = market.run(true).await;
    assert_eq!(market.calls(&run), ["mcp:shop:look safe denied KB0601"]);

    market.write(".kb/specialists/buyer.yml", BUYER);
    let settings = "schema: kb.config/1\ntools: {security: {'mcp:shop:look': {enabled: false}}}\n";
    market.write(".kb/kb.config.yml", settings);
    let (run, _) = market.run(true).await;
    assert_eq!(market.calls(&run), ["mcp:shop:look safe denied KB0601"]);
    assert!(market.called().is_empty());
}
