use opentool::prelude::*;

struct Ticket;

#[toolbox]
impl Ticket {
    #[tool]
    fn redeem(self) {}

    #[tool]
    fn shared(self: std::sync::Arc<Self>) {}
}

fn main() {}
