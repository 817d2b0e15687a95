#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
fn add(#[param(name = "y")] x: u8, y: u8) {}

#[tool]
fn join(#[serde(default, rename = "with")] separator: String, #[serde(rename(deserialize = "with"))] word: String) {}

fn main() {}
