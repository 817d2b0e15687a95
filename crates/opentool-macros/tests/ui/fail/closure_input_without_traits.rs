use opentool::prelude::*;

struct Place {
    name: String,
}

fn main() {
    FnTool::new("visit", |place: Place| place.name);
}
