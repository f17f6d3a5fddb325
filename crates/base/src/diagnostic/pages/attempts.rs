//! Pages of `KB0501` to `KB0510`: how attempts of specialists end.

pages! { TABLE;
    ATTEMPT_FAILED = "KB0501", "attempt failed",
r#"An attempt of a step failed for a reason without a code of its own. The message contains the reason;
`kb run logs RUN STEP` shows the preceding activity.

`retry` and `recovery` of the step decide whether there is another attempt:

    retry: {max: 2, on: [transient, timeout]}"#;

    SUBMITTED_OUTPUT_INVALID = "KB0502", "submitted output violates the schema",
r#"A specialist returns its output with the tool `submit_output`, whose schema is the `output.schema` of
the step or of the specialist. `summary` is always required. The output violated the schema, and so did
two corrected versions, the last one requested in the structured-output mode of the provider. The outcome
is `validation_failed`.

The details of the failure list every violation and contain the last output under `partial`:

    /files/0: expected a string, got an object

Require only keys that are needed (`key?` is optional), describe the keys in the task, or use a larger
model tier. This rule makes another attempt:

    recovery:
      - {on: [validation_failed], do: rework, max: 2}"#;

    OUTPUT_MISSING = "KB0503", "specialist did not submit an output",
r#"Three times in a row the model neither called a tool nor submitted an output; the last time it was
asked for one JSON object in the structured-output mode of the provider. Plain text does not count as an
output. The outcome is `validation_failed`; the last text is in the details.

Small models often cannot call tools. Use a larger model tier:

    llm: {tier: medium}"#;

    SPECIALIST_LOOP = "KB0504", "specialist repeats the same call",
r#"The specialist called the same tool with the same arguments three times, with the same result and
without any change in between. The outcome is `stuck`. Changed files remain changed.

Usually something is missing: a tool in `tools`, a path, or an instruction for the case that nothing is
found. `kb run logs RUN STEP` shows the calls. This rule tries a larger model:

    recovery:
      - {on: [stuck], do: escalateModel, max: 1}"#;

    SPECIALIST_STEP_LIMIT = "KB0505", "specialist reached its step limit",
r#"`limits.maxSteps` (default 15) limits the model calls of an attempt. Before the last one the specialist
is told to submit its result. It did not, so the outcome is `stuck`.

Raise the limit, or split the task:

    limits: {maxSteps: 30}"#;

    SPECIALIST_TOOL_CALL_LIMIT = "KB0506", "specialist reached its tool call limit",
r#"`limits.maxToolCalls` (default 20) limits the tool calls of an attempt. After that, calls are refused and
only `submit_output` is available. The specialist asked for more tools instead, so the outcome is `stuck`.

Raise the limit, or split the task:

    limits: {maxToolCalls: 50}"#;

    SPECIALIST_TIMEOUT = "KB0507", "specialist timeout",
r#"The attempt exceeded the time limit of the specialist (default 5 minutes). The running model call or
tool was stopped. The outcome is `timeout`; changes remain and are listed in the details.

    limits: {timeout: 15m}            # in the file of the specialist; `timeoutMs: 900000` is the same

Other time limits end an attempt of a specialist too, with codes of their own:

- `timeout: 10m` of the step, or of `defaults` of the playbook: the attempt with its gate (`KB0556`)
- `timeout: {idle: 60s}` of the step: the time without a token, output or tool call (`KB0556`)
- `limits: {timeout: 1h}` of the playbook: the whole run (`KB0566`)
- `timeoutMs` in a call of `shell:exec`: that call, whose result the model receives (`KB0615`)

The shortest one applies."#;

    SPECIALIST_DENIED = "KB0508", "tool calls of a specialist were denied",
r#"Three tool calls in a row were denied: the tool is not in `tools`, a path may not be read or written, or
a critical tool was not approved. The specialist received each denial and made no other progress. The
outcome is `policy_denied`.

Adding a tool to `tools` of the specialist permits it:

    tools: [fs:read, fs:write]

`kb run logs RUN STEP` shows each denial with its code."#;

    CALL_OUTCOME_UNKNOWN = "KB0509", "outcome of a tool call is unknown",
r#"`kb` was killed while a tool was running, and the run was resumed. Calls that only read are repeated.
Other calls are not: the specialist is told that the outcome is unknown and that it must inspect the state
before it repeats anything. The call is recorded as `unknown`. Nothing needs to be fixed."#;

    SPECIALIST_CANCELLED = "KB0510", "specialist was cancelled",
r#"The attempt was cancelled: by a person, by the end of the run, or because another process took over the
lease. Its recorded turns are kept; a resumed run continues after the last one."#;
}
