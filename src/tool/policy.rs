use super::call::Refusal;
use super::output_read::OutputRead;
use super::{Caller, ToolLevel, ToolSpec};
use crate::definition::{ApprovalLevel, Settings, ToolSecurity};
use crate::diagnostic::Code;
use crate::value::Failure;
use crate::workspace::PathRules;
use std::sync::Arc;

/// What a person approved for this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Approvals {
    /// `--yes`: every tool that wants an approval has it.
    pub yes: bool,
}

/// Which calls may be made: the settings, the caller's whitelist, approvals, the sandbox. Each of
/// them only narrows.
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

    /// Lets a call pass or says why not. `known` are the tools that exist, for the message.
    pub(super) fn permit(
        &self,
        spec: &ToolSpec,
        caller: &Caller,
        known: &[&str],
    ) -> Result<(), Refusal> {
        self.listed(spec, caller, known)?;
        match caller {
            Caller::Author => Ok(()),
            Caller::Specialist { .. } => self.approved(spec),
        }
    }

    /// Whether a caller may know of a tool: it is whitelisted and no setting takes it away.
    pub(super) fn offers(&self, name: &str, whitelist: &[String]) -> bool {
        self.enabled(name) && (name == OutputRead::NAME || whitelisted(name, whitelist))
    }

    /// The path rules that hold over a tool.
    pub(super) fn path_rules(&self, name: &str) -> PathRules {
        let mut rules = PathRules::default();
        for security in self.security(name) {
            if rules.narrow(security.allowed_paths.as_deref(), &security.denied_paths).is_err() {
                return PathRules::nothing();
            }
        }
        rules
    }

    fn listed(&self, spec: &ToolSpec, caller: &Caller, known: &[&str]) -> Result<(), Refusal> {
        if !self.enabled(spec.name) {
            let message = format!("the settings do not allow `{}`", spec.name);
            let help = "`tools.security` in the settings lists what is allowed";
            return Err(denied(Code::POLICY_DENIED, message, help));
        }
        match caller {
            Caller::Specialist { id, whitelist } if !self.offers(spec.name, whitelist) => {
                let message = format!("`{}` is not among the tools of `{id}`", spec.name);
                Err(denied(Code::POLICY_DENIED, message, &self.offered(whitelist, known)))
            }
            _ => Ok(()),
        }
    }

    /// Names the tools that a caller may use.
    pub(super) fn offered(&self, whitelist: &[String], known: &[&str]) -> String {
        let names: Vec<String> = known
            .iter()
            .filter(|name| self.offers(name, whitelist))
            .map(|name| format!("`{name}`"))
            .collect();
        match names.is_empty() {
            true => "no tool is allowed here".to_owned(),
            false => format!("allowed here: {}", names.join(", ")),
        }
    }

    fn enabled(&self, name: &str) -> bool {
        let allowed = match &self.settings.allowed_tools {
            None => true,
            // What it shows was allowed when it was made.
            Some(_) if name == OutputRead::NAME => true,
            Some(allowed) => allowed.iter().any(|entry| speaks_of(entry.as_str(), name)),
        };
        allowed && self.security(name).all(|security| security.enabled != Some(false))
    }

    fn approved(&self, spec: &ToolSpec) -> Result<(), Refusal> {
        if self.approvals.yes {
            return Ok(());
        }
        if self.security(spec.name).any(|security| security.requires_approval == Some(true)) {
            let message = format!("the settings want a person's approval for `{}`", spec.name);
            return Err(denied(Code::NEEDS_APPROVAL, message, "start the run with `--yes`"));
        }
        let wanted = self.settings.critical_unapproved_at.unwrap_or(ApprovalLevel::Kernel);
        if spec.level == ToolLevel::Critical && self.sandbox < wanted {
            let message = format!(
                "`{}` runs commands, which needs a person's approval: the sandbox reaches `{}`, \
                 and `sandbox.criticalUnapprovedAt` is `{}`",
                spec.name,
                self.sandbox.as_str(),
                wanted.as_str()
            );
            return Err(denied(Code::NEEDS_APPROVAL, message, "start the run with `--yes`"));
        }
        Ok(())
    }

    fn security<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ToolSecurity> + 'a {
        let entries = self.settings.tool_security.iter();
        entries.filter(move |(entry, _)| speaks_of(entry.as_str(), name)).map(|(_, rules)| rules)
    }
}

fn denied(code: Code, message: String, help: &str) -> Refusal {
    Refusal::denied(Failure::new(code.as_str(), message).help(help))
}

fn whitelisted(name: &str, whitelist: &[String]) -> bool {
    whitelist.iter().any(|entry| speaks_of(entry, name))
}

/// Whether an entry of the settings or of a whitelist speaks of a tool: its name, a name of the
/// documents (003 §4.4), or a pattern with `*`.
fn speaks_of(entry: &str, name: &str) -> bool {
    let ours: &[&str] = match entry {
        "file_read" => &["fs:read", "fs:list", "fs:search", "fs:exists"],
        "file_write" => &["fs:write", "fs:edit", "fs:delete"],
        "shell" | "code_execute" => &["shell:exec"],
        "api_call" | "web_fetch" => &["http:request"],
        _ => return pattern_matches(entry, name),
    };
    ours.contains(&name)
}

fn pattern_matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .any(|at| rest.is_char_boundary(at) && pattern_matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::speaks_of;

    #[test]
    fn entries_speak_of_tools_by_name_old_name_or_pattern() {
        let cases = [
            ("fs:read", "fs:read", true),
            ("fs:read", "fs:readall", false),
            ("fs:*", "fs:write", true),
            ("*", "shell:exec", true),
            ("*:re*", "fs:read", true),
            ("*:re*", "fs:write", false),
            ("fs:*", "shell:exec", false),
            ("file_read", "fs:search", true),
            ("file_read", "fs:write", false),
            ("file_write", "fs:delete", true),
            ("shell", "shell:exec", true),
            ("code_execute", "shell:exec", true),
            ("api_call", "http:request", true),
        ];
        for (entry, name, expected) in cases {
            assert_eq!(speaks_of(entry, name), expected, "{entry} {name}");
        }
    }
}
