pages! { TABLE;
    ATTEMPT_FAILED = "KB0501", "an attempt failed",
        "An attempt of a step ended without being done, for a reason that has no code of its own.

The message says what happened; `kb run logs RUN STEP` shows what the step did before.
A `retry` or `recovery` row of the step decides whether it is tried again:

  retry: {max: 2, on: [transient, timeout]}";
    SUBMITTED_OUTPUT_INVALID = "KB0502", "a specialist's output does not fit its schema",
        "A specialist hands its output in through `submit_output`, whose schema is the step's
`output.schema`, or else the specialist's; a `summary` is always required. What was handed in did
not fit, nor did it after two repair turns, the last of them in the provider's structured-output
mode. The outcome is `validation_failed`.

The failure's details list every violation, and keep the last output under `partial`:

  /files/0: expected a string, got an object

Make the schema say what is really needed (`key?` is optional), describe the keys in the task, or
choose a higher tier. A row `{on: [validation_failed], do: rework, max: 2}` tries again.";
    OUTPUT_MISSING = "KB0503", "a specialist never handed in an output",
        "The model neither called a tool nor handed anything in, three times in a row; the last time
it was asked for one JSON object in the provider's structured-output mode. Text alone does not
count as an output. The outcome is `validation_failed`; the last text is in the details.

Small models often cannot call tools. Choose a higher tier for the specialist:

  llm: {tier: medium}";
    SPECIALIST_LOOP = "KB0504", "a specialist repeats itself",
        "The same tool was called with the same arguments and gave the same result three times,
while nothing changed in between. The outcome is `stuck`; files that were changed stay changed.

Usually the specialist lacks something: a tool that is not in its `tools`, a path, or a word in
the task on what to do when nothing is found. `kb run logs RUN STEP` shows the calls.

  recovery:
    - {on: [stuck], do: escalateModel, max: 1}";
    SPECIALIST_STEP_LIMIT = "KB0505", "a specialist ran out of steps",
        "Every model call is a step; `limits.maxSteps` (15 unless said) bounds them. On the last one
the specialist is told to hand in what it has. It did not, so the outcome is `stuck`.

Raise the limit, or split the task into steps:

  limits: {maxSteps: 30}";
    SPECIALIST_TOOL_CALL_LIMIT = "KB0506", "a specialist ran out of tool calls",
        "`limits.maxToolCalls` (20 unless said) bounds the tool calls of an attempt. Once it is
reached, calls are answered with a refusal and only `submit_output` is offered. The specialist
asked for more tools instead, so the outcome is `stuck`.

Raise the limit, or give it a smaller task:

  limits: {maxToolCalls: 50}";
    SPECIALIST_TIMEOUT = "KB0507", "a specialist ran out of time",
        "The attempt took longer than the specialist's own limit (5 minutes unless said). The model
call or tool that was under way was stopped. The outcome is `timeout`; changes that were made
stay, and are listed in the details.

  limits: {timeoutMs: 900000}

The step's `timeout` bounds an attempt as well; the shorter of the two holds.";
    SPECIALIST_DENIED = "KB0508", "a specialist's calls were denied",
        "Three tool calls in a row were refused by a policy: the tool is not in the specialist's
`tools`, a path lies outside what may be read or written, or a critical tool was not approved.
The specialist saw each refusal and found no other way. The outcome is `policy_denied`.

Whitelisting a tool in a specialist is the permission to use it:

  tools: [fs:read, fs:write]

`kb run logs RUN STEP` shows each refusal with its own code.";
    CALL_OUTCOME_UNKNOWN = "KB0509", "what a tool call did is not known",
        "`kb` died while a tool was at work, and the run was resumed. Calls that only read are made
again. Others are not: the specialist is told that the outcome is unknown, and to look at the
state before it repeats anything. Nothing needs to be done; the call stands in the log as
`unknown`.";
    SPECIALIST_CANCELLED = "KB0510", "a specialist was stopped",
        "The attempt was cancelled: by a person, by the end of its run, or because another process
holds the run now. What it had recorded is kept; a resumed run goes on from its last turn.";
    ITEMS_FAILED = "KB0551", "items of a forEach failed",
        "Some items of a `forEach` step ended as failed, and the step does not tolerate that.\n\nEach item is an instance of its own: `kb run show @last` lists them, and\n`kb run logs @last 'review[src/a.rs]'` shows one. `kb run retry @last` runs the failed items\nagain and keeps the others. With\n\n    forEach: {in: \"{{plan.output.files}}\", onItemError: continue}\n\nthe step succeeds, and failed items are `null` in its output.";
    GATE_FAILED = "KB0552", "the gate refuted the work",
        "What the step claims, what the runtime recorded and what is on disk do not agree, or a\ncheck of `verify` did not hold.\n\nThe checks and what was observed are in `kb run show @last` and in the event\n`verification:complete`. `onFailed: rework` gives a specialist the evidence and another try;\n`onFailed: warn` lets the step pass and lists the verdict.";
    GATE_INCONCLUSIVE = "KB0553", "the gate could not tell",
        "There is neither proof for the work nor proof against it, and the step (or\n`verifier.inconclusivePolicy` in the settings) says that this is not good enough.\n\nAdd a check that can decide, such as `command: [cargo, test]`, or set\n`onInconclusive: warn`.";
    NOT_A_LIST = "KB0555", "a forEach has no usable list",
        "`forEach` needs a list whose items have unique keys; what it got is something else.\n\n    forEach: \"{{plan.output.files}}\"                      # a list, instances review[0], review[1], …\n    forEach: {in: \"{{plan.output.files}}\", key: \"{{item.path}}\"}\n\nA `run` step hands out text; `parse: lines` or `parse: json` makes a list of it.";
    TIMED_OUT = "KB0556", "an attempt took too long",
        "One attempt, running and verifying, took longer than the step's `timeout` (or, for a\nspecialist, than its `limits.timeoutMs`). What it had running was stopped.\n\n    timeout: 10m\n    timeout: {attempt: 10m, idle: 60s}\n\n`retry: {max: 2, on: [timeout]}` tries again.";
    INTERNAL_ERROR = "KB0557", "a defect of kb",
        "Something happened that the program's authors held for impossible. The step failed; the run\nand its journal are sound, and `kb run retry` or `kb run resume` goes on.\n\nPlease report it with the output of `kb run events RUN`.";
    NON_ZERO_EXIT = "KB0558", "a process did not end with 0",
        "The command of a `run` step ended with another exit code than 0, or by a signal (reported as\n128 plus its number, as shells do). The message carries the last line that it wrote to stderr;\n`kb run logs RUN STEP` has the rest.\n\n`retry: {max: 2, on: [exit]}` tries again, `onError: continue` goes on without it, and\n`{{step.exitCode}}` can be read by later steps.";
    NOT_STARTED = "KB0559", "a process did not start",
        "The program of a `run` step was not found, is not executable, or its working directory is\nnot there. `run:` with a text goes to bash; `run:` with a list starts its first word directly.";
    BAD_OUTPUT = "KB0560", "output that cannot be parsed",
        "`parse: json` needs exactly one JSON value on stdout, and nothing else there. Write progress\nto stderr. `parse: lines` takes any text.";
    UNEXPECTED_STATUS = "KB0561", "a response that was not expected",
        "An `http` step got a status outside 200–299, or outside of its `expect` list. 429 and 5xx are\n`transient`, so that `retry: {max: 3}` comes back to them (a `retry-after` is honoured);\neverything else is a `tool_error`.\n\n    http: {url: \"https://example.com/item\", expect: [200, 404]}";
    NOT_RESUMABLE = "KB0562", "a run that cannot go on this way",
        "`kb run resume` goes on with a run that is interrupted or waits. `kb run retry` re-opens one\nthat failed or was cancelled, in its next iteration: what succeeded keeps its results, and\n`--from STEP` names where to go back to, which also works for a run that succeeded.";
    SANDBOX_UNAVAILABLE = "KB0563", "the sandbox is not reached",
        "The settings ask for more than this machine gives; `kb doctor` says what is reached.

    sandbox: {require: kernel}            # what specialists' commands may do; short: sandbox: required
    sandbox: {processes: pidNamespace}    # that nothing of a step is left

`require` is `none`, `process` (a step's processes end with it) or `kernel` (the kernel holds what
specialists' commands read and write). It takes Linux 6.2 or later with Landlock
(`cat /sys/kernel/security/lsm` names it; some containers close it).

`processes` is `auto` unless said: steps run in PID namespaces where the system allows them, else in
process groups (`group`). Namespaces need user namespaces or administrator's rights, and are often
refused in containers; on Ubuntu, `sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows
them. In a user namespace `sudo` and other programs that gain rights have no power, and files of
others seem to be `nobody`'s; `processes: group` is for playbooks that need them.

docs/security.md says what each level holds.";
    BAD_INPUT = "KB0564", "input that does not fit a specialist",
        "A specialist with `inputPolicy: strict` was given an `input` that does not fit its\n`input.schema`. Without `strict` the same is a warning in `kb run logs`. A key `task` is filled\nfrom the step's `task`, and a list or object that meets a `string` is given as text.";
    OUTPUT_INVALID = "KB0565", "an output that does not fit its schema",
        "The step says `output: {schema: …}`, and what it handed out is something else. Each violation\nnames the place in the output. For a `run` step, `parse: json` makes a value of what it prints.";
    RUN_TIMED_OUT = "KB0566", "the run took too long",
        "`limits: {timeout: 1h}` bounds the whole run, waiting included, anew after each resume. When it is over, what runs is\nstopped, what has not begun is cancelled, `finally` steps run, and the run has failed.\n`kb run retry RUN` goes on with what did not succeed, with the whole time again.";
    MASKED_ARGUMENT = "KB0567", "a tool call with a masked secret",
        "A model asked for a tool with arguments that hold `«secret:NAME»`, the mask of a value that it\nhas seen masked, or that was masked in the journal before the run was resumed. The call was not\nmade, because the mask would have been written as if it were the value. The model is told.\n\nSecrets reach processes as environment: `env: {TOKEN: \"{{secrets.TOKEN}}\"}` on the step.";
    SECRET_COMMAND_FAILED = "KB0568", "the command of a secret did not give it",
        "`secrets: {TOKEN: {command: [pass, show, token]}}` runs a program when the first step needs the
secret, once for as long as `kb` runs, in the project's folder with the base environment and
`env.pass`. It has 20 seconds, ends with exit code 0 and prints the value alone: at most 64 KiB of
UTF-8, line ends at its end are taken off. What it prints, also to stderr, is neither kept nor shown.

The attempt failed as a `tool_error`; one that is tried again runs the command again.";
    SECRET_TOO_SHORT = "KB0569", "a secret that cannot be masked",
        "The values of secrets are masked in everything that `kb` stores or shows. For one of fewer than 4
characters, or one that is `true`, `false` or `null`, that would spoil every text, and the places
of the masks would tell the value. Such a secret is not handed out, and the step fails.

From 4 characters on a value is masked wherever it stands, an ordinary word like `main` too, and
in the ways in which programs write it on: base64, hex, JSON, URLs, shells, HTML, folded over lines.
docs/security.md has the list. A value that is no secret is better given as a parameter, or passed on
by `env: {pass: [NAME]}` in the settings.";
    WORKER_KILLED = "KB0570", "what kept a process was killed",
        "Processes run in PID namespaces that an init process of `kb` makes (`kb-init`, with a
`kb-worker` for each running step). Somebody outside of the step killed one of these: a person, or
the system because memory ran out (`dmesg` says so). The kernel has ended everything of the step
with it, and how far the step had come is not known.

The attempt failed as `transient`, so that `retry: {max: 2}` comes back to it. `kb` starts a new
init process for the next step; the run goes on.";
    SECRET_LITERAL = "KB0571", "a secret that is written out",
        "A run keeps its definitions, its script and its parameters as they were when it began. One of
them holds the value of a secret as it is, which would so be stored. Nothing was begun.

    params: [{name: token, type: secret}]            # --param token=env:GITHUB_TOKEN
    env: {TOKEN: \"{{token}}\"}

Values of fewer than twelve characters may be ordinary words and are not looked for, nor are those
that a command gives.";
    APPROVAL_REJECTED = "KB0554", "a person refused it",
        "The step waited for a person, and the answer was no. The run fails unless the step has\n`onError: continue`. `kb run retry RUN` asks again.";
}
