//! `kb serve`

use super::exit::{CliError, CliResult, Exit};
use super::logging::LogFormat;
use super::runtime::{self, Workers};
use super::serve_token;
use super::terminal::Terminal;
use kb_base::value::counted;
use kb_language::definition::Settings;
use kb_serve::serve::{self, Daemon, DaemonOptions, UnitKind};
use kb_serve::web::{Listen, Server, login_url_of};
use kb_service::service::runs::ProjectContext;
use kb_service::service::{Environment, Project, ServiceError, open_triggers, unset_hook_secrets};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How long the daemon may take to end its turn when it is stopped.
const GRACE: Duration = Duration::from_secs(1);

/// Start runs by their triggers, and serve the API and the pages
///
/// Each run is a process of its own. Runs continue when this command stops, and the next `kb serve`
/// follows them. Triggers start nothing until `kb trigger enable`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Serve the project of this folder; can be repeated. By default the project of the working
    /// directory
    #[arg(long, value_name = "DIR")]
    project: Vec<PathBuf>,
    /// Maximum number of runs of all projects together
    #[arg(long, value_name = "N")]
    max_runs: Option<u32>,
    /// Open the pages in the browser, with a session of the role `admin`
    #[arg(long)]
    open: bool,
    /// Address to listen on, with or without a port; one that other machines can reach needs `--host`
    #[arg(long, value_name = "ADDR[:PORT]", default_value = "127.0.0.1")]
    listen: ListenAddress,
    /// Port to listen on; by default that of `--listen`, else 7900, or a free one if that is in use
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Accept requests for this host too, such as the name of a proxy; can be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Form of the log on stderr; `KB_LOG_FORMAT` too. `KB_LOG` selects what is logged, by default `kb=info`
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) log_format: Option<LogFormat>,
    /// Print a unit file that starts this command with the system
    #[arg(long, value_enum, value_name = "KIND")]
    unit: Option<Unit>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create, list and revoke the tokens of the API
    #[command(subcommand)]
    Token(serve_token::Command),
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Unit {
    /// A systemd user unit
    Systemd,
    /// A launchd property list
    Launchd,
}

impl Args {
    /// Whether these arguments start the daemon.
    pub(super) fn is_daemon(&self) -> bool {
        self.command.is_none() && self.unit.is_none()
    }
}

/// An address, and the port if one is given.
#[derive(Debug, Clone, Copy)]
struct ListenAddress {
    address: IpAddr,
    port: Option<u16>,
}

impl FromStr for ListenAddress {
    type Err = &'static str;

    /// Reads `127.0.0.1`, `127.0.0.1:7900`, `::1`, `[::1]:7900`, `localhost` and `localhost:7900`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = match text.strip_prefix("localhost") {
            Some(rest) if rest.is_empty() || rest.starts_with(':') => format!("127.0.0.1{rest}"),
            _ => text.to_owned(),
        };
        if let Ok(address) = text.parse() {
            return Ok(Self { address, port: None });
        }
        let both: SocketAddr = text.parse().map_err(
            |_| "an IP address with or without a port, such as 127.0.0.1:7900 or [::1]:7900",
        )?;
        Ok(Self { address: both.ip(), port: Some(both.port()) })
    }
}

/// Says what a person should know: as a note, or in the log where a program reads it.
fn say(format: LogFormat, text: &str, terminal: &mut Terminal) -> Result<(), CliError> {
    match format {
        LogFormat::Text => terminal.note(&format!("{text}\n"))?,
        LogFormat::Json => tracing::info!("{text}"),
    }
    Ok(())
}

pub(super) fn run(
    args: Args,
    format: LogFormat,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    if let Some(Command::Token(command)) = args.command {
        return serve_token::run(command, environment, terminal);
    }
    let max_runs = args.max_runs.map(|most| most.max(1) as usize);
    if let Some(kind) = args.unit {
        return print_unit(kind, &args, environment, terminal);
    }
    let ListenAddress { address, port } = args.listen;
    let listen = Listen { address, port: args.port.or(port), hosts: args.host };
    let options = DaemonOptions { projects: args.project, max_runs, program: None };
    // The browser is a process that a runtime starts.
    let mut find = || open_running(&options.projects, environment, terminal);
    if args.open && runtime::block_on(Workers::One, async { find() })?? {
        return Ok(Exit::Done);
    }
    runtime::block_on(Workers::One, async {
        let daemon = Daemon::open(environment, &options)?;
        for served in daemon.projects() {
            let views = serve::list(&served.project, 1)?;
            let is_on = |t: &&serve::TriggerView| t.state == serve::TriggerStateName::Enabled;
            let on = views.iter().filter(is_on).count();
            let (root, triggers) = (served.context.root.display(), counted(views.len(), "trigger"));
            say(format, &format!("serving {root}: {triggers}, {on} enabled"), terminal)?;
            let is_enabled = |id: &str| views.iter().any(|view| view.id == id && is_on(&view));
            for (id, why) in unset_hook_secrets(&served.project) {
                if is_enabled(&id) {
                    let text = format!("warning: `{id}` refuses all requests: {why}");
                    say(format, &text, terminal)?;
                }
            }
        }
        let stop = CancellationToken::new();
        let (clock, mcp) = (environment.clock.clone(), Some(kb_mcp::over_http()));
        let server =
            Server::start_with(daemon.shared()?, &listen, clock, stop.clone(), mcp).await?;
        if args.open {
            let url = server.login_url()?;
            let served: Vec<&ProjectContext> =
                daemon.projects().iter().map(|served| &served.project.context).collect();
            let opened = open_page(&url, &served, environment);
            let shown = show_link(&format!("open {url}\n"), opened, terminal)?;
            if !shown || format == LogFormat::Json {
                say(format, &format!("listening on {}", server.url()), terminal)?;
            }
        } else {
            say(format, &format!("listening on {}", server.url()), terminal)?
        }
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // A database that another process keeps locked can hold the daemon for seconds. It has a thread of its
        // own, which is left behind then: what it knows is in the store.
        let (runtime, own) = (tokio::runtime::Handle::current(), stop.clone());
        let (ended, mut has_ended) = tokio::sync::oneshot::channel();
        std::thread::Builder::new().name("daemon".to_owned()).spawn(move || {
            runtime.block_on(daemon.run(own));
            let _ = ended.send(());
        })?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = &mut has_ended => {}
        }
        stop.cancel();
        let (_, _) = tokio::join!(tokio::time::timeout(GRACE, has_ended), server.stopped());
        say(format, "stopped; the runs that were started continue", terminal)?;
        Ok::<Exit, CliError>(Exit::Done)
    })?
}

/// Opens the pages of the daemon that serves the project already. Returns whether there is one.
fn open_running(
    projects: &[PathBuf],
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<bool, CliError> {
    let cwd = projects.first().map_or_else(|| environment.cwd.clone(), |p| environment.absolute(p));
    let Ok(project) = Project::find(&Environment { cwd, ..environment.clone() }) else {
        return Ok(false);
    };
    let folder = &project.context.state_dir;
    if serve::daemon_of(folder).is_none() {
        return Ok(false);
    }
    let now = environment.clock.wall();
    let store = open_triggers(&project).map_err(ServiceError::from)?;
    let Some(url) = login_url_of(folder, &store, now)? else { return Ok(false) };
    let opened = open_page(&url, &[&project.context], environment);
    let text = format!("`kb serve` runs already; open {url}\n");
    if !show_link(&text, opened, terminal)? {
        let address = url.split('#').next().unwrap_or_default();
        terminal.note(&format!("`kb serve` runs already at {address}\n"))?;
    }
    Ok(true)
}

/// Shows the link that signs in to a person at the terminal; returns whether it did. The code in it is valid once, and no
/// log has it. With `--quiet` it is only shown where no browser has it.
fn show_link(text: &str, opened: bool, terminal: &mut Terminal) -> Result<bool, CliError> {
    Ok(!(opened && terminal.is_quiet()) && terminal.private(text)?)
}

/// Opens an address in the browser, by a program that is no file of these projects and of what they open. Returns whether one was started.
fn open_page(url: &str, served: &[&ProjectContext], environment: &Environment) -> bool {
    let Some((first, others)) = served.split_first() else { return false };
    let all = others.iter().fold((*first).clone(), |all, other| all.beside(other));
    let supervisor = all.supervisor(&Settings::default());
    serve::open_page(url, &first.state_dir, &supervisor, &environment.variables)
}

fn print_unit(
    kind: Unit,
    args: &Args,
    environment: &Environment,
    terminal: &mut Terminal,
) -> CliResult {
    let kind = match kind {
        Unit::Systemd => UnitKind::Systemd,
        Unit::Launchd => UnitKind::Launchd,
    };
    let program = std::env::current_exe()?.display().to_string();
    let own = [environment.cwd.clone()];
    let given: Vec<PathBuf> = args.project.iter().map(|path| environment.absolute(path)).collect();
    let projects = if given.is_empty() { &own[..] } else { &given[..] };
    let mut arguments = Vec::new();
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    projects.iter().for_each(|path| add("--project", path.display().to_string()));
    let ListenAddress { address, port } = args.listen;
    if !address.is_loopback() || address.is_ipv6() {
        add("--listen", address.to_string());
    }
    if let Some(port) = args.port.or(port) {
        add("--port", port.to_string());
    }
    args.host.iter().for_each(|host| add("--host", host.clone()));
    if let Some(most) = args.max_runs {
        add("--max-runs", most.to_string());
    }
    let path = environment.variables.get("PATH").map_or("/usr/bin:/bin", String::as_str);
    let mut variables = vec![("PATH", path.to_owned())];
    // The folders that decide where state and settings are.
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        variables.extend(environment.variables.get(name).map(|value| (name, value.clone())));
    }
    let unit = serve::unit(kind, &program, &arguments, &variables).map_err(|text| {
        let message = format!("{text:?} has a control character, which a unit file cannot hold");
        CliError::Usage {
            message,
            help: Some("rename the folder, or correct the option".to_owned()),
        }
    })?;
    terminal.data(&unit)?;
    Ok(Exit::Done)
}
