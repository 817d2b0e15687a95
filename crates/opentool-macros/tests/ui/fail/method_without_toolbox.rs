use opentool::prelude::*;

struct Clock;

impl Clock {
    #[tool]
    fn now(&self) -> String {
        String::new()
    }
}

fn main() {}
