#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
unsafe fn poke(address: usize) {}

#[tool]
extern "C" fn exported(value: i32) {}

fn main() {}
