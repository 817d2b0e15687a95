//! The functions of a C library as tools.
