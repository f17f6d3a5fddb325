//! real model.
