//! Arguments, from their text straight into the memory of the call, in one pass.

mod read;
mod words;

use std::collections::HashSet;

use opentool_core::check::text::{Cursor, malformed};
use opentool_core::{ArgumentError, Problem, ToolError};

use crate::frame::{Frame, Given};
use crate::plan::{Buffer, Function, LARGEST_BUFFER, Machine, Parameter, Passing};

use self::read::{Refusal, read_value, short_integer, skip_value, skip_whitespace};
use self::words::{name_of, pointer_to, quoted};

/// How many problems are worked out; a model corrects a few at a time.
const MOST_PROBLEMS: usize = 20;

/// Checks arguments as a call would, without calling anything.
pub(crate) fn check(function: &Function, text: &str) -> Result<(), ToolError> {
    let parameters = function.parameters.len();
    Frame::with(parameters, |frame| {
        let read = read(function, text, frame);
        frame.clear(parameters);
        read
    })
}

/// Reads arguments into a frame that is ready for the function.
///
/// # Errors
///
/// Where the text is not JSON, a name is there twice, an argument is missing or does not fit.
pub(crate) fn read(function: &Function, text: &str, frame: &mut Frame) -> Result<(), ToolError> {
    let mut reader = Reader { function, text, frame, problems: Vec::new(), unknown: None };
    if let Err(at) = reader.object() {
        return Err(malformed(text, at).into());
    }
    reader.settle();
    if reader.problems.is_empty() { Ok(()) } else { Err(ArgumentError::from_problems(reader.problems).into()) }
}

struct Reader<'a, 't> {
    function: &'a Function,
    text: &'t str,
    frame: &'a mut Frame,
    problems: Vec<Problem>,
    /// The names that no parameter has, where there are any.
    unknown: Option<HashSet<String>>,
}

type Syntax<T> = Result<T, opentool_core::check::text::Malformed>;

impl<'t> Reader<'_, 't> {
    /// Reads the object that the whole text is.
    #[inline]
    fn object(&mut self) -> Syntax<()> {
        let bytes = self.text.as_bytes();
        let mut at = skip_whitespace(bytes, 0);
        if bytes.get(at) != Some(&b'{') {
            return self.no_object(Cursor::starting(self.text, at));
        }
        at = skip_whitespace(bytes, at + 1);
        let mut next = 0;
        if bytes.get(at) == Some(&b'}') {
            return Cursor::starting(self.text, at + 1).expect_end();
        }
        loop {
            at = self.member(at, &mut next)?;
            at = skip_whitespace(bytes, at);
            match bytes.get(at) {
                Some(b',') => at = skip_whitespace(bytes, at + 1),
                Some(b'}') if at + 1 == bytes.len() => return Ok(()),
                _ => {
                    let mut cursor = Cursor::starting(self.text, at);
                    cursor.expect(b'}', "expected a comma or the closing brace")?;
                    return cursor.expect_end();
                }
            }
        }
    }

    /// Reads a name and its value from `at`; gives back where the value ends.
    #[inline]
    fn member(&mut self, at: usize, next: &mut usize) -> Syntax<usize> {
        let (bytes, function) = (self.text.as_bytes(), self.function);
        // Nearly always the arguments come in the order of the document, and are integers: then a few bytes tell all.
        if let Some(parameter) = function.parameters.get(*next)
            && bytes[at..].starts_with(&parameter.key)
            && let slot = self.frame.slot(*next)
            && slot.given == Given::Absent
            && let Passing::Value(value) | Passing::Cell { value, .. } = &parameter.passing
            && let Some((word, end)) = short_integer(*value, bytes, skip_whitespace(bytes, at + parameter.key.len()))
        {
            slot.word = word;
            slot.given = Given::Value;
            *next += 1;
            return Ok(end);
        }
        let mut cursor = Cursor::starting(self.text, at);
        if cursor.peek() != Some(b'"') {
            return Err(cursor.malformed("expected a name in quotes"));
        }
        let name = cursor.string()?;
        cursor.expect(b':', "expected a colon")?;
        cursor.skip_whitespace();
        let position =
            if name.escaped { function.position(&name.decode(), *next) } else { function.position(name.raw, *next) };
        match position {
            Some(index) => {
                *next = index + 1;
                self.argument(index, &mut cursor)?;
            }
            None => self.unknown(name.decode().into_owned(), &mut cursor)?,
        }
        Ok(cursor.at())
    }

    /// Nothing at all, and `null`, count as no arguments.
    #[cold]
    fn no_object(&mut self, mut cursor: Cursor<'t>) -> Syntax<()> {
        if cursor.peek().is_none() {
            return Ok(());
        }
        let start = cursor.at();
        let null = cursor.peek() == Some(b'n');
        skip_value(&mut cursor)?;
        let got = cursor.since(start);
        cursor.expect_end()?;
        if !null {
            let message = format!("expected the arguments as a JSON object, got {}", name_of(got));
            self.problem(Problem::new("", message));
        }
        Ok(())
    }

    #[inline]
    fn argument(&mut self, index: usize, cursor: &mut Cursor<'t>) -> Syntax<()> {
        let parameter = &self.function.parameters[index];
        let slot = self.frame.slot(index);
        if slot.given != Given::Absent {
            return self.twice(&parameter.name, cursor);
        }
        if cursor.peek() == Some(b'n') {
            cursor.literal("null")?;
            slot.given = Given::Null;
            return Ok(());
        }
        slot.given = Given::Value;
        let before = cursor.clone();
        match read_value(&parameter.passing, cursor, slot) {
            Ok(()) => Ok(()),
            Err(Refusal::Syntax(malformed)) => Err(malformed),
            Err(Refusal::Value { path, message }) => {
                // What was refused may not have been read to its end.
                *cursor = before;
                skip_value(cursor)?;
                let pointer = format!("{}{path}", pointer_to(&parameter.name));
                self.problem(Problem::new(pointer, message));
                Ok(())
            }
        }
    }

    #[cold]
    fn unknown(&mut self, name: String, cursor: &mut Cursor<'t>) -> Syntax<()> {
        let unknown = self.unknown.get_or_insert_default();
        if unknown.contains(&name) {
            return self.twice(&name, cursor);
        }
        unknown.insert(name);
        skip_value(cursor)
    }

    #[cold]
    fn twice(&mut self, name: &str, cursor: &mut Cursor<'t>) -> Syntax<()> {
        let message = format!("the name {} is there more than once", quoted(name));
        self.problem(Problem::new(pointer_to(name), message));
        skip_value(cursor)
    }

    #[cold]
    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Looks at what was not given, and at what one argument says about another.
    #[inline]
    fn settle(&mut self) {
        let function = self.function;
        for (index, parameter) in function.parameters.iter().enumerate() {
            if parameter.required && self.frame.slots()[index].given != Given::Value {
                self.missing(index, parameter);
            }
            match &parameter.passing {
                Passing::Text { count: Some(counter), .. } | Passing::Array { count: Some(counter), .. } => {
                    self.count(index, *counter);
                }
                _ => {}
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
                && slot.given == Given::Derived
            {
                slot.given = Given::Value;
            }
        }
        for (index, parameter) in function.parameters.iter().enumerate() {
            match &parameter.passing {
                Passing::TextOut { buffer, .. } => self.capacity(index, buffer, Machine::U8),
                Passing::ArrayOut { buffer, element } => self.capacity(index, buffer, element.machine),
                _ => {}
            }
        }
    }

    #[cold]
    fn missing(&mut self, index: usize, parameter: &Parameter) {
        let near = self.unknown.iter().flatten().filter(|name| strsim::jaro_winkler(name, &parameter.name) > 0.8).min();
        let meant = match near {
            Some(near) => format!("; is it what you call {}?", quoted(near)),
            None => String::new(),
        };
        let (pointer, what) = match self.frame.slots()[index].given {
            Given::Null => (pointer_to(&parameter.name), format!("expected {}, got null", words::expected(parameter))),
            _ => {
                let kind = words::expected(parameter);
                (String::new(), format!("missing required argument {} ({kind}){meant}", quoted(&parameter.name)))
            }
        };
        self.problem(Problem::new(pointer, what));
    }

    /// The length of what goes in: told to the function, or checked against what the caller tells it.
    fn count(&mut self, index: usize, counter: usize) {
        let slot = &self.frame.slots()[index];
        let count = if slot.given == Given::Value { slot.count } else { 0 };
        self.tell_or_check(
            counter,
            count,
            |said| said <= count,
            |name| format!("expected at most {count}, the length of {}", quoted(name)),
            index,
        );
    }

    fn capacity(&mut self, index: usize, buffer: &Buffer, element: Machine) {
        let Some(counter) = buffer.size_parameter else {
            self.frame.slot(index).count = buffer.size;
            return;
        };
        let most = LARGEST_BUFFER / element.size();
        let size = self.tell_or_check(
            counter,
            buffer.size,
            |said| said <= most,
            |name| format!("expected at most {most}, since it is the size of {}", quoted(name)),
            index,
        );
        self.frame.slot(index).count = size;
    }

    /// Writes what a counter must say where nothing was said, or checks what was said; gives back what it says then.
    fn tell_or_check(
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
        match slot.given {
            Given::Value => {
                let said = value.machine.load(slot.word).count();
                match said {
                    Some(said) if fits(said) => said,
                    said => {
                        let got = said.map_or_else(|| "a negative number".to_owned(), |said| said.to_string());
                        let message = format!("{}, got {got}", expected(&function.parameters[of].name));
                        let pointer = pointer_to(&function.parameters[counter].name);
                        self.problem(Problem::new(pointer, message));
                        0
                    }
                }
            }
            // Several may share a counter: the smallest decides.
            Given::Derived if value.machine.load(slot.word).count().is_some_and(|said| said <= count) => {
                value.machine.load(slot.word).count().unwrap_or(count)
            }
            _ => {
                let (_, most) = value.machine.bounds();
                if count as u64 > most {
                    let message = format!("its length of {count} does not fit `{}`", value.scalar.name());
                    self.problem(Problem::new(pointer_to(&function.parameters[of].name), message));
                    return 0;
                }
                slot.word = value.machine.word_of_integer(count as u64);
                slot.given = Given::Derived;
                count
            }
        }
    }
}

#[cfg(test)]
mod tests;
