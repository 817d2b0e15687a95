//! Suggestions for misspelt options.

/// The one of `known` that is a slip away from `written`, or that it abbreviates.
///
/// The metric is that of `opentool_spec::json::near`, which would have to be built once more for the compiler to be used here.
pub(crate) fn nearest(written: &str, known: &[&'static str]) -> Option<&'static str> {
    let abbreviated = |known: &&&str| written.len() >= 3 && known.starts_with(written);
    let misspelt = || {
        let edits = |known: &str| strsim::osa_distance(written, known);
        let (edits, known) = known.iter().map(|known| (edits(known), *known)).min()?;
        (edits <= 2 && edits * 3 <= written.len().max(known.len())).then_some(known)
    };
    known.iter().find(abbreviated).copied().or_else(misspelt)
}
