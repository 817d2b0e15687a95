//! Layouts that were computed, checked by the C compiler.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::rc::Rc;

use crate::compiler::Compiler;
use crate::ctype::Record;
use crate::layout::Layout;

/// The structs whose layout the C compiler confirms, by `_Static_assert` on their size, alignment and offsets.
///
/// `includes` is the text that includes the headers.
pub(crate) fn proven(
    compiler: &Compiler<'_>,
    includes: &str,
    records: &HashMap<Rc<str>, Record>,
    layouts: HashMap<Rc<str>, Layout>,
) -> HashMap<Rc<str>, Layout> {
    if layouts.is_empty() {
        return layouts;
    }
    let mut source = format!("#include <stddef.h>\n{includes}");
    // The structs, by the line that asserts something of them.
    let mut lines: HashMap<usize, Rc<str>> = HashMap::new();
    let mut line = source.lines().count();
    let mut assert = |source: &mut String, key: &Rc<str>, what: &str| {
        line += 1;
        lines.insert(line, key.clone());
        // Writing to a string cannot fail.
        let _ = writeln!(source, "_Static_assert({what}, \"layout\");");
    };
    for (key, layout) in &layouts {
        let Some(record) = records.get(key) else { continue };
        let name = record.written(key);
        assert(&mut source, key, &format!("sizeof({name}) == {}", layout.size));
        assert(&mut source, key, &format!("_Alignof({name}) == {}", layout.align));
        for (field, offset) in record.fields.iter().flatten().zip(&layout.offsets) {
            if let (Some(offset), false) = (offset, field.name.is_empty()) {
                assert(&mut source, key, &format!("offsetof({name}, {}) == {offset}", field.name));
            }
        }
    }
    let Ok(output) = compiler.run(&["-fsyntax-only", "-w"], &source) else { return HashMap::new() };
    if output.status.success() {
        return layouts;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let wrong = said.lines().filter_map(|text| {
        let rest = text.strip_prefix("<stdin>:")?;
        let number: usize = rest.split(':').next()?.parse().ok()?;
        Some(number)
    });
    let mut refused: HashSet<Rc<str>> = HashSet::new();
    for number in wrong {
        match lines.get(&number) {
            Some(key) => {
                refused.insert(key.clone());
            }
            // Something else is wrong: nothing is proven.
            None => return HashMap::new(),
        }
    }
    // A compiler that gives up early has not looked at all of them.
    if refused.is_empty() || said.contains("too many errors") {
        return HashMap::new();
    }
    layouts.into_iter().filter(|(key, _)| !refused.contains(key)).collect()
}

/// The sizes of structs, as the C compiler knows them: for structs that are laid out in ways of their own.
pub(crate) fn sizes(
    compiler: &Compiler<'_>,
    includes: &str,
    records: &HashMap<Rc<str>, Record>,
    keys: &[Rc<str>],
) -> HashMap<Rc<str>, u64> {
    let named: Vec<(&Rc<str>, &str)> = keys
        .iter()
        .filter_map(|key| Some((key, records.get(key)?.written(key))))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    if named.is_empty() {
        return HashMap::new();
    }
    let mut source = includes.to_owned();
    for (index, (_, name)) in named.iter().enumerate() {
        let _ = writeln!(source, "const unsigned long opentool_size_{index} = sizeof({name});");
    }
    let Ok(output) = compiler.run(&["-S", "-w", "-o", "-"], &source) else { return HashMap::new() };
    let assembly = String::from_utf8_lossy(&output.stdout);
    let mut lines = assembly.lines();
    let mut found = HashMap::new();
    // A label, and below it a directive with the number.
    while let Some(line) = lines.next() {
        let Some(rest) = line.trim().trim_start_matches('_').strip_prefix("opentool_size_") else { continue };
        let Some(index) = rest.strip_suffix(':').and_then(|index| index.parse::<usize>().ok()) else { continue };
        let number = lines.next().and_then(|directive| directive.split_whitespace().last()?.parse::<u64>().ok());
        if let (Some(number), Some((key, _))) = (number.filter(|size| *size > 0), named.get(index)) {
            found.insert((*key).clone(), number);
        }
    }
    found
}
