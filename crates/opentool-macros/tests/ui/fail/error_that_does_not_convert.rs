use opentool::prelude::*;

struct Closed;

#[tool]
fn open() -> Result<(), Closed> {
    Err(Closed)
}

type Answer = Result<u8, Closed>;

#[tool]
async fn aliased() -> Answer {
    Err(Closed)
}

fn main() {}
