//! How the argument of a parameter is read, arrays and structs included.

use opentool_spec::json::{Lexer, near, pointer};

use super::describe::quoted;
use super::read::{Read, ValueError, expected, read_handle, read_scalar, read_text, refuse};
use crate::frame::{Block, Slot};
use crate::plan::{AccessContent, Element, FieldContent, Passing, StructField, StructLayout};

/// Reads the value of a parameter into its slot.
#[inline]
pub(super) fn read_value(passing: &Passing, lexer: &mut Lexer<'_>, slot: &mut Slot) -> Read {
    match passing {
        Passing::Value(value) | Passing::Cell { value, .. } => {
            slot.word = read_scalar(*value, lexer)?;
            Ok(())
        }
        Passing::Text { encoding, count } => {
            slot.count = read_text(*encoding, count.is_some(), lexer, &mut slot.block)?;
            Ok(())
        }
        Passing::Array { element, .. } => read_array(element, lexer, slot),
        Passing::Handle { .. } => read_handle(lexer, slot),
        Passing::Struct { layout, goes_in: true, .. } | Passing::StructValue { layout } => {
            slot.block.clear();
            slot.texts.clear();
            slot.block.extend_zeroed(layout.size);
            let Slot { block, texts, .. } = slot;
            read_struct(layout, lexer, &mut StructMemory { block, texts, start: 0 })
        }
        Passing::Field(field) => match &field.content {
            AccessContent::Scalar { value, goes_in: true, .. } => {
                slot.word = read_scalar(*value, lexer)?;
                Ok(())
            }
            AccessContent::BytesIn { encoding, length } => {
                slot.count = read_text(*encoding, length.is_some(), lexer, &mut slot.block)?;
                Ok(())
            }
            _ => ignore(lexer),
        },
        Passing::TextOut { .. }
        | Passing::ArrayOut { .. }
        | Passing::HandleOut { .. }
        | Passing::Allocated { .. }
        | Passing::Indirect { .. }
        | Passing::Struct { .. }
        | Passing::Callback(_)
        | Passing::UserData
        | Passing::Events { .. } => ignore(lexer),
    }
}

/// As with an unknown argument: it is none, and whatever stands there means nothing.
fn ignore(lexer: &mut Lexer<'_>) -> Read {
    lexer.skip_value()?;
    Ok(())
}

/// Puts a step before the place of a refusal.
fn within<T>(read: Read<T>, step: impl FnOnce() -> String) -> Read<T> {
    match read {
        Err(ValueError::Value { path, message }) => {
            Err(ValueError::Value { path: format!("{}{path}", step()), message })
        }
        other => other,
    }
}

fn read_array(element: &Element, lexer: &mut Lexer<'_>, slot: &mut Slot) -> Read {
    slot.block.clear();
    slot.texts.clear();
    slot.count = 0;
    if lexer.peek() != Some(b'[') {
        return expected("array", lexer, lexer.position());
    }
    lexer.advance();
    lexer.skip_whitespace();
    if lexer.eat(b']') {
        // A pointer to no elements is still a pointer.
        slot.block.reserve(8);
        return Ok(());
    }
    loop {
        lexer.skip_whitespace();
        let read = match element {
            Element::Scalar(value) => read_scalar(*value, lexer).map(|word| {
                slot.block.extend(&word.to_ne_bytes()[..value.machine.size()]);
            }),
            Element::Struct(layout) => {
                let start = slot.block.len();
                slot.block.extend_zeroed(layout.size);
                let Slot { block, texts, .. } = &mut *slot;
                read_struct(layout, lexer, &mut StructMemory { block, texts, start })
            }
        };
        within(read, || format!("/{}", slot.count))?;
        slot.count += 1;
        if lexer.closes(false)? {
            return Ok(());
        }
    }
}

/// The memory of a struct, and the texts that it points to.
struct StructMemory<'s> {
    block: &'s mut Block,
    texts: &'s mut Vec<Box<[u8]>>,
    /// Where the struct begins in the block.
    start: usize,
}

impl StructMemory<'_> {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.block.overwrite(self.start + offset, bytes);
    }

    fn at(&mut self, offset: usize) -> StructMemory<'_> {
        StructMemory { block: self.block, texts: self.texts, start: self.start + offset }
    }
}

fn read_struct(layout: &StructLayout, lexer: &mut Lexer<'_>, memory: &mut StructMemory<'_>) -> Read {
    if lexer.peek() != Some(b'{') {
        return expected(&format!("an object (`{}`)", layout.name), lexer, lexer.position());
    }
    lexer.advance();
    lexer.skip_whitespace();
    let mut given = vec![false; layout.fields.len()];
    if !lexer.eat(b'}') {
        loop {
            lexer.skip_whitespace();
            let name = lexer.name()?.decode();
            lexer.skip_whitespace();
            let Some(index) = layout.fields.iter().position(|field| *field.name == *name) else {
                return refuse(unknown(layout, &name));
            };
            let field = &layout.fields[index];
            if lexer.peek() == Some(b'n') && !field.required {
                lexer.literal("null")?;
            } else if std::mem::replace(&mut given[index], true) {
                return refuse(format!("the field {} is there more than once", quoted(&name)));
            } else {
                within(read_field(field, lexer, memory), || pointer::to_member(&name))?;
            }
            if lexer.closes(true)? {
                break;
            }
        }
    }
    match layout.fields.iter().zip(&given).find(|(field, given)| field.required && !**given) {
        Some((field, _)) => refuse(format!("missing required field {} of `{}`", quoted(&field.name), layout.name)),
        None => Ok(()),
    }
}

#[cold]
fn unknown(layout: &StructLayout, name: &str) -> String {
    let meant = match near::names(name, layout.fields.iter().map(|field| &*field.name), 1).first() {
        Some(near) => format!("; did you mean {}?", quoted(near)),
        None => String::new(),
    };
    format!("`{}` has no field {}{meant}", layout.name, quoted(name))
}

fn read_field(field: &StructField, lexer: &mut Lexer<'_>, memory: &mut StructMemory<'_>) -> Read {
    let offset = field.offset;
    match &field.content {
        FieldContent::Scalar(value) => {
            let word = read_scalar(*value, lexer)?;
            memory.write(offset, &word.to_ne_bytes()[..value.machine.size()]);
            Ok(())
        }
        FieldContent::Text { size, encoding } => {
            let mut text = Block::default();
            let length = read_text(*encoding, !encoding.is_text(), lexer, &mut text)?;
            // A text has a NUL behind it.
            let most = if encoding.is_text() { size.saturating_sub(1) } else { *size };
            if length > most {
                return refuse(format!("expected at most {most} bytes, which the field has room for, got {length}"));
            }
            memory.write(offset, &text.as_bytes()[..length]);
            Ok(())
        }
        FieldContent::TextPointer { encoding } => {
            let mut text = Block::default();
            read_text(*encoding, false, lexer, &mut text)?;
            let text: Box<[u8]> = text.as_bytes().into();
            // The library gets the address as part of the struct's bytes.
            memory.write(offset, &text.as_ptr().expose_provenance().to_ne_bytes());
            memory.texts.push(text);
            Ok(())
        }
        FieldContent::Array { element, count } => read_fixed_array(element, *count, lexer, &mut memory.at(offset)),
        FieldContent::Struct(layout) => read_struct(layout, lexer, &mut memory.at(offset)),
    }
}

/// Reads an array within a struct: as many elements as it has, or fewer, and the rest is zero.
fn read_fixed_array(element: &Element, count: usize, lexer: &mut Lexer<'_>, memory: &mut StructMemory<'_>) -> Read {
    if lexer.peek() != Some(b'[') {
        return expected("array", lexer, lexer.position());
    }
    lexer.advance();
    lexer.skip_whitespace();
    if lexer.eat(b']') {
        return Ok(());
    }
    for index in 0.. {
        if index >= count {
            return refuse(format!("expected at most {count} elements"));
        }
        lexer.skip_whitespace();
        let offset = index * element.size();
        let read = match element {
            Element::Scalar(value) => read_scalar(*value, lexer).map(|word| {
                memory.write(offset, &word.to_ne_bytes()[..value.machine.size()]);
            }),
            Element::Struct(layout) => read_struct(layout, lexer, &mut memory.at(offset)),
        };
        within(read, || format!("/{index}"))?;
        if lexer.closes(false)? {
            break;
        }
    }
    Ok(())
}
