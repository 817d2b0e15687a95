//! From prototypes to the functions of a document.

use std::collections::BTreeSet;

use opentool_spec::{CTypeName, DynFunction};

use crate::comments::Comment;
use crate::ctype::Signature;
use crate::draft::{Described, FunctionDraft, Handles, parameter_names};

/// The ends of names that say that a function ends what it is given.
const ENDINGS: [&str; 14] = [
    "close",
    "free",
    "destroy",
    "finalize",
    "delete",
    "release",
    "dispose",
    "unref",
    "finish",
    "cleanup",
    "deinit",
    "uninit",
    "terminate",
    "teardown",
];
/// Those that other words end with too (`send`, `infini`), so that they count only as words of their own.
const LAST_WORDS: [&str; 3] = ["end", "fini", "term"];
/// Describes a function, or says why it cannot be.
pub(crate) fn describe_function(
    handles: &Handles<'_>,
    name: &str,
    signature: &Signature,
    comment: Option<&Comment>,
) -> Result<Described, String> {
    if signature.is_variadic {
        return Err("takes any number of arguments (`...`)".to_owned());
    }
    if signature.is_unspecified {
        return Err("is declared without its parameters: `()` says nothing, `(void)` says none".to_owned());
    }
    let description = match comment.map(|comment| comment.text.as_str()) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => format!("The C function `{}`.", signature.prototype(name)),
    };
    let mut draft = FunctionDraft {
        handles,
        comment,
        made: Described {
            function: DynFunction::new(name, description),
            reviews: Vec::new(),
            makes: BTreeSet::new(),
            takes: BTreeSet::new(),
        },
        of_function: Vec::new(),
        names: parameter_names(handles, signature),
        signature,
    };
    let mut index = 0;
    while index < signature.parameters.len() {
        index += draft.parameter(index)?;
    }
    draft.returned()?;
    draft.guess_by_name(name);
    draft.mark_shared_comment();
    Ok(draft.finish())
}

impl FunctionDraft<'_, '_> {
    /// What only the name of the function and the shape of its parameters suggest.
    fn guess_by_name(&mut self, name: &str) {
        let ends = ends_something(name);
        let function = &mut self.made.function;
        let mut handles = function
            .parameters
            .iter_mut()
            .filter(|parameter| parameter.is_in && parameter.required && parameter.extra.contains_key("x-handle"));
        let closes = match (handles.next(), handles.next()) {
            (Some(only), None) if ends => {
                let reason = "by the name of the function, the handle ends with it";
                only.extra.insert("x-closes".to_owned(), true.into());
                only.extra.insert("x-review".to_owned(), reason.into());
                self.made.reviews.push((Some(only.name.clone()), reason.to_owned()));
                true
            }
            _ => false,
        };
        let hands_out =
            function.parameters.iter().any(|parameter| !parameter.is_in && parameter.extra.contains_key("x-handle"));
        let returns_int = matches!(self.signature.returns.scalar(), Some(CTypeName::Int));
        if returns_int && (closes || hands_out) {
            function.extra.insert("x-returnsCode".to_owned(), true.into());
            self.of_function.push("the function is taken to return 0 for success, and anything else for an error");
        }
    }

    fn mark_shared_comment(&mut self) {
        if self.comment.is_some_and(|comment| comment.is_shared) {
            self.of_function.push("its description is the comment of a function above it: say what this one does");
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

/// Whether the name says that something ends: `sqlite3_close_v2`, `gzclose`, `widget_free`, `inflateEnd`.
fn ends_something(name: &str) -> bool {
    let name = match name.rsplit_once("_v") {
        Some((name, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => name,
        // `gzclose_r` and `gzclose_w`.
        _ if name.as_bytes().iter().rev().nth(1) == Some(&b'_') => &name[..name.len() - 2],
        _ => name,
    };
    let lower = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending)) || LAST_WORDS.iter().any(|word| is_last_word(name, word))
}

/// Whether a word stands at the end of a name, after an underscore or with a capital letter.
fn is_last_word(name: &str, word: &str) -> bool {
    let Some(start) = name.len().checked_sub(word.len()).filter(|start| name.is_char_boundary(*start)) else {
        return false;
    };
    let (before, last) = name.split_at(start);
    last.eq_ignore_ascii_case(word)
        && (before.ends_with('_') || last.starts_with(|char: char| char.is_ascii_uppercase()))
}
