use opentool::prelude::*;

#[tool(name = "get weather")]
fn spaced() {}

#[tool(name = "")]
fn empty() {}

#[tool]
fn größe() {}

fn main() {}
