//! The crate as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../fuzz/bodies.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets include the file too")]
mod bodies;
mod checking;
mod diagnostics;
mod extensions;
mod hostile;
mod properties;
mod required;
mod round_trip;
