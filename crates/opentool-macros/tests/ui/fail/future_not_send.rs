use std::rc::Rc;

use opentool::prelude::*;

#[tool]
async fn wait() -> u8 {
    let held = Rc::new(1);
    std::future::ready(()).await;
    *held
}

fn main() {
    FnTool::new("wait", || async {
        let held = Rc::new(1);
        std::future::ready(()).await;
        *held
    });
}
