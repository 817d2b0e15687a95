#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
fn paint(
    #[serde(default, alias = "colour")] color: String,
    #[serde(bound(deserialize = ""), alias = "thickness")] width: u8,
    #[schemars(rename = "on")] surface: &str,
) {
}

fn main() {}
