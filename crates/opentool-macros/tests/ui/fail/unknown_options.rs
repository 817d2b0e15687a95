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

#[tool(retrun_direct, time_out = "5s", desc = "x", max_calls = 3)]
fn misspelt_again(#[param(requierd, defualt = 3)] word: Option<u8>) {}

#[tool]
fn elsewhere(#[tool(description = "x")] word: String) {}

fn main() {}
