use opentool::prelude::*;

struct Clock;

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    Executor::new().host(Clock);
    Executor::new().host(add);
}
