use opentool::prelude::*;

struct Reader<'a>(&'a str);

#[toolbox]
impl<'a> Reader<'a> {
    #[tool]
    fn read(&self) -> String {
        self.0.to_owned()
    }
}

fn main() {}
