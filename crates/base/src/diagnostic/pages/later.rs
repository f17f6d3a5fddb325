//! Pages of `KB09xx`: parts of the language that this version does not support.

pages! { TABLE;
    NOT_IMPLEMENTED = "KB0901", "not supported yet",
r#"The language has this key or value, but this version of `kb` does not support it. The definition
loads, so that it can be validated and drawn. If ignoring the key would change what a run does, the run
is refused.

    cache: true

Remove the key to run the definition with this version."#;

    PLANNED = "KB0902", "planned, no effect yet",
r#"The key or tool is planned, and this version ignores it: `context.rag`, `mind:rag-query`, `memory`,
MCP servers, … The definition loads and runs without it. A call of such a tool is denied, and the model
sees the denial.

    context: {rag: {enabled: true}}

Remove the key to silence the warning."#;

    UNUSED = "KB0903", "key without effect",
r#"The key is part of the format, and `kb` does not use it: a color, an icon, tags. Only `kb playbook validate`
and `kb specialist validate` report it, as a note.

    ---
    name: Reviewer
    color: blue        # other programs show it; kb does not
    ---
    You review changes.

The key can stay for the programs that use it."#;
}
