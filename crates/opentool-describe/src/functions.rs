//! From prototypes to the functions of a document.

use std::collections::BTreeSet;

use opentool_spec::DynFunction;

use crate::comments::Comment;
use crate::ctype::Signature;
use crate::draft::{Described, FunctionDraft, parameter_names};
use crate::evidence::Evidence;
use crate::families::Families;
use crate::macros::Macros;
use crate::records::Records;
use crate::roles::Roles;
use crate::variadic;

/// How many constants a description explains.
const CONSTANTS: usize = 16;

/// What is known of a library besides the function at hand.
pub(crate) struct LibraryFacts<'m, 'd> {
    pub(crate) records: &'m Records<'d>,
    pub(crate) macros: &'m Macros,
    /// The functions that free what they are given as `void *` or `char *`.
    pub(crate) freeing: &'m [String],
    pub(crate) families: &'m Families,
}

/// Describes a function, or says why it cannot be.
pub(crate) fn describe_function(
    facts: &LibraryFacts<'_, '_>,
    name: &str,
    signature: &Signature,
    comment: Option<&Comment>,
) -> Result<Described, String> {
    if signature.is_variadic {
        return describe_variadic(facts, name, signature, comment);
    }
    if signature.is_unspecified && !signature.parameters.is_empty() {
        return Err("is declared without the types of its parameters".to_owned());
    }
    let mut description = match comment.map(|comment| comment.text.as_str()) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => format!("The C function `{}`.", signature.prototype(name)),
    };
    let evidence = Evidence::new(comment);
    let constants =
        evidence.constants().into_iter().filter_map(|name| Some(format!("{name} = {}", facts.macros.number(name)?)));
    let constants: Vec<String> = constants.take(CONSTANTS).collect();
    if !constants.is_empty() {
        description.push_str(&format!("\nConstants: {}.", constants.join(", ")));
    }
    let names = parameter_names(facts.records, signature);
    let mut result = "result".to_owned();
    while names.contains(&result) {
        result.insert_str(0, "the_");
    }
    let mut draft = FunctionDraft {
        records: facts.records,
        name,
        comment,
        evidence,
        macros: facts.macros,
        made: Described {
            function: DynFunction::new(name, description),
            reviews: Vec::new(),
            makes: BTreeSet::new(),
            takes: BTreeSet::new(),
            structs: BTreeSet::new(),
        },
        of_function: Vec::new(),
        names,
        result,
        signature,
        roles: Roles::find(name, signature, comment, |target| facts.records.object(target).is_some()),
        freeing: facts.freeing,
        families: facts.families,
        user_data: Vec::new(),
        nothing: Vec::new(),
        keeps_inputs: false,
        counts_structs: Vec::new(),
    };
    draft.find_callbacks();
    for index in 0..signature.parameters.len() {
        draft.parameter(index)?;
    }
    draft.returned()?;
    draft.add_stream_fields();
    draft.guess_lifetimes();
    draft.check_addresses()?;
    draft.mark_shared_comment();
    if signature.is_unspecified {
        let reason = "`()` says nothing about what it takes: remove it where it takes something";
        draft.of_function.push(reason.to_owned());
    }
    Ok(draft.finish())
}

/// Describes a function that takes any number of arguments as its comment shows how to call it.
fn describe_variadic(
    facts: &LibraryFacts<'_, '_>,
    name: &str,
    signature: &Signature,
    comment: Option<&Comment>,
) -> Result<Described, String> {
    const VARIADIC: &str = "takes any number of arguments (`...`)";
    let shown = variadic::shown(name, signature, comment).map_err(|reason| match reason {
        Some(reason) => format!("{VARIADIC}, {reason}"),
        None => VARIADIC.to_owned(),
    })?;
    let fixed = signature.parameters.len();
    let mut described = describe_function(facts, name, &shown, comment)?;
    let parameters = &described.function.parameters;
    let has_others = parameters
        .iter()
        .any(|parameter| ["x-field", "x-events", "x-byValue"].iter().any(|key| parameter.extra.contains_key(*key)));
    if parameters.len() != shown.parameters.len() || has_others {
        return Err(VARIADIC.to_owned());
    }
    described.function.extra.insert("x-fixedArgs".to_owned(), fixed.into());
    let reason =
        format!("what it takes after the first {fixed} is what its comment shows, and nothing else can be passed");
    let reasons = match described.reviews.iter_mut().find(|(value, _)| value.is_none()) {
        Some((_, reasons)) => {
            reasons.push_str("; ");
            reasons.push_str(&reason);
            reasons.clone()
        }
        None => {
            described.reviews.push((None, reason.clone()));
            reason
        }
    };
    described.function.extra.insert("x-review".to_owned(), reasons.into());
    Ok(described)
}

impl FunctionDraft<'_, '_> {
    fn mark_shared_comment(&mut self) {
        if self.comment.is_some_and(|comment| comment.is_shared) {
            self.of_function
                .push("its description is the comment of a function above it: say what this one does".to_owned());
        }
    }

    fn finish(mut self) -> Described {
        if !self.of_function.is_empty() {
            let reasons = self.of_function.join("; ");
            self.made.function.extra.insert("x-review".to_owned(), reasons.clone().into());
            self.made.reviews.push((None, reasons));
        }
        self.made
    }
}
