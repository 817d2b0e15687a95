use opentool::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    name: String,
}

#[tool]
fn visit(#[param(required = false)] place: Place, #[param(required, default = 1)] days: u8) -> String {
    place.name
}

fn main() {}
