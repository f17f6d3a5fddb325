//! The JSON Schema of public events.

use super::event::Line;
use kb_base::value::Json;
use schemars::generate::SchemaSettings;

/// The JSON Schema of one event, for `kb schema events`.
pub fn event_schema() -> Json {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<Line<'static>>().to_value()
}
