//! Lists of templates, and the questions for a template and an id of `kb playbook new` and `kb specialist new`.

use super::exit::CliError;
use super::render::table::plain;
use super::terminal::{TITLE, Terminal, paint};
use kb_service::service::TemplateView;

/// What a command creates from templates.
pub(super) struct Choice<'a> {
    /// `kb playbook new` or `kb specialist new`.
    pub(super) command: &'static str,
    /// The template without `--template`.
    pub(super) default: &'static str,
    /// All templates, those of the project first.
    pub(super) templates: &'a [TemplateView],
}

impl Choice<'_> {
    /// The id and the template: as given, else asked for on a terminal.
    pub(super) fn complete(
        &self,
        id: Option<String>,
        template: Option<String>,
        terminal: &mut Terminal,
    ) -> Result<(String, String), CliError> {
        if let Some(id) = id {
            return Ok((id, template.unwrap_or_else(|| self.default.to_owned())));
        }
        let command = self.command;
        if !terminal.can_ask() {
            return Err(CliError::Usage {
                message: "the id is missing".to_owned(),
                help: Some(format!("write `{command} ID`, for example `{command} mine`")),
            });
        }
        let template = match template {
            Some(template) => template,
            None => {
                terminal.err(&list(self.templates))?;
                let question = format!("Template [{}]:", self.default);
                self.answer(&question, Some(self.default), terminal)?
            }
        };
        let default = (template != self.default).then_some(template.as_str());
        let question = match default {
            Some(name) => format!("Id [{name}]:"),
            None => "Id:".to_owned(),
        };
        let id = self.answer(&question, default, terminal)?;
        Ok((id, template))
    }

    fn answer(
        &self,
        question: &str,
        default: Option<&str>,
        terminal: &mut Terminal,
    ) -> Result<String, CliError> {
        let typed = terminal.ask(question).map(|text| text.trim().to_owned());
        let typed = typed.filter(|text| !text.is_empty());
        typed.or_else(|| default.map(str::to_owned)).ok_or_else(|| CliError::Usage {
            message: "nothing was entered".to_owned(),
            help: Some(format!("write `{} ID --template NAME`", self.command)),
        })
    }
}

/// One line for each template.
pub(super) fn list(templates: &[TemplateView]) -> String {
    let width = templates.iter().map(|template| template.name.chars().count()).max().unwrap_or(0);
    let line = |template: &TemplateView| {
        let name = format!("{:width$}", plain(&template.name));
        format!("{}  {}\n", paint(TITLE, &name), template.about)
    };
    templates.iter().map(line).collect()
}
