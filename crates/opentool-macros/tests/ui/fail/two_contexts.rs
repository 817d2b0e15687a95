#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
fn compare(left: &ToolContext, right: &ToolContext) {}

#[tool]
fn owned(context: ToolContext) {}

#[tool]
fn mutable(context: &mut ToolContext) {}

fn main() {}
