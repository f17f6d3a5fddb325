//! Starting a run: from a request to a run that is ready to be driven.

use super::begin::{Basis, begin};
use super::prepared::Prepared;
use crate::service::params::Ask;
use crate::service::start_request::resolve;
use crate::service::{Project, ServiceError, StartRequest};

/// Resolves the parameters, checks everything that can be checked, and creates a new run with a
/// lease for this process. The project is consumed, so that the texts of its definitions are freed
/// before the run executes.
///
/// Questions are asked at once, before the future is awaited. The future reads files and writes to the journal,
/// so it blocks its thread: the command line awaits it on its own thread, whose memory the run then uses again.
pub fn start(
    project: Project,
    request: StartRequest,
    ask: Option<&mut Ask<'_>>,
) -> impl Future<Output = Result<Prepared, ServiceError>> + use<> {
    let resolved = resolve(&project, &request, ask);
    drop(project);
    async move {
        let (project, definition, params) = resolved?;
        let plan = project.plan(definition.as_str())?;
        let skip = request.selection.skipped(&plan)?;
        drop(plan);
        begin(project, definition, params, request, Basis::skipping(skip)).await
    }
}
