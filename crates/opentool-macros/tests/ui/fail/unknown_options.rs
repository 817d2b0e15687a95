#![allow(unused_variables)]

use opentool::prelude::*;

#[tool(nmae = "x")]
fn misspelt() {}

#[tool(timeout = 30)]
fn without_unit() {}

#[tool(read_only, read_only)]
fn twice() {}

#[tool(read_only, destructive)]
fn contradiction() {}

#[tool(serial, exclusive)]
fn redundant() {}

#[tool]
fn parameter(#[param(optional)] word: String) {}

fn main() {}
