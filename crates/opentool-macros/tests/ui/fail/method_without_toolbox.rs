use opentool::prelude::*;

struct Clock;

impl Clock {
    #[tool]
    fn now(&self) -> String {
        String::new()
    }

    #[tool]
    fn set(&self, #[param(name = "when")] time: String) {
        drop(time);
    }

    #[tool]
    fn new() -> Self {
        Self
    }
}

fn main() {}
