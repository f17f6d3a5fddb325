//! The policy: which tool calls are permitted.

use super::call::{Call, Caller, Refusal};
use crate::workspace::PathRules;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_language::definition::{ApprovalLevel, Settings, ToolSecurity};
use kb_language::toolspec::{ARTIFACT_READER, FILE_READER, ToolCatalog, ToolSpec, built_in};
use std::sync::Arc;

/// The approvals that a person gave for this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Approvals {
    /// `--yes`: every tool that requires approval is approved.
    pub yes: bool,
}

/// Decides which calls are permitted, from the settings, the allow-list of the caller, the approvals
/// and the sandbox level. Each of them only narrows.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    settings: Arc<Settings>,
    approvals: Approvals,
    sandbox: ApprovalLevel,
}

impl Policy {
    pub(super) fn new(
        settings: Arc<Settings>,
        approvals: Approvals,
        sandbox: ApprovalLevel,
    ) -> Self {
        Policy { settings, approvals, sandbox }
    }

    /// Permits a call or returns the reason for the refusal. `all` are the existing tools, for the
    /// message.
    pub(super) fn permit(
        &self,
        spec: &ToolSpec,
        call: &Call,
        all: &ToolCatalog,
    ) -> Result<(), Refusal> {
        if !self.is_enabled(spec) {
            let message = format!("the settings do not allow `{}`", spec.name);
            let help = "`tools.security` in the settings lists the allowed tools";
            return Err(denied(Code::POLICY_DENIED, message, help));
        }
        match &call.caller {
            Caller::Author => Ok(()),
            Caller::Specialist { id, allow_list, .. } if !self.offers(spec, allow_list) => {
                let message = format!("`{}` is not in the allow-list of `{id}`", spec.name);
                Err(denied(Code::POLICY_DENIED, message, &self.offered(allow_list, all)))
            }
            Caller::Specialist { .. } if call.approved => Ok(()),
            Caller::Specialist { .. } => match self.approval(spec) {
                None => Ok(()),
                Some(why) => Err(denied(Code::NEEDS_APPROVAL, why, "start the run with `--yes`")),
            },
        }
    }

    /// Whether a specialist with this allow-list may call a tool.
    pub(super) fn offers(&self, spec: &ToolSpec, allow_list: &[String]) -> bool {
        let is_listed = || allow_list.iter().any(|entry| spec.is_permitted_by(entry));
        self.is_enabled(spec) && (spec.always_allowed || is_listed())
    }

    /// Names the tools that a specialist may call.
    pub(super) fn offered(&self, allow_list: &[String], all: &ToolCatalog) -> String {
        // Models know `artifact:get` where there are artifacts.
        let named = all.tools().filter(|spec| spec.name != ARTIFACT_READER);
        let offered = named.filter(|spec| self.offers(spec, allow_list));
        let names: Vec<String> = offered.map(|spec| format!("`{}`", spec.name)).collect();
        if names.is_empty() {
            "no tool is allowed here".to_owned()
        } else {
            format!("allowed tools: {}", names.join(", "))
        }
    }

    /// The path rules of a tool. The rules for `fs:read` apply to every tool that reads files.
    pub(super) fn path_rules(&self, spec: &ToolSpec) -> PathRules {
        let mut rules = PathRules::default();
        let reader = built_in().entry(FILE_READER);
        let reading =
            self.security(&reader).filter(|_| spec.reads_files && spec.name != FILE_READER);
        for security in self.security(spec).chain(reading) {
            if rules.narrow(&security.allowed_paths, &security.denied_paths).is_err() {
                return PathRules::nothing();
            }
        }
        rules
    }

    fn is_enabled(&self, spec: &ToolSpec) -> bool {
        let allowed = match &self.settings.tools.security.allowed {
            None => true,
            // Its results were allowed when they were created.
            Some(_) if spec.always_allowed => true,
            Some(allowed) => allowed.iter().any(|entry| spec.is_covered_by(entry.as_str())),
        };
        allowed && self.security(spec).all(|security| security.enabled != Some(false))
    }

    /// Why a call of a specialist requires the approval of a person; `None` if it does not.
    pub(super) fn approval(&self, spec: &ToolSpec) -> Option<String> {
        if self.approvals.yes {
            return None;
        }
        if self.security(spec).any(|security| security.requires_approval == Some(true)) {
            return Some(format!("the settings require approval for `{}`", spec.name));
        }
        if spec.needs_approval() && spec.leaves_sandbox {
            return Some(format!(
                "`{}` requires approval: its level is `critical`, and the sandbox does not confine its \
                 network",
                spec.name
            ));
        }
        let required = self.settings.sandbox.critical_unapproved_at;
        (spec.needs_approval() && self.sandbox < required).then(|| {
            format!(
                "`{}` requires approval: the sandbox level is `{}`, and \
                 `sandbox.criticalUnapprovedAt` is `{}`",
                spec.name,
                self.sandbox.as_str(),
                required.as_str()
            )
        })
    }

    /// The entries of `tools.security` that cover a tool.
    fn security<'a>(&'a self, spec: &'a ToolSpec) -> impl Iterator<Item = &'a ToolSecurity> + 'a {
        let entries = self.settings.tools.security.tools.iter();
        entries.filter(move |(entry, _)| spec.is_covered_by(entry.as_str())).map(|(_, rules)| rules)
    }
}

fn denied(code: Code, message: String, help: &str) -> Refusal {
    Refusal::denied(Failure::new(code, message).help(help))
}
