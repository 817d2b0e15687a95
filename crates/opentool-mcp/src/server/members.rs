//! The members of a JSON object, found by their names: [`Members`].

use opentool_spec::json::{JsonError, Lexer};

use super::json_text::JsonText;

/// The values of the members that were asked for, in the order of their names.
pub(crate) struct Members<'a, const N: usize> {
    pub(crate) values: [Option<JsonText<'a>>; N],
    /// The name of one that is there twice, so that it is not known which one counts.
    pub(crate) repeated: Option<&'static str>,
}

impl<'a, const N: usize> Members<'a, N> {
    /// Reads an object, whose opening brace comes next; what has another name is passed over.
    pub(crate) fn read(lexer: &mut Lexer<'a>, names: [&'static str; N]) -> Result<Self, JsonError> {
        Self::read_with(lexer, names, |_, lexer| lexer.skip_unlimited_value())
    }

    /// Reads an object as [`read`](Self::read) does, and steps over each of the values with `read_value`, which gets its name.
    pub(crate) fn read_with(
        lexer: &mut Lexer<'a>,
        names: [&'static str; N],
        mut read_value: impl FnMut(&'static str, &mut Lexer<'a>) -> Result<(), JsonError>,
    ) -> Result<Self, JsonError> {
        let mut members = Self { values: [None; N], repeated: None };
        lexer.advance();
        lexer.skip_whitespace();
        let mut ended = lexer.eat(b'}');
        while !ended {
            let name = lexer.name()?.decode();
            match names.iter().zip(&mut members.values).find(|(known, _)| ***known == *name) {
                Some((known, value)) => {
                    let start = lexer.position();
                    read_value(known, lexer)?;
                    if value.replace(JsonText::known(lexer.since(start))).is_some() {
                        members.repeated = Some(known);
                    }
                }
                None => lexer.skip_unlimited_value()?,
            }
            ended = lexer.closes(true)?;
        }
        Ok(members)
    }
}
