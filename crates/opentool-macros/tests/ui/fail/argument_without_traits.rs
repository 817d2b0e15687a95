use opentool::prelude::*;

struct Place;

struct Map;

#[toolbox]
impl Map {
    #[tool]
    async fn visit(&self, place: Option<Place>) {
        drop(place);
    }
}

fn main() {}
