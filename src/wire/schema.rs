use super::event::Line;
use crate::value::Json;

/// The JSON Schema of one event, for `kb schema events`.
pub fn event_schema() -> Json {
    schemars::schema_for!(Line<'static>).to_value()
}
