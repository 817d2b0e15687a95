use opentool::prelude::*;

struct Reader<'a>(&'a str);

#[toolbox]
impl<'a> Reader<'a> {
    #[tool]
    fn read(&self) -> String {
        self.0.to_owned()
    }
}

struct Database<'a>(&'a str);

#[toolbox]
impl Database<'_> {
    #[tool]
    fn query(&self) -> String {
        self.0.to_owned()
    }
}

struct Holder<T>(T);

#[toolbox]
impl Holder<&str> {
    #[tool]
    fn held(&self) -> String {
        self.0.to_owned()
    }
}

fn main() {}
