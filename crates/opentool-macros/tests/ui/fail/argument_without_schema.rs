use opentool::prelude::*;

#[derive(serde::Deserialize)]
struct Place {
    name: String,
}

#[tool]
fn visit(place: Place) -> String {
    place.name
}

fn main() {}
