pages! { TABLE;
    ATTEMPT_FAILED = "KB0501", "an attempt failed",
        "To be written.";
    ITEMS_FAILED = "KB0551", "items of a forEach failed",
        "Some items of a `forEach` step ended as failed, and the step does not tolerate that.\n\nEach item is an instance of its own: `kb run show @last` lists them, and\n`kb run logs @last 'review[src/a.rs]'` shows one. `kb run retry @last` runs the failed items\nagain and keeps the others. With\n\n    forEach: {in: \"{{plan.output.files}}\", onItemError: continue}\n\nthe step succeeds, and failed items are `null` in its output.";
    GATE_FAILED = "KB0552", "the gate refuted the work",
        "What the step claims, what the runtime recorded and what is on disk do not agree, or a\ncheck of `verify` did not hold.\n\nThe checks and what was observed are in `kb run show @last` and in the event\n`verification:complete`. `onFailed: rework` gives a specialist the evidence and another try;\n`onFailed: warn` lets the step pass and lists the verdict.";
    GATE_INCONCLUSIVE = "KB0553", "the gate could not tell",
        "There is neither proof for the work nor proof against it, and the step (or\n`verifier.inconclusivePolicy` in the settings) says that this is not good enough.\n\nAdd a check that can decide, such as `command: [cargo, test]`, or set\n`onInconclusive: warn`.";
    REFUSED = "KB0554", "a person refused it",
        "The step waited for a person, and the answer was no. The run fails unless the step has\n`onError: continue`. `kb run retry RUN` asks again.";
}
