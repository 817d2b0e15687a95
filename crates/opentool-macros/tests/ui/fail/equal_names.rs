use opentool::prelude::*;

struct Mail;

#[toolbox]
impl Mail {
    #[tool]
    fn send(&self) {}

    #[tool(name = "send")]
    fn send_now(&self) {}
}

fn main() {}
