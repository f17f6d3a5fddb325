//! `kb` — a declarative engine that turns playbooks into verified work by LLM specialists.
//!
//! A definition becomes a DAG, the DAG becomes a journal of events, and nothing counts as done until a
//! gate has seen it on disk. Models are a consumable; control is the product.
//!
//! # One way through the house
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
//! never precedes its event, so recovery is a fold over the events and one question: what was in flight?
//!
//! Where to enter: [`service::runs::begin`] checks, freezes and takes hold of a run;
//! [`engine::drive`] is the loop; [`run::decide`] decides; [`executor::LocalExecutor`] acts;
//! [`definition::load`] reads what people write.
//!
//! # The rooms
//!
//! A module imports only what its row allows; `tests/it/architecture.rs` holds the imports to this
//! table. Pure rooms have no async, clock, environment, file, network or hash-map iteration.
//!
//! | room | owns | imports |
//! |---|---|---|
//! | [`diagnostic`] (pure) | sources, spans, diagnostics with stable codes, a page a code | – |
//! | [`value`] (pure) | ids, instance keys, durations, digests, money, canonical JSON, size limits | – |
//! | [`clock`], [`redaction`] | the only callers of the system clock; the one masking sink | value |
//! | [`task`] | tasks that go on where they are woken | – |
//! | [`evidence`] (pure) | tool traces, changes of files, verdicts | value |
//! | [`expression`] (pure) | placeholders and expressions: parsed once, references with strengths | diagnostic, value |
//! | [`definition`] (pure) | text with positions → checks, one rule a file → the checked model | diagnostic, value, expression |
//! | [`plan`] (pure) | the sealed DAG, its order and its drawings | … definition |
//! | [`verify`] (pure) | checks and claims over evidence → verdict | … definition, evidence |
//! | [`run`] (pure) | the heart: state, events, inputs, effects; one file an input | … plan, verify |
//! | [`attempt`] | the types of the seam: request, work, outcome, recorder | value, evidence, definition |
//! | [`journal`] | events with expected versions, holders, inbox, blobs; SQLite and memory | value, clock, definition, run |
//! | [`process`] | the one place that starts processes: keeper and cells, groups, limits, sandbox | value, clock, task |
//! | [`workspace`] | the project files: path guard, manifests, watching | value, evidence, redaction, clock |
//! | [`http`] | the HTTP client, address rules, redirects | diagnostic, value |
//! | [`tool`] | tools and their policy; one file a tool | value, evidence, definition, process, workspace, http |
//! | [`llm`] | tiers, providers, prices, scripts and recordings | value, definition, expression, clock |
//! | [`specialist`] | the agent loop: a conversation is its records, folded | … llm, tool |
//! | [`executor`] | does one attempt; observes for gates | … specialist, tool, workspace, http, process |
//! | [`engine`] | tokio: the dispatcher, timers, attempts, recovery at start | … journal, executor |
//! | [`wire`] | public forms of events, runs, definitions, problems; versioned | value, diagnostic, run, plan |
//! | [`project`] | finds and reads files | diagnostic, value, definition |
//! | [`service`] | the use cases | all above |
//! | [`cli`] | one file a command; displays; exit codes | diagnostic, value, wire, service |
//!
//! A new rule is a file in `definition/check/` and a page; a tool a file in `tool/`; a command a file in
//! `cli/`; a step kind a variant of [`definition::StepKind`], and the exhaustive matches say where next.
//!
//! # Promises
//!
//! `docs/guarantees.md` has every promise of the design with the tests that hold it. `scripts/prove` runs
//! their whole forms, and the README has what those have seen.
//!
//! # Dependencies
//!
//! Each is the best kept of its field that we found; what was measured and rejected stands in
//! `docs/decisions/`. Licences and advisories are held by `.ci/dependencies.py` without a network.
//!
//! | crate | for |
//! |---|---|
//! | `granit-parser`, `annotate-snippets` | YAML events with the spans of values and keys; messages in rustc's look |
//! | `minijinja` | expressions and templates, compiled once, with fuel |
//! | `jsonschema` | schemas: every violation at once, offline by construction |
//! | `petgraph` | the DAG |
//! | `smol_str` | keys and short texts of definitions, held without memory of their own |
//! | `tokio`, `tokio-util`, `futures` | the engine and processes |
//! | `rusqlite` (bundled) | the journal |
//! | `genai` (pinned, inside `llm::adapter` alone), `reqwest` + `rustls` with ring | models, requests; one TLS stack, no cmake |
//! | `ignore`, `globset`, `grep-*`, `regex` | walking and searching as ripgrep does |
//! | `similar` | unified diffs of changed files, within a time limit |
//! | `rustix`, `landlock` | `openat2`, locks, the kernel sandbox |
//! | `libc` (inside `process` alone) | `clone`, `execve`, signal masks and `mallopt`, which have no safe form |
//! | `clap`, `clap_complete`, `indicatif`, `anstream`, `anstyle` | the command line |
//! | `jiff` | time for people |
//! | `sha2`, `base64`, `percent-encoding`, `unicode-normalization`, `secrecy` | digests, masks in all encodings, NFC, keys that do not print |
//! | `schemars`, `tracing`, `tracing-subscriber`, `thiserror`, `serde`, `serde_json` | schemas of our own forms, logs, errors, JSON |

pub mod attempt;
pub mod clock;
pub mod definition;
pub mod diagnostic;
pub mod engine;
pub mod evidence;
pub mod executor;
pub mod expression;
pub mod http;
pub mod journal;
pub mod llm;
pub mod plan;
pub mod process;
pub mod project;
pub mod redaction;
pub mod run;
pub mod service;
pub mod specialist;
pub mod task;
pub mod tool;
pub mod value;
pub mod verify;
pub mod wire;
pub mod workspace;

pub mod cli;
