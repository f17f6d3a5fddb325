pages! { TABLE;
    CIRCULAR_DEPENDENCY = "KB0401", "steps wait for each other in a circle",
        "A step waits for every step that its `dependsOn`, its condition or its templates name. Here
these lead back to where they began, so that none of the steps could ever start. The message prints
the shortest circle; each step waits for the one after the arrow.

    - id: plan
      task: \"Plan the work\"
      input: {tests: \"{{test.output}}\"}      # plan waits for test
    - id: test
      dependsOn: [plan]                       # test waits for plan

Take one of the references out. A gate under `verify` may look back at any step above it, and at its
own step, without ordering anything.";

    NO_SUCH_SPECIALIST = "KB0402", "the specialist of a step cannot be found",
        "A step names a specialist that the project does not have, or whose own file has errors (those
are reported beside this one).

    - id: research
      specialist: reseacher        # did you mean `researcher`?

Specialists are read from `.kb/specialists/ID.yml`, `.kb/specialists/ID/specialist.yml`,
`.kb/agents/*.md` and `agents/*.md`. `kb specialist list` shows those that were found, `kb specialist
new ID` begins one.";

    DEPENDS_ON_FINALLY = "KB0403", "a step waits for a `finally` step",
        "The steps of `finally` begin once all of `steps` have ended, so none of `steps` can wait for
one of them.

    steps:
      - {id: publish, run: ./publish, dependsOn: [cleanup]}
    finally:
      - {id: cleanup, run: rm -rf out}

Move the one up or the other down. A `finally` step may read every one of `steps` without waiting for
it: they have all ended, each in its way, so say in a condition which end you mean.";

    GATE_READ_UNORDERED = "KB0404", "a gate reads a step that may not have ended",
        "The checks of `verify` look back: they may read their own step and every step above it, and
they order nothing. This one reads a step that runs beside its own, or after it.

    - id: implement
      specialist: implementer
      verify:
        checks:
          - expr: \"{{review.output.ok}}\"     # nothing puts review before implement

Add `dependsOn: [review]` to the step, or check it in a `gate:` step after both, whose checks do
order it.";

    UNGUARDED_READ = "KB0405", "a read of a step that may have no output",
        "A step that has a condition, or that needs one that has, may be skipped, and a step with
`onError: continue` may fail without failing the run. Their outputs may not be there, so that whoever
reads one has to say what happens then.

    - id: debug
      condition: \"{{test.output.result}} == 'failed'\"
      specialist: researcher
    - id: report
      runIf: allDone
      env: {CAUSE: \"{{debug.output}}\"}        # nothing is there when the tests passed

Any of these is enough: `{{ debug.output | default('none') }}`, `is defined` in the same text, a
condition of the reader that names `debug`, or a join under which the reader is skipped as well (the
default, `runIf: allSucceeded`; it does not help against a tolerated failure). `.status`, `.error` and
`.verdict` need no guard.";

    UNKNOWN_OUTPUT_KEY = "KB0406", "an output does not have that key",
        "What the step hands out is known before it runs, from its `output.schema`, its specialist's,
or its kind, and it has no such key.

    - id: version
      run: cat version.json
    - id: tag
      run: [git, tag, \"{{version.output.number}}\"]   # the output of `run` is text

Correct the spelling, add the key to the schema, or make the output an object: `parse: json` on a
`run` step. A schema with `additionalProperties: true` rules nothing out.";

    OUTPUT_UNDESCRIBED = "KB0407", "nothing describes the output that is read",
        "Neither the step nor its specialist has an `output.schema`, so that nobody told the model
which keys to hand back, and nothing can check that this one will be there. Only `summary` always is.

    - id: research
      specialist: researcher
      output:
        schema: {files: \"string[]\", summary: string}

With a schema the answer is held to it, and a misspelt key is found at load.";

    UNORDERED_WRITERS = "KB0408", "steps that may write the same files run side by side",
        "Steps that nothing orders run at the same time, or in either order. Two of these may both
change files, so that the outcome may depend on chance. The warning lists them once. A specialist with
a writing tool and a tool step that writes count; `run` steps count only beside one of those, because
a playbook of many `run` steps is how people write a build.

    - {id: frontend, specialist: implementer, workspace: shared}
    - {id: backend,  specialist: implementer, workspace: shared}

Order them with `dependsOn`, or say that you have thought of it: `workspace: exclusive` lets them run
one at a time, `workspace: shared` side by side.";
}
