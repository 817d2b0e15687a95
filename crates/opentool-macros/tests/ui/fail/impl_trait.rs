use opentool::prelude::*;

#[tool]
fn print(value: impl std::fmt::Display) -> impl Iterator<Item = u8> {
    value.to_string().into_bytes().into_iter()
}

#[tool]
fn later() -> impl Future<Output = u8> {
    async { 1 }
}

fn main() {}
