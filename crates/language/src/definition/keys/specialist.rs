//! Keys of specialists: the file `kb.specialist/1`, the `agent:` form, and agent profiles.

use super::choice_tables::{INPUT_POLICY_NAMES, OUTPUT_FORMAT_NAMES};
use super::coding_agent::AGENT_OF_SPECIALIST;
use super::context::CONTEXT;
use super::table::KeyType::{
    Any, AnyMap, Boolean, Choice, Constant, Duration, Integer, List, ListOrOne, Map, Number, OneOf,
    Scalar, Schema, Text,
};
use super::table::{KeySpec, KeyTable, KeyType, key, table};
use super::{choice, mcp::SERVER_ITEM, memory::MEMORY_KEY};
use crate::definition::model::{ContextProfile, Example, NetworkAccess, Reasoning};
use crate::definition::settings::{GLOBAL_LIMITS, SECURITY};
use kb_base::value::Tier;

pub(crate) static SPECIALIST: KeyTable = table(
    "specialist",
    "a specialist",
    "A specialist: YAML in `.kb/specialists/ID.yml` or `.kb/specialists/ID/specialist.yml`.",
    &[SPECIALIST_ID, COMMON, ALL_FORMS],
);

pub(crate) static PROFILE: KeyTable = table(
    "profile",
    "an agent profile",
    "An agent profile: the front matter of a markdown file in `.kb/agents/` or `agents/`. The body is the system prompt, the path is the id. Subagent files of Claude Code have this form.",
    &[PROFILE_ID, COMMON, PROFILE_KEYS, ALL_FORMS],
);

pub(crate) static AGENT_FILE: KeyTable =
    table("agentFile", "the file", "A specialist in the `agent:` form.", &[AGENT_FILE_KEYS]);

pub(crate) static AGENT: KeyTable = table(
    "agent",
    "an agent",
    "A specialist in the `agent:` form: everything is below the key `agent`.",
    &[AGENT_KEYS, ALL_FORMS],
);

const SPECIALIST_ID: &[KeySpec] = &[
    key("schema", Constant("kb.specialist/1"), "Kind of the file and version of the language.")
        .required()
        .example("kb.specialist/1"),
    key("id", Text, "Unique id of the specialist.").required().example("implementer"),
    key(
        "agent",
        AGENT_OF_SPECIALIST,
        "The coding agent that does the work in place of a model that `kb` calls: a name, or a map.",
    )
    .example("opencode"),
];

const PROFILE_ID: &[KeySpec] = &[
    key("schema", Any, "Not used: a profile is recognised by its folder.")
        .example("kb.specialist/1"),
    key("id", Any, "Another id; the path is the id.").example("reviewer").unused(),
];

const TEMPERATURE: KeySpec =
    key("temperature", Number(0.0, 2.0), "Sampling temperature.").default("that of the provider");
const MAX_TOKENS: KeySpec = key(
    "maxTokens",
    Integer(1, u32::MAX),
    "Maximum tokens of one response, without its reasoning.",
)
.default("the limit of the model, at most 16,384");
const REASONING: KeySpec =
    key("reasoning", choice::<Reasoning>(), "How long the model reasons before it responds.")
        .default("`llm.reasoning` of the settings")
        .example("medium");
const TOOLS: KeyType = ListOrOne(&Text);
const VERSION: KeySpec = key("version", Scalar, "Version, for display.").example("\"1.0\"");
const DISPLAY_KEY: KeySpec =
    key("display", Map(&DISPLAY), "How the specialist is shown.").example("{name: Writer}");
const BRAIN_KEY: KeySpec =
    key("brain", Map(&BRAIN), "Model and system prompt in one map; the same as `llm` and `role`.")
        .example("{model: gpt-4o}");
const CAPABILITIES_KEY: KeySpec = key(
    "capabilities",
    OneOf(const { &[Text, List(const { &OneOf(const { &[Text, Map(&CAPABILITY)] }) })] }),
    "What the specialist can do. A step calls an entry that is a map by its name (`capability`).",
)
.example("[review code]");

const NETWORK_KEY: KeySpec = key(
    "network",
    choice::<NetworkAccess>(),
    "Network of its commands and of the commands that check its work: a private loopback interface, none, or that of this machine.",
)
.default("loopback");

const AGENT_LOOP_KEY: KeySpec = key(
    "agentLoop",
    Map(&AGENT_LOOP),
    "Gives an attempt phases: understand, plan, execute, critique, finish.",
)
.example("{maxIterations: 3}");

const COMMON: &[KeySpec] = &[
    key("name", Text, "Display name.").example("Reviewer").default("the id"),
    VERSION,
    key("description", Text, "Description shown in lists.").example("Reviews Rust code"),
    DISPLAY_KEY,
    key("role", Text, "System prompt.").example("You review Rust code."),
    key(
        "context",
        OneOf(const { &[choice::<ContextProfile>(), Map(&CONTEXT)] }),
        "How much of its conversation the model sees: lengths of tool results, and when older messages become a summary. A map sets more context.",
    )
    .default("`llm.context` of the settings")
    .example("standard"),
    key("staticContext", Text, "Context that is part of every prompt.").example("The project uses Rust 2024."),
    key("examples", List(const { &Example::MAP }), "Examples of past tasks for the prompt.").example("[{task: Rename a flag, approach: Search and edit, outcome: 3 files changed}]"),
    key("llm", Map(&LLM), "Choice of the model.").example("{tier: small}"),
    key("limits", Map(&LIMITS), "Limits of one attempt.").example("{maxSteps: 10}"),
    FORCED_REASONING,
    AGENT_LOOP_KEY,
    key("tools", TOOLS, "Allow-list of tools; globs such as `fs:*` are allowed.")
        .default("no tools")
        .example("[fs:read, \"fs:*\"]"),
    NETWORK_KEY,
    key("constraints", ListOrOne(&Text), "Rules for the prompt.").example("[Do not change public names]"),
    CAPABILITIES_KEY,
    key("input", Map(&INPUT), "Input of the specialist."),
    key("inputPolicy", Choice(INPUT_POLICY_NAMES), "`strict` makes invalid input an error.")
        .default("warn"),
    key("output", Map(&OUTPUT), "Output of the specialist.")
        .example("{schema: {files: \"string[]\"}}"),
    BRAIN_KEY,
    key("mcpServers", List(const { &SERVER_ITEM }), "MCP servers whose tools it can call: definitions, or names of servers of the settings. Without an entry in `tools`, all tools of a server are on its allow-list.").example("[{name: files, command: mcp-files}]"),
    MEMORY_KEY,
];

/// Keys of all forms.
const ALL_FORMS: &[KeySpec] = &[
    key(
        "security",
        Map(&SECURITY),
        "Restrictions of its tools, in addition to those of the settings.",
    )
    .example("{tools: {fs:write: {allowed_paths: [\"docs/**\"]}}}"),
    key(
        "globalLimits",
        Map(&GLOBAL_LIMITS),
        "Limits of tool calls and model calls, in addition to those of the settings.",
    )
    .example("{maxToolCallsPerTask: 20}"),
    key("progressHeartbeat", Any, "Progress events at an interval.").example("30s").planned(),
    key(
        "singleton",
        OneOf(const { &[Boolean, Map(&SINGLETON)] }),
        "Whether at most one attempt of the specialist runs at a time, in all runs of the project. A step waits for its turn.",
    )
    .default("false")
    .example("true"),
];

pub(crate) static SINGLETON: KeyTable =
    table("singleton", "`singleton`", "The lock of a specialist.", &[SINGLETON_KEYS]);

const SINGLETON_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "Whether attempts of the specialist hold the lock.").default("true"),
    key("queuePrefix", Text, "First part of the name of the lock; the second is the id.")
        .default("singleton")
        .example("agents"),
];

const PROFILE_KEYS: &[KeySpec] = &[
    key(
        "model",
        Text,
        "Name of a model, a tier, or one of `haiku`, `sonnet`, `opus` and `inherit`.",
    )
    .example("sonnet"),
    TEMPERATURE,
    MAX_TOKENS,
    key("maxTurns", Integer(1, 10_000), "Maximum number of model calls.").default("15"),
    key("disallowedTools", TOOLS, "Tools to remove from `tools`.").example("[Bash]"),
    key("color", Any, "Color for display.").example("blue").unused(),
    key("type", Any, "Type of the agent.").example("reviewer").unused(),
    key("tags", Any, "Tags.").example("[review, rust]").unused(),
    key(
        "permissionMode",
        Any,
        "Permission mode of Claude Code. Runs with `plan` are refused; other values have no effect.",
    )
    .example("default"),
    key("skills", Any, "Skills of Claude Code.").example("[rust]").planned(),
    key("hooks", Any, "Hooks of Claude Code, which can deny tool calls.").example("{PreToolUse: []}").run_refused(),
    key("effort", Text, "Reasoning effort: `low`, `medium` or `high`; others count as `high`.").example("high"),
    key("background", Any, "Whether the agent runs in the background.").example("true").planned(),
    key("isolation", Any, "Isolation of the agent. Use `workspace` of the step.").example("worktree").run_refused(),
];

const AGENT_FILE_KEYS: &[KeySpec] = &[
    key("schema", Any, "Not used in this form.").example("kb.specialist/1"),
    key("agent", Map(&AGENT), "The specialist.").required(),
];

const AGENT_KEYS: &[KeySpec] = &[
    key("name", Text, "Unique id of the specialist.").required().example("agent.writer.001"),
    key("type", Text, "Type of the agent.").example("writer").unused(),
    VERSION,
    DISPLAY_KEY,
    BRAIN_KEY,
    key("tools", OneOf(const { &[Text, List(&Text), Map(&AGENT_TOOLS)] }), "Allow-list of tools.")
        .default("no tools")
        .example("[fs:read]"),
    NETWORK_KEY,
    CAPABILITIES_KEY,
    key("context", choice::<ContextProfile>(), "How much of its conversation the model sees.")
        .default("`llm.context` of the settings"),
    AGENT_LOOP_KEY,
    key("limits", Map(&AGENT_LIMITS), "Limits of one attempt.")
        .example("{max_execution_time_seconds: 300}"),
    MEMORY_KEY,
    key("registry", Any, "Registration of the agent.").example("{id: reviewer}").planned(),
];

pub(crate) static AGENT_TOOLS: KeyTable = table(
    "agentTools",
    "`tools`",
    "Tools of a specialist in the `agent:` form.",
    &[AGENT_TOOLS_KEYS],
);

const AGENT_TOOLS_KEYS: &[KeySpec] = &[
    key("enabled", TOOLS, "Allow-list of tools.").default("no tools").example("[file_read]"),
    key("security", AnyMap, "Restrictions of its tools, in addition to those of the settings.")
        .example("{fs:write: {requires_approval: true}}"),
];

pub(crate) static AGENT_LOOP: KeyTable =
    table("agentLoop", "`agent_loop`", "The phases of an attempt.", &[AGENT_LOOP_KEYS]);

const AGENT_LOOP_KEYS: &[KeySpec] = &[
    key("maxIterations", Integer(1, 1_000), "Maximum number of rounds of execution and critique.")
        .default("5"),
    key(
        "maxToolCalls",
        Integer(1, 10_000),
        "Maximum number of tool calls; the same as `maxToolCalls` of `limits`.",
    )
    .default("20"),
    key("enableSelfCritique", Boolean, "Whether the model reviews its output and can improve it.")
        .default("true"),
];

pub(crate) static AGENT_LIMITS: KeyTable = table(
    "agentLimits",
    "`limits`",
    "Limits of a specialist in the `agent:` form.",
    &[AGENT_LIMITS_KEYS],
);

const AGENT_LIMITS_KEYS: &[KeySpec] = &[
    key("maxExecutionTimeSeconds", Integer(1, 1_000_000), "Time limit of one attempt in seconds.")
        .default("300"),
    key(
        "maxRetries",
        Integer(0, 100),
        "Maximum number of further attempts of a step or item after the first one, whatever their reason.",
    )
    .default("as the step allows"),
];

pub(crate) static DISPLAY: KeyTable =
    table("display", "`display`", "How a specialist is shown.", &[DISPLAY_KEYS]);

const DISPLAY_KEYS: &[KeySpec] = &[
    key("name", Text, "Display name.").example("Reviewer"),
    key("description", Text, "Description shown in lists.").example("Reviews Rust code"),
    key("emoji", Text, "Emoji in front of the name.").example("🔍"),
    key("avatar", Any, "Name of an icon.").example("robot").unused(),
    key("color", Any, "Color of the name.").example("blue").unused(),
];

const FORCED_REASONING: KeySpec = key(
    "forcedReasoningInterval",
    Integer(1, 100),
    "Number of calls after which one turn must answer without tools.",
)
.default("never");

pub(crate) static LIMITS: KeyTable =
    table("specialistLimits", "`limits`", "Limits of one attempt of a specialist.", &[LIMITS_KEYS]);

const LIMITS_KEYS: &[KeySpec] = &[
    key("maxSteps", Integer(1, 10_000), "Maximum number of model calls.").default("15"),
    key("maxToolCalls", Integer(0, 10_000), "Maximum number of tool calls.")
        .default("20; 200 with `agent`"),
    key("timeout", Duration, "Time limit of the attempt.").default("5m; 30m with `agent`"),
    key("timeoutMs", Integer(1, u32::MAX), "Time limit of the attempt in milliseconds."),
    FORCED_REASONING,
];

pub(crate) static LLM: KeyTable =
    table("llm", "`llm`", "The model of a specialist.", &[LLM_KEYS, GENERATION]);

const LLM_KEYS: &[KeySpec] = &[
    key("tier", choice::<Tier>(), "Model tier.").default("medium"),
    key(
        "ladder",
        ListOrOne(const { &choice::<Tier>() }),
        "Tiers to escalate through, in ascending order.",
    )
    .default("`defaultLadder` of the settings")
    .example("[small, medium]"),
];

const GENERATION: &[KeySpec] = &[
    key("model", Text, "Model by name; takes precedence over the tier.").example("gpt-4o"),
    TEMPERATURE,
    MAX_TOKENS,
    REASONING,
    key(
        "fallback",
        OneOf(const { &[Text, Map(&FALLBACK)] }),
        "Model to use if the first one is not available.",
    )
    .example("gpt-4o-mini"),
    key(
        "provider",
        Text,
        "Provider that has to serve the model. A call is refused if another one does. Providers are configured in the settings under `llm.tiers`, or by API keys.",
    )
    .example("ollama"),
];

pub(crate) static FALLBACK: KeyTable =
    table("fallback", "`fallback`", "The fallback model.", &[FALLBACK_KEYS]);

const FALLBACK_KEYS: &[KeySpec] = &[
    key("enabled", Boolean, "Whether the fallback is used.").default("true"),
    key("model", Text, "Name of the model.").example("gpt-4o-mini"),
];

pub(crate) static BRAIN: KeyTable = table(
    "brain",
    "`brain`",
    "Model and system prompt of a specialist.",
    &[BRAIN_KEYS, GENERATION],
);

const BRAIN_KEYS: &[KeySpec] =
    &[key("systemPrompt", Text, "System prompt.").example("You review Rust code.")];

pub(crate) static CAPABILITY: KeyTable =
    table("capability", "a capability", "A capability of a specialist.", &[CAPABILITY_KEYS]);

const CAPABILITY_KEYS: &[KeySpec] = &[
    key("name", Text, "Name of the capability.").required().example("write_article"),
    key("version", Any, "Version of the capability.").example("\"1.0\"").unused(),
    key("description", Text, "What it does, for `kb specialist info`.")
        .example("Writes an article"),
    key("inputSchema", Schema, "Schema of the `input` of a step that names the capability.")
        .example("{topic: string}"),
    key("outputSchema", Schema, "Schema of the output of such a step.").example("{text: string}"),
    key("toolsRequired", TOOLS, "Tools that the specialist must have for it.").example("[fs:read]"),
    key(
        "promptTemplate",
        Text,
        "The task of such a step; `{key}` stands for a value of its input.",
    )
    .example("\"Write about {topic}.\""),
];

pub(crate) static INPUT: KeyTable =
    table("specialistInput", "`input`", "The input of a specialist.", &[INPUT_KEYS]);

const INPUT_KEYS: &[KeySpec] =
    &[key("schema", Schema, "Schema of the `input` of a step.").example("{files: \"string[]\"}")];

pub(crate) static OUTPUT: KeyTable =
    table("specialistOutput", "`output`", "The output of a specialist.", &[OUTPUT_KEYS]);

const OUTPUT_KEYS: &[KeySpec] = &[
    key(
        "format",
        Choice(OUTPUT_FORMAT_NAMES),
        "Form of the output. It is always structured; `text` is reported and has no effect.",
    ),
    key("schema", Schema, "Schema of the output; `summary` is always part of it.")
        .example("{files: \"string[]\"}"),
];
