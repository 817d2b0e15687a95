use opentool::prelude::*;

struct Page<T>(T);

#[toolbox]
impl<T: Send + Sync + 'static> Page<T> {
    const SIZE: usize = size_of::<T>();

    #[tool]
    fn next(&self, #[param(default = Self::SIZE)] size: usize) -> usize {
        size
    }
}

fn main() {}
