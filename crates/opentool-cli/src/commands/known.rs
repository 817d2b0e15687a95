//! What the operator knows about the tools of other servers, whose own word is not taken for it.

use std::collections::BTreeMap;

use opentool::ToolMetadata;

use crate::{failure::Failure, source::Names};

/// How metadata takes what is said.
type Statement = fn(ToolMetadata, bool) -> ToolMetadata;

/// What is said about tools, by name.
pub(super) fn metadata<'a>(
    read_only: &'a [String],
    destructive: &'a [String],
    idempotent: &'a [String],
) -> BTreeMap<&'a str, ToolMetadata> {
    let statements: [(&[String], Statement); 3] = [
        (read_only, |metadata, said| metadata.with_read_only(said)),
        (destructive, |metadata, said| metadata.with_destructive(said)),
        (idempotent, |metadata, said| metadata.with_idempotent(said)),
    ];
    let mut known: BTreeMap<&str, ToolMetadata> = BTreeMap::new();
    for (tools, state) in statements {
        for tool in tools {
            let metadata = known.remove(tool.as_str()).unwrap_or_default();
            known.insert(tool, state(metadata, true));
        }
    }
    known
}

/// Refuses what is said about a tool that no other server has: a misspelt name would say nothing about the right one.
pub(super) fn check(known: &BTreeMap<&str, ToolMetadata>, names: &Names<'_>) -> Result<(), Failure> {
    match known.keys().find(|tool| !names.may_be_remote(tool)) {
        None => Ok(()),
        Some(tool) => {
            let message = format!(
                "no server among the sources has the tool `{tool}` that an option such as `--destructive` names"
            );
            Err(Failure::usage(message))
        }
    }
}
