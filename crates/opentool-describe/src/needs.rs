//! Which functions callers can have the handles for.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::draft::Described;

/// What a function needs that no function makes.
pub(crate) struct Missing {
    /// The function, by its place.
    pub(crate) function: usize,
    pub(crate) key: Rc<str>,
}

/// Lets handles that no function makes be NULL where something else can be done with the function, and returns what
/// cannot be called then.
pub(crate) fn settle<'f>(functions: impl Iterator<Item = &'f mut Described>) -> Vec<Missing> {
    let mut functions: Vec<Option<&mut Described>> = functions.map(Some).collect();
    begin_lists(&mut functions);
    let mut missing = Vec::new();
    loop {
        let made: BTreeSet<Rc<str>> =
            functions.iter().flatten().flat_map(|function| function.makes.iter().cloned()).collect();
        let before = missing.len();
        for (index, slot) in functions.iter_mut().enumerate() {
            let Some(function) = slot else { continue };
            leave_out(function, &made);
            if let Some((key, _)) = function.takes.iter().find(|(key, _)| !made.contains(key)) {
                missing.push(Missing { function: index, key: key.clone() });
                *slot = None;
            }
        }
        if missing.len() == before {
            return missing;
        }
    }
}

/// What is only made from itself begins with NULL: `list = append(NULL, text)`.
fn begin_lists(functions: &mut [Option<&mut Described>]) {
    let takes = |function: &Described, key: &Rc<str>| function.takes.iter().any(|(taken, _)| taken == key);
    let makers: Vec<(Rc<str>, bool)> = functions
        .iter()
        .flatten()
        .flat_map(|function| function.makes.iter().map(|key| (key.clone(), takes(function, key))))
        .collect();
    for function in functions.iter_mut().flatten() {
        let own: Vec<(Rc<str>, String)> =
            function.takes.iter().filter(|(key, _)| function.makes.contains(key)).cloned().collect();
        for (key, parameter) in own {
            if makers.iter().filter(|(made, _)| *made == key).all(|(_, from_itself)| *from_itself) {
                leave(function, &key, &parameter, "to begin with, since nothing else makes one");
            }
        }
    }
}

/// Lets handles be NULL that are not what the function is about.
fn leave_out(function: &mut Described, made: &BTreeSet<Rc<str>>) {
    let first = function.function.parameters.first().map(|first| first.name.clone());
    let without: Vec<(Rc<str>, String)> = function
        .takes
        .iter()
        .filter(|(key, parameter)| !made.contains(key) && first.as_ref() != Some(parameter))
        .cloned()
        .collect();
    for (key, parameter) in without {
        leave(function, &key, &parameter, "since no function makes one");
    }
}

fn leave(function: &mut Described, key: &Rc<str>, parameter: &str, why: &str) {
    let found = function.function.parameters.iter_mut().find(|other| other.name == parameter);
    // What ends with the function is what it is about.
    let Some(found) = found.filter(|found| !found.extra.contains_key("x-closes")) else { return };
    found.required = false;
    function.takes.remove(&(key.clone(), parameter.to_owned()));
    function.mark(
        parameter,
        &format!("`{parameter}` is taken to be NULL where it is left out, {why}: remove the function if it may not be"),
    );
}
