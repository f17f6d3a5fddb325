//! Standard terms are used, invented ones are not.
