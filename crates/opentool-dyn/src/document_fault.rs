//! What keeps functions of a document from being called in any library: [`document_faults`].

use crate::plan::Plan;

/// Something in a document that keeps a function from being called, in whatever library.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentFault {
    /// Where in the document, as a JSON pointer.
    pub pointer: String,
    /// The name of the function.
    pub function: String,
    /// Why, and what is needed.
    pub reason: String,
}

/// Finds the functions of a document whose `x-…` keys and types do not go together, without a library.
///
/// What is wrong with a key or a type by itself is left to [`opentool_spec::check()`]; a function that passes both can be
/// called in a library that has it.
///
/// ```
/// let document = r#"{
///   "opendyn": "1.0.0",
///   "info": {"title": "libc", "version": "1.0.0", "callingConvention": "cdecl"},
///   "functions": [{
///     "name": "getpid", "description": "The process.", "parameters": [], "x-returnsCode": true,
///     "return": {"name": "name", "schema": {"type": "string", "cType": {"type": "char", "isPointer": true}}}
///   }]
/// }"#;
/// let faults = opentool_dyn::document_faults(document);
/// assert_eq!(faults[0].pointer, "/functions/0");
/// assert_eq!(faults[0].reason, "`x-returnsCode` needs an integer as the return value");
/// ```
#[must_use]
pub fn document_faults(document: &str) -> Vec<DocumentFault> {
    // What is wrong with it as a whole is found by the check of the document.
    let Ok(plan) = Plan::parse(document) else { return Vec::new() };
    let functions = plan.functions.iter().enumerate();
    let faults = functions.filter_map(|(index, function)| Some((index, function, function.fault.as_ref()?)));
    faults
        .map(|(index, function, fault)| DocumentFault {
            pointer: format!("/functions/{index}{}", fault.place),
            function: function.name.clone(),
            reason: fault.reason.clone(),
        })
        .collect()
}
