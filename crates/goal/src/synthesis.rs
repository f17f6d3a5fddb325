//! The answer of a plan: what its subtasks found, by how far it was verified.

/// What the subtasks found: the summaries of those whose gate passed, apart from the others, and what their gates
/// left open. It says nothing that no subtask has said.
pub(crate) fn answer<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    let ids: Vec<&str> = ids.into_iter().filter(|id| is_plain(id)).collect();
    let each = |line: fn(&str) -> String| -> String { ids.iter().map(|id| line(id)).collect() };
    let reliable = each(|id| {
        format!(
            "{{{{ '- {id}: ' ~ steps['{id}'].output.summary ~ '\\n' if steps['{id}'].verdict == 'passed' else '' }}}}"
        )
    });
    let uncertain = each(|id| {
        format!(
            "{{{{ '- {id}: ' ~ steps['{id}'].output.summary ~ '\\n' if steps['{id}'].verdict != 'passed' else '' }}}}"
        )
    });
    let gaps = each(|id| {
        format!(
            "{{{{ '- {id}: ' ~ steps['{id}'].verdictDetails.reason ~ '\\n' if steps['{id}'].verdict != 'passed' else '' }}}}"
        )
    });
    format!(
        "## Reliable Results (use as primary source):\n{reliable}\n## Uncertain Results (use with caution, verify \
         claims):\n{uncertain}\n## Known Gaps (acknowledge in answer):\n{gaps}"
    )
}

/// Whether a name can stand in an expression: it has nothing that could end its quotes.
pub(crate) fn is_plain(id: &str) -> bool {
    id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
