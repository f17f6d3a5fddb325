//! The files from which the definitions of a run read values.

use super::{Plan, PlanStep};
use crate::definition::{ParamType, file_of_reference, file_of_value};

impl Plan {
    /// The files that servers and agents of specialists, and secrets that are parameters, name by `file:`, as the author
    /// wrote them; those of child runs included.
    pub fn value_files(&self) -> Vec<&str> {
        self.with_children().into_iter().flat_map(Plan::own_value_files).collect()
    }

    fn own_value_files(&self) -> Vec<&str> {
        let servers = self.servers.iter().flat_map(|own| &own.server.env);
        let specialists = self.steps.iter().flat_map(PlanStep::specialists);
        let agents = specialists.filter_map(|specialist| specialist.agent.as_ref());
        let env = servers.chain(agents.flat_map(|agent| &agent.env));
        let params = self.playbook.params.iter().filter(|param| param.kind == ParamType::Secret);
        let defaults = params.filter_map(|param| param.default.as_ref()?.as_str());
        let of_env = env.filter_map(|(_, value)| file_of_value(value));
        let tokens = self.servers.iter().filter_map(|own| own.server.token.as_deref());
        defaults.chain(tokens).filter_map(file_of_reference).chain(of_env).collect()
    }
}
