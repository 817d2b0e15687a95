use opentool::prelude::*;

struct Counter(u32);

#[toolbox]
impl Counter {
    #[tool]
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

fn main() {}
