//! JSON Schema: the form that tools publish, and the ways to and from it.
//!
//! - [`normalise`] brings any generator's schema to the one form that every provider and client accepts;
//!   [`normalise_output`] does the same for results.

mod choices;
mod circles;
mod definitions;
mod depth;
mod drafts;
mod error;
mod integers;
mod keyword;
mod node;
mod normalise;
mod nullable;
mod share;

pub use depth::MAX_DEPTH;
pub use error::SchemaError;
pub use normalise::{normalise, normalise_output};

#[cfg(test)]
mod tests;
