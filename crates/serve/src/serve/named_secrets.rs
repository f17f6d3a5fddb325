//! The secrets that a start over HTTP may name.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, JsonMap};
use kb_language::definition::{Param, ParamType, SecretSource};
use kb_service::service::{Project, ServiceError};

/// Refuses a secret that the project does not name: who may start runs chooses no file and no variable of the machine.
pub(super) fn require_named_secrets(
    project: &Project,
    declared: &[Param],
    values: &JsonMap,
) -> Result<(), ServiceError> {
    let references = project.catalog.settings.secrets.values().filter_map(|source| match source {
        SecretSource::Env(name) => Some(format!("env:{name}")),
        SecretSource::File(path) => Some(format!("file:{path}")),
        SecretSource::Command(_) => None,
    });
    let named: Vec<String> = references.collect();
    for param in declared.iter().filter(|param| param.kind == ParamType::Secret) {
        let Some(given) = values.get(&param.name) else { continue };
        let is_named = given.as_str().is_some_and(|given| named.iter().any(|own| own == given));
        if !is_named && Some(given) != param.default.as_ref() {
            let message = format!(
                "the project does not name the secret that the parameter `{}` is given",
                param.name
            );
            let help = "give the source of an entry of `secrets:` in the settings, such as `env:NAME`, or the default";
            return Err(ServiceError::refused(Failure::new(Code::PAYLOAD, message).help(help)));
        }
    }
    Ok(())
}
