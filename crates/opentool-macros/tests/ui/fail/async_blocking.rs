use opentool::prelude::*;

#[tool(blocking)]
async fn wait() {}

fn main() {}
