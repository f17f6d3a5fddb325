//! A plan that a person edits or saves.

use super::call::Call;
use crate::cli::exit::{CliError, CliResult, Exit};
use crate::cli::render::diagnostics;
use crate::cli::render::table::plain;
use crate::cli::terminal::Terminal;
use kb_process::edit;
use kb_service::service::ServiceError;
use kb_service::service::planning::Draft;

impl Call {
    /// The plan after the person has edited it; `None` if it stays as it is.
    pub(super) fn edited(
        &self,
        draft: &Draft,
        terminal: &mut Terminal,
    ) -> Result<Option<Draft>, CliError> {
        let variables = &self.project.context.environment.variables;
        let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| variables.get(name));
        let editor = editor.filter(|editor| !editor.is_empty()).map_or("vi", |editor| editor);
        let file = self.project.context.state_dir.join("plan.yml");
        std::fs::write(&file, &draft.text)?;
        loop {
            edit(editor, &file)?;
            match draft.edited(std::fs::read_to_string(&file)?) {
                Ok(edited) => return Ok(Some(edited)),
                Err(ServiceError::Definitions { diagnostics, sources }) => {
                    diagnostics::print(&diagnostics, &sources, terminal)?;
                }
                Err(error) => terminal.err(&format!("{error}\n"))?,
            }
            let typed = terminal.ask("Edit it again? [yes, no]").unwrap_or_default();
            if !matches!(typed.trim(), "y" | "yes") {
                return Ok(None);
            }
        }
    }

    pub(super) fn save(&self, draft: &Draft, terminal: &mut Terminal) -> CliResult {
        let saved = match &self.args.save {
            Some(_) => draft.clone(),
            None => {
                let typed = terminal.ask(&format!("Id [{}]:", draft.id)).unwrap_or_default();
                let id = if typed.trim().is_empty() { &draft.id } else { typed.trim() };
                draft.named(id)?
            }
        };
        saved.save()?;
        let run = format!("{} playbook run {}", self.program, saved.id);
        terminal.out(&format!("saved {}\n", plain(&saved.path)))?;
        terminal.note(&format!("run it: {run}\n"))?;
        Ok(Exit::Done)
    }
}
