//! The members of a JSON object, one after the other: [`read_members`].

use opentool_spec::json::{JsonError, Lexer};

/// Reads an object, whose opening brace comes next. `read` gets the name of each member and steps over its value.
pub(crate) fn read_members<'a>(
    lexer: &mut Lexer<'a>,
    mut read: impl FnMut(&str, &mut Lexer<'a>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    lexer.advance();
    lexer.skip_whitespace();
    let mut ended = lexer.eat(b'}');
    while !ended {
        let name = lexer.name()?.decode();
        read(&name, lexer)?;
        ended = lexer.closes(true)?;
    }
    Ok(())
}
