//! The policy of tool calls: allow-lists, groups, levels and secrets in arguments.

use super::bench::{Bench, Setup, bench, call, call_of, told};
use insta::assert_snapshot;
use kb::definition::{ApprovalLevel, Settings, ToolSecurity};
use kb::evidence::InvocationStatus;
use kb::process::{BaseEnvironment, Supervisor};
use kb::redaction::Redactor;
use kb::tool::{Call, ToolboxParts};
use kb::value::ToolName;
use kb::workspace::Workspace;
use serde_json::{Value, json};
use std::sync::Arc;

fn name(text: &str) -> ToolName {
    ToolName::new(text).unwrap()
}

fn secured(tool: &str, security: ToolSecurity) -> Settings {
    let mut settings = Settings::default();
    settings.tools.security.tools.insert(name(tool), security);
    settings
}

fn globs(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

#[tokio::test]
async fn a_specialist_calls_only_its_own_tools() {
    let bench = bench(&[("a", "x")]);
    let read = json!({"path": "a"});
    for allow_list in [&["fs:read"][..], &["fs:*"], &["*"], &["file_read"]] {
        let (result, _) = bench.make(&call_of(allow_list, "fs:read", read.clone())).await;
        assert_eq!(result.status, InvocationStatus::Success, "{allow_list:?}");
    }
    let write = call_of(&["fs:read", "fs:list"], "fs:write", json!({"path": "b", "content": ""}));
    let (result, invocation) = bench.make(&write).await;
    assert_eq!(told(&result), "Denied KB0601 `fs:write` is not in the allow-list of `helper`");
    assert_eq!(
        result.result["error"]["help"],
        "allowed tools: `fs:read`, `fs:list`, `output:read`"
    );
    assert_eq!(invocation.status, InvocationStatus::Denied);
    assert!(!bench.has("b"));
}

#[tokio::test]
async fn tools_that_do_not_exist_are_refused_with_a_suggestion() {
    let bench = bench(&[]);
    let cases = [
        ("fs:raed", "did you mean `fs:read`?"),
        ("deploy:production", "allowed tools: `fs:read`, `output:read`"),
    ];
    for (tool, help) in cases {
        let (result, _) = bench.make(&call_of(&["fs:read"], tool, json!({}))).await;
        assert_eq!(told(&result), format!("Denied KB0602 unknown tool `{tool}`"));
        assert_eq!(result.result["error"]["help"], help);
    }
}

#[tokio::test]
async fn every_violation_of_the_schema_is_named() {
    let bench = bench(&[]);
    let mut lines = Vec::new();
    for (tool, args) in [
        ("fs:read", json!({"start_line": 1})),
        ("fs:read", json!({"path": 7, "startLine": 0, "endLine": "x"})),
        ("fs:read", json!("a.txt")),
        ("fs:edit", json!({"path": "a", "old": "", "new": null})),
        ("fs:search", json!({"pattern": "x", "maxResults": 5000, "recursive": true})),
    ] {
        lines.push(bench.refused(tool, args).await);
    }
    assert_snapshot!(lines.join("\n"), @r#"
    Failed KB0603 invalid arguments for `fs:read`: unknown argument `start_line`; did you mean `startLine`?; `path` is missing
    Failed KB0603 invalid arguments for `fs:read`: `path`: number is not of type "string"; `startLine`: value is less than the minimum of 1; `endLine`: string is not of type "integer"
    Failed KB0603 invalid arguments for `fs:read`: string is not of type "object"
    Failed KB0603 invalid arguments for `fs:edit`: `old`: value is shorter than 1 character; `new`: null is not of type "string"
    Failed KB0603 invalid arguments for `fs:search`: `maxResults`: value is greater than the maximum of 1000; unknown argument `recursive`
    "#);
}

#[tokio::test]
async fn the_settings_narrow_for_everybody() {
    let off = ToolSecurity { enabled: Some(false), ..Default::default() };
    let mut only = Settings::default();
    only.tools.security.allowed = Some(vec![name("file_read")]);
    let cases = [
        (secured("file_write", off.clone()), "fs:write", false),
        (secured("file_write", off.clone()), "fs:delete", false),
        (secured("fs:write", off), "fs:exists", true),
        (only.clone(), "fs:exists", true),
        (only, "fs:write", false),
    ];
    for (settings, tool, allowed) in cases {
        let bench = Setup { settings, files: vec![("a", "x")], ..Default::default() }.bench();
        let args = match tool {
            "fs:write" => json!({"path": "a", "content": ""}),
            _ => json!({"path": "a"}),
        };
        let result = bench.run(tool, args).await;
        assert_eq!(result.status == InvocationStatus::Success, allowed, "{tool}");
        if !allowed {
            assert_eq!(told(&result), format!("Denied KB0601 the settings do not allow `{tool}`"));
        }
    }
}

#[tokio::test]
async fn an_approval_is_asked_of_specialists_only() {
    let settings = || {
        secured("fs:write", ToolSecurity { requires_approval: Some(true), ..Default::default() })
    };
    let args = json!({"path": "a", "content": ""});
    for (yes, author, allowed) in [(false, false, false), (true, false, true), (false, true, true)]
    {
        let bench = Setup { settings: settings(), yes, ..Default::default() }.bench();
        let call = if author {
            super::bench::call("fs:write", args.clone())
        } else {
            call_of(&["fs:write"], "fs:write", args.clone())
        };
        let (result, _) = bench.make(&call).await;
        assert_eq!(result.status == InvocationStatus::Success, allowed, "{yes} {author}");
        if !allowed {
            let expected = "Denied KB0604 the settings require approval for `fs:write`";
            assert_eq!(told(&result), expected);
        }
    }
}

#[tokio::test]
async fn paths_are_held_to_the_globs_of_the_settings() {
    let security = |allowed: Option<&[&str]>, denied: &[&str]| ToolSecurity {
        allowed_paths: allowed.map(globs).into_iter().collect(),
        denied_paths: globs(denied),
        ..Default::default()
    };
    let cases: [(ToolSecurity, &str, bool); 16] = [
        (security(Some(&["src/**"]), &[]), "src/a", true),
        (security(Some(&["src/**"]), &[]), "b", false),
        (security(Some(&["src/**"]), &[]), "link-to-b", false),
        (security(Some(&[]), &[]), "b", false),
        (security(None, &["**/.env"]), ".env", false),
        (security(None, &["**/.env"]), "src/.env", false),
        (security(None, &["**/.env"]), "b", true),
        (security(None, &["/**/src/a"]), "src/a", false),
        (security(Some(&["["]), &[]), "b", false),
        (security(None, &[".env"]), "src/.env", false),
        // What is the same file to some file system; here they are others.
        (security(None, &["**/.env"]), "src/.ENV", false),
        (security(None, &["**/.env"]), "src/.env.", false),
        (security(None, &["**/.env"]), "src/.env ", false),
        (security(None, &["SRC"]), "src/a", false),
        (security(None, &["**/*.env"]), "src/C:d.ENV", false),
        (security(None, &["**/.env"]), "src/.env.x", true),
    ];
    for (security, path, allowed) in cases {
        let names = ["src/a", "b", ".env", "src/.env", "src/.ENV", "src/.env.", "src/.env "];
        let names = names.into_iter().chain(["src/C:d.ENV", "src/.env.x"]);
        let files = names.map(|name| (name, "x")).collect();
        let settings = secured("file_read", security.clone());
        let bench = Setup { settings, files, ..Default::default() }.bench();
        std::os::unix::fs::symlink("../b", bench.dir.path().join("src/link")).unwrap();
        std::os::unix::fs::symlink("b", bench.dir.path().join("link-to-b")).unwrap();
        let result = bench.run("fs:read", json!({"path": path})).await;
        assert_eq!(result.status == InvocationStatus::Success, allowed, "{security:?} {path}");
        if !allowed {
            let expected =
                format!("Denied KB0601 the settings do not allow `fs:read` to access `{path}`");
            assert_eq!(told(&result), expected);
        }
        let found = bench.ok("fs:search", json!({"pattern": "x"})).await;
        let real = path.trim_start_matches("link-to-");
        assert_eq!(
            found.to_string().contains(&format!("\"{real}\"")),
            allowed,
            "{security:?} {path}"
        );
    }
}

#[test]
fn a_model_is_told_of_the_tools_that_it_may_call() {
    let off = ToolSecurity { enabled: Some(false), ..Default::default() };
    let bench = Setup { settings: secured("fs:delete", off), ..Default::default() }.bench();
    let told = |allow_list: &[&str]| {
        let described = bench.tools.describe(&globs(allow_list));
        described.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(told(&["fs:*"]), "fs:read fs:list fs:search fs:exists fs:write fs:edit output:read");
    assert_eq!(told(&["fs:read"]), "fs:read output:read");
    assert_eq!(told(&["mind:rag-query"]), "mind:query output:read");
    assert_eq!(told(&["deploy:production"]), "");
    let read = &bench.tools.describe(&globs(&["fs:read"]))[0];
    assert_eq!(read.input["required"], json!(["path"]));
}

#[test]
fn every_tool_has_the_names_of_the_language() {
    let bench = bench(&[]);
    let names = |schema: &Value| {
        let names = schema["properties"].as_object().unwrap().keys();
        names.filter(|name| *name != "note").cloned().collect::<Vec<_>>().join(",")
    };
    let table: Vec<String> = bench
        .tools
        .tools()
        .tools()
        .map(|s| format!("{} {:?} {} -> {}", s.name, s.level, names(&s.input), names(&s.output)))
        .collect();
    assert_snapshot!(table.join("\n"), @r"
    fs:read Moderate path,startLine,endLine -> content,totalLines
    fs:list Moderate path,glob,depth -> entries
    fs:search Moderate pattern,path,glob,maxResults -> matches
    fs:exists Safe path -> exists,kind
    code:outline Moderate path,glob,depth,maxResults -> symbols
    code:find-definition Moderate name,path,glob,maxResults -> definitions
    code:find-usages Moderate name,path,glob,maxResults -> usages
    mind:query Moderate query,terms,corpus,path,k -> hits,stale,gone
    mind:outline Moderate path,symbol,maxTokens -> outline,files,detail
    fs:write Restricted path,content -> created,bytes
    fs:edit Restricted path,old,new,all -> replaced,line
    fs:delete Restricted path -> deleted
    git:commit Restricted paths,message -> commit,files
    shell:exec Critical command,argv,cwd,env,timeoutMs -> exitCode,stdout,stderr,error
    http:request Restricted url,method,headers,query,body -> status,headers,body,bodyBase64
    http:fetch Restricted url,headers,query -> status,headers,body,bodyBase64
    memory:search Safe query,terms,kinds,tags,limit -> entries
    memory:propose Safe kind,text,subject,tags,anchors,checks -> id,state,duplicate,conflicts
    memory:feedback Safe id,outcome -> recorded
    knowledge_query Safe query,limit -> answer
    knowledge_contribute Safe content,type,tags -> answer
    faq:search Safe query,category,limit -> entries
    faq:write Safe problem,solution,category,tags,relatedFiles -> id,state,duplicate
    faq:delete Safe id -> recorded
    faq:mark-helpful Safe id -> recorded
    faq:mark-not-helpful Safe id -> recorded
    publish Safe channel,message -> answer,id
    subscribe Safe channel,check,ack -> answer,more
    ack Safe channel,through -> answer
    unsubscribe Safe channel -> answer
    blackboard_write Safe key,value -> answer
    blackboard_read Safe key -> answer
    delegate Restricted agent,task,priority,context -> answer,status,run,output
    output:read Safe ref,offset -> content,next
    artifact:get Safe id,offset -> content,next
    ");
    for spec in bench.tools.tools().tools() {
        assert!(jsonschema::meta::is_valid(&spec.input), "{}", spec.name);
        assert!(jsonschema::meta::is_valid(&spec.output), "{}", spec.name);
    }
}

/// A toolbox that knows these for secrets.
fn knowing(secrets: &[&str]) -> Bench {
    let redactor = Redactor::default();
    secrets.iter().for_each(|secret| assert!(redactor.add("TOKEN", secret)));
    let dir = tempfile::tempdir().unwrap();
    let parts = ToolboxParts {
        doubles: None,
        memory: None,
        clock: kb::clock::Clock::system().into(),
        tools: Vec::new(),
        workspace: Workspace::open(dir.path(), &[], &[]).unwrap(),
        supervisor: Supervisor::new(BaseEnvironment::select(std::env::vars(), &[])),
        settings: Default::default(),
        approvals: Default::default(),
        redactor: Arc::new(redactor),
        sandbox: ApprovalLevel::None,
    };
    Bench::new(dir, parts)
}

#[tokio::test]
async fn secrets_are_masked_in_everything_that_is_recorded() {
    // The lines of the second are too short to be secrets by themselves.
    let (token, lines) = ("hunter2-hunter2", "alpha11\nbravo22\ncharl33\ndelta44\n");
    let bench = knowing(&[token, lines]);
    std::fs::write(bench.dir.path().join("long.txt"), "x".repeat(290) + token + "\n").unwrap();
    std::fs::write(bench.dir.path().join("changed.txt"), lines).unwrap();
    std::fs::create_dir(bench.dir.path().join(format!("in-{token}"))).unwrap();
    for (tool, args) in [
        ("shell:exec", json!({"command": format!("echo {token}; exit 1")})),
        ("shell:exec", json!({"argv": [token]})),
        ("shell:exec", json!({"argv": ["true"], "cwd": format!("in-{token}")})),
        ("shell:exec", json!({"command": format!("echo x > f-{token}.txt")})),
        (
            "shell:exec",
            json!({"command": format!("printf '{lines}' > new.txt; echo > changed.txt")}),
        ),
        ("fs:write", json!({"path": format!("d/{token}.txt"), "content": "x"})),
        ("fs:write", json!({"path": "new.txt", "content": "y"})),
        ("fs:write", json!({"path": "new.txt", "content": format!("y\n{lines}")})),
        ("fs:read", json!({"path": format!("d/{token}.txt")})),
        ("fs:read", json!({"path": token})),
        ("fs:read", json!({token: 1})),
        ("fs:list", json!({"depth": 3})),
        ("fs:search", json!({"pattern": "^xx"})),
        (token, json!({})),
    ] {
        let (result, invocation) = bench.make(&call(tool, args)).await;
        let recorded = format!("{result:?} {}", serde_json::to_string(&invocation).unwrap());
        for part in ["hunter2", "xhunt", "bravo22"] {
            assert!(!recorded.contains(part), "{tool}: {recorded}");
        }
        assert!(recorded.contains("«secret:"), "{tool} says something: {recorded}");
    }
}

/// Who can guess a value must not be able to see in a digest that it is the right one.
#[tokio::test]
async fn no_digest_of_a_call_depends_on_a_secret() {
    let mut seen = std::collections::BTreeSet::new();
    for secret in ["hunter2-hunter2", "hunter3-hunter3"] {
        let bench = knowing(&[secret]);
        let env = vec![("T".to_owned(), secret.to_owned())];
        let argv = json!({"argv": ["true", secret, "x".repeat(5_000)]});
        let (_, made) = bench.make(&Call { env, ..call("shell:exec", argv) }).await;
        let process = json!(made.process.unwrap());
        assert!(process["argvHash"].is_string() && process["envHash"].is_string(), "{process}");
        seen.insert(format!("{} {} {}", made.args_hash, process["argvHash"], process["envHash"]));
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
}
