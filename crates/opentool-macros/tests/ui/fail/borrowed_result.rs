use std::borrow::Cow;

use opentool::prelude::*;

struct Names(Vec<String>);

#[toolbox]
impl Names {
    #[tool]
    fn all(&self) -> &[String] {
        &self.0
    }

    #[tool]
    fn first(&self) -> Option<&String> {
        self.0.first()
    }

    #[tool]
    fn short<'a>(&'a self) -> Cow<'a, str> {
        Cow::Borrowed("x")
    }
}

fn main() {}
