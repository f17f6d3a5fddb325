//! A playbook of the project that matches a goal.

use super::call::{Call, Spending};
use crate::cli::asking::ask_param;
use crate::cli::exit::{CliResult, Exit};
use crate::cli::render::table::plain;
use crate::cli::terminal::Terminal;
use kb_service::service::{self, GraphFormat, Match, StartRequest};
use serde_json::json;

impl Call {
    /// Shows the playbook that matches the goal, asks, and runs it.
    pub(super) fn matched(&self, found: &Match, terminal: &mut Terminal) -> CliResult {
        let text = format!(
            "matched {}: {:.0} %, {} (`{}`)\n",
            plain(&found.id),
            found.score * 100.0,
            plain(&found.why),
            plain(&found.trigger)
        );
        terminal.note(&text)?;
        let graph = service::graph(&self.project, &found.id, GraphFormat::Text)?;
        if self.args.plan && self.args.display.json {
            terminal.json(&json!({"matched": found}))?;
            return Ok(Exit::Done);
        }
        if self.args.display.json {
            terminal.err(&graph)?
        } else {
            terminal.out(&graph)?
        }
        if self.args.plan {
            return Ok(Exit::Done);
        }
        if !self.args.yes {
            if !self.can_ask(terminal) {
                terminal.note(
                    "not run: no person approved it; `--yes` runs it, `--new-plan` plans\n",
                )?;
                return Ok(Exit::Waiting);
            }
            let typed = terminal.ask("Run it? [yes, no]").unwrap_or_default();
            if !matches!(typed.trim(), "y" | "yes") {
                terminal.note("`--new-plan` plans in place of it\n")?;
                return Ok(Exit::Waiting);
            }
        }
        let spending = Spending { limit: self.args.budget, spent: 0.0 };
        let request = StartRequest {
            definition: found.id.clone(),
            params: found.params.clone().into_iter().collect(),
            script: self.args.script.clone(),
            overrides: self.overrides(&spending),
            ..StartRequest::default()
        };
        let can_ask = self.can_ask(terminal);
        let mut ask = |question: &service::ParamQuestion| ask_param(question, terminal);
        let ask: Option<&mut service::Ask<'_>> = if can_ask { Some(&mut ask) } else { None };
        let prepared = service::start(self.project.clone(), request, ask);
        let (exit, run) = self.drive(prepared, false, terminal)?;
        self.conclude(&run, exit, terminal)?;
        Ok(exit)
    }
}

/// Names the playbooks that match a goal a little.
pub(super) fn note_close(all: &[Match], terminal: &mut Terminal) -> std::io::Result<()> {
    let close = |found: &Match| format!("{} ({:.0} %)", plain(&found.id), found.score * 100.0);
    let close: Vec<String> = all.iter().take(3).map(close).collect();
    terminal.note(&format!("no playbook clearly matches; close: {}\n", close.join(", ")))
}
