//! Plans: edges and their strengths, circles, order, guards, keys, writers, pictures.
//!
//! Most tests draft a playbook in lines of their own (see [`draft`]), so that each says only what it
//! is about; the last ones go through definition files.

mod confined;
mod draft;
mod edges;
mod files;
mod graphs;
mod guards;
mod order;
mod random;
mod warnings;
