//! Pages of `KB02xx`: playbooks, steps, specialists, settings and scripts.

pages! { TABLE;
    BAD_DEFINITION = "KB0201", "wrong kind of definition",
r#"The file is a valid definition, but of another kind than its folder holds: for example a
specialist among the playbooks.

    .kb/playbooks/*.yml         schema: kb.playbook/1
    .kb/specialists/ID.yml      schema: kb.specialist/1
    .kb/workflows/*.md          front matter with `steps`

Move the file, or correct its `schema`."#;

    BAD_ID = "KB0202", "invalid id or name",
r#"Ids appear in commands, templates and logs, so their form is restricted:

    playbook      [a-z][a-z0-9_-]{0,63}      add-feature
    step          [A-Za-z_][A-Za-z0-9_-]*    run_tests
    parameter     [A-Za-z_][A-Za-z0-9_]*     featureName
    variable      [A-Za-z_][A-Za-z0-9_]*     API_URL

Wrong:

    id: Add Feature

Fixed:

    id: add-feature
    name: Add Feature

`name` accepts any text."#;

    DUPLICATE_ID = "KB0203", "duplicate id",
r#"Two steps of one playbook (including those of `finally`) or two of its parameters have the same
id, so templates and commands could not tell them apart. Both positions are shown.

Wrong:

    - {id: test, run: make test}
    - {id: test, run: make lint}

Fixed:

    - {id: test, run: make test}
    - {id: lint, run: make lint}"#;

    DUPLICATE_DEFINITION = "KB0204", "two files define the same id",
r#"Two playbooks or workflows, or two specialists or agent profiles, have the same id. Neither is
loaded until one of them is renamed or deleted.

Wrong:

    .kb/playbooks/release.yml   id: release
    playbooks/old-release.yml   id: release

Fixed:

    .kb/playbooks/release.yml   id: release
    playbooks/old-release.yml   id: old-release

The id of a workflow without `id` is the name of its file."#;

    STEP_KIND = "KB0205", "step or check without exactly one kind",
r#"Every step has exactly one key that says what it does: `specialist` (or `agent`), `run`, `tool`,
`http`, `playbook`, `ask`, `approve`, `set`, `wait` or `gate`. Every check of a gate has exactly one of
`schema`, `file`, `command`, `expr`, `diff` and `judge`.

Wrong:

    - id: build
      run: make
      tool: fs:list

Fixed:

    - id: build
      run: make
    - id: list
      tool: fs:list"#;

    UNKNOWN_STEP = "KB0206", "unknown step",
r#"`dependsOn` names a step that the playbook does not have. It can name only steps of the same list:
steps of `finally` start after all of `steps` and need no dependency on them.

Wrong:

    - {id: build, run: make}
    - {id: test, run: make test, dependsOn: [biuld]}

Fixed:

    - {id: test, run: make test, dependsOn: [build]}"#;

    RESERVED_NAME = "KB0207", "reserved name",
r#"Some names have a meaning in expressions (`params`, `steps`, `run`, `env`, `secrets`, `item`,
`index`, `loop`, `true`, `and`, …), so no step, parameter or `forEach` item can have them.

Wrong:

    - {id: run, run: make}      # `{{ run.id }}` is the id of the run

Fixed:

    - {id: run_all, run: make}"#;

    NAME_CLASH = "KB0208", "ambiguous names",
r#"Steps and parameters share one scope, and expressions write a step `add-test` as `add_test`. Two
names of this playbook would therefore be the same in an expression.

Wrong:

    params: [{name: build}]
    steps:  [{id: build, run: make}]      # `{{ build }}` is ambiguous

Fixed:

    params: [{name: target}]
    steps:  [{id: build, run: make}]"#;

    NO_STEPS = "KB0209", "playbook without steps",
r#"A playbook needs at least one step.

Fixed:

    steps:
      - id: hello
        run: echo hello"#;

    SELF_DEPENDENCY = "KB0210", "step depends on itself",
r#"A step that names itself in `dependsOn` can never start.

Wrong:

    - {id: build, run: make, dependsOn: [build]}

Fixed:

    - {id: build, run: make}

Use `retry` to repeat a step, or `forEach` to run it for many items."#;

    MISPLACED_KEY = "KB0211", "key belongs to another step kind",
r#"Some keys apply to one step kind only: `task` and `taskFile` to `specialist`, `parse` to `run`,
`with` to `playbook`. `rework` and `escalateModel` need a specialist.

Wrong:

    - id: build
      run: make
      verify: {checks: [{file: out.bin}], onFailed: rework}

Fixed:

    - id: build
      run: make
      verify: {checks: [{file: out.bin}], onFailed: retry}"#;

    TASK_TEXT = "KB0212", "specialist step without exactly one task",
r#"A specialist step states its task exactly once: in `task` (or `prompt`), in a file named by
`taskFile`, or in `input.task`.

Wrong:

    - {id: plan, specialist: researcher}

Fixed:

    - {id: plan, specialist: researcher, task: "Plan {{featureName}}"}

or:

    - {id: plan, specialist: researcher, taskFile: prompts/plan.md}"#;

    BAD_PARAM = "KB0213", "invalid parameter declaration",
r#"The declaration of a parameter contradicts itself: the default or a value of `enum` has another type,
the default violates `enum`, `pattern`, `min` or `max`, or a parameter of type `secret` has a literal
default.

Wrong:

    - {name: retries, type: integer, default: three}
    - {name: level, enum: [1, 2]}                   # without `type`, values are texts
    - {name: token, type: secret, default: abc123}

Fixed:

    - {name: retries, type: integer, default: 3}
    - {name: level, type: integer, enum: [1, 2]}
    - {name: token, type: secret, default: "env:API_TOKEN"}

The value of a secret is a reference: `env:NAME` or `file:PATH`."#;

    INVALID_PATTERN = "KB0214", "invalid regular expression or glob",
r#"Regular expressions use the syntax of the Rust crate `regex`: no look-around and no
back-references. Globs support `*`, `**`, `?`, `[ab]` and `{a,b}`.

Wrong:

    count: {pattern: "fn (", min: 1}       # the group is not closed

Fixed:

    count: {pattern: "fn \\(", min: 1}"#;

    BAD_SCHEMA = "KB0215", "invalid schema",
r#"A schema is JSON Schema (draft 2020-12, without external references) or the short form:

    files: "string[]"
    code?: "Record<string, string>"
    testResult?: passed | failed | skipped
    items: "{name: string, size?: integer}[]"

The types are `string`, `number`, `integer`, `boolean`, `null`, `object` and `any`. Any other name is a
literal string. A `?` after a key makes the key optional."#;

    VALUE_AS_CODE = "KB0216", "value in a position that is executed",
r#"A value from a parameter, a model or another step can be an argument, an environment variable or
data. It cannot be part of a shell script, the name of a program, or the scheme and host of a URL,
because it would then be executed or choose the target.

Wrong:

    run: echo {{title}}

Fixed:

    run: echo "$TITLE"
    env: {TITLE: "{{title}}"}

or, without a shell:

    run: [echo, "{{title}}"]

Variables that make programs load code, such as `PATH`, `LD_PRELOAD` and `NODE_OPTIONS`, accept only
literal values."#;

    NO_SUCH_TOOL = "KB0217", "unknown tool in a definition",
r#"The tool is neither a built-in tool nor a planned one. `fs:*` stands for all tools of a namespace.
The built-in tools are:

    fs:read fs:list fs:search fs:exists fs:write fs:edit fs:delete
    shell:exec http:request output:read

Wrong:

    tools: [fs:reed]

Fixed:

    tools: [fs:read]"#;

    INFERRED_PARAM = "KB0218", "parameter inferred from a placeholder",
r#"In a workflow without `params`, every `{topic}` in a prompt that names no step becomes a required
parameter. This message is informational.

    prompt: "Research {topic}"           # kb workflow run research --param topic=...

Declare `params:` to give the parameter a type, a default or a question."#;

    NO_EFFECT = "KB0219", "key has no effect",
r#"The key is valid, but has no effect for this step kind or in this combination.

Wrong:

    - {id: hello, run: echo hi, input: {a: 1}}      # `run` does not read `input`

Fixed:

    - {id: hello, run: 'echo "$A"', env: {A: "1"}}"#;

    SECRET_MISPLACED = "KB0220", "secret outside the permitted keys",
r#"Secrets may appear in `env`, in the headers, query and body of `http`, and in the input of a tool.
Anywhere else they would reach prompts, logs or file names.

Wrong:

    task: "Use the token {{secrets.TOKEN}}"         # sent to a model

Fixed:

    env: {TOKEN: "{{secrets.TOKEN}}"}

A variable that receives a secret in any `env` of the definition counts as a secret: `{{env.TOKEN}}` is
permitted only where the secret itself is. If a variable of that name elsewhere holds no secret, give
it another name."#;

    BAD_SETTING = "KB0221", "invalid setting",
r#"A setting has the right type, but its value is not usable: an unknown model tier, an escalation
ladder that goes down, or a secret with a literal value.

Wrong:

    secrets: {TOKEN: abc123}

Fixed:

    secrets: {TOKEN: "env:API_TOKEN"}

A secret is `env:NAME`, `file:PATH` or `{command: [...]}`."#;

    BAD_TURN = "KB0222", "invalid turn of a script",
r#"A turn of a script has `say`, `calls`, `output` or `error`, and optionally `usage` and `delayMs`.

Fixed:

    implement:
      - calls: [{tool: fs:write, args: {path: a.txt, content: hi}}]
      - output: {created: [a.txt], summary: done}"#;
}
