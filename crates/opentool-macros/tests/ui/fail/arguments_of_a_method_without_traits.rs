//! One error for each type: where it is first taken, whole, and also where it has a default or the `impl` is generic.
use opentool::prelude::*;

#[derive(Clone, Copy)]
struct Place;

struct Time;

struct Map<T>(T);

#[toolbox]
impl<T: ToString + Send + Sync + 'static> Map<T> {
    #[tool]
    async fn visit(
        &self,
        from: Place,
        #[param(default = Place)] to: Place,
        via: Vec<Option<Place>>,
        on: &str,
        at: Time,
        with: u32,
    ) -> String {
        let _ = (from, to, via, on, at, with);
        self.0.to_string()
    }
}

#[tool]
fn wait(#[param(default = Time)] until: Time, seconds: u64) {
    let _ = (until, seconds);
}

fn main() {}
