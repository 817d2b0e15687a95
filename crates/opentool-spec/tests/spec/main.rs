//! The crate as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../../fuzz/bodies.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets include the file too")]
mod bodies;
mod checking;
mod diagnostics;
#[path = "../../../../fuzz/documents.rs"]
#[allow(unreachable_pub, reason = "the tests of the command line include the file too")]
mod documents;
mod extensions;
mod foreign;
mod hostile;
mod lossless;
mod missed_faults;
mod properties;
mod required;
mod round_trip;
mod upgrades;
mod workflows;
