use opentool::prelude::*;

struct Opaque;

#[tool]
fn make() -> Opaque {
    Opaque
}

#[tool]
fn try_make() -> Result<Opaque, std::io::Error> {
    Ok(Opaque)
}

fn main() {}
