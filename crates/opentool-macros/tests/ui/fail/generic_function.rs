use opentool::prelude::*;

#[tool]
fn largest<T: Ord, const N: usize>(items: Vec<T>) -> usize
where
    T: Clone,
{
    items.len()
}

fn main() {}
