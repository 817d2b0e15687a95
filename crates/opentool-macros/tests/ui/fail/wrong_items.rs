#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
struct NotAFunction;

#[toolbox]
fn not_an_impl() {}

#[toolbox]
impl Iterator for NotAFunction {
    type Item = u8;

    #[tool]
    fn next(&mut self) -> Option<u8> {
        None
    }
}

struct Empty;

#[toolbox]
impl Empty {
    fn forgotten(&self, #[param(name = "x")] y: u8) {}
}

fn main() {}
