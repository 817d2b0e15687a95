#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
fn stay(#[param(required, default = 1)] days: u8) {}

fn main() {}
