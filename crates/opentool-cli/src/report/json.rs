//! Findings for programs.

use std::io::{self, Write};

use opentool_spec::Finding;
use serde::Serialize;

use crate::terminal::visible_json;

#[derive(Serialize)]
struct Located<'a> {
    file: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// Writes one finding as one line.
pub(super) fn write(out: &mut impl Write, file: &str, finding: &Finding) -> io::Result<()> {
    let json = serde_json::to_string(&Located { file, finding })?;
    out.write_all(visible_json(&json).as_bytes())
}
