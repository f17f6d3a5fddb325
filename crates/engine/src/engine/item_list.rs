//! What the items of all sources share: their number and their keys.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, limits};
use kb_core::run::{InstanceIx, State};
use kb_language::expression::EvalError;

/// The failure of a step with more items than are allowed.
pub(super) fn too_many(count: usize) -> EvalError {
    let most = limits::FOR_EACH_ITEMS;
    let message = format!("`forEach` got {count} items; at most {most} are allowed");
    Box::new(
        Failure::new(Code::NOT_A_LIST, message)
            .help("group the items, and let each instance work on a group"),
    )
}

/// What was collected from the items, by their keys; nothing before the step has ended. Masked keys may
/// be equal; then the last item counts.
pub(super) fn by_key(state: &State, ix: InstanceIx, output: &Json) -> Option<Json> {
    let items = state.instance(ix).items().filter(|items| items.keyed)?;
    match output {
        Json::Array(values) => {
            let item = |ix: InstanceIx| state.instance(ix).item.as_ref();
            let keys = items.all().filter_map(|ix| Some(item(ix)?.key().into_owned()));
            Some(Json::Object(keys.zip(values.iter().cloned()).collect()))
        }
        // Runs of earlier versions have a map as their output.
        Json::Object(_) => Some(output.clone()),
        _ => None,
    }
}
