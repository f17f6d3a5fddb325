//! The answer of a plan: what its subtasks found, by how far it was verified.

/// What the subtasks found: the summaries of those whose gate passed, apart from the others, and what their gates
/// left open. It says nothing that no subtask has said. A subtask that an early stop skipped has found nothing.
pub(crate) fn answer<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    let ids: Vec<&str> = ids.into_iter().filter(|id| is_plain(id)).collect();
    let lines =
        |is: &str, field: &str| -> String { ids.iter().map(|id| line(id, is, field)).collect() };
    let (reliable, uncertain) = (lines("==", "output.summary"), lines("!=", "output.summary"));
    let gaps = lines("!=", "verdictDetails.reason");
    format!(
        "## Reliable Results (use as primary source):\n{reliable}\n## Uncertain Results (use with caution, verify \
         claims):\n{uncertain}\n## Known Gaps (acknowledge in answer):\n{gaps}"
    )
}

/// A line about a subtask that ran, with a field of it, if its verdict compares so with `passed`.
fn line(id: &str, is: &str, field: &str) -> String {
    format!(
        "{{{{ '- {id}: ' ~ (steps['{id}'].{field} | default('')) ~ '\\n' if steps['{id}'].status == 'succeeded' and \
         steps['{id}'].verdict {is} 'passed' else '' }}}}"
    )
}

/// Whether a name can stand in an expression: it has nothing that could end its quotes.
pub(crate) fn is_plain(id: &str) -> bool {
    id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
