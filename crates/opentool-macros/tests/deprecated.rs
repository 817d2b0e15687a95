//! A tool that is deprecated warns those who call it, and not its author.
#![deny(warnings)]
#![allow(unreachable_pub)]

use opentool::prelude::*;

/// Say one.
#[deprecated]
#[tool]
pub fn one() -> u8 {
    1
}

struct Old;

#[toolbox]
impl Old {
    #[deprecated(note = "take another")]
    #[tool]
    pub async fn two(&self, text: &str) -> String {
        text.to_owned()
    }
}

#[test]
fn the_author_of_a_deprecated_tool_is_not_warned() {
    assert!(one::definition().is_ok());
    assert!(Old.into_toolbox().is_ok());
}
