//! The plugins that a plan uses.

use super::dag::PlanStep;
use crate::definition::{Catalog, Plugin};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plugins that the steps and their specialists can call, and those that the settings name, because
/// settings are read together with them.
pub(super) fn plugins(steps: &[PlanStep], catalog: &Catalog) -> Vec<Arc<Plugin>> {
    if catalog.plugins.is_empty() {
        return Vec::new();
    }
    let own = steps.iter().filter_map(|step| step.step.kind.tool()).map(|tool| &*tool.name);
    let of_specialists = steps.iter().flat_map(PlanStep::specialists).flat_map(|specialist| {
        let security = specialist
            .security
            .iter()
            .flat_map(|rules| rules.tools.keys().chain(rules.allowed.iter().flatten()));
        specialist.tools.iter().map(|tool| &*tool.name).chain(security.map(|name| name.as_str()))
    });
    let settings = &catalog.settings;
    let of_settings = settings
        .tools
        .security
        .tools
        .keys()
        .chain(settings.tools.security.allowed.iter().flatten());
    let of_settings = of_settings.map(|name| name.as_str());
    let names = own.chain(of_specialists).chain(of_settings);
    let found = names.filter_map(|name| catalog.plugin_of(name));
    let unique: BTreeMap<_, _> = found.map(|plugin| (&plugin.id, plugin)).collect();
    unique.into_values().cloned().collect()
}
