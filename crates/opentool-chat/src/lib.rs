//! Models that call tools.
