use std::cell::Cell;

use opentool::prelude::*;

struct Counter(Cell<u32>);

#[toolbox]
impl Counter {
    #[tool]
    fn next(&self) -> u32 {
        self.0.replace(1)
    }
}

fn main() {
    Executor::new().host(Counter(Cell::new(0)));
}
