//! Pages of the other `KB05xx`: how steps and runs end.

pages! { TABLE;
    ITEMS_FAILED = "KB0551", "items of a forEach failed",
r#"Some items of a `forEach` step failed, and the step does not tolerate that. Every item is a step instance:
`kb run show @last` lists them, and `kb run logs @last 'review[src/a.rs]'` shows one. `kb run retry @last`
repeats the failed items and keeps the others.

To let the step succeed anyway, with `null` for failed items in its output:

    forEach: {in: "{{plan.output.files}}", onItemError: continue}"#;

    GATE_FAILED = "KB0552", "gate failed",
r#"A claim of the output, the recorded tool calls and the files on disk contradict each other, or a check
of `verify` failed. `kb run show @last` and the event `verification:complete` contain the checks and the
observations.

`onFailed: rework` returns the evidence to the specialist for another attempt; `onFailed: warn` lets the
step succeed and records the verdict:

    verify: {checks: [{command: [cargo, test]}], onFailed: rework}"#;

    GATE_INCONCLUSIVE = "KB0553", "gate is inconclusive",
r#"There is no proof that the work was done and none that it was not, and the step (or
`verifier.inconclusivePolicy` in the settings) does not accept that.

Add a check that can decide, or accept the result:

    verify:
      checks: [{command: [cargo, test]}]
      onInconclusive: warn"#;

    NOT_A_LIST = "KB0555", "forEach needs a list with unique keys",
r#"The value of `forEach` is not a list, or two of its items have the same key.

    forEach: "{{plan.output.files}}"                      # instances review[0], review[1], …
    forEach: {in: "{{plan.output.files}}", key: "{{item.path}}"}

The output of a `run` step is a string; `parse: lines` or `parse: json` turns it into a list."#;

    TIMED_OUT = "KB0556", "attempt timeout",
r#"An attempt, including its gate, exceeded the `timeout` of the step or its idle timeout. Its processes were
stopped. A value in `defaults` of the playbook counts for all its steps.

    timeout: 10m
    timeout: {attempt: 10m, idle: 60s}

`limits.timeout` of a specialist (`KB0507`) and of the playbook (`KB0566`) are limits of their own.

`retry: {max: 2, on: [timeout]}` makes another attempt."#;

    INTERNAL_ERROR = "KB0557", "internal error of kb",
r#"`kb` reached a state that should be impossible. The step failed; the run and its journal are intact, and
`kb run retry` or `kb run resume` continues.

Please report it with the output of `kb run events RUN`."#;

    NON_ZERO_EXIT = "KB0558", "non-zero exit",
r#"The command of a `run` step had a non-zero exit code or was killed by a signal (reported as 128 plus its
number, as shells do). The message contains the last line of stderr; `kb run logs RUN STEP` shows the rest.

`retry: {max: 2, on: [exit]}` makes another attempt, `onError: continue` lets the run continue, and later
steps can read `{{step.exitCode}}`."#;

    NOT_STARTED = "KB0559", "process could not be started",
r#"The program of a `run` step does not exist or is not executable, or its working directory does not exist.

    run: cargo test | tail          # a string: executed by bash
    run: [cargo, test]              # a list: the program is started directly"#;

    BAD_OUTPUT = "KB0560", "output cannot be parsed",
r#"`parse: json` needs exactly one JSON value on stdout and nothing else. Write progress to stderr.
`parse: lines` accepts any text."#;

    UNEXPECTED_STATUS = "KB0561", "unexpected HTTP status",
r#"An `http` step received a status outside 200–299, or outside its `expect` list. 429 and 5xx are
`transient`, so `retry: {max: 3}` repeats the request and respects `retry-after`; every other status is a
`tool_error`.

    http: {url: "https://example.com/item", expect: [200, 404]}"#;

    NOT_RESUMABLE = "KB0562", "run cannot be resumed or retried",
r#"`kb run resume` continues a run that is interrupted or waiting. `kb run retry` reopens a run that failed
or was cancelled, in its next iteration; steps that succeeded keep their results. `--from STEP` names the
first step to repeat, and also works for a run that succeeded."#;

    SANDBOX_UNAVAILABLE = "KB0563", "required sandbox level is not available",
r#"The settings require more isolation than this machine provides. `kb doctor` shows the available levels.

    sandbox: {require: kernel}            # short form: sandbox: required
    sandbox: {processes: pidNamespace}

`require` applies to the commands of specialists: `none`, `process` (the processes of a step end with it)
or `kernel` (the kernel restricts file access). `kernel` needs Linux 6.2 or later with Landlock
(`cat /sys/kernel/security/lsm` lists it; some containers disable it).

`processes` (default `auto`) runs steps in PID namespaces if available, otherwise in process groups
(`group`). Namespaces need user namespaces or administrator rights, and containers often refuse them; on
Ubuntu, `sysctl kernel.apparmor_restrict_unprivileged_userns=0` permits them. In a user namespace `sudo`
and other set-uid programs have no effect, and files of other users appear to belong to `nobody`; use
`processes: group` for playbooks that need them.

docs/security.md describes every level."#;

    BAD_INPUT = "KB0564", "input violates the schema of the specialist",
r#"A specialist with `inputPolicy: strict` received an `input` that violates its `input.schema`. Without
`strict` this is a warning in `kb run logs`. The key `task` is filled from `task` of the step, and a list or
object for a `string` is converted to text."#;

    OUTPUT_INVALID = "KB0565", "output violates the schema of the step",
r#"The step has `output: {schema: …}`, and its output violates the schema. Each violation names the path in
the output. The output of a `run` step is a string unless it has `parse: json`:

    - id: version
      run: cat version.json
      parse: json
      output: {schema: {number: string}}"#;

    RUN_TIMED_OUT = "KB0566", "run timeout",
r#"`limits: {timeout: 1h}` limits the whole run, including waiting; it starts again after each resume. When
it expires, running steps are stopped, steps that have not started are cancelled, `finally` steps run, and
the run fails. `kb run retry RUN` repeats what did not succeed, with the full time again."#;

    MASKED_ARGUMENT = "KB0567", "tool call contains a masked secret",
r#"The arguments of a tool call contain `«secret:NAME»`, the mask of a secret. The model saw the value masked,
or it was masked in the journal before the run was resumed. The call was not executed, because the mask
would have been used as the value. The model receives this message.

Pass secrets to processes in the environment of the step:

    env: {TOKEN: "{{secrets.TOKEN}}"}"#;

    SECRET_COMMAND_FAILED = "KB0568", "command of a secret failed",
r#"`secrets: {TOKEN: {command: [pass, show, token]}}` runs a program when the first step needs the secret,
once for each `kb` process, in the folder of the project, with the base environment and `env.pass`. It must
exit with 0 within 20 seconds and print only the value: at most 64 KiB of UTF-8; trailing line ends are
removed. Its output, including stderr, is neither stored nor shown.

The attempt failed as `tool_error`; another attempt runs the command again."#;

    SECRET_TOO_SHORT = "KB0569", "secret cannot be masked",
r#"`kb` masks the values of secrets in everything that it stores or shows. Masking does not protect a value
with fewer than 8 characters: a program that prints all such values shows which one is masked, and the masks
damage unrelated text. Such a secret is not used, and the step fails.

    the secret `PIN` has fewer than 8 characters, and masking does not protect short values: a program that
    prints all of them shows which one is masked

Longer values are masked wherever they appear, including ordinary words such as `main`, and in the usual
encodings: Base64, hexadecimal, JSON, URLs, shell, HTML and folded lines. docs/security.md has the list.
Use a longer value. Pass a value that is not secret as a parameter, or with `env: {pass: [NAME]}` in the
settings."#;

    WORKER_KILLED = "KB0570", "namespace worker was killed",
r#"Steps run in PID namespaces with an init process (`kb-init`) and one namespace
worker (`kb-worker`) for each running step. One of
these was killed from outside the step: by a person, or by the kernel because memory ran out (`dmesg` shows
that). The kernel ended all processes of the step with it, and its progress is unknown.

The attempt failed as `transient`, so `retry: {max: 2}` repeats it. `kb` starts a new init process, and the
run continues."#;

    SECRET_LITERAL = "KB0571", "literal secret in a frozen input",
r#"A run stores its definitions, script and parameters unchanged. One of them contains the value of a secret,
which would be stored in the journal. Nothing was started.

Pass the secret by reference:

    params: [{name: token, type: secret}]            # --param token=env:GITHUB_TOKEN
    env: {TOKEN: "{{token}}"}

Values with fewer than twelve characters can be ordinary words and are not searched for, nor are secrets
that a command provides."#;

    APPROVAL_REJECTED = "KB0554", "approval was rejected",
r#"The step waited for approval, and a person rejected it. The run fails unless the step has
`onError: continue`. `kb run retry RUN` asks again.

A rejected tool call does not fail its step: the model gets the rejection with its comment as the result of
the call, and continues."#;

    NOT_A_TIME = "KB0572", "not a time",
r#"`wait: {until: ...}` was rendered to a text that is not a time. A time has a date, a time of day and a
zone, in RFC 3339:

    - {id: night, wait: {until: "2026-11-23T02:00:00Z"}}
    - {id: release, wait: {until: "{{plan.output.at}}"}}   # 2026-11-23T09:00:00+01:00"#;

    NOT_WAITING = "KB0573", "nothing waits for this reply",
r#"`kb run answer`, `approve` or `reject` named a step that does not wait for a person, or that waits for
another kind of reply. An `ask` step needs an answer. An `approve` step needs an approval or a rejection,
and so does a step with `retrySafe: false` that was running when `kb` was killed. After the timeout of a step no
reply counts, also if no process was there to notice it: `kb run resume` does what the step says for that case.

    kb run show RUN                    # what waits, and for what
    kb run answer RUN STEP TEXT
    kb run approve RUN [STEP]
    kb run reject RUN STEP --comment TEXT"#;

    BAD_ANSWER = "KB0574", "answer does not fit its question",
r#"The answer is not one of the `options` of the question, or violates its `schema`. Nothing was recorded;
the question is still open.

    - id: size
      ask: {question: "How many?", schema: {type: integer, minimum: 1}}

    kb run answer @last size 3

Write an object or a list as JSON."#;

    SECRET_UNSET = "KB0576", "secret has no value",
r#"A step needs a secret whose source gives no value: the environment variable is not set or empty, or the file
does not exist. The message names the source.

    the secret `token` has no value: API_TOKEN is not set

Set it, and continue the run:

    export API_TOKEN=…
    kb run retry @last

A run is refused before it starts if a step that surely runs needs the secret, also in a child run. A step that
can do without has a fallback: `{{secrets.token | default('')}}`."#;

    LOOP_EXHAUSTED = "KB0575", "loop reached its maximum",
r#"A step with `loop` ran `loop.max` times (default 10), and `loop.until` was never true, or its checks never passed. The step failed.

    loop: {until: "{{review.output.verdict}} == 'approve'", max: 3}

Raise `max`, or correct `until`. `kb run logs RUN STEP` shows every pass. With `onError: continue` the
failure is tolerated."#;

    NOT_ALL_RAN = "KB0579", "steps were left out",
r#"`kb run retry RUN --only STEP` runs one step alone. The steps that needed it before keep their results. If
they were blocked or cancelled, they have not run, and the run is still failed. `kb run retry RUN` runs them:

    kb run retry RUN --only build     # until it succeeds
    kb run retry RUN                  # then the steps after it"#;

    CHILD_RUN_FAILED = "KB0580", "child run failed",
r#"The child run of a `playbook` step failed or was cancelled. The message names the run, its first failed
step and the failure. The outcome is `tool_error`.

    kb run show RUN                    # the parent, with its child runs below their steps
    kb run logs CHILD STEP

A retry opens the same child run again: steps that succeeded keep their results. This applies to `retry`
of the step and to `kb run retry` of the parent. If the parameters changed, a new child run starts.

    - id: deploy
      playbook: deploy
      retry: {max: 1, on: [tool_error]}"#;

    BUDGET_EXHAUSTED = "KB0585", "budget used up",
r#"A call of a specialist could exceed a `budget` of the run or the step, `--budget`, or
`orchestrator.escalation.maxCostUsdPerRun` of the settings. The call was not made. The step waits, and the run
stops with exit code 3 when nothing else runs.

A model call is reserved before it is sent, at the estimated tokens of its prompt and the maximum tokens
of its response. This continues the run with a higher limit of its cost, its tokens
or its tool calls:

    kb run resume RUN --budget 2.50
    kb run resume RUN --max-tokens 500000
    kb run resume RUN --max-tool-calls 80"#;

    MODEL_WITHOUT_PRICE = "KB0586", "model without a price",
r#"The cost of the run or the step is limited, the price of one of its models is unknown, and a person rejected its
calls, whose cost would not count. Set the price in US dollars per million tokens, or limit `maxTokens` instead:

    llm: {prices: {my-model: {input: 0.5, output: 1.5}}}"#;

    NO_SUCH_ARTIFACT = "KB0595", "no such artifact",
r#"`includeArtifacts` of a step names an artifact that no step before it passed on.

A specialist passes on artifacts with `handoff.artifacts` of its output; the files that it changed are added
to them. `kb run session RUN` lists the artifacts of a run with their ids.

    steps:
      - {id: research, specialist: researcher, task: "Find the API. Pass on its signatures as an artifact."}
      - {id: build, specialist: implementer, task: "Use the API", includeArtifacts: [research]}

`includeArtifacts: [research]` includes all artifacts of `research`, `research/api` the one that it named
`api`, and `research/1` the first one if it has no name."#;

    GROUP_BUSY = "KB0587", "another run of the concurrency group executes",
r#"The playbook has `concurrency` with a group in which another run executes, and `onConflict` says that this run
does not start then. Nothing was started.

    run r2hd81ks of the concurrency group `deploy` executes (onConflict: skip)

With `onConflict: skip` this is the intended result, for instance for a schedule. With `cancelRunning` it is reported
by a run that waited for its turn while a newer one arrived. `onConflict: queue` waits for the other run instead."#;

    LOCK_CYCLE = "KB0591", "locks that wait for each other",
r#"Two or more runs hold what the others need: each waits for a lock or a concurrency group that another one keeps
until its own work has ended. None of them could go on, so one of them gives up. The others continue.

    run r2hd81ks waits for the lock `cache`, which run r7pq20wd holds; run r7pq20wd waits for the lock `db`, which run r2hd81ks holds

It takes two levels: a `playbook` step keeps its locks, and a run its concurrency group, while a child run waits for
another one. The steps of one run never wait for each other in a circle.

To avoid it, let all playbooks take what they need in the same order, or use one lock for both:

    steps:
      - {id: release, playbook: publish, locks: [db, cache]}   # the child run needs neither of them again

`kb run retry RUN` starts the step again; so does a row `{on: [tool_error], do: retry}` in its `recovery`."#;

    TREE_UNAVAILABLE = "KB0588", "worktree or copy cannot be used",
r#"A step with `workspace: worktree` or `workspace: copy` runs in files of its own, and these could not be made or
read. Nothing was started and the project is unchanged. The message says why:

| message | fix |
|---|---|
| the project is not a git repository | `git init` and a commit, or `workspace: copy` |
| the repository has no commit yet | `git add -A && git commit`, or `workspace: copy` |
| the project is a folder of a repository, not its root | `workspace: copy` |
| the repository has submodules | `workspace: copy` |
| changes that are not committed, with `merge: rebase` | commit, `git stash`, or `merge: patch` |
| `.gitattributes` sets a filter (Git LFS), with `merge: rebase` | `merge: patch` |
| no space left | free space, or set `XDG_STATE_HOME` to another disk |

A worktree has all files that git does not ignore, with changes that are not committed. A copy has ignored files too,
and no `.git`."#;

    MERGE_CONFLICT = "KB0589", "step and project changed the same lines",
r#"A step with files of its own changed lines that the project changed too since the step started: another step of
the run whose changes were merged before, or a person. Nothing of this step was merged. Both sides are kept: the
project is as it was, and the files of the step stay in the folder that the message names.

Run the step again on the present project:

    kb run retry RUN --from STEP

Or combine the two yourself with the command of the message, which writes both sides into the file with conflict
markers, and continue with the steps after it:

    git merge-file src/a.rs BASE TREE/src/a.rs
    kb run retry RUN --from NEXT-STEP

`kb run prune` removes the folder with the run."#;

    MERGE_FAILED = "KB0590", "changes cannot be merged",
r#"The changes of a step with files of its own could not be written into the project: a file could not be replaced,
or another process moved the branch meanwhile. What was not merged stays in the folder of the step. Remove the cause, then run
the step again with `kb run retry RUN --from STEP`."#;
}
