//! Warnings of `validate` about what loads and is still unlikely to be meant: a provider that does not exist, times that
//! are over, an id that is not the name of the file.

use super::Project;
use super::claim_hints::position_after;
use kb_base::diagnostic::{Code, Diagnostic, Span, nearest};
use kb_base::value::Timestamp;
use kb_host::llm::{is_provider, provider_names};
use kb_language::definition::{DefinitionForm, Playbook, Specialist, TriggerSource};
use std::path::Path;

/// The warnings about a playbook.
pub(super) fn playbook_hints(playbook: &Playbook, now: Timestamp) -> Vec<Diagnostic> {
    let over = playbook.on.iter().filter_map(|trigger| match &trigger.source {
        TriggerSource::Schedule(schedule, _) if schedule.next(now).is_none() => {
            let message =
                format!("`{}` is over: the schedule has no time after now", schedule.written());
            let help = "write a later time, or remove the trigger";
            Some(Diagnostic::warning(Code::BAD_CRON, trigger.span, message).help(help))
        }
        _ => None,
    });
    over.chain(other_id(playbook)).collect()
}

/// A workflow takes its id from the file, if it names none.
fn other_id(playbook: &Playbook) -> Option<Diagnostic> {
    let stem = Path::new(&playbook.path).file_stem()?.to_str()?;
    let id = playbook.id.as_str();
    if id == stem || playbook.form != DefinitionForm::Playbook {
        return None;
    }
    let message = format!("the id `{id}` is not the name of the file, `{stem}`");
    let help = format!(
        "commands take the id: `kb playbook run {id}`; rename the file to `{id}.yml`, or write `id: {stem}`"
    );
    Some(Diagnostic::warning(Code::BAD_ID, playbook.span, message).help(help))
}

/// The warnings about a specialist.
pub(super) fn specialist_hints(specialist: &Specialist, project: &Project) -> Vec<Diagnostic> {
    let provider = specialist.model.provider.iter();
    let unknown = provider.filter(|name| !is_known(name, project));
    let hint = |name: &String| unknown_provider(name, specialist.span, project);
    unknown.map(hint).collect()
}

/// The warnings about the settings.
pub(super) fn settings_hints(project: &Project) -> Vec<Diagnostic> {
    let paths = project.settings_paths();
    let source = paths.iter().find_map(|path| project.sources().find(path));
    let Some(source) = source else { return Vec::new() };
    let tiers = project.catalog.settings.llm.tiers.values();
    // With an endpoint, the name is the author's.
    let providers = tiers.filter(|tier| tier.endpoint.is_none()).flat_map(|tier| &tier.provider);
    let unknown = providers.filter(|name| !is_provider(name));
    unknown.map(|name| unknown_provider(name, Span::new(source, 0, 0), project)).collect()
}

fn is_known(name: &str, project: &Project) -> bool {
    let mut tiers = project.catalog.settings.llm.tiers.values();
    is_provider(name) || tiers.any(|tier| tier.provider.as_deref() == Some(name))
}

fn unknown_provider(name: &str, file: Span, project: &Project) -> Diagnostic {
    let known = provider_names();
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "providers are {}; another one needs its `endpoint` in a tier of the settings",
            known.join(", ")
        ),
    };
    let place = position_after("provider", name, file, project.sources());
    Diagnostic::warning(Code::NO_MODEL, place, format!("unknown provider `{name}`")).help(help)
}
