#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
fn join(words: &[String], separator: &String, first: Vec<&str>, all: &mut Vec<u8>) -> String {
    words.join(separator)
}

fn main() {}
