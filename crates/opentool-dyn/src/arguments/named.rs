//! Integers whose values have names (`x-values`).

use opentool_spec::json::{Lexer, near};

use super::describe::quoted;
use super::objects::read_value;
use super::read::{Read, ValueError, refuse, text_of};
use crate::frame::Slot;
use crate::plan::{Loaded, Names, Passing};

/// How many names are listed in a refusal.
const MOST_LISTED: usize = 20;

/// Reads an integer, the name of one or, where the values are flags, a list of both.
#[cold]
pub(super) fn read_named(passing: &Passing, names: &Names, lexer: &mut Lexer<'_>, slot: &mut Slot) -> Read {
    let (Passing::Value(value) | Passing::Cell { value, .. }) = passing else {
        return read_value(passing, lexer, slot);
    };
    match lexer.peek() {
        Some(b'"') => {
            slot.word = value.machine.word_of_integer(named(names, lexer)?);
            Ok(())
        }
        Some(b'[') if names.flags => {
            lexer.advance();
            lexer.skip_whitespace();
            let mut bits = 0;
            if !lexer.eat(b']') {
                for index in 0.. {
                    lexer.skip_whitespace();
                    match element(passing, names, lexer, slot) {
                        Ok(more) => bits |= more,
                        Err(ValueError::Value { path, message }) => {
                            return Err(ValueError::Value { path: format!("/{index}{path}"), message });
                        }
                        Err(syntax) => return Err(syntax),
                    }
                    if lexer.closes(false)? {
                        break;
                    }
                }
            }
            slot.word = value.machine.word_of_integer(bits);
            Ok(())
        }
        _ => read_value(passing, lexer, slot),
    }
}

/// One flag of a list, as two's complement.
fn element(passing: &Passing, names: &Names, lexer: &mut Lexer<'_>, slot: &mut Slot) -> Read<u64> {
    if lexer.peek() == Some(b'"') {
        return named(names, lexer);
    }
    read_value(passing, lexer, slot)?;
    let (Passing::Value(value) | Passing::Cell { value, .. }) = passing else { return Ok(0) };
    Ok(match value.machine.load(slot.word) {
        Loaded::Signed(integer) => integer.cast_unsigned(),
        Loaded::Unsigned(integer) => integer,
        _ => 0,
    })
}

fn named(names: &Names, lexer: &mut Lexer<'_>) -> Read<u64> {
    let name = text_of(lexer, "integer")?.decode();
    if let Some(bits) = names.get(&name) {
        return Ok(bits);
    }
    let known: Vec<&str> = names.iter().collect();
    let list = match known.len() {
        0..=MOST_LISTED => known.join(", "),
        _ => format!("{}, …", known[..MOST_LISTED].join(", ")),
    };
    let meant = match near::names(&name, known, 1).first() {
        Some(near) => format!("; did you mean {}?", quoted(near)),
        None => String::new(),
    };
    refuse(format!("expected an integer or one of {list}, got {}{meant}", quoted(&name)))
}
