use opentool::prelude::*;

#[tool(blocking)]
fn wait() {}

#[tool(blocking, read_only)]
async fn wait_longer() {}

struct Clock;

#[toolbox]
impl Clock {
    #[tool(blocking)]
    fn now(&self) {}
}

fn main() {}
