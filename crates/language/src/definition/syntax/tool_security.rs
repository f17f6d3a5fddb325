//! Decodes the restrictions of tools of a specialist, which only narrow those of the settings.

use super::{Decoder, Node};
use crate::definition::model::Specialist;
use crate::definition::settings::{SecuritySettings, ToolRules};

/// Decodes `security` of a specialist: `{tools: {…}}`, in the form of agent files.
pub(crate) fn specialist_security(node: &Node, found: &mut Specialist, decoder: &mut Decoder) {
    let Some(own) = SecuritySettings::from_node(node, decoder) else { return };
    found.global = found.global.narrowed_by(&own.global_limits);
    add_rules(&own.tools, found);
}

/// Adds restrictions to those that it has.
pub(super) fn add_rules(own: &ToolRules, found: &mut Specialist) {
    let rules = own.narrowed_by(&found.security.take().unwrap_or_default());
    found.security = (rules != ToolRules::default()).then(|| Box::new(rules));
}
