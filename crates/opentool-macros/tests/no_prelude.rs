//! What the attributes emit brings everything it needs.
#![no_implicit_prelude]
#![allow(missing_debug_implementations, missing_docs, unused_variables)]

use ::opentool::prelude::{ToolContext, tool, toolbox};

#[tool]
pub fn pick(
    a: i64,
    b: &str,
    #[param(default = "x")] c: ::std::string::String,
    #[param(required = false)] d: u8,
    e: ::core::option::Option<&str>,
    context: &ToolContext,
) -> i64 {
    a
}

pub struct Echo;

#[toolbox(title = "Echo")]
impl Echo {
    #[tool(timeout = "5s", serial)]
    pub fn say<'a>(&'a self, text: &'a str) -> &'a str {
        text
    }

    #[tool]
    pub async fn later(&self, text: &str) -> ::core::result::Result<u8, ::std::string::String> {
        ::core::result::Result::Ok(1)
    }
}

// Not in scope by its name either.
#[::core::prelude::v1::test]
fn attributes_need_no_prelude() {}
