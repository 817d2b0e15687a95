//! How long the result of a call may be.

/// The longest text of a result, 1 MiB, with room for its escapes and other values. A worker's reply is not longer either, so that
/// a forged one cannot make the parent allocate more.
pub(crate) const LARGEST_RESULT: usize = 8 << 20;
