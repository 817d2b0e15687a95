use opentool::prelude::*;

#[tool]
fn distance((x, y): (f64, f64), _: bool) -> f64 {
    x + y
}

fn main() {}
