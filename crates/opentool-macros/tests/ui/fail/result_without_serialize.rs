use opentool::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    name: String,
}

struct Map;

#[toolbox]
impl Map {
    #[tool]
    async fn near(&self, place: Place) -> Vec<Place> {
        vec![place]
    }
}

fn main() {}
