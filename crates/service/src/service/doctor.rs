//! `kb doctor`: checks of the project, the state folder, processes, the sandbox and the models.

use super::ServiceError;
use super::adopting::namesakes;
use super::agents;
use super::doctor_embeddings::embeddings;
use super::doctor_triggers::{triggers, webhooks};
use super::finding::{Finding, FindingLevel};
use super::mcp_servers::problems_of_servers;
use super::plugins::missing_programs;
use super::project::Project;
use super::runs::ProtectedChanges;
use super::validation::validate_playbooks;
use kb_base::diagnostic::Severity;
use kb_base::value::counted;
use kb_engine::journal::JournalError;
use kb_host::llm::{
    CallOrigin, ChatRequest, GenaiProvider, Message, ModelProvider, TierReport, Tiers,
    ToolDescription, local_servers,
};
use kb_language::definition::{ApprovalLevel, ProcessChoice};
use kb_process::BaseEnvironment;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the finding of the sandbox says below the level `kernel`.
const OWN_CHECKS: &str =
    "; commands that check the work of a specialist run with the rights of this user";

/// The tool that a model is asked to call.
const PROBE: &str = "ready";

/// Runs all checks; with `call`, sends one request to each model. A missing project is a finding,
/// not an error.
pub async fn doctor(project: Result<Project, ServiceError>, call: bool) -> Vec<Finding> {
    let version = format!("kb {}", env!("CARGO_PKG_VERSION"));
    let mut findings = vec![Finding::new(FindingLevel::Ok, "version", version)];
    let project = match project {
        Ok(project) => project,
        Err(error) => {
            let help = error.help().unwrap_or_default();
            findings
                .push(Finding::new(FindingLevel::Error, "project", error.to_string()).help(help));
            return findings;
        }
    };
    findings.push(definitions(&project));
    findings.extend(plugins(&project));
    findings.extend(servers(&project));
    findings.extend(agents::findings(&project));
    findings.push(state(&project));
    findings.push(journal(&project));
    findings.extend(triggers(&project));
    findings.extend(webhooks(&project));
    findings.push(bash(&project));
    findings.push(processes(&project));
    findings.push(sandbox(&project));
    findings.extend(hooks(&project));
    findings.extend(protected(&project));
    findings.extend(unprotected_folders(&project));
    findings.extend(models(&project, call).await);
    findings.extend(embeddings(&project, call));
    findings
}

fn definitions(project: &Project) -> Finding {
    let root = project.context.root.display();
    let playbooks = counted(project.catalog.playbooks.len(), "playbook");
    let specialists = counted(project.catalog.specialists.len(), "specialist");
    let have = format!("{root}: {playbooks}, {specialists}");
    let count = |severity| {
        move |report: &super::Report| {
            report.diagnostics.iter().filter(|d| d.severity == severity).count()
        }
    };
    let help = "`kb playbook validate` shows the problems";
    match validate_playbooks(project, &[]) {
        Err(error) => Finding::new(FindingLevel::Error, "project", error.to_string()),
        Ok(report) if report.has_errors() => {
            let errors = counted(count(Severity::Error)(&report), "error");
            Finding::new(FindingLevel::Error, "project", format!("{have}, {errors}")).help(help)
        }
        Ok(report) if report.has_warnings() => {
            let warnings = counted(count(Severity::Warning)(&report), "warning");
            Finding::new(FindingLevel::Warning, "project", format!("{have}, {warnings}")).help(help)
        }
        Ok(_) => Finding::new(FindingLevel::Ok, "project", have),
    }
}

/// The programs of plugins; nothing without plugins.
fn plugins(project: &Project) -> Option<Finding> {
    let count = project.catalog.plugins.len();
    let missing = missing_programs(project);
    match missing.first() {
        Some((id, program)) => {
            let message = match missing.len() {
                1 => format!("`{id}`: the program `{program}` does not exist"),
                more => format!("`{id}` and {} more: no such program", more - 1),
            };
            let help = "install the program, or correct `argv` of the plugin";
            Some(Finding::new(FindingLevel::Error, "plugins", message).help(help))
        }
        None if count == 0 => None,
        None => Some(Finding::new(FindingLevel::Ok, "plugins", counted(count, "plugin"))),
    }
}

/// MCP servers that cannot be used as they are, or their number; nothing without servers.
fn servers(project: &Project) -> Vec<Finding> {
    let problems = problems_of_servers(project).into_iter().map(|(name, problem, help)| {
        Finding::new(FindingLevel::Warning, "mcp", format!("`{name}`: {problem}")).help(help)
    });
    let problems: Vec<Finding> = problems.collect();
    match project.catalog.servers.len() {
        0 => Vec::new(),
        _ if !problems.is_empty() => problems,
        count => vec![Finding::new(FindingLevel::Ok, "mcp", counted(count, "pinned server"))],
    }
}

/// Hooks of git in a folder that specialists write to; nothing elsewhere.
fn hooks(project: &Project) -> Option<Finding> {
    let workspace = project.context.workspace(None).ok()?;
    let failure = workspace.require_hooks_elsewhere().err()?.failure();
    let finding = Finding::new(FindingLevel::Error, "hooks", failure.message);
    Some(Finding { help: failure.help, ..finding })
}

/// Changes of protected paths by commands, which are neither undone nor accepted.
fn protected(project: &Project) -> Option<Finding> {
    let failure = ProtectedChanges::of(&project.context).ok()?.refusal()?;
    let finding = Finding::new(FindingLevel::Error, "protected", failure.message);
    Some(Finding { help: failure.help, ..finding })
}

fn state(project: &Project) -> Finding {
    let folder = &project.context.state_dir;
    let probe = folder.join(format!(".probe-{}", std::process::id()));
    let tried = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&probe, b"ok"));
    let _ = std::fs::remove_file(&probe);
    match tried {
        Ok(()) => Finding::new(FindingLevel::Ok, "state", folder.display().to_string()),
        Err(error) => {
            let message = format!("`{}` cannot be written: {error}", folder.display());
            Finding::new(FindingLevel::Error, "state", message)
                .help("fix its permissions, or set XDG_STATE_HOME to another folder")
        }
    }
}

fn journal(project: &Project) -> Finding {
    let listed = project.context.journal(Default::default()).and_then(|journal| {
        let rows = journal.list()?;
        journal.check_space().map(|()| rows)
    });
    match listed {
        Ok(rows) => {
            let open = rows.iter().filter(|row| !row.status.has_ended()).count();
            let open = if open == 0 { String::new() } else { format!(", {open} not ended") };
            let opens = format!("opens, {}{open}", counted(rows.len(), "run"));
            let others = if rows.is_empty() { namesakes(&project.context) } else { 0 };
            match others {
                0 => Finding::new(FindingLevel::Ok, "journal", opens),
                others => {
                    let folders = counted(others, "other folder");
                    let message = format!("{opens}; runs are recorded for {folders} of this name");
                    let help = "if this project was moved, `kb doctor --adopt OLD_FOLDER` takes its runs over";
                    Finding::new(FindingLevel::Ok, "journal", message).help(help)
                }
            }
        }
        Err(error) => {
            // The help of these errors is to run this command.
            let own = matches!(error, JournalError::Damaged(_) | JournalError::Broken(_));
            let error = ServiceError::from(error);
            let help = error.help().filter(|_| !own);
            Finding { help, ..Finding::new(FindingLevel::Error, "journal", error.to_string()) }
        }
    }
}

fn bash(project: &Project) -> Finding {
    match project.supervisor().own_program("bash") {
        Ok(path) => Finding::new(FindingLevel::Ok, "bash", path.display().to_string()),
        Err(reason) => Finding::new(FindingLevel::Error, "bash", reason)
            .help("`run:` steps with a text need it; `run:` steps with a list do not"),
    }
}

fn processes(project: &Project) -> Finding {
    let (settings, supervisor) = (&project.catalog.settings, project.supervisor());
    let level = supervisor.level();
    let message = format!("{}: {}", level.as_str(), level.description());
    match supervisor.shortfall() {
        None if supervisor.is_in_user_namespace() => {
            let more = "`sudo` does not work in steps; set `sandbox: {processes: group}` in the \
                        settings if they need it";
            Finding::new(FindingLevel::Ok, "processes", format!("{message}; {more}"))
        }
        None => Finding::new(FindingLevel::Ok, "processes", message),
        Some(_) if settings.sandbox.processes == ProcessChoice::Group => Finding::new(
            FindingLevel::Ok,
            "processes",
            format!("{message}, as set in the settings"),
        ),
        Some(why) => {
            let short = match settings.sandbox.processes {
                ProcessChoice::PidNamespace => FindingLevel::Error,
                _ => FindingLevel::Warning,
            };
            Finding::new(short, "processes", format!("{message} ({why})")).help(
                "PID namespaces need Linux with unprivileged user namespaces and a `/proc` without \
                 mounts over it; see `kb explain KB0563`",
            )
        }
    }
}

fn sandbox(project: &Project) -> Finding {
    let settings = &project.catalog.settings;
    let base = BaseEnvironment::select(project.context.environment.variables.clone(), &[]);
    let level = kb_host::tool::sandbox_level(base.sandbox_cap());
    let name = level.as_str();
    let needed = settings.sandbox.critical_unapproved_at;
    if settings.sandbox.require.is_some_and(|required| required > level) {
        let message = format!("{name}, below the required level");
        return Finding::new(FindingLevel::Error, "sandbox", message)
            .help("no run starts below the level of `sandbox.require` in the settings");
    }
    if needed > level {
        let message = format!("{name}: `shell:exec` of specialists requires approval{OWN_CHECKS}");
        return Finding::new(FindingLevel::Warning, "sandbox", message).help(
            "`--yes` approves it for one run, `sandbox: {criticalUnapprovedAt: process}` in the \
             settings for all runs",
        );
    }
    let holds = kb_process::KernelSandbox::detect()
        .filter(|_| level == ApprovalLevel::Kernel)
        .map_or_else(String::new, |kernel| format!("; {}", kernel.description()));
    let holds = if level == ApprovalLevel::Kernel { holds } else { OWN_CHECKS.to_owned() };
    let message = format!("{name}: `shell:exec` of specialists runs without approval{holds}");
    let missing = match level {
        ApprovalLevel::Kernel => project.supervisor().missing_isolation(),
        _ => Vec::new(),
    };
    if missing.is_empty() {
        Finding::new(FindingLevel::Ok, "sandbox", message)
    } else {
        let message = format!("{message}; without namespaces, {}", missing.join("; "));
        Finding::new(FindingLevel::Warning, "sandbox", message)
            .help("these restrictions need PID, mount and network namespaces")
    }
}

/// Folders that the sandbox cannot protect in this project.
fn unprotected_folders(project: &Project) -> Vec<Finding> {
    let context = &project.context;
    let mut findings = Vec::new();
    let home =
        context.environment.variables.get("HOME").and_then(|home| std::fs::canonicalize(home).ok());
    if home.is_some_and(|home| home.starts_with(&context.root)) {
        let message =
            "the project contains your home directory, so commands can read its keys and tokens";
        let finding = Finding::new(FindingLevel::Warning, "sandbox", message);
        findings.push(finding.help("create a folder for the project and run `kb init` there"));
    }
    if context.state_dir.starts_with(&context.root) {
        let message = "the state folder of kb is inside the project, where commands can write";
        let finding = Finding::new(FindingLevel::Warning, "sandbox", message);
        findings.push(finding.help("set XDG_STATE_HOME to a folder outside the project"));
    }
    findings
}

async fn models(project: &Project, call: bool) -> Vec<Finding> {
    let mut tiers = Tiers::from(&project.catalog.settings, &project.context.environment.variables);
    if tiers.wants_local() {
        tiers = tiers.with_local(&local_servers().await);
    }
    let reports = tiers.describe();
    if reports.is_empty() {
        let hint = tiers.hint().map(|hint| format!(": {hint}")).unwrap_or_default();
        let found = format!("none found{hint}");
        let finding = Finding::new(FindingLevel::Warning, "models", found);
        return vec![finding.help(
            "set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, start a local server such as \
             Ollama, or write `llm.tiers` in the settings; playbooks without specialists and \
             `--script` need none",
        )];
    }
    let provider = GenaiProvider::new(tiers);
    let mut findings = Vec::new();
    let mut asked: Vec<(String, Finding)> = Vec::new();
    for report in reports {
        let finding = match &report.target {
            Err(_) => Finding::new(FindingLevel::Error, "models", report.to_string())
                .help("fix `llm.tiers` in the settings, or the environment variables"),
            Ok(target) if call => {
                let key = format!("{} {}", target.endpoint, target.model);
                match asked.iter().find(|(known, _)| *known == key) {
                    Some((_, known)) => Finding::new(
                        known.level,
                        "models",
                        format!("{report}: same result as above"),
                    ),
                    None => {
                        let finding = ask(&provider, &report).await;
                        asked.push((key, finding.clone()));
                        finding
                    }
                }
            }
            Ok(_) => Finding::new(FindingLevel::Ok, "models", report.to_string()),
        };
        findings.push(finding);
    }
    findings
}

/// Sends one short request to a model, with a tool that it is to call.
async fn ask(provider: &GenaiProvider, report: &TierReport) -> Finding {
    let model = match provider.resolve(report.tier, None) {
        Ok(model) => model,
        Err(error) => return Finding::new(FindingLevel::Error, "models", error.to_string()),
    };
    let request = ChatRequest {
        model,
        messages: vec![Message::User(format!("Call the tool `{PROBE}` with `word` set to `yes`."))],
        tools: vec![ToolDescription {
            name: PROBE.to_owned(),
            description: "Says that you can call tools.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"word": {"type": "string"}},
                "required": ["word"],
            }),
        }],
        response_schema: None,
        temperature: Some(0.0),
        max_tokens: Some(1_024),
        reasoning: None,
        timeout: Duration::from_secs(60),
        origin: CallOrigin::default(),
    };
    let began = kb_clock::instant();
    let reply = provider.chat(request, &|_| {}, &CancellationToken::new()).await;
    let took = kb_base::value::format_duration(began.elapsed());
    match reply {
        Ok(reply) if reply.calls.iter().any(|call| call.tool == PROBE) => {
            let what = format!("{report}: answered in {took}, with a call of a tool");
            Finding::new(FindingLevel::Ok, "models", what)
        }
        Ok(_) => {
            let what = format!(
                "{report}: answered in {took}, but did not call the tool that it was asked to call"
            );
            Finding::new(FindingLevel::Warning, "models", what).help(
                "specialists work by calls of tools: use a model that can call them, or a server that passes the calls on",
            )
        }
        Err(error) => Finding::new(FindingLevel::Error, "models", format!("{report}: {error}"))
            .help("check the key, the endpoint and the model name"),
    }
}
