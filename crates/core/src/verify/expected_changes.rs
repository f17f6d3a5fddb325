//! Whether a step that is there to change files changed some, or said that nothing was to be changed.

use super::finding::Finding;
use super::gate::Gate;
use super::keys::{is_key, sources};
use super::normalized_path::{ends_in, normalized};
use super::observation::Observations;
use super::output_claims::OutputClaims;
use super::recorded_changes::RecordedChanges;
use super::reported_failures::reports_failure;
use super::statement::{
    Act, Meaning, Sentence, Statement, Token, is_function_word, means, paths, says_change,
    says_no_change, summary, tokens,
};
use crate::evidence::{CHANGES, CheckDetail, Invocation, WORK_NOT_DONE};
use kb_base::value::Json;
use kb_language::definition::ClaimPolicy;
use serde_json::json;

/// Maximum number of files in the evidence.
const LISTED: usize = 20;
/// Characters of the summary that a reason shows.
const SHOWN: usize = 300;

const NOTHING: &str = "it claims nothing and no change was recorded";
/// Words before what says how something is: `is generated`, `a generated file`.
const STATES: [&str; 9] = ["is", "are", "ist", "sind", "a", "an", "the", "ein", "eine"];
/// The beginning of the reason of a step that fails because its specialist took its claims back.
const NOT_DONE: &str = "the work is not done: ";

/// What an output without claims about files proves where changes are expected, and whether the record
/// agrees with `noChanges`. `None`: nothing is expected and nothing is said.
pub(super) fn expected_changes(
    gate: &Gate,
    claims: &OutputClaims,
    changes: &RecordedChanges<'_>,
    observations: &Observations,
) -> Option<CheckDetail> {
    // Where only the tools of the specialist let expect changes, a report of commands can be the work.
    let is_asked = gate.asked.order(may_be_other(gate)).is_some()
        || gate.asked.not_made(&gate.root, observations).is_some();
    let is_open = !gate.changes_declared && !gate.after_refuted && !is_asked;
    let has_claims = !claims.files.is_empty() || is_open && !claims.none_executed();
    let changed: Vec<&str> = changes.changed().collect();
    let is_declared = gate.claims != ClaimPolicy::None && declares_no_changes(&gate.output);
    // A cache that ignores itself is no change of which a report tells.
    let first = changed.iter().find(|path| !is_declared || !changes.is_cache(path));
    let mut is_not_done = false;
    let finding = match (first, is_declared) {
        (Some(path), true) => {
            let reason = format!("the output says `noChanges`, but the step changed `{path}`");
            Finding::failed(reason).under(gate.claims)
        }
        _ if !gate.expect_changes && repeats_nothing(gate, claims) => {
            let reason =
                "after an attempt that was refuted, the output names nothing that can be compared";
            is_not_done = denies_work(&gate.output);
            match is_not_done {
                true => Finding::inconclusive(format!("{NOT_DONE}{reason}{}", own_words(gate))),
                false => Finding::failed(format!(
                    "{reason}; name the files, commands or symbols that the answer is about"
                )),
            }
        }
        // A task without a file can ask for something else than a change of files.
        (None, false)
            if has_claims && claims.files.is_empty() && gate.asked.order(false).is_some() =>
        {
            Finding::inconclusive(
                "the task asks for a change, no change was recorded, and only commands, tests or calls are claimed",
            )
        }
        _ if !gate.expect_changes || has_claims => return None,
        (Some(_), false) => other_files(&gate.output, changes, &gate.root)
            .map_or_else(Finding::passed, Finding::inconclusive),
        (None, _) => {
            let is_said =
                !gate.changes_declared && !gate.after_refuted && says_no_change(&gate.output);
            is_not_done = takes_back(gate, claims, is_declared) && changes.gap().is_none();
            match is_not_done {
                true => Finding::inconclusive(format!(
                    "{NOT_DONE}after an attempt that was refuted, {NOTHING}{}",
                    own_words(gate)
                )),
                false => {
                    unchanged(gate, claims, is_declared || is_said, changes.gap(), observations)
                }
            }
        }
    };
    let listed: Vec<&str> = changed.iter().take(LISTED).copied().collect();
    let mut evidence = json!({"changed": changed.len(), "files": listed});
    if is_not_done {
        evidence[WORK_NOT_DONE] = json!(true);
    }
    Some(finding.into_detail(CHANGES.to_owned(), Some(evidence)))
}

/// The verdict over a step without claims and without changes. `is_declared`: its output says so.
fn unchanged(
    gate: &Gate,
    claims: &OutputClaims,
    is_declared: bool,
    gap: Option<&str>,
    observations: &Observations,
) -> Finding {
    let nothing = NOTHING;
    if let Some(gap) = gap {
        return Finding::inconclusive(format!(
            "the step was expected to change files, but {nothing}; {gap}"
        ));
    }
    if is_declared && gate.after_refuted {
        let reason = "the output says `noChanges` after an attempt that was refuted";
        return match gate.criteria.is_empty() {
            true => Finding::failed(format!("{reason}, without a reason")),
            false => Finding::inconclusive(format!("{reason}; the other checks decide")),
        };
    }
    if is_declared {
        return Finding::unchecked(
            "the output says that nothing was to be changed, and no change was recorded; nothing shows that none \
             was needed",
        );
    }
    let with_help = |text: &str| {
        Finding::failed(format!("{text}; name the changes, or submit `noChanges` with the reason"))
    };
    if gate.after_refuted {
        return Finding::failed(format!(
            "after an attempt that was refuted, {nothing}; name the changes, or say what could not be done and why"
        ));
    }
    if gate.changes_declared {
        return with_help(&format!("the step was to change files, but {nothing}"));
    }
    if let Some(path) = gate.asked.not_made(&gate.root, observations) {
        return with_help(&format!(
            "the task asks for `{path}`, which does not exist, and {nothing}"
        ));
    }
    let order = gate.asked.order(may_be_other(gate));
    if let Some(order) = order {
        let asked = format!("the task asks for a change (`{order}`), but {nothing}");
        // `The code is right as it is` does not say that something was done.
        let help = "an answer that none is needed, or that none is possible, is `noChanges` with the reason";
        return match pretends_work(gate, claims) {
            true => with_help(&asked),
            false => Finding::inconclusive(format!("{asked}; {help}")),
        };
    }
    // What was changed and changed back is no lie.
    let has_changed = gate.trace.iter().any(|call| !call.changes.is_empty());
    if says_change(summary(&gate.output)) && !has_changed {
        return with_help(
            "the summary says that the step changed something, but no change was recorded",
        );
    }
    if has_no_statement(&gate.output) && gate.trace.iter().all(only_looks) {
        return with_help(&format!(
            "the step was expected to change files, but {nothing}, and the output says nothing"
        ));
    }
    Finding::inconclusive(format!("the step was expected to change files, but {nothing}"))
}

/// Whether an attempt after a refuted one takes its claims back: it says something, and not that work was done.
fn takes_back(gate: &Gate, claims: &OutputClaims, is_declared: bool) -> bool {
    let is_open = match is_declared {
        // `noChanges: true` beside `Done.` says nothing.
        true => {
            gate.criteria.is_empty()
                && (declared_reason(gate).is_some() || !pretends_work(gate, claims))
        }
        false => reports_failure(&gate.output) || !pretends_work(gate, claims),
    };
    gate.after_refuted && is_open
}

/// Whether the sentences of an output say nothing, or that work was done.
fn pretends_work(gate: &Gate, claims: &OutputClaims) -> bool {
    let mut said = claims.statements.iter().filter(|said| !said.in_key);
    says_nothing(summary(&gate.output))
        && said.clone().all(|said| says_nothing(&said.sentence.text))
        || said.any(tells_of_work) && !denies_work(&gate.output)
}

/// The reason that `noChanges` has.
fn declared_reason(gate: &Gate) -> Option<&str> {
    let fields = sources(&gate.output).flatten().filter(|(key, _)| is_key(key, &["nochanges"]));
    fields.filter_map(|(_, value)| value.as_str()).next()
}

/// The beginning of what the summary or `noChanges` says, for a reason.
fn own_words(gate: &Gate) -> String {
    let declared = declared_reason(gate);
    let said: String = declared.unwrap_or(summary(&gate.output)).chars().take(SHOWN).collect();
    if said.trim().is_empty() { String::new() } else { format!("; it says: {}", said.trim()) }
}

/// Whether an attempt after a refuted one has no claim and no name, so nothing in it is compared, and no check decides.
fn repeats_nothing(gate: &Gate, claims: &OutputClaims) -> bool {
    let names = |said: &Statement| {
        let sentence = &said.sentence;
        !sentence.located_paths().is_empty() || sentence.code().next().is_some()
    };
    gate.after_refuted
        && gate.claims != ClaimPolicy::None
        && gate.criteria.is_empty()
        && gate.output_schema.is_none()
        && claims.files.is_empty()
        && claims.none_executed()
        && !claims.statements.iter().any(names)
}

/// Whether an answer with keys of its own, or a process, can be what a task asks for that names no file.
fn may_be_other(gate: &Gate) -> bool {
    has_own_keys(&gate.output) || !gate.trace.iter().all(only_looks)
}

/// Whether a sentence of the summary denies something, or says that it was so before: it can mean that nothing was to be done.
fn denies_work(output: &Json) -> bool {
    const DENIALS: [Meaning; 5] = [
        Meaning::Denial,
        Meaning::Nothing,
        Meaning::Otherwise,
        Meaning::Act(Act::Kept),
        Meaning::Left,
    ];
    let denies = |sentence: &Sentence| DENIALS.iter().any(|meaning| sentence.has(*meaning));
    Sentence::all(summary(output)).iter().any(denies)
}

/// Whether a sentence says that something was changed or finished.
fn tells_of_work(said: &Statement) -> bool {
    const WORK: [Meaning; 5] = [
        Meaning::Finished,
        Meaning::Act(Act::Changed),
        Meaning::Act(Act::Created),
        Meaning::Act(Act::Deleted),
        Meaning::Act(Act::Renamed),
    ];
    let sentence = &said.sentence;
    // `Correct as written`, `is generated` and `a generated file` say how something is.
    let words = sentence.words.iter().enumerate().filter(|(at, word)| {
        let before = at.checked_sub(1).map(|before| sentence.words[before].as_str());
        let is_made = means(word, Meaning::Act(Act::Created));
        let is_state = |word: &str| is_made && STATES.contains(&word);
        !before.is_some_and(|word| ["as", "wie", "как"].contains(&word) || is_state(word))
    });
    let is_work = |word: &str| WORK.iter().any(|meaning| means(word, *meaning));
    let is_own = !sentence.has(Meaning::Unreal) && !sentence.has(Meaning::Others);
    is_own && words.into_iter().any(|(_, word)| is_work(word))
}

/// Whether an output has another key than `summary` with a value.
fn has_own_keys(output: &Json) -> bool {
    let is_empty = |(key, value): (&String, &Json)| {
        key == "summary"
            || match value {
                Json::Null => true,
                Json::String(text) => text.is_empty(),
                Json::Array(items) => items.is_empty(),
                Json::Object(fields) => fields.is_empty(),
                Json::Bool(_) | Json::Number(_) => false,
            }
    };
    !output.as_object().is_some_and(|fields| fields.iter().all(is_empty))
}

/// Whether the texts of an output say nothing.
fn has_no_statement(value: &Json) -> bool {
    match value {
        Json::Object(fields) => fields.values().all(has_no_statement),
        Json::Array(items) => items.iter().all(has_no_statement),
        Json::String(text) => says_nothing(text),
        Json::Null => true,
        Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Whether a text has no word that says something by itself, such as `Done.` or `OK`.
fn says_nothing(text: &str) -> bool {
    let says_little = |word: &str| is_function_word(word) || means(word, Meaning::Success);
    let is_function = |part: &Token| matches!(part, Token::Word(word) if says_little(word));
    tokens(text).iter().all(is_function)
}

/// Whether a call can have had no effect: no process, and nothing that other programs see.
fn only_looks(call: &Invocation) -> bool {
    call.process.is_none() && call.tool.starts_with("fs:")
}

/// Whether an output says that nothing was to be changed: `noChanges: true`, or with the reason.
fn declares_no_changes(output: &Json) -> bool {
    let says = |value: &Json| match value {
        Json::Bool(said) => *said,
        Json::String(reason) => !reason.trim().is_empty(),
        _ => false,
    };
    sources(output).flatten().any(|(key, value)| is_key(key, &["nochanges"]) && says(value))
}

/// Why the changes of a step are doubtful: its summary names files, and it changed none of them.
fn other_files(output: &Json, changes: &RecordedChanges<'_>, root: &str) -> Option<String> {
    let named = paths(summary(output)).into_iter().filter(|path| path.contains('/'));
    let named: Vec<String> = named.map(|path| normalized(path, root)).collect();
    let first = named.first()?;
    let is_named = |changed: &str| {
        let below = |named: &String| {
            changed.strip_prefix(named.as_str()).is_some_and(|r| r.starts_with('/'))
        };
        let fits = |named: &String| ends_in(changed, named) || below(named);
        named.iter().any(fits)
    };
    let mut changed = changes.changed();
    let other = changed.next()?;
    if is_named(other) || changed.any(is_named) {
        return None;
    }
    Some(format!("the summary names `{first}`, but the step changed `{other}`"))
}
