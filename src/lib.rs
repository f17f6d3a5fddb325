//! `kb` is a declarative engine that turns playbooks into verified work by LLM specialists.
//!
//! A definition becomes a DAG, the engine executes the DAG and records every step in a journal, and a
//! step succeeds only if its gate passes: claims of a model are compared with recorded tool calls and
//! with the files on disk.
//!
//! # Data flow
//!
//! ```text
//! files ─▶ definition ─▶ plan ─▶ run ──▶ journal ──▶ wire ──▶ terminal · JSONL
//!          (checked)    (DAG)   (pure)     ▲
//!                                 │ effects│ inputs
//!                                 ▼        │
//!                               engine ─▶ executor ─▶ specialist · tool · process · http
//!                                              └─▶ evidence ─▶ verify (pure verdict)
//! ```
//!
//! The loop is always: **decide (pure) → append to the journal → notify → perform effects.** An effect
//! is performed only after its event is stored, so recovery is a fold over the events and one question:
//! which effects were in flight?
//!
//! Start reading at [`service::runs`], which checks, freezes and leases a run;
//! [`engine::drive`], the loop; [`run::decide`], the decisions; [`executor::LocalExecutor`], the
//! effects; and [`definition::load`], which reads definitions. `docs/architecture.md` describes how to
//! add a tool, a step kind, a check, a command, a provider or a journal back end.
//!
//! # Modules
//!
//! The modules are in the crates below `crates/`, and `cli` and `lsp` in this one, which exports all of them
//! under their names. A module imports only modules above it. Pure modules have no async, clock, environment,
//! file, network or hash-map iteration. `tests/it/architecture.rs` enforces both, generates this table from the
//! imports, and forbids circular imports between the files of a module.
//!
//! <!-- generated: modules -->
//! | module | crate | owns | imports |
//! |---|---|---|---|
//! | [`diagnostic`] (pure) | `base` | sources, spans, diagnostics with stable codes, one page per code | – |
//! | [`value`] (pure) | `base` | ids, instance keys, durations, digests, money, canonical JSON, size limits | diagnostic |
//! | [`clock`] | `clock` | the only reader of the system clock | value |
//! | [`evidence`] (pure) | `core` | tool calls, file changes, verdicts, records of a conversation | diagnostic, value |
//! | [`redaction`] (pure) | `core` | masking of secrets, and the type of masked values | value, evidence |
//! | [`expression`] (pure) | `language` | placeholders and expressions: parsed once, references with strengths | diagnostic, value |
//! | [`toolspec`] (pure) | `language` | the catalog of tools: names, levels, schemas, effects | diagnostic, value |
//! | [`schedule`] (pure) | `language` | cron expressions, time zones, the next time, what happens to each nominal time | diagnostic, value |
//! | [`definition`] (pure) | `language` | text with positions → decoded and checked model; one rule per file | diagnostic, value, expression, toolspec, schedule |
//! | [`plan`] (pure) | `language` | the sealed DAG, its order and its drawings | diagnostic, value, expression, toolspec, definition |
//! | [`verify`] (pure) | `core` | checks and claims over evidence → verdict | diagnostic, value, evidence, expression, toolspec, definition |
//! | [`run`] (pure) | `core` | the state machine: state, events, inputs, effects; one file per input | diagnostic, value, evidence, redaction, expression, definition, plan |
//! | [`attempt`] | `attempt` | the types between engine and executor: request, work, outcome, recorder; work that blocks | diagnostic, value, evidence, redaction, expression, toolspec, definition, plan, verify |
//! | [`database`] | `database` | opens SQLite files: private, with a write-ahead log and a version | – |
//! | [`journal`] | `engine` | events with expected versions, leases, inbox, blobs; SQLite and memory | value, redaction, definition, run, attempt, database |
//! | [`process`] | `process` | the only starter of processes: init process, namespace workers, limits, sandbox | clock |
//! | [`jsonrpc`] | `jsonrpc` | JSON-RPC lines with a program of others: requests, answers, limits | value, process |
//! | [`http`] | `http` | the HTTP client, address rules, redirects | diagnostic, value |
//! | [`mcpclient`] | `mcpclient` | the client of MCP servers: protocol, limits, checked declarations | diagnostic, value, definition, process, jsonrpc, http |
//! | [`code`] (pure) | `code` | definitions and usages in source files, by the syntax trees of seven languages | – |
//! | [`knowledge`] | `knowledge` | retrieval: search terms, the parts of a file, the index of the project files | diagnostic, value, database, code |
//! | [`learning`] (pure) | `learning` | what attempts of specialists came to, with bounds, and what follows from it | value |
//! | [`memory`] | `memory` | what is remembered across runs: entries, their rules and their store | value, clock, redaction, database, knowledge, learning |
//! | [`embedding`] | `host` | vectors of texts from a server of the settings | diagnostic, value, clock, definition, http, knowledge |
//! | [`workspace`] | `host` | the project files: path guard, manifests, watching, text diffs | diagnostic, value, clock, evidence, redaction, verify, attempt, database, code, knowledge, embedding |
//! | [`git`] | `host` | `kb`'s own git, which executes nothing that settings or the project name | diagnostic, value, process, workspace |
//! | [`tool`] | `host` | tool calls, their policy and the implementations; one file per tool | diagnostic, value, clock, evidence, redaction, expression, toolspec, definition, plan, verify, attempt, process, http, mcpclient, code, knowledge, memory, embedding, workspace, git |
//! | [`llm`] | `host` | model tiers, providers, prices, scripts and recordings | diagnostic, value, clock, evidence, redaction, expression, definition, attempt |
//! | [`agent`] | `host` | conversations with coding agents: the Agent Client Protocol, limits, what they report | diagnostic, value, definition, process, jsonrpc |
//! | [`specialist`] | `host` | the agent loop: a conversation is the fold of its records | diagnostic, value, clock, evidence, redaction, toolspec, definition, attempt, process, jsonrpc, memory, workspace, tool, llm, agent |
//! | [`goal`] (pure) | `goal` | from the answer of a planner to a playbook: schema, checks before and after the work | value |
//! | [`import`] (pure) | `import` | files of other tools, translated into playbooks and specialists | diagnostic, value, expression, toolspec, definition |
//! | [`isolation`] | `host` | worktrees and copies of steps, and the merge of their changes | diagnostic, value, evidence, definition, attempt, process, workspace, git |
//! | [`cache`] | `host` | results of steps by the content of what made them: keys, results, files, size | value, clock, evidence, redaction |
//! | [`executor`] | `host` | executes one attempt; observes for gates | diagnostic, value, clock, evidence, redaction, expression, toolspec, definition, plan, verify, attempt, process, http, code, workspace, git, tool, specialist, isolation, cache |
//! | [`engine`] | `engine` | the dispatcher on tokio: timers, attempts, recovery at start | diagnostic, value, clock, evidence, redaction, expression, toolspec, definition, plan, verify, run, attempt, journal |
//! | [`wire`] (pure) | `core` | versioned public forms of events, runs, definitions and problems | diagnostic, value, evidence, redaction, definition, plan, run |
//! | [`inspect`] | `engine` | recorded runs, read back: events, outputs, file changes, the audit | diagnostic, value, clock, evidence, redaction, toolspec, definition, plan, verify, run, attempt, journal, engine, wire |
//! | [`project`] | `service` | finds and reads the files of a project | diagnostic, value, definition, attempt, database |
//! | [`trigger`] | `service` | the state of triggers, what they fired, parameters from payloads, signatures | value, redaction, definition, database, journal |
//! | [`service`] | `service` | the use cases | diagnostic, value, clock, evidence, redaction, expression, toolspec, definition, plan, verify, run, attempt, database, journal, process, http, knowledge, learning, memory, embedding, workspace, git, tool, llm, specialist, goal, import, isolation, cache, executor, engine, wire, inspect, project, trigger |
//! | [`serve`] | `serve` | the daemon, and the use cases of triggers | diagnostic, value, clock, redaction, expression, schedule, definition, run, attempt, journal, process, wire, project, trigger, service |
//! | [`web`] | `serve` | the HTTP server of `kb serve`: API, streams, webhooks, pages | diagnostic, value, clock, evidence, redaction, definition, plan, run, journal, wire, inspect, trigger, service, serve |
//! | [`mcp`] | `mcp` | the MCP server: playbooks and runs as tools of a client | diagnostic, value, redaction, definition, attempt, wire, trigger, service, serve, web |
//! | [`lsp`] | `kb` | the language server: completion, hover and navigation from the tables of keys | diagnostic, value, expression, schedule, definition, plan, project, service |
//! | [`cli`] | `kb` | one file per command; displays; exit codes | diagnostic, value, definition, attempt, process, agent, wire, trigger, service, serve, web, mcp, lsp |
//! <!-- end: modules -->
//!
//! # Guarantees
//!
//! `docs/guarantees.md` lists every guarantee with the tests that prove it. `scripts/prove` runs the
//! long forms of these tests.
//!
//! # Dependencies
//!
//! `docs/decisions/` records the measurements and the rejected alternatives. `.ci/dependencies.py`
//! checks licences and advisories without a network.
//!
//! | crate | for |
//! |---|---|
//! | `granit-parser`, `annotate-snippets` | YAML events with spans of keys and values; messages in the style of rustc |
//! | `minijinja` | expressions and templates, compiled once, with fuel |
//! | `jsonschema` | JSON Schema: all violations at once, no network access |
//! | `petgraph` | the DAG |
//! | `smol_str` | keys and short texts of definitions, stored without a heap allocation |
//! | `tokio`, `tokio-util`, `futures` | the engine and processes |
//! | `axum`, `hyper`, `hyper-util` (HTTP/1, no TLS) | the HTTP server of `kb serve`; hyper for its limits of headers and time |
//! | `rusqlite` (bundled) | the journal |
//! | `genai` (pinned, inside `llm::adapter` alone), `reqwest` + `rustls` with ring | models, requests; one TLS stack, no cmake |
//! | `ignore`, `globset`, `grep-*`, `regex` | walking and searching, the crates of ripgrep |
//! | `serde-saphyr` | writes recorded scripts as YAML |
//! | `similar` | unified diffs of changed files, within a time limit |
//! | `rustix`, `landlock` | `openat2`, locks, the kernel sandbox |
//! | `libc` (inside `process` alone) | `clone`, `execve` and signal masks, which have no safe interface |
//! | `clap`, `clap_complete`, `console`, `anstream`, `anstyle` | the command line |
//! | `jiff`, `croner` (inside `schedule::cron` alone) | times and time zones, with the database built in; parsing of cron expressions |
//! | `sha2`, `base64`, `percent-encoding`, `unicode-normalization`, `secrecy` | digests, encodings of secrets for masking, NFC, keys that are not printed |
//! | `schemars`, `tracing`, `tracing-subscriber`, `thiserror`, `serde`, `serde_json` | schemas of output formats, logs, errors, JSON |

pub use kb_attempt as attempt;
pub use kb_base::{diagnostic, value};
pub use kb_clock as clock;
pub use kb_code as code;
pub use kb_core::{evidence, redaction, run, verify, wire};
pub use kb_database as database;
pub use kb_engine::{engine, inspect, journal};
pub use kb_goal as goal;
pub use kb_host::{
    agent, cache, embedding, executor, git, isolation, llm, specialist, tool, workspace,
};
pub use kb_http as http;
pub use kb_import as import;
pub use kb_jsonrpc as jsonrpc;
pub use kb_knowledge as knowledge;
pub use kb_language::{definition, expression, plan, schedule, toolspec};
pub use kb_learning as learning;
pub use kb_mcp as mcp;
pub use kb_mcpclient as mcpclient;
pub use kb_memory as memory;
pub use kb_process as process;
pub use kb_serve::{serve, web};
pub use kb_service::{project, service, trigger};

pub mod cli;
pub mod lsp;
