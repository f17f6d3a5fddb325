pages! { TABLE;
    NOT_IMPLEMENTED = "KB0901", "known, not built yet",
        "The language has this key or value, and this version of `kb` does not carry it out. The
definition loads, so that it can be checked and drawn. Where leaving it out would change what a run
does, running is refused instead of doing something else in silence.

    budget: {maxCostUsd: 1}              # nothing would hold the run to it yet

In the settings this holds for `maxCostUsdPerRun` and `warnCostUsdThreshold` of
`orchestrator.escalation`. Remove it to run the definition with this version, or wait for a newer one.";

    PLANNED = "KB0902", "planned, without effect for now",
        "A key or tool that the documents describe and that comes later: `context.rag`, `mind:rag-query`,
`memory`, MCP servers, … The definition loads and runs without it; calling such a tool is a policy
denial that the model sees.

    context: {rag: {enabled: true}}

Nothing needs to be done. Remove the key to silence the warning.";
}
