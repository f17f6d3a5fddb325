//! The documentation is true: generated pages are fresh, examples load and run, links lead somewhere.

mod diagnostics;
