//! The one masking sink: values of secrets never reach a state, an event or a display.
