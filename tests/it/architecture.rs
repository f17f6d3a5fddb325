//! The architecture: the order of the modules, which of them are pure, and which are the only ones that touch the
//! system. The manifests of the crates hold the rest: what a crate does not depend on, it cannot use.
//!
//! [`MODULES`] is the only table of modules; a module imports only modules above it. The tables in `src/lib.rs` and `docs/architecture.md` are
//! generated from it (`KB_UPDATE_DOCS=1`, see `generated.rs`). `architecture/cycles.rs` checks the
//! imports between the files of one module.

mod additions;
mod comments;
mod cycles;
mod source;
mod wildcards;

use super::generated;
use source::{SourceFile, crate_of, has, project, rust_files, sources};
use std::collections::{BTreeMap, BTreeSet};

/// A top-level module: in one of the crates or in the root package.
struct Module {
    name: &'static str,
    /// Whether it has no async, clock, environment, file, network or hash-map iteration.
    pure: bool,
    /// What it owns, for the generated tables.
    owns: &'static str,
}

const fn pure(name: &'static str, owns: &'static str) -> Module {
    Module { name, pure: true, owns }
}

const fn impure(name: &'static str, owns: &'static str) -> Module {
    Module { name, pure: false, owns }
}

#[rustfmt::skip]
const MODULES: &[Module] = &[
    pure("diagnostic", "sources, spans, diagnostics with stable codes, one page per code"),
    pure("value", "ids, instance keys, durations, digests, money, canonical JSON, size limits"),
    impure("clock", "the only reader of the system clock"),
    pure("evidence", "tool calls, file changes, verdicts, records of a conversation"),
    // Masked texts are the inputs of the state machine.
    pure("redaction", "masking of secrets, and the type of masked values"),
    pure("expression", "placeholders and expressions: parsed once, references with strengths"),
    pure("toolspec", "the catalog of tools: names, levels, schemas, effects"),
    pure("schedule", "cron expressions, time zones, the next time, what happens to each nominal time"),
    pure("definition", "text with positions → decoded and checked model; one rule per file"),
    pure("plan", "the sealed DAG, its order and its drawings"),
    pure("verify", "checks and claims over evidence → verdict"),
    pure("run", "the state machine: state, events, inputs, effects; one file per input"),
    // Below the specialist, which is one of the modules that fill these types.
    impure("attempt", "the types between engine and executor: request, work, outcome, recorder; work that blocks"),
    impure("database", "opens SQLite files: private, with a write-ahead log and a version"),
    impure("journal", "events with expected versions, leases, inbox, blobs; SQLite and memory"),
    impure("process", "the only starter of processes: init process, namespace workers, limits, sandbox"),
    impure("jsonrpc", "JSON-RPC lines with a program of others: requests, answers, limits"),
    impure("http", "the HTTP client, address rules, redirects"),
    impure("mcpclient", "the client of MCP servers: protocol, limits, checked declarations"),
    pure("code", "definitions and usages in source files, by the syntax trees of seven languages"),
    impure("knowledge", "retrieval: search terms, the parts of a file, the index of the project files"),
    pure("learning", "what attempts of specialists came to, with bounds, and what follows from it"),
    impure("memory", "what is remembered across runs: entries, their rules and their store"),
    impure("embedding", "vectors of texts from a server of the settings"),
    impure("workspace", "the project files: path guard, manifests, watching, text diffs"),
    impure("git", "`kb`'s own git, which executes nothing that settings or the project name"),
    impure("tool", "tool calls, their policy and the implementations; one file per tool"),
    impure("llm", "model tiers, providers, prices, scripts and recordings"),
    impure("agent", "conversations with coding agents: the Agent Client Protocol, limits, what they report"),
    impure("specialist", "the agent loop: a conversation is the fold of its records"),
    pure("goal", "from the answer of a planner to a playbook: schema, checks before and after the work"),
    pure("import", "files of other tools, translated into playbooks and specialists"),
    impure("isolation", "worktrees and copies of steps, and the merge of their changes"),
    impure("cache", "results of steps by the content of what made them: keys, results, files, size"),
    impure("executor", "executes one attempt; observes for gates"),
    impure("engine", "the dispatcher on tokio: timers, attempts, recovery at start"),
    pure("wire", "versioned public forms of events, runs, definitions and problems"),
    impure("inspect", "recorded runs, read back: events, outputs, file changes, the audit"),
    impure("project", "finds and reads the files of a project"),
    impure("trigger", "the state of triggers, what they fired, parameters from payloads, signatures"),
    impure("service", "the use cases"),
    impure("serve", "the daemon, and the use cases of triggers"),
    impure("web", "the HTTP server of `kb serve`: API, streams, webhooks, pages"),
    impure("mcp", "the MCP server: playbooks and runs as tools of a client"),
    impure("lsp", "the language server: completion, hover and navigation from the tables of keys"),
    impure("cli", "one file per command; displays; exit codes"),
];

#[test]
fn modules_import_only_modules_above_them() {
    let above = |used: &str, module: &str| position(used) < position(module);
    let mut wrong = BTreeSet::new();
    for file in sources().iter().filter(|file| module_of(&file.module).is_some()) {
        for used in modules_used(file) {
            if used != file.module && !above(&used, &file.module) {
                wrong.insert(format!("{} imports `{used}`, which is below it", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "against the order of `MODULES`:\n{}", lines(&wrong));
}

#[test]
fn each_module_has_a_row() {
    let modules: BTreeSet<String> = sources().iter().map(|file| file.module.clone()).collect();
    let rows: BTreeSet<String> = MODULES.iter().map(|module| module.name.to_owned()).collect();
    let files: BTreeSet<String> = ["lib", "main"].map(str::to_owned).into();
    assert_eq!(&modules - &files, rows);
}

#[test]
fn pure_modules_import_only_pure_modules() {
    let imports = imports();
    for module in MODULES.iter().filter(|module| module.pure) {
        for name in &imports[module.name] {
            let other = module_of(name).expect("another test checks that the row exists");
            assert!(other.pure, "`{}` is pure and imports `{name}`, which is not", module.name);
        }
    }
}

/// The tables show what each module imports, so that a new import is seen in the change that makes it.
#[test]
fn the_tables_of_modules_are_fresh() {
    let imports = imports();
    let row = |module: &Module, name: String| {
        let pure = if module.pure { " (pure)" } else { "" };
        let mut imported: Vec<&str> = imports[module.name].iter().map(String::as_str).collect();
        imported.sort_by_key(|name| position(name));
        let imported = if imported.is_empty() { "–".to_owned() } else { imported.join(", ") };
        let krate = crate_of(module.name);
        format!("| {name}{pure} | `{krate}` | {} | {imported} |\n", module.owns)
    };
    let head = "| module | crate | owns | imports |\n|---|---|---|---|\n";
    let table = |name: fn(&str) -> String| -> String {
        let rows = MODULES.iter().map(|module| row(module, name(module.name)));
        std::iter::once(head.to_owned()).chain(rows).collect()
    };
    let rustdoc = table(|name| format!("[`{name}`]"));
    let rustdoc: String = rustdoc.lines().map(|line| format!("//! {line}\n")).collect();
    generated::block("src/lib.rs", "modules", &format!("{rustdoc}//! "));
    generated::block("docs/architecture.md", "modules", &table(|name| format!("`{name}`")));
}

#[test]
fn pure_modules_use_no_clock_files_network_threads_or_hash_order() {
    const BANNED: &[&[&str]] = &[
        &["tokio"],
        &["tokio_util"],
        &["futures"],
        &["reqwest"],
        &["rusqlite"],
        &["std", "fs"],
        &["std", "env"],
        &["std", "net"],
        &["std", "thread"],
        &["std", "process"],
        &["std", "time", "SystemTime"],
        &["std", "time", "Instant"],
        &["HashMap"],
        &["HashSet"],
        &["async"],
        &["await"],
    ];
    let mut wrong = BTreeSet::new();
    for file in
        sources().iter().filter(|file| module_of(&file.module).is_some_and(|module| module.pure))
    {
        for path in &file.paths {
            for banned in BANNED.iter().filter(|banned| has(path, banned)) {
                wrong.insert(format!("{} names `{}`", file.path, banned.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "in pure modules:\n{}", lines(&wrong));
}

#[test]
fn only_the_clock_reads_the_time() {
    outside("clock", &[&["SystemTime", "now"], &["Timestamp", "now"], &["Zoned", "now"]]);
    // Other modules may use the instants of tokio, which tests can pause, but only for timers.
    let paused = |file: &SourceFile| {
        let names = |path: &[&str]| file.paths.iter().any(|named| has(named, path));
        names(&["tokio", "time", "Instant"]) && !names(&["std", "time", "Instant", "now"])
    };
    let reads = |file: &&SourceFile| file.paths.iter().any(|path| has(path, &["Instant", "now"]));
    for file in sources().iter().filter(reads) {
        assert!(file.module == "clock" || paused(file), "{} reads the time", file.path);
    }
}

/// The use cases get the clock as a value, so that the projects of one process can have different ones.
#[test]
fn only_the_command_line_makes_clocks() {
    outside("cli", &[&["Clock", "system"], &["Clock", "starting_at"]]);
}

/// The type system holds the rest: nothing else than a `Masked` value enters the journal or a display.
#[test]
fn only_these_files_make_masked_values_without_a_redactor() {
    const ALLOWED: [(&str, &str); 12] = [
        // The state machine composes events of its masked inputs.
        ("composed", "run/decide/mod.rs"),
        // Events and blobs that were masked when they were stored.
        ("composed", "journal/sqlite/read.rs"),
        ("composed", "engine/payloads.rs"),
        ("composed", "trigger/store/notifications.rs"),
        // The view of a run is composed of its state, and a notification of the view.
        ("composed", "wire/run_view.rs"),
        ("composed", "service/notify.rs"),
        // Large parts are moved to blobs, and parts are left out.
        ("rearrange", "engine/payloads.rs"),
        ("rearrange", "engine/evaluate.rs"),
        ("rearrange", "engine/inbox.rs"),
        ("rearrange", "engine/prompts.rs"),
        ("rearrange", "inspect/streams.rs"),
        // Progress that another process masked before it sent it.
        ("composed", "service/runs/activity.rs"),
    ];
    let outside = sources().iter().filter(|file| file.module != "redaction");
    let mut found = BTreeSet::new();
    for file in outside {
        for name in ["composed", "rearrange"] {
            if file.paths.iter().any(|path| has(path, &[name])) {
                found.insert((name, file.path.clone()));
            }
        }
    }
    let allowed = ALLOWED.map(|(name, path)| (name, path.to_owned()));
    assert_eq!(found, BTreeSet::from(allowed));
}

/// What a person names, and the project, can contain links of a model: `kb_attempt::replace_file` follows none.
#[test]
fn files_of_a_project_are_written_under_a_new_name_that_is_renamed() {
    const IN_STATE_OR_TEMPORARY: [&str; 5] = [
        "cli/goal/editing.rs",
        "service/doctor.rs",
        "service/runs/context.rs",
        "service/testing/folder.rs",
        "service/testing/playing.rs",
    ];
    let writers = ["project", "service", "trigger", "llm", "lsp", "mcp", "cli"];
    let writes = |file: &&SourceFile| {
        let banned: [&[&str]; 2] = [&["fs", "write"], &["File", "create"]];
        file.paths.iter().any(|path| banned.iter().any(|banned| has(path, banned)))
    };
    let files = sources().iter().filter(|file| writers.contains(&file.module.as_str()));
    let found: BTreeSet<&str> = files.filter(writes).map(|file| file.path.as_str()).collect();
    assert_eq!(found, BTreeSet::from(IN_STATE_OR_TEMPORARY));
}

#[test]
fn only_the_command_line_reads_the_environment_of_the_process() {
    let names = ["var", "var_os", "vars", "vars_os", "current_dir", "home_dir", "temp_dir"];
    for name in names {
        outside("cli", &[&["env", name]]);
    }
}

/// Asynchronous code gives work that blocks to `spawn_blocking` or to `attempt::run_blocking`. The command line
/// blocks its own thread.
#[test]
fn only_these_files_block_a_thread() {
    const NAMES: [&[&str]; 6] = [
        &["thread", "sleep"],
        &["thread", "spawn"],
        &["thread", "scope"],
        &["thread", "Builder"],
        &["block_on"],
        &["Condvar"],
    ];
    const ALLOWED: [(&str, &str); 15] = [
        // Threads of their own.
        ("thread::spawn", "lsp/transport.rs"),
        ("thread::Builder", "journal/sqlite/syncer.rs"),
        ("Condvar", "journal/sqlite/syncer.rs"),
        ("thread::Builder", "process/namespace/listener.rs"),
        ("thread::Builder", "process/supervisor.rs"),
        // Waits for the thread that applies the sandbox; `Supervisor::run` calls it on a blocking thread.
        ("thread::scope", "process/sandbox/rules.rs"),
        // Waits for git, where files are read on blocking threads.
        ("thread::scope", "git/settings.rs"),
        ("block_on", "git/settings.rs"),
        // Waits for vectors, where files are read on blocking threads.
        ("thread::scope", "embedding/endpoint.rs"),
        ("block_on", "embedding/endpoint.rs"),
        // Cuts files into parts on all processors, where an index is read on a blocking thread.
        ("thread::scope", "knowledge/reading.rs"),
        // Called when a run is created or opened, or a daemon starts: on blocking threads, or by the command line.
        ("thread::sleep", "journal/lease.rs"),
        ("thread::sleep", "journal/owner_lock.rs"),
        ("block_on", "service/runs/children/opening.rs"),
        // Routes of the HTTP server run on blocking threads.
        ("block_on", "web/pages/system.rs"),
    ];
    let mut found = BTreeSet::new();
    for file in sources().iter().filter(|file| file.module != "cli") {
        for name in NAMES {
            if file.paths.iter().any(|path| has(path, name)) {
                found.insert((name.join("::"), file.path.clone()));
            }
        }
    }
    let allowed = ALLOWED.map(|(name, path)| (name.to_owned(), path.to_owned()));
    assert_eq!(found, BTreeSet::from(allowed));
}

/// The back end of the journal is chosen in `journal::open` and `journal::restore`; everything else sees traits.
#[test]
fn only_the_journal_names_its_back_ends() {
    outside("journal", &[&["SqliteJournal"], &["MemoryJournal"], &["journal", "sqlite"]]);
    for file in sources().iter().filter(|file| file.module != "journal") {
        let text = std::fs::read_to_string(&file.file).expect("it was read");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        assert_eq!(
            code.filter(|line| line.contains("journal.sqlite3")).count(),
            0,
            "{}",
            file.path
        );
    }
}

#[test]
fn only_process_starts_processes() {
    outside("process", &[&["std", "process", "Command"], &["tokio", "process"]]);
}

/// Functions are held to 90 lines by a lint (`clippy.toml`).
#[test]
fn every_file_has_documentation_and_at_most_400_lines() {
    let mut wrong = BTreeSet::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file.file).expect("it was read");
        if !text.starts_with("//!") {
            wrong.insert(format!("{} does not start with `//!`", file.path));
        }
        if text.lines().count() > 400 {
            wrong.insert(format!("{} has {} lines", file.path, text.lines().count()));
        }
    }
    for folder in ["tests", "benches"] {
        for file in rust_files(&project().join(folder)) {
            let text = std::fs::read_to_string(&file).expect("sources are UTF-8");
            if !text.starts_with("//!") {
                wrong.insert(format!("{} does not start with `//!`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", lines(&wrong));
}

fn outside(module: &str, banned: &[&[&str]]) {
    let mut wrong = BTreeSet::new();
    for file in sources().iter().filter(|file| file.module != module) {
        for path in &file.paths {
            for banned in banned.iter().filter(|banned| has(path, banned)) {
                wrong.insert(format!("{} names `{}`", file.path, banned.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "outside `{module}/`:\n{}", lines(&wrong));
}

fn module_of(name: &str) -> Option<&'static Module> {
    MODULES.iter().find(|module| module.name == name)
}

/// The place of a module in the table.
fn position(name: &str) -> Option<usize> {
    MODULES.iter().position(|module| module.name == name)
}

/// For each module, the other modules that it imports.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources() {
        imports.entry(file.module.clone()).or_default().extend(modules_used(file));
    }
    for (module, used) in &mut imports {
        used.remove(module);
    }
    imports
}

/// The top-level modules that a file names.
fn modules_used(file: &SourceFile) -> BTreeSet<String> {
    let first = |path: &Vec<String>| file.absolute(path)?.first().cloned();
    let is_module = |name: &String| module_of(name).is_some();
    file.paths.iter().filter_map(first).filter(is_module).collect()
}

fn lines(wrong: &BTreeSet<String>) -> String {
    wrong.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
}
