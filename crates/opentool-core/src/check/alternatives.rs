//! A value that fits none of several alternatives, described so that it leads to the one that was meant.
//!
//! Most alternatives are those of an enum, and one place says which one is meant: a tag, or the name of the only member.
//! Where that is wrong, all that could be there are listed; an arbitrary one of them would mislead a model.

use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use opentool_spec::json::pointer;
use serde_json::Value;

use super::{
    error::Problem,
    explain::{got, listed, quoted, suggestion, types},
    subject::Subject,
    value::JsonValue,
};

/// How many problems of the closest alternative are listed.
const MAX_CLOSEST: usize = 3;

/// What is wrong with a value according to one alternative.
type Errors = Vec<ValidationError<'static>>;

/// Arguments in which a value fits none of several alternatives.
pub(super) struct NoAlternative<'r, 'p> {
    pub(super) root: JsonValue<'r>,
    pub(super) subject: Subject,
    /// What an error amounts to, in at most so many problems. A function, since it may lead to alternatives again.
    pub(super) problems: &'p dyn Fn(&ValidationError<'_>, usize) -> Vec<Problem>,
}

impl NoAlternative<'_, '_> {
    /// Says what the value could have been, or what the closest alternative asks for.
    pub(super) fn describe(&self, error: &ValidationError<'_>, alternatives: &[Errors]) -> Problem {
        let here = error.instance_path().as_str();
        let described = self.other_value(here, alternatives).or_else(|| {
            let possible: Vec<&Errors> = alternatives.iter().filter(|errors| !is_of_other_type(errors, here)).collect();
            if possible.len() < 2 {
                return None;
            }
            self.wrong_tag(&possible).or_else(|| self.wrong_member(here, &possible))
        });
        described.unwrap_or_else(|| Problem::new(here, self.closest(here, alternatives)))
    }

    /// A value that is as a whole not what any alternative wants: another type, or another constant.
    fn other_value(&self, here: &str, alternatives: &[Errors]) -> Option<Problem> {
        let (mut constants, mut names) = (Vec::new(), Vec::new());
        for errors in alternatives {
            let mut here = errors.iter().filter(|error| error.instance_path().as_str() == here);
            match here.clone().find_map(|error| wanted(error)) {
                Some(mut wanted) => constants.append(&mut wanted),
                None => names.extend(here.find_map(|error| match error.kind() {
                    Kind::Type { kind } => Some(types(kind)),
                    _ => None,
                })?),
            }
        }
        let mut expected = match constants.as_slice() {
            [] => Vec::new(),
            [only] => vec![listed([only].into_iter())],
            _ => vec![format!("one of {}", listed(constants.iter()))],
        };
        for name in names {
            if !expected.contains(&name) {
                expected.push(name);
            }
        }
        let got = got(self.root.find(here)?);
        Some(Problem::new(here, format!("expected {}, got {got}", expected.join(" or "))))
    }

    /// A member whose value every alternative wants to be another constant: the tag of an enum.
    fn wrong_tag(&self, alternatives: &[&Errors]) -> Option<Problem> {
        let (first, others) = alternatives.split_first()?;
        first.iter().filter(|error| wanted(error).is_some()).find_map(|error| {
            let place = error.instance_path().as_str();
            let mut tags = wanted(error)?;
            for errors in others {
                let same =
                    errors.iter().find(|error| error.instance_path().as_str() == place && wanted(error).is_some());
                tags.append(&mut wanted(same?)?);
            }
            let got = got(self.root.find(place)?);
            Some(Problem::new(place, format!("expected one of {}, got {got}", listed(tags.into_iter()))))
        })
    }

    /// An object that has none of the members of which each alternative requires another one.
    fn wrong_member(&self, here: &str, alternatives: &[&Errors]) -> Option<Problem> {
        let mut names = Vec::new();
        for errors in alternatives {
            let name = errors.iter().find_map(|error| missing(error, here)).filter(|name| !names.contains(name))?;
            let unknown = errors.iter().filter(|error| unknown(error, here).is_some()).count();
            if errors.len() > 1 + unknown {
                return None;
            }
            names.push(name);
        }
        // What one alternative does not know, another may.
        let does_not_know = |errors: &Errors, name: &String| {
            errors.iter().filter_map(|error| unknown(error, here)).flatten().any(|unknown| unknown == name)
        };
        let mut unwanted = alternatives.first()?.iter().filter_map(|error| unknown(error, here)).flatten();
        let unwanted = unwanted.find(|name| alternatives.iter().all(|errors| does_not_know(errors, name)));
        let Some(name) = unwanted else {
            let names: Vec<_> = names.into_iter().map(quoted).collect();
            let nouns = self.subject.members(here);
            return Some(Problem::new(here, format!("missing one of the required {nouns} {}", listed(names.iter()))));
        };
        let mut place = here.to_owned();
        pointer::push(&mut place, name);
        Some(Problem::new(
            place,
            format!("unknown {} {}{}", self.subject.member(here), quoted(name), suggestion(name, &names)),
        ))
    }

    fn closest(&self, here: &str, alternatives: &[Errors]) -> String {
        let closest = alternatives
            .iter()
            .enumerate()
            .filter(|(_, errors)| !errors.is_empty())
            .min_by_key(|(_, errors)| distance(errors, here));
        let count = alternatives.len();
        let Some((index, errors)) = closest else {
            return format!("fits none of the {count} alternatives");
        };
        let asks: Vec<String> = errors
            .iter()
            .flat_map(|error| (self.problems)(error, MAX_CLOSEST))
            .take(MAX_CLOSEST)
            .map(|problem| problem.to_string())
            .collect();
        let (number, asks) = (index + 1, asks.join("; "));
        format!("fits none of the {count} alternatives; closest is number {number}: {asks}")
    }
}

/// How far errors are from a fit: an alternative of another type is further than one with another
/// tag, and that is further than any number of other errors.
fn distance(errors: &[ValidationError<'static>], here: &str) -> (bool, bool, usize) {
    let other_tag = errors.iter().any(|error| wanted(error).is_some_and(|wanted| wanted.len() == 1));
    (is_of_other_type(errors, here), other_tag, errors.len())
}

fn is_of_other_type(errors: &[ValidationError<'static>], here: &str) -> bool {
    errors.iter().any(|error| matches!(error.kind(), Kind::Type { .. }) && error.instance_path().as_str() == here)
}

/// The constants of which the value should have been one.
fn wanted<'e>(error: &'e ValidationError<'_>) -> Option<Vec<&'e Value>> {
    match error.kind() {
        Kind::Constant { expected_value } => Some(vec![expected_value]),
        Kind::Enum { options } => Some(options.as_array()?.iter().collect()),
        _ => None,
    }
}

/// The name of a member that is required here and not there.
fn missing<'e>(error: &'e ValidationError<'_>, here: &str) -> Option<&'e str> {
    match error.kind() {
        Kind::Required { property } if error.instance_path().as_str() == here => property.as_str(),
        _ => None,
    }
}

/// The names of members that are here and not wanted.
fn unknown<'e>(error: &'e ValidationError<'_>, here: &str) -> Option<&'e [String]> {
    match error.kind() {
        Kind::AdditionalProperties { unexpected } if error.instance_path().as_str() == here => Some(unexpected),
        _ => None,
    }
}
