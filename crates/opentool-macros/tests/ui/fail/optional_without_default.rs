use opentool::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    name: String,
}

#[tool]
fn visit(#[param(required = false)] place: Place) -> String {
    place.name
}

fn main() {}
