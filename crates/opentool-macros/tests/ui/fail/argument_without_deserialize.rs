use opentool::prelude::*;

#[derive(schemars::JsonSchema)]
struct Place {
    name: String,
}

#[tool]
fn visit(place: Place) -> String {
    place.name
}

fn main() {}
