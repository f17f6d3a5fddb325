//! Pages of `KB04xx`: problems that only the whole plan shows.

pages! { TABLE;
    CIRCULAR_DEPENDENCY = "KB0401", "circular dependency",
r#"Steps wait for each other, so none of them can start. A step waits for every step that its
`dependsOn`, its condition or its templates name. The message prints the shortest cycle; each step
waits for the one after the arrow.

Wrong:

    - id: plan
      task: "Plan the work"
      input: {tests: "{{test.output}}"}      # plan waits for test
    - id: test
      dependsOn: [plan]                       # test waits for plan

Fixed:

    - id: plan
      task: "Plan the work"
    - id: test
      dependsOn: [plan]

A gate under `verify` may read its own step and any step above it without creating a dependency."#;

    NO_SUCH_SPECIALIST = "KB0402", "unknown specialist",
r#"A step names a specialist that the project does not have, or whose file has errors (they are
reported separately).

Wrong:

    - id: research
      specialist: reseacher

Fixed:

    - id: research
      specialist: researcher

Specialists are read from `.kb/specialists/ID.yml`, `.kb/specialists/ID/specialist.yml`,
`.kb/agents/*.md` and `agents/*.md`. `kb specialist list` shows them; `kb specialist new ID` creates
one."#;

    NO_SUCH_CAPABILITY = "KB0417", "unknown capability",
r#"A step names a capability that its specialist does not have, or one that is only a name. A capability
that can be called is a map:

    capabilities:
      - name: write_article
        inputSchema: {topic: string}
        promptTemplate: "Write an article about {topic}."

Wrong:

    - {id: draft, specialist: writer, capability: write_artcle, input: {topic: tea}}

Fixed:

    - {id: draft, specialist: writer, capability: write_article, input: {topic: tea}}"#;

    DEPENDS_ON_FINALLY = "KB0403", "step depends on a `finally` step",
r#"Steps of `finally` start after all of `steps` have ended, so no step of `steps` can wait for one.

Wrong:

    steps:
      - {id: publish, run: ./publish, dependsOn: [cleanup]}
    finally:
      - {id: cleanup, run: rm -rf out}

Fixed:

    steps:
      - {id: cleanup, run: rm -rf out}
      - {id: publish, run: ./publish, dependsOn: [cleanup]}

A `finally` step may read any step of `steps`; these may have failed or been skipped, so check
`.status` in a condition."#;

    GATE_READ_UNORDERED = "KB0404", "gate reads a step that may not have ended",
r#"The checks of `verify`, and `until` and `collect`, create no dependencies. They may read their own step
and the steps that it depends on, directly or indirectly. This text reads a step that can run at the same
time or later.

Wrong:

    - id: implement
      specialist: implementer
      verify:
        checks:
          - expr: "{{review.output.ok}}"

Fixed:

    - id: implement
      specialist: implementer
      dependsOn: [review]
      verify:
        checks:
          - expr: "{{review.output.ok}}"

Alternatively check both steps in a `gate:` step, whose checks do create dependencies."#;

    UNGUARDED_READ = "KB0405", "read of an output that may not exist",
r#"A step with a condition, or one that needs such a step, can be skipped. A step with
`onError: continue` can fail while the run continues. Their outputs may not exist, so the step that
reads one must say what happens then.

Wrong:

    - id: debug
      condition: "{{test.output.result}} == 'failed'"
      specialist: researcher
    - id: report
      runIf: allDone
      env: {CAUSE: "{{debug.output}}"}

Fixed:

    - id: report
      runIf: allDone
      env: {CAUSE: "{{debug.output | default('none')}}"}

Other ways: test `is defined` in the same text, name `debug` in the condition of the reader, or use
`runIf: allSucceeded` (the default), which skips the reader as well; it does not cover a tolerated
failure. `.status`, `.error` and `.verdict` always exist."#;

    UNKNOWN_OUTPUT_KEY = "KB0406", "output has no such key",
r#"The output of the step is described by its `output.schema`, the schema of its specialist, or its
kind, and has no such key.

Wrong:

    - id: version
      run: cat version.json
    - id: tag
      run: [git, tag, "{{version.output.number}}"]   # the output of `run` is a string

Fixed:

    - id: version
      run: cat version.json
      parse: json

Or correct the spelling, or add the key to the schema. A schema with `additionalProperties: true`
allows every key."#;

    OUTPUT_UNDESCRIBED = "KB0407", "read of an output without a schema",
r#"Neither the step nor its specialist has an `output.schema`. The model is not told which keys to
return, and nothing checks that this key exists. Only `summary` always does.

Fixed:

    - id: research
      specialist: researcher
      output:
        schema: {files: "string[]", summary: string}

With a schema the output is validated, and a misspelled key is found when the definition is loaded."#;

    UNORDERED_WRITERS = "KB0408", "unordered steps may write the same files",
r#"Steps without a dependency between them run at the same time or in any order. Two of these may
change files, so the result can depend on timing. Specialists with a writing tool and tool steps that
write count; `run` steps count only together with one of those.

Wrong:

    - {id: frontend, specialist: implementer, task: "Write the page"}
    - {id: backend,  specialist: implementer, task: "Write the server"}

Fixed:

    - {id: frontend, specialist: implementer, task: "Write the page"}
    - {id: backend,  specialist: implementer, task: "Write the server", dependsOn: [frontend]}

Without a dependency, `workspace: exclusive` runs them one at a time, and `workspace: shared` permits
them to run at the same time."#;

    GATE_FILE_UNORDERED = "KB0419", "gate may check a file before it is written",
r#"A `gate` step checks a file that another step writes, and nothing orders the two. The gate runs at once and
fails, or passes with an older file. A gate waits only for the steps that it reads or that `dependsOn` names.

Wrong:

    - {id: build, run: "make > build.log"}
    - {id: check, gate: [{file: build.log}]}

Fixed:

    - {id: build, run: "make > build.log"}
    - {id: check, gate: [{file: build.log}], dependsOn: [build]}

The warning covers literal paths: the `path` of a tool, and what a script redirects to or names after `tee` or
`touch`."#;

    NO_SUCH_PLAYBOOK = "KB0411", "unknown child playbook",
r#"A `playbook` step names a playbook or workflow that the project does not have, or that has errors (they
are reported separately).

Wrong:

    - id: release
      playbook: publsh

Fixed:

    - id: release
      playbook: publish

The value is the id of the definition and cannot be a placeholder. `kb playbook list` shows all ids."#;

    CHILD_PARAMETER = "KB0412", "parameter does not fit the child playbook",
r#"`with` passes a parameter that the child playbook does not declare, omits a required one, or gives a
literal value that violates its declaration: the type, `enum`, `pattern`, `min`, `max` or `schema`.

    # playbooks/publish.yml
    params:
      - {name: version, required: true}
      - {name: attempts, type: integer}

Wrong:

    - id: release
      playbook: publish
      with: {versoin: "1.2.0", attempts: many}

Fixed:

    - id: release
      playbook: publish
      with: {version: "1.2.0", attempts: 3}

Values with placeholders are checked when the child run starts. A parameter of the type `secret` takes a
literal reference, such as `env:TOKEN`."#;

    CHILD_VERSION = "KB0420", "child playbook has another version",
r#"A `playbook` step asks for a version, and the playbook has another one or none. With `sha256:` and the first digits
of a digest (at least 8), the step asks for exactly one content of the file.

Wrong, if `publish` has `version: "2.0"`:

    - id: release
      playbook: publish
      version: "1.2"

Fixed, once what changed has been checked:

    - id: release
      playbook: publish
      version: "2.0"

Without `version` the step takes the playbook as it is. In both cases a run keeps the definitions that it started
with."#;

    PLAYBOOK_CYCLE = "KB0413", "playbooks run each other in a circle",
r#"A `playbook` step leads back to a playbook that is running already, directly or through other playbooks,
so the child runs would never end. The message shows the path.

Wrong:

    # playbooks/build.yml
    steps:
      - {id: test, playbook: test}

    # playbooks/test.yml
    steps:
      - {id: build, playbook: build}

Move the shared steps into a playbook of their own, and run that one from both. To repeat work until a
condition is true, use `loop` on a step."#;

    CHILD_DEPTH = "KB0414", "child runs are nested too deep",
r#"A chain of `playbook` steps is longer than 16 child runs. The message shows the chain.

    a → b → c → …

Run the inner playbooks from one playbook, one after the other, instead of each from the one before."#;

    REQUIREMENT_MISSING = "KB0415", "requirement of the playbook is not met",
r#"The playbook lists what it needs in `requires`, and something is missing. Everything is checked before the
run is created, so nothing was started, and all problems are reported at once.

    the program `cargo` is not in PATH
    no file matches `Cargo.toml`
    the variable `DEPLOY_TARGET` is not set
    the work tree has changes: `src/main.rs` and 2 more

Install the program, create the file, set the variable or commit the changes, then run the playbook again:

    requires:
      tools: [cargo, git]
      files: [Cargo.toml]
      env: [DEPLOY_TARGET]
      git: clean

The requirements of the playbooks that run as child runs are checked too."#;

    SEND_BACK = "KB0418", "rejection cannot send the work back",
r#"`onReject` of an `approve` step names the step that starts again after a rejection. The approval must depend on
that step, directly or not. Every other step that depends on it must lie between the two, or depend on the
approval: it would otherwise use work that a person rejects afterwards.

    - id: draft
      specialist: writer
      task: Write the notes
    - id: ok
      dependsOn: [draft]
      approve: {message: "Publish them?", onReject: {retry: draft, max: 2}}
    - id: publish
      dependsOn: [ok]
      run: ./publish

An approval with `forEach` or `matrix`, in `finally` or in `hooks` cannot send work back."#;

    LOCK_OF_PARENT = "KB0416", "child run needs a lock of its parent",
r#"A `playbook` step has `locks`, and a step of its child run needs one of the same locks. The step holds its
locks until the child run has ended, so the child run would wait forever.

    `deploy` holds the lock `database` while its child run waits for it in step `migrate` of `rollout`

Remove the lock from one of the two. A lock on the `playbook` step covers the whole child run."#;
}
