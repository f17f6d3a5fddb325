//! Keys of the project settings.

use super::choices::{
    CONTEXT_PROFILE_NAMES, INCONCLUSIVE_ACTION_NAMES, ON_INCONCLUSIVE_NAMES, PROMPTS_NAMES,
    REASONING_NAMES, SYNC_NAMES, TIER_NAMES,
};
use super::coding_agent::AGENTS;
use super::mcp::MCP;
use super::memory::MEMORY_SETTINGS;
use super::notify::NOTIFY;
use super::sandbox::SANDBOX;
use super::serve::SERVE;
use super::table::KeyType::{
    Any, Boolean, Choice, Constant, Duration, Integer, ListOrOne, Map, MapOf, Number, OneOf,
    Pattern, Text,
};
use super::table::{KeyRule, KeySpec, KeyTable, KeyType, key, table};
use crate::definition::gate_check::JUDGE;

pub(crate) static SETTINGS: KeyTable = table(
    "settings",
    "the settings",
    "The project settings: `.kb/kb.config.yml` or `.kb/kb.config.json`. Every key is optional.",
    &[SETTINGS_KEYS],
);

const TEXTS: KeyType = ListOrOne(&Text);

const SETTINGS_KEYS: &[KeySpec] = &[
    key("$schema", Text, "Address of the JSON Schema, for editors.")
        .example("https://example.org/kb.config.schema.json"),
    key("schema", Any, "Not used: the settings are recognised by their path.")
        .example("kb.config/1"),
    key("llm", Map(&LLM), "Models and prices.")
        .example("{tiers: {small: {provider: ollama, model: qwen3}}}"),
    key("tools", Map(&TOOLS), "Tool policies."),
    key("security", Map(&SECURITY), "Tool policies in the form of agent files."),
    key("secrets", MapOf(&SECRET_VALUE), "Sources of secrets by name.")
        .example("{TOKEN: env:GITHUB_TOKEN}"),
    key("env", Map(&ENV), "Environment of processes.").example("{pass: [CI]}"),
    key(
        "sandbox",
        OneOf(const { &[Constant("required"), Map(&SANDBOX)] }),
        "Confinement of processes; `required` is short for `{require: kernel}`.",
    )
    .example("{require: process}"),
    key("limits", Map(&LIMITS), "Limits of runs.").example("{maxParallel: 4}"),
    key("serve", Map(&SERVE), "The daemon.").example("{maxRuns: 4}"),
    key(
        "notify",
        ListOrOne(const { &Map(&NOTIFY) }),
        "Receivers of notifications about runs, while `kb serve` runs.",
    )
    .example("[{command: [./notify.sh]}]"),
    key("mcp", Map(&MCP), "Servers of the Model Context Protocol.")
        .example("{servers: {files: {command: [mcp-files, docs]}}}"),
    key("agents", AGENTS, "Coding agents by name, for `agent` of specialists. An entry with the name of a known agent changes it.")
        .example("{mine: {command: [my-agent, --acp]}}"),
    key("cache", Map(&CACHE), "Stored results of steps with `cache`.").example("{maxMib: 4096}"),
    key("journal", Map(&JOURNAL), "The journal.").example("{sync: full}"),
    key("verifier", Map(&VERIFIER), "Gates.").example("{inconclusivePolicy: fail}"),
    key("orchestrator", Map(&ORCHESTRATOR), "Planning and escalation."),
    key("testCommands", TEXTS, "Command texts that count as a test run.").example("[make check]"),
    key("memory", Map(&MEMORY_SETTINGS), "What is remembered across runs.")
        .example("{enabled: true}"),
    key("agentLoop", Any, "Limits of the loop of model calls. Use `limits` of a specialist.")
        .example("{maxSteps: 20}")
        .planned(),
];

pub(crate) static LLM: KeyTable = table("llmSettings", "`llm`", "Models and prices.", &[LLM_KEYS]);

const LLM_KEYS: &[KeySpec] = &[
    key("tiers", Map(&TIERS), "The model of each tier.")
        .default("from API keys in the environment, or a local server")
        .example("{small: {provider: ollama, model: qwen3}}"),
    key(
        "prices",
        MapOf(const { &Map(&PRICE) }),
        "Prices by model name; they take precedence over the built-in prices.",
    )
    .example("{qwen3: {input: 0, output: 0}}"),
    key("maxInputTokens", Integer(100, 10_000_000), "Maximum tokens of the values in one prompt (`input` and the placeholders of `task`); above it, the largest values are passed as previews.")
        .default("4000"),
    key("context", Choice(CONTEXT_PROFILE_NAMES), "How much of a conversation models see: lengths of tool results, and when older messages become a summary.")
        .default("by the context window of the model")
        .example("standard"),
    key("reasoning", Choice(REASONING_NAMES), "How long models reason before they respond.")
        .default("the default of the model")
        .example("medium"),
];

pub(crate) static TIERS: KeyTable =
    table("tiers", "`tiers`", "The model of each tier.", &[TIERS_KEYS]);

const TIERS_KEYS: &[KeySpec] = &[
    key("small", Map(&TIER), "The small model."),
    key("medium", Map(&TIER), "The medium model."),
    key("large", Map(&TIER), "The large model."),
];

pub(crate) static TIER: KeyTable = table("tier", "a tier", "The model of one tier.", &[TIER_KEYS]);

const TIER_KEYS: &[KeySpec] = &[
    key("provider", Text, "`anthropic`, `openai`, `gemini`, `ollama`, `openai-compatible`, …; optional with an `endpoint`.")
        .example("anthropic"),
    key("model", Text, "Name of the model, as the provider spells it.").required().example("qwen3"),
    key("endpoint", Pattern("^https?://"), "Base URL.").example("http://127.0.0.1:11434/v1"),
    key("apiKeyEnv", Pattern("^[A-Za-z_][A-Za-z0-9_]*$"), "Environment variable that contains the API key.")
        .example("OPENAI_API_KEY"),
    key("price", Map(&PRICE), "Price of the model.").example("{input: 3, output: 15}"),
    key("contextWindow", Integer(1_000, 100_000_000), "Tokens that a prompt and its response may have together.")
        .default("that of the model, if known")
        .example("131072"),
    key("maxOutputTokens", Integer(1, 100_000_000), "Maximum tokens of one response, as the provider allows.")
        .default("that of the model, if known")
        .example("32768"),
    key("stream", Boolean, "Whether responses are streamed; `false` is for servers that cannot.")
        .default("true"),
];

pub(crate) static PRICE: KeyTable =
    table("price", "a price", "A price in US dollars per million tokens.", &[PRICE_KEYS]);

const DOLLARS: KeyType = Number(0.0, f64::INFINITY);

const PRICE_KEYS: &[KeySpec] = &[
    key("input", DOLLARS, "Prompt tokens.").required().example("3"),
    key("output", DOLLARS, "Completion tokens.").required().example("15"),
    key("cachedInput", DOLLARS, "Prompt tokens read from the provider's cache.").default("`input`"),
    key("cacheWrite", DOLLARS, "Prompt tokens written to the provider's cache.").default("`input`"),
];

pub(crate) static ORCHESTRATOR: KeyTable =
    table("orchestrator", "`orchestrator`", "Planning and escalation.", &[ORCHESTRATOR_KEYS]);

const ORCHESTRATOR_KEYS: &[KeySpec] = &[
    key("escalation", Map(&ESCALATION), "Limits of model escalation.")
        .example("{maxEscalationsPerSpecialist: 2}"),
    key(
        "minConfidence",
        Number(0.0, 1.0),
        "A plan of `kb do` with a lower confidence is not run before a person has approved it, not even with `--yes`.",
    )
    .default("0.5"),
];

pub(crate) static ESCALATION: KeyTable =
    table("escalation", "`escalation`", "Limits of model escalation.", &[ESCALATION_KEYS]);

const ESCALATION_KEYS: &[KeySpec] = &[
    key(
        "maxEscalationsPerSpecialist",
        Integer(0, u32::MAX),
        "Maximum escalations of one specialist in a run.",
    ),
    key(
        "maxLargeTierUsesPerRun",
        Integer(0, u32::MAX),
        "A run does not escalate to the large tier after so many attempts with it.",
    ),
    key("maxCostUsdPerRun", DOLLARS, "Maximum cost of a run in US dollars."),
    key("warnCostUsdThreshold", DOLLARS, "Cost in US dollars from which a run warns."),
    key(
        "budgetAllocation",
        MapOf(&Integer(0, 100)),
        "Shares of the budget of a run in percent, by specialist id; `orchestrator` is the share of judges and summaries.",
    )
    .example("{researcher: 30, implementer: 60, orchestrator: 10}"),
    key(
        "defaultLadder",
        MapOf(&ListOrOne(&Choice(TIER_NAMES))),
        "Tiers to escalate through, by specialist id.",
    )
    .example("{implementer: [medium, large]}"),
];

pub(crate) static VERIFIER: KeyTable = table("verifier", "`verifier`", "Gates.", &[VERIFIER_KEYS]);

const VERIFIER_KEYS: &[KeySpec] = &[
    key(
        "inconclusivePolicy",
        OneOf(const { &[Choice(INCONCLUSIVE_ACTION_NAMES), Map(&INCONCLUSIVE)] }),
        "Default for `onInconclusive`. `retry` and `escalate` are refused: they are rows of `recovery` of a step.",
    )
    .default("warn")
    .example("fail"),
    key("judge", Map(&JUDGE), "Defaults of `judge` checks.")
        .example("{minConfidence: 0.5}"),
    key("judgeEveryAnswer", Boolean, "Whether every specialist step has a `judge` check.")
        .default("false"),
    key(
        "strict",
        Boolean,
        "Whether a command exits with code 1 if its run succeeded with a step whose gate did not pass, as with `--strict`.",
    )
    .default("false"),
    key("uncheckedPolicy", Choice(ON_INCONCLUSIVE_NAMES), "Default for `onUnchecked`.")
        .default("warn"),
];

pub(crate) static INCONCLUSIVE: KeyTable = table(
    "inconclusivePolicy",
    "`inconclusivePolicy`",
    "What follows an `inconclusive` verdict.",
    &[INCONCLUSIVE_KEYS],
);

const INCONCLUSIVE_KEYS: &[KeySpec] = &[
    key("action", Choice(INCONCLUSIVE_ACTION_NAMES), "What follows an `inconclusive` verdict.")
        .default("warn"),
    key("failOnInconclusive", Boolean, "The same as `action: fail`.").default("false"),
    key(
        "retryWithProbes",
        Boolean,
        "Whether probes of plugins that could not decide are repeated, a second apart.",
    )
    .default("false"),
    key("maxRetries", Integer(0, 100), "Maximum number of repetitions of a probe.").default("1"),
    key("escalateTo", Any, "Whom `escalate` would ask.").example("orchestrator").planned(),
];

pub(crate) static TOOLS: KeyTable =
    table("toolSettings", "`tools`", "Tool policies.", &[TOOLS_KEYS]);

const TOOLS_KEYS: &[KeySpec] = &[
    key("security", Map(&TOOL_POLICIES), "Restrictions by tool.")
        .example("{shell:exec: {enabled: false}}"),
    key("http", Map(&HTTP), "HTTP requests.").example("{allowPrivate: [\"localhost:8080\"]}"),
];

pub(crate) static TOOL_POLICIES: KeyTable = table(
    "toolPolicies",
    "`security`",
    "Restrictions by tool: the name of a tool or group (`fs:write`, `fs:*`, `file_write`), and what is restricted.",
    &[TOOL_POLICIES_KEYS],
)
.others(Map(&TOOL_POLICY));

const TOOL_POLICIES_KEYS: &[KeySpec] =
    &[key("allowedTools", TEXTS, "The only tools that may be called.").example("[fs:read]")];

pub(crate) static TOOL_POLICY: KeyTable =
    table("toolPolicy", "the security of a tool", "Restrictions of one tool.", &[TOOL_POLICY_KEYS]);

const TOOL_POLICY_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "`false` denies every call.").default("true"),
    key("requiresApproval", Boolean, "`true` makes every call wait for an approval."),
    key("allowedPaths", TEXTS, "Globs of the only paths that the tool may access.")
        .example("[\"src/**\"]"),
    key("deniedPaths", TEXTS, "Globs of paths that the tool may not access.")
        .example("[\"**/.env\"]"),
];

pub(crate) static HTTP: KeyTable =
    table("httpSettings", "`http`", "HTTP requests of tools and steps.", &[HTTP_KEYS]);

const HTTP_KEYS: &[KeySpec] =
    &[key("allowPrivate", TEXTS, "Private hosts (with port) that requests may reach.")
        .example("[\"localhost:8080\"]")];

pub(crate) static GLOBAL_LIMITS: KeyTable = table(
    "globalLimits",
    "`globalLimits`",
    "Limits of tool calls and model calls.",
    &[GLOBAL_LIMITS_KEYS],
);

const GLOBAL_LIMITS_KEYS: &[KeySpec] = &[
    key("maxToolCallsPerTask", Integer(0, u32::MAX), "Maximum tool calls of one attempt.")
        .example("20"),
    key(
        "maxApiCallsPerMinute",
        Integer(1, u32::MAX),
        "Maximum model calls in any minute; further ones wait.",
    )
    .example("60"),
];

pub(crate) static SECURITY: KeyTable =
    table("security", "`security`", "Tool policies in the form of agent files.", &[SECURITY_KEYS]);

const SECURITY_KEYS: &[KeySpec] = &[
    key("globalLimits", Map(&GLOBAL_LIMITS), "Limits of tool calls and model calls.")
        .example("{maxToolCallsPerTask: 20, maxApiCallsPerMinute: 60}"),
    key("tools", Map(&TOOL_POLICIES), "Restrictions by tool.")
        .example("{file_write: {requires_approval: true}}"),
];

const SECRET_VALUE: KeyType = OneOf(const { &[Pattern("^(env|file):.+"), Map(&SECRET)] });

pub(crate) static SECRET: KeyTable =
    table("secret", "a secret", "The source of a secret.", &[SECRET_KEYS])
        .rule(KeyRule::ExactlyOne(&["command", "env", "file"]));

const SECRET_KEYS: &[KeySpec] = &[
    key("env", Text, "Name of an environment variable.").example("GITHUB_TOKEN"),
    key("file", Text, "Path of a file.").example(".token"),
    key("command", TEXTS, "Program and arguments that print the value.")
        .example("[pass, show, github]"),
];

pub(crate) static ENV: KeyTable =
    table("envSettings", "`env`", "Environment of processes.", &[ENV_KEYS]);

const ENV_KEYS: &[KeySpec] =
    &[key("pass", TEXTS, "Variables that processes inherit from the environment of `kb`.")
        .example("[CI]")];

pub(crate) static JOURNAL: KeyTable =
    table("journal", "`journal`", "The journal.", &[JOURNAL_KEYS]);

const JOURNAL_KEYS: &[KeySpec] = &[
    key("sync", Choice(SYNC_NAMES), "`full` syncs every event to disk before its effect.")
        .default("normal"),
    key(
        "prompts",
        Choice(PROMPTS_NAMES),
        "Whether the journal keeps the prompts of model calls, or only their digests.",
    )
    .default("full"),
    key(
        "stepLogMib",
        Integer(1, 1 << 20),
        "Output in MiB that is kept of one attempt: its beginning, samples, and its end.",
    )
    .default("64"),
    key(
        "runLogMib",
        Integer(1, 1 << 20),
        "Output in MiB that is kept of one run; after it, the end of each attempt only.",
    )
    .default("4096"),
    key("retention", Duration, "Age from which `kb run prune` removes ended runs.")
        .default("30d")
        .example("90d"),
];

pub(crate) static CACHE: KeyTable =
    table("cacheSettings", "`cache`", "Stored results of steps with `cache`.", &[CACHE_KEYS]);

const CACHE_KEYS: &[KeySpec] = &[key(
    "maxMib",
    Integer(1, 1 << 20),
    "Size in MiB above which the results that were not used for the longest time are removed.",
)
.default("1024")];

pub(crate) static LIMITS: KeyTable =
    table("limitSettings", "`limits`", "Limits of runs.", &[LIMITS_KEYS]);

const LIMITS_KEYS: &[KeySpec] = &[key(
    "maxParallel",
    Integer(1, 100_000),
    "Maximum parallel steps of playbooks without a limit of their own.",
)
.default("number of processors, at least 2")];
