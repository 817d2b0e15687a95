//! Arguments, from their text straight into the memory of the call, in one pass.

mod describe;
mod named;
mod objects;
mod read;

use std::collections::HashSet;

use opentool_core::{ArgumentError, Problem, ToolError};
use opentool_spec::json::{JsonError, Lexer, near, pointer};

use crate::frame::{ArgumentState, Frame};
use crate::plan::{Buffer, Function, LARGEST_BUFFER, Parameter, Passing};

use self::describe::{name_of, quoted};
use self::named::read_named;
use self::objects::read_value;
use self::read::{ValueError, short_integer, skip_whitespace};

/// How many problems are worked out; a model corrects a few at a time.
const MOST_PROBLEMS: usize = 20;

/// Reads arguments into a frame that is ready for the function.
///
/// # Errors
///
/// Where the text is not JSON, a name is there twice, an argument is missing or does not fit.
pub(crate) fn read(function: &Function, text: &str, frame: &mut Frame) -> Result<(), ToolError> {
    let mut reader = ArgumentReader { function, text, frame, problems: Vec::new(), unknown: None };
    if let Err(error) = reader.object() {
        return Err(ArgumentError::new("", format!("malformed JSON at {}", error.describe(text))).into());
    }
    reader.finish();
    if reader.problems.is_empty() { Ok(()) } else { Err(ArgumentError::from_problems(reader.problems).into()) }
}

struct ArgumentReader<'a, 't> {
    function: &'a Function,
    text: &'t str,
    frame: &'a mut Frame,
    problems: Vec<Problem>,
    /// The names that no parameter has, where there are any.
    unknown: Option<HashSet<String>>,
}

type Syntax<T> = Result<T, JsonError>;

impl<'t> ArgumentReader<'_, 't> {
    /// Reads the object that the whole text is.
    #[inline]
    fn object(&mut self) -> Syntax<()> {
        let bytes = self.text.as_bytes();
        let mut at = skip_whitespace(bytes, 0);
        if bytes.get(at) != Some(&b'{') {
            return self.no_object(Lexer::starting_at(self.text, at));
        }
        at = skip_whitespace(bytes, at + 1);
        let mut next = 0;
        if bytes.get(at) == Some(&b'}') {
            return Lexer::starting_at(self.text, at + 1).expect_end();
        }
        loop {
            at = self.member(at, &mut next)?;
            at = skip_whitespace(bytes, at);
            match bytes.get(at) {
                Some(b',') => at = skip_whitespace(bytes, at + 1),
                Some(b'}') if at + 1 == bytes.len() => return Ok(()),
                _ => {
                    let mut lexer = Lexer::starting_at(self.text, at);
                    lexer.closes(true)?;
                    return lexer.expect_end();
                }
            }
        }
    }

    /// Reads a name and its value from `at`; gives back where the value ends.
    #[inline]
    fn member(&mut self, at: usize, next: &mut usize) -> Syntax<usize> {
        let (bytes, function) = (self.text.as_bytes(), self.function);
        // Nearly always the arguments come in the order of the document, and are integers: then a few bytes are enough (the
        // benchmark `calls` of this crate).
        if let Some(parameter) = function.parameters.get(*next)
            && bytes[at..].starts_with(&parameter.key)
            && let slot = self.frame.slot(*next)
            && slot.state == ArgumentState::Absent
            && let Passing::Value(value) | Passing::Cell { value, .. } = &parameter.passing
            && let Some((word, end)) = short_integer(*value, bytes, skip_whitespace(bytes, at + parameter.key.len()))
        {
            slot.word = word;
            slot.state = ArgumentState::Value;
            *next += 1;
            return Ok(end);
        }
        let mut lexer = Lexer::starting_at(self.text, at);
        let name = lexer.name()?;
        let position =
            if name.escaped { function.position(&name.decode(), *next) } else { function.position(name.raw, *next) };
        match position {
            Some(index) => {
                *next = index + 1;
                self.argument(index, &mut lexer)?;
            }
            None => self.unknown(name.decode().into_owned(), &mut lexer)?,
        }
        Ok(lexer.position())
    }

    /// Nothing at all, and `null`, count as no arguments.
    #[cold]
    fn no_object(&mut self, mut lexer: Lexer<'t>) -> Syntax<()> {
        if lexer.peek().is_none() {
            return Ok(());
        }
        let start = lexer.position();
        let null = lexer.peek() == Some(b'n');
        lexer.skip_value()?;
        let got = lexer.since(start);
        lexer.expect_end()?;
        if !null {
            let message = format!("expected the arguments as a JSON object, got {}", name_of(got));
            self.problem(Problem::new("", message));
        }
        Ok(())
    }

    #[inline]
    fn argument(&mut self, index: usize, lexer: &mut Lexer<'t>) -> Syntax<()> {
        let parameter = &self.function.parameters[index];
        let slot = self.frame.slot(index);
        if slot.state != ArgumentState::Absent {
            return self.twice(&parameter.name, lexer);
        }
        if lexer.peek() == Some(b'n') {
            lexer.literal("null")?;
            slot.state = ArgumentState::Null;
            return Ok(());
        }
        slot.state = ArgumentState::Value;
        let before = lexer.clone();
        let read = match &parameter.names {
            None => read_value(&parameter.passing, lexer, slot),
            Some(names) => read_named(&parameter.passing, names, lexer, slot),
        };
        match read {
            Ok(()) => Ok(()),
            Err(ValueError::Syntax(error)) => Err(error),
            Err(ValueError::Value { path, message }) => {
                // What was refused may not have been read to its end.
                *lexer = before;
                lexer.skip_value()?;
                let path = format!("{}{path}", pointer::to_member(&parameter.name));
                self.problem(Problem::new(path, message));
                Ok(())
            }
        }
    }

    #[cold]
    fn unknown(&mut self, name: String, lexer: &mut Lexer<'t>) -> Syntax<()> {
        let unknown = self.unknown.get_or_insert_default();
        if unknown.contains(&name) {
            return self.twice(&name, lexer);
        }
        unknown.insert(name);
        lexer.skip_value()
    }

    #[cold]
    fn twice(&mut self, name: &str, lexer: &mut Lexer<'t>) -> Syntax<()> {
        let message = format!("the name {} is there more than once", quoted(name));
        self.problem(Problem::new(pointer::to_member(name), message));
        lexer.skip_value()
    }

    #[cold]
    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Checks what was not given, and what one argument says about another.
    #[inline]
    fn finish(&mut self) {
        let function = self.function;
        for (index, parameter) in function.parameters.iter().enumerate() {
            if parameter.required && self.frame.slots()[index].state != ArgumentState::Value {
                self.missing(index, parameter);
            }
            if function.has_counts
                && let Passing::Text { count: Some(counter), .. } | Passing::Array { count: Some(counter), .. } =
                    &parameter.passing
            {
                self.count(index, *counter);
            }
        }
        if !function.has_buffers {
            return;
        }
        // Only now is known what lengths follow from what goes in. They are as good as said: what goes out follows them.
        for parameter in &function.parameters {
            if let Passing::Text { count: Some(counter), .. } | Passing::Array { count: Some(counter), .. } =
                &parameter.passing
                && let slot = self.frame.slot(*counter)
                && slot.state == ArgumentState::Derived
            {
                slot.state = ArgumentState::Value;
            }
        }
        for (index, parameter) in function.parameters.iter().enumerate() {
            if let Some((buffer, element)) = parameter.passing.buffer() {
                self.capacity(index, buffer, element);
            }
        }
    }

    #[cold]
    fn missing(&mut self, index: usize, parameter: &Parameter) {
        let mut unknown: Vec<&str> = self.unknown.iter().flatten().map(String::as_str).collect();
        unknown.sort_unstable();
        let meant = match near::names(&parameter.name, unknown, 1).first() {
            Some(near) => format!("; is it what you call {}?", quoted(near)),
            None => String::new(),
        };
        let (path, what) = match self.frame.slots()[index].state {
            ArgumentState::Null => {
                (pointer::to_member(&parameter.name), format!("expected {}, got null", describe::expected(parameter)))
            }
            _ => {
                let kind = describe::expected(parameter);
                (String::new(), format!("missing required argument {} ({kind}){meant}", quoted(&parameter.name)))
            }
        };
        self.problem(Problem::new(path, what));
    }

    /// The length of what goes in: passed to the function, or checked against what the caller says.
    fn count(&mut self, index: usize, counter: usize) {
        let slot = &self.frame.slots()[index];
        let count = if slot.state == ArgumentState::Value { slot.count } else { 0 };
        self.derive_or_check(
            counter,
            count,
            |said| said <= count,
            |name| format!("expected at most {count}, the length of {}", quoted(name)),
            index,
        );
    }

    fn capacity(&mut self, index: usize, buffer: &Buffer, element: usize) {
        let Some(counter) = buffer.size_parameter else {
            self.frame.slot(index).count = buffer.size;
            return;
        };
        let most = LARGEST_BUFFER / element;
        let size = self.derive_or_check(
            counter,
            buffer.size,
            |said| said <= most,
            |name| format!("expected at most {most}, since it is the size of {}", quoted(name)),
            index,
        );
        self.frame.slot(index).count = size;
    }

    /// Writes what a counter must say where nothing was said, or checks what was said; gives back what it says then.
    fn derive_or_check(
        &mut self,
        counter: usize,
        count: usize,
        fits: impl Fn(usize) -> bool,
        expected: impl Fn(&str) -> String,
        of: usize,
    ) -> usize {
        let function = self.function;
        let Some(value) = function.parameters[counter].passing.counter() else { return count };
        let slot = self.frame.slot(counter);
        match slot.state {
            ArgumentState::Value => {
                let said = value.machine.load(slot.word).count();
                match said {
                    Some(said) if fits(said) => said,
                    said => {
                        let got = said.map_or_else(|| "a negative number".to_owned(), |said| said.to_string());
                        let message = format!("{}, got {got}", expected(&function.parameters[of].name));
                        let path = pointer::to_member(&function.parameters[counter].name);
                        self.problem(Problem::new(path, message));
                        0
                    }
                }
            }
            // Several may share a counter: the smallest decides.
            ArgumentState::Derived if value.machine.load(slot.word).count().is_some_and(|said| said <= count) => {
                value.machine.load(slot.word).count().unwrap_or(count)
            }
            _ => {
                let (_, most) = value.machine.bounds();
                if count as u64 > most {
                    let message = format!("its length of {count} does not fit `{}`", value.scalar.name());
                    self.problem(Problem::new(pointer::to_member(&function.parameters[of].name), message));
                    return 0;
                }
                slot.word = value.machine.word_of_integer(count as u64);
                slot.state = ArgumentState::Derived;
                count
            }
        }
    }
}

#[cfg(test)]
mod tests;
