//! Keys that people know from other tools, with the way to write the same here.

/// The map that a key stands in, as messages name it, the key in lower case without `-` and `_`, and the help.
/// An empty name stands for every map.
const USUAL: &[(&str, &[&str], &str)] = &[
    (
        "",
        &["continueonerror", "allowfailure", "ignoreerrors"],
        "write `onError: continue`; the failure then does not fail the run",
    ),
    (
        "a step",
        &["model", "llm", "temperature"],
        "`model` belongs to the specialist: `llm: {model: NAME}` in its file; `--model NAME` applies to a whole run",
    ),
    (
        "a step",
        &["role", "system", "systemprompt", "tools", "allowedtools"],
        "it belongs to the specialist: `.kb/specialists/ID.yml` has `role` and `tools`; the step has the `task`",
    ),
    ("a step", &["depends", "after", "requires", "waitfor"], "write `dependsOn: [STEP]`"),
    ("a step", &["when", "unless", "onlyif"], "write `condition: \"{{ STEP.output }} == 'x'\"`"),
    (
        "a step",
        &["script", "cmd", "shell", "exec", "bash"],
        "write a script, `run: echo hello`, or a program with its arguments, `run: [echo, hello]`",
    ),
    (
        "a step",
        &["uses", "action", "call"],
        "a step calls a tool with `tool: NAME` and `input`, another playbook with `playbook: ID` and `with`",
    ),
    (
        "a step",
        &["params", "parameters", "arguments"],
        "a `playbook` step passes values in `with:`, a specialist and a tool read `input:`, a command reads `env:`",
    ),
    (
        "a step",
        &["withitems", "items", "foreachitem", "each", "map", "over"],
        "write `forEach: \"{{list}}\"`; the step reads `{{item}}`",
    ),
    (
        "a step",
        &["maxparallel", "parallel", "concurrency", "parallelism"],
        "for the items of a `forEach`, write `forEach: {in: \"{{list}}\", maxParallel: 2}`; for all steps, `limits: {maxParallel: 2}` of the playbook",
    ),
    ("a step", &["retries", "attempts", "maxretries"], "write `retry: {max: 2}`"),
    (
        "a step",
        &["workingdirectory", "workdir", "dir", "directory", "chdir"],
        "write `cwd: FOLDER`",
    ),
    (
        "a step",
        &["approval", "approvals", "confirm", "manual", "requireapproval"],
        "an approval is a step of its own: `{id: ok, approve: \"Deploy?\"}`, and here `dependsOn: [ok]`",
    ),
    (
        "a step",
        &["until", "while", "repeat", "times"],
        "write `loop: {until: \"{{ STEP.output }} == 'ok'\", max: 5}`, where STEP is the step itself",
    ),
    (
        "a step",
        &["sleep", "delay", "pause"],
        "a wait is a step of its own: `{id: later, wait: 30s}`",
    ),
    (
        "a step",
        &["mutex", "semaphore", "exclusive", "singleton"],
        "write `locks: [NAME]`; one step at a time holds it, in all runs of the project",
    ),
    (
        "a step",
        &["isolation", "worktree", "sandboxed"],
        "write `workspace: worktree` or `workspace: copy`: the step then has files of its own",
    ),
    ("a step", &["memoize", "cached", "caching"], "write `cache: true`"),
    ("a step", &["strategy"], "write `matrix: {axes: {os: [linux, mac]}}`"),
    (
        "a step",
        &["options", "choices", "question"],
        "write `ask: {question: \"Which?\", options: [a, b]}`",
    ),
    (
        "a step",
        &["ontimeout"],
        "write it in the step kind that waits: `approve: {message: …, timeout: 1h, onTimeout: reject}`",
    ),
    (
        "a step",
        &["onfail", "onfailure", "onfailed"],
        "after a gate that failed: `verify: {onFailed: rework}`; after any failure: `onError: continue`, `retry`, or a step in `hooks: {onFailure: …}`",
    ),
    (
        "a step",
        &["checks", "verification", "assert", "expect", "validate", "gates"],
        "write `verify: {checks: [{file: {path: out.md}}]}`, or a step of its own with `gate: […]`",
    ),
    (
        "a specialist",
        &["prompt", "system", "systemprompt", "instructions", "persona"],
        "the system prompt is `role`; the task is in the step: `task: …`",
    ),
    (
        "a specialist",
        &["model", "tier", "temperature", "maxtokens", "fallback", "reasoning"],
        "write it in `llm`, as in `llm: {model: NAME}` or `llm: {tier: small}`",
    ),
    (
        "a specialist",
        &["provider", "endpoint", "apikey", "baseurl"],
        "models and their providers are in the settings: `llm: {tiers: {medium: {…}}}` in `.kb/kb.config.yml`",
    ),
    (
        "a specialist",
        &["task", "goal", "objective"],
        "the task is in the step: `{specialist: ID, task: …}`",
    ),
    (
        "a specialist",
        &["maxsteps", "maxturns", "maxiterations", "maxtoolcalls", "timeout"],
        "write it in `limits`, as in `limits: {maxSteps: 20, maxToolCalls: 30, timeout: 10m}`",
    ),
    (
        "a specialist",
        &["allowedtools", "permissions", "skills", "functions"],
        "write `tools: [fs:read, fs:write]`",
    ),
    (
        "a specialist",
        &["outputs", "outputschema", "responseformat", "result"],
        "write `output: {schema: {summary: string}}`",
    ),
    ("a playbook", &["schedule", "cron"], "write `on: {schedule: \"0 9 * * 1-5\"}`"),
    (
        "a playbook",
        &["jobs", "tasks", "stages", "pipeline", "nodes", "workflow"],
        "write `steps:`, a list",
    ),
    (
        "a playbook",
        &["inputs", "arguments", "args", "variables", "vars", "parameters"],
        "write `params: [{name: who, default: you}]`",
    ),
    (
        "a playbook",
        &["secrets"],
        "secrets are in the settings, `.kb/kb.config.yml`; a parameter of `type: secret` is given at each run",
    ),
    (
        "a playbook",
        &["timeout", "maxparallel", "concurrentsteps"],
        "write it in `limits`, as in `limits: {timeout: 1h, maxParallel: 4}`",
    ),
    ("a playbook", &["title", "label"], "write `name:`"),
    (
        "a playbook",
        &["agents", "specialists", "roles"],
        "each specialist has a file, `.kb/specialists/ID.yml`; `kb specialist new ID` creates one",
    ),
    ("a check", &["exists", "path", "fileexists", "files"], "write `file: {path: out.md}`"),
    (
        "a check",
        &["contains", "matches", "grep", "text"],
        "write `file: {path: out.md, count: {pattern: \"text\", min: 1}}`",
    ),
    ("a check", &["run", "cmd", "shell", "script", "exec"], "write `command: [cargo, test]`"),
    (
        "a check",
        &["assert", "condition", "expression", "if"],
        "write `expr: \"{{STEP.output}} == 'x'\"`",
    ),
    (
        "a `file` check",
        &["contains", "contents", "content", "matches", "pattern", "text", "regex"],
        "write `count: {pattern: \"text\", min: 1}`",
    ),
    (
        "a `file` check",
        &["exists", "exist", "present"],
        "`path` alone demands that the file exists; `absent: true` that it does not",
    ),
    (
        "`forEach`",
        &["items", "list", "values", "of", "over", "each", "from"],
        "write `in: \"{{list}}\"`",
    ),
    ("`forEach`", &["item", "var", "name", "variable"], "write `as: NAME`"),
    ("`forEach`", &["parallel", "concurrency", "parallelism", "batch"], "write `maxParallel: 2`"),
    (
        "`forEach`",
        &["run", "steps", "do", "task", "step", "specialist", "tool"],
        "it stands beside `forEach`: `{id: a, forEach: {in: \"{{list}}\"}, run: …}`",
    ),
    ("`forEach`", &["glob", "pattern", "path"], "write `files: \"src/*.rs\"`"),
    ("`ask`", &["choices", "enum", "values", "select"], "write `options: [a, b]`"),
    ("`ask`", &["text", "prompt", "message", "title"], "write `question: …`"),
    ("`ask`", &["type"], "write `schema: string`; `options: [a, b]` for a choice"),
    ("`approve`", &["question", "text", "prompt", "title", "description"], "write `message: …`"),
    (
        "`approve`",
        &["approvers", "users", "reviewers", "by"],
        "everybody who can write to the journal can approve; the journal records the name",
    ),
    (
        "`loop`",
        &["while", "condition", "if", "when", "exit", "stop"],
        "write `until: …`, the expression that ends the loop",
    ),
    ("`loop`", &["times", "count", "limit", "maxiterations", "iterations"], "write `max: 5`"),
    (
        "`loop`",
        &["delay", "interval", "sleep", "wait"],
        "write `initial: 5s`, the time between passes",
    ),
    (
        "`cache`",
        &["path", "paths", "files", "sources", "dependencies"],
        "write `inputs: [\"src/**\"]`",
    ),
    ("`cache`", &["expires", "maxage", "expiry", "lifetime", "duration"], "write `ttl: 7d`"),
    ("`wait`", &["for", "duration", "seconds", "time", "delay"], "write `wait: 30s`"),
    (
        "`concurrency`",
        &["cancelinprogress", "cancel", "policy", "strategy", "mode"],
        "write `onConflict: cancelRunning`, `queue` or `skip`",
    ),
    (
        "`concurrency`",
        &["max", "limit"],
        "one run of a group executes at a time; `limits: {maxParallel: 2}` limits the steps of a run",
    ),
    ("`requires`", &["commands", "programs", "binaries", "executables"], "write `tools: [git]`"),
    ("`requires`", &["variables", "environment", "vars"], "write `env: [NAME]`"),
    ("`expect`", &["cost", "usd"], "write `maxCost: 0.5`, the most that the run may cost"),
    ("`schedule`", &["timezone", "tz"], "write `zone: Europe/Berlin`"),
    ("`schedule`", &["interval", "minutes", "seconds", "hours"], "write `every: 5m`"),
    (
        "`schedule`",
        &["time", "when"],
        "write a cron expression: `cron: \"30 9 * * *\"` is 09:30 of every day",
    ),
    ("`on`", &["cron", "timer", "interval", "every"], "write `schedule: \"0 9 * * 1-5\"`"),
    (
        "`on`",
        &["push", "pullrequest", "http", "workflowdispatch"],
        "write `webhook: {secret: NAME, form: github}`; `kb playbook run ID` starts a run by hand",
    ),
    ("`on`", &["files", "watch", "path"], "write `file: \"inbox/*.csv\"`"),
];

/// The help for an unknown key of a map, described as in messages (`a step`).
pub(super) fn of_key(key: &str, what: &str) -> Option<&'static str> {
    let plain = key.replace(['-', '_'], "").to_ascii_lowercase();
    // A workflow has the keys of a playbook, an agent profile those of a specialist.
    let what = match what {
        "a workflow" => "a playbook",
        "an agent profile" => "a specialist",
        other => other,
    };
    let row = USUAL
        .iter()
        .find(|(map, keys, _)| (map.is_empty() || *map == what) && keys.contains(&plain.as_str()));
    row.map(|(_, _, help)| *help)
}
