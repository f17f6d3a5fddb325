pages! { TABLE;
    BAD_DEFINITION = "KB0201", "not a valid definition",
        "The file is readable, but is not what its place says: a specialist among the playbooks, or a
definition of a kind that belongs elsewhere.

    .kb/playbooks/*.yml         schema: kb.playbook/1
    .kb/specialists/ID.yml      schema: kb.specialist/1
    .kb/workflows/*.md          front matter with `steps`

Move the file, or correct its `schema`.";

    BAD_ID = "KB0202", "not a valid id or name",
        "Ids name things in commands, templates and logs, so their form is narrow.

    playbook      [a-z][a-z0-9_-]{0,63}      add-feature
    step          [A-Za-z_][A-Za-z0-9_-]*    run_tests
    parameter     [A-Za-z_][A-Za-z0-9_]*     featureName
    variable      [A-Za-z_][A-Za-z0-9_]*     API_URL

Choose an id of that form; `name:` holds any text for people.";

    DUPLICATE_ID = "KB0203", "an id is used twice",
        "Two steps of one playbook (those of `finally` included), or two of its parameters, have the
same id. Templates and commands could not tell them apart.

    - {id: test, run: make test}
    - {id: test, run: make lint}

Rename one of them. Both places are shown.";

    DUPLICATE_DEFINITION = "KB0204", "two files define the same id",
        "Two playbooks or workflows, or two specialists or profiles, have one id. Neither is used until
this is mended, because `kb` does not guess which one is meant.

    .kb/playbooks/release.yml   id: release
    playbooks/old-release.yml   id: release

Rename one of them or delete it. A workflow without `id` has its file's name as id.";

    STEP_KIND = "KB0205", "a step needs exactly one kind",
        "What a step does is said by its one kind key: `specialist` (or `agent`), `run`, `tool`, `http`,
`playbook`, `ask`, `approve`, `set`, `wait`, `gate`.

    - id: build
      run: make                 # the kind is `run`

Add one, or split the step in two where there are several. Checks of a gate are the same: each has
exactly one of `schema`, `file`, `command`, `expr`, `diff`, `judge`.";

    UNKNOWN_STEP = "KB0206", "no step of that id",
        "`dependsOn` names a step that the playbook does not have. Only steps of the same list can be
named; the steps of `finally` come after all others and need no dependency on them.

    - {id: test, run: make test, dependsOn: [biuld]}      # did you mean `build`?

Correct the id.";

    RESERVED_NAME = "KB0207", "a reserved name",
        "Some words mean something in expressions (`params`, `steps`, `run`, `env`, `secrets`, `item`,
`index`, `loop`, `true`, `and`, …), so no step, parameter or `forEach` item can be called so.

    - {id: run, run: make}      # `{{ run.id }}` is the run itself

Choose another name, such as `run_all`.";

    NAME_CLASH = "KB0208", "two names that expressions cannot tell apart",
        "In expressions a step `add-test` is written `add_test`, and steps and parameters share one
scope. So `a-b` beside `a_b`, or a parameter and a step of one name, would be ambiguous.

    params: [{name: build}]
    steps:  [{id: build, run: make}]      # what is `{{ build }}`?

Rename one of them.";

    NO_STEPS = "KB0209", "no steps",
        "A playbook without steps does nothing, which is never meant.

    steps:
      - id: hello
        run: echo hello

Write at least one step.";

    SELF_DEPENDENCY = "KB0210", "a step depends on itself",
        "A step that names itself in `dependsOn` could never start.

    - {id: build, run: make, dependsOn: [build]}

Remove it. To do work again use `retry`, or `forEach` for many items.";

    MISPLACED_KEY = "KB0211", "the key belongs to another kind of step",
        "Some keys mean something only for one kind: `task` and `taskFile` for specialists, `parse` for
`run`, `with` for `playbook`; `rework` and `escalateModel` need a specialist to talk to.

    - id: build
      run: make
      verify: {checks: [{file: out.bin}], onFailed: rework}     # use `retry` or `fail`

Remove the key, or use the one that the help names.";

    TASK_TEXT = "KB0212", "what a specialist is to do",
        "A specialist step says what to do exactly once: in `task` (or `prompt`), in a file named by
`taskFile`, or in `input.task`.

    - {id: plan, specialist: researcher, task: \"Plan {{featureName}}\"}
    - {id: plan, specialist: researcher, taskFile: prompts/plan.md}

Write one of them.";

    BAD_PARAM = "KB0213", "a parameter contradicts itself",
        "The declaration of a parameter does not fit together: a default of another type, a default that
its `enum`, `pattern`, `min` or `max` refuses, or a literal default for a secret.

    - {name: retries, type: integer, default: three}
    - {name: token, type: secret, default: abc123}      # a secret is `env:NAME` or `file:PATH`

Correct the default or the declaration.";

    INVALID_PATTERN = "KB0214", "not a valid pattern",
        "A regular expression or a glob that cannot be compiled. Regular expressions have the syntax of
the Rust `regex` crate (no look-around, no back-references, always linear time); globs know `*`,
`**`, `?`, `[ab]` and `{a,b}`.

    count: {pattern: \"fn (\", min: 1}       # an unclosed group; write \"fn \\\\(\"

Correct the pattern.";

    BAD_SCHEMA = "KB0215", "not a valid schema",
        "A schema is JSON Schema (draft 2020-12, no references outside of itself) or the short form:

    files: \"string[]\"
    code?: \"Record<string, string>\"
    testResult?: passed | failed | skipped
    items: \"{name: string, size?: integer}[]\"

Types are string, number, integer, boolean, null, object, any; other words are literal texts; `?`
after a key makes it optional.";

    VALUE_AS_CODE = "KB0216", "a value would become code",
        "Nothing from outside becomes code: a value may be an argument, an environment variable or
data, never a part of a shell script, a program's name, or the scheme and host of an address.

    run: echo {{title}}                          # refused
    run: echo \"$TITLE\"                           # the value stays data
    env: {TITLE: \"{{title}}\"}
    run: [echo, \"{{title}}\"]                     # or without a shell

Hand the value over as `env:` or as an argument. Variables that make programs load something, such
as `PATH`, `LD_PRELOAD` or `NODE_OPTIONS`, take literals only.";

    NO_SUCH_TOOL = "KB0217", "no such tool",
        "The tool is not one of the built-in ones, nor one that the documents plan. `fs:*` means all
tools of a family.

    fs:read fs:list fs:search fs:exists fs:write fs:edit fs:delete
    shell:exec http:request output:read

Correct the name. What a tool takes is in the language's table of tools.";

    INFERRED_PARAM = "KB0218", "a parameter was inferred",
        "A workflow without `params` takes each bare `{topic}` of its prompts that names no step as a
required parameter. This line only says so.

    prompt: \"Research {topic}\"           # kb workflow run research --param topic=...

Declare `params:` to give it a type, a default or a question.";

    NO_EFFECT = "KB0219", "it has no effect here",
        "The key is allowed, but does nothing for this kind of step or in this combination.

    - {id: hello, run: echo hi, input: {a: 1}}      # `run` reads `env`, not `input`

Remove it, or move the value to where it is read.";

    SECRET_MISPLACED = "KB0220", "a secret outside of where secrets may go",
        "Secrets may stand in `env`, in the headers, query and body of `http`, and in the input of a
tool. Elsewhere they would end up in prompts, logs or file names.

    task: \"Use the token {{secrets.TOKEN}}\"         # a model would see it
    env: {TOKEN: \"{{secrets.TOKEN}}\"}

Hand it over through one of these places. A variable that was given a secret in any `env:` of the
definition counts as one: `{{env.TOKEN}}` may stand where the secret may. A variable of the same name
that holds none needs another name.";

    BAD_SETTING = "KB0221", "a setting contradicts itself",
        "A setting is readable, but cannot be meant so: a tier that is none, a ladder that goes down, a
secret that is written out.

    secrets: {TOKEN: abc123}             # write env:NAME, file:PATH, or {command: [...]}

Correct it as the message says.";

    BAD_TURN = "KB0222", "not a valid turn of a script",
        "A turn of a script has `say`, `calls` or `output` (or `error`), and may have `usage` and
`delayMs`.

    implement:
      - calls: [{tool: fs:write, args: {path: a.txt, content: hi}}]
      - output: {created: [a.txt], summary: done}

Write what the model is to answer.";
}
