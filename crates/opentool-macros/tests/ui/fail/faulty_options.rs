#![allow(unused_variables)]

use opentool::prelude::*;

struct Weather;

// Each fault stands at its own place, and none hides another.
#[toolbox("Weather", titel = "x")]
impl Weather {
    #[tool(name)]
    fn a(&self, #[param(default)] x: i32) {}

    #[tool(timeout = )]
    fn b(&self, #[param(description)] x: i32) {}

    #[tool("Get the weather", nmae = "x", timeout = 5, read_only = 1)]
    fn c(&self, #[param("A number", optional)] x: i32, #[param = "x"] y: i32) {}

    #[tool = "x"]
    fn d(&self) {}

    #[tool(name = "d", description = 1 +)]
    fn e(&self) {}
}

#[tool(name, output_name = )]
fn free() {}

#[tool(description: "x")]
fn colon() {}

#[tool(read_only destructive, = 5)]
fn without_comma() {}

fn main() {}
