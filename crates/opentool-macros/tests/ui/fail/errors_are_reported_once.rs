#![allow(unused_variables)]

use opentool::prelude::*;

#[tool]
fn total(numbers: &[f64]) -> f64 {
    numbers.iter().sum()
}

struct Clock;

#[toolbox]
impl Clock {
    #[tool(timeout = "soon")]
    fn now(&self) {}
}

fn main() {
    let tools = Toolbox::from_tools([total::tool()]);
    let definition = total::definition();
    Executor::new().host(Clock);
}
