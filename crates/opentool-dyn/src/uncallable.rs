//! Which functions of a document cannot be called in a library: [`uncallable`].

use std::collections::HashSet;

use opentool_spec::Severity;

use crate::Exports;
use crate::plan::{Helper, Plan};
use crate::symbols::{disable_missing, is_callable, is_reachable};

/// Something in a document that keeps a function from being called in a library.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Uncallable {
    /// Where in the document, as a JSON pointer.
    pub pointer: String,
    /// The name of the function; none where it is about the document as a whole.
    pub function: Option<String>,
    /// Why, and where it is known, what comes near.
    pub reason: String,
}

/// Finds the functions of a document that cannot be called in a library, without loading it.
///
/// What is wrong with the document by itself is left to [`opentool_spec::check()`] and
/// [`document_faults`](crate::document_faults).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # #[cfg(target_os = "linux")] {
/// use opentool_dyn::{Exports, find_library, uncallable};
///
/// let document = r#"{
///   "opendyn": "1.0.0",
///   "info": {"title": "libm", "version": "1.0.0", "callingConvention": "cdecl"},
///   "functions": [{"name": "tanhh", "description": "The hyperbolic tangent.", "parameters": []}]
/// }"#;
/// let found = uncallable(document, &Exports::read(find_library("libm.so.6")?)?);
/// assert_eq!(found[0].pointer, "/functions/0/name");
/// assert_eq!(found[0].reason, "the library has no function `tanhh`; the nearest are `tanh`, `tanhf`, `tanhl`");
/// # } Ok(()) }
/// ```
#[must_use]
pub fn uncallable(document: &str, exports: &Exports) -> Vec<Uncallable> {
    // What is wrong with it as a whole is found by the check of the document.
    let Ok(mut plan) = Plan::parse(document) else { return Vec::new() };
    let faulty: HashSet<usize> = plan
        .report
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .filter_map(|finding| finding.pointer.strip_prefix("/functions/")?.split('/').next()?.parse().ok())
        .collect();
    let mut found = Vec::new();
    if let Some(init) = &plan.init {
        let is_known = plan.functions.iter().any(|function| function.name == *init) || is_callable(exports, init);
        if !is_known {
            let reason = format!("`x-init` names `{init}`, which neither the document nor the library has");
            found.push(Uncallable { pointer: "/x-init".to_owned(), function: None, reason });
        }
    }
    disable_missing(&mut plan, exports);
    for (index, function) in plan
        .functions
        .iter()
        .enumerate()
        .filter(|(index, function)| !faulty.contains(index) && function.fault.is_none())
    {
        let name = || Some(function.name.clone());
        if let Some(reason) = &function.disabled {
            let key = if function.symbol == function.name { "name" } else { "x-symbol" };
            let pointer = format!("/functions/{index}/{key}");
            found.push(Uncallable { pointer, function: name(), reason: reason.clone() });
        } else if let Some(Helper { key, symbol }) =
            function.helpers.iter().find(|helper| !is_reachable(exports, &helper.symbol))
        {
            let reason = format!("`{key}` names `{symbol}`, which neither the library nor what it needs exports");
            found.push(Uncallable { pointer: format!("/functions/{index}"), function: name(), reason });
        }
    }
    found
}
