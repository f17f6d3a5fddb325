//! The check of the server that makes vectors for the index.

use super::Project;
use super::finding::{Finding, FindingLevel};
use super::index_rules::index_rules;
use kb_attempt::run_blocking;
use kb_core::redaction::Redactor;

/// Name of the check.
const SUBJECT: &str = "embeddings";

/// The server of `knowledge.embeddings`; with `call`, a text is sent to it. Nothing if the settings name none.
pub(super) fn embeddings(project: &Project, call: bool) -> Option<Finding> {
    let settings = &project.catalog.settings;
    let own = settings.knowledge.embedder()?;
    let redactor = Redactor::default();
    let environment = &project.context.environment;
    let embedder = index_rules(settings, environment, &redactor).embedder?;
    let name = format!("{} at {}", own.model, kb_http::shown_url(&own.endpoint));
    let key = own.api_key_env.as_deref();
    if let Some(key) = key.filter(|key| !environment.variables.contains_key(*key)) {
        let message = format!("{name}: the variable `{key}` is not set");
        return Some(Finding::new(FindingLevel::Warning, SUBJECT, message).help(
            "set it, or correct `knowledge.embeddings.apiKeyEnv`; without it requests have no key",
        ));
    }
    if !call {
        return Some(Finding::new(FindingLevel::Ok, SUBJECT, name));
    }
    let answer = run_blocking(|| embedder.embed(&["a lighthouse".to_owned()]));
    Some(match answer {
        Ok(vectors) => {
            let length = vectors.first().map_or(0, Vec::len);
            Finding::new(FindingLevel::Ok, SUBJECT, format!("{name}: {length} dimensions"))
        }
        Err(error) => {
            let failure = error.failure();
            let message = redactor.mask_text(&failure.message).into_owned();
            let help = failure.help.clone();
            let help =
                help.unwrap_or_else(|| "parts are found by words until it answers".to_owned());
            Finding::new(FindingLevel::Warning, SUBJECT, message).help(help)
        }
    })
}
