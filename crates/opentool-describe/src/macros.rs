//! What headers `#define`: other names for functions, and numbers.

use std::collections::HashMap;

/// A chain of names that is longer than this has no end.
const LONGEST_CHAIN: usize = 16;

/// The macros without parameters that are defined where the headers end.
#[derive(Debug, Default)]
pub(crate) struct Macros {
    bodies: HashMap<String, String>,
}

impl Macros {
    /// Reads what `cc -E -dM` writes.
    pub(crate) fn read(text: &str) -> Self {
        let mut bodies = HashMap::new();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("#define ") else { continue };
            let (name, body) = rest.split_once(' ').unwrap_or((rest, ""));
            if !name.contains('(') && !body.trim().is_empty() {
                bodies.insert(name.to_owned(), body.trim().to_owned());
            }
        }
        Self { bodies }
    }

    /// The names that stand for a symbol of another name: `mpz_add` for `__gmpz_add`.
    pub(crate) fn renames(&self) -> HashMap<&str, &str> {
        let mut names: HashMap<&str, &str> = HashMap::new();
        for (name, body) in &self.bodies {
            let is_name = body.chars().all(|char| char.is_alphanumeric() || char == '_');
            if is_name && body.starts_with('_') && !name.starts_with('_') {
                // The same one wherever there are several.
                let known = names.entry(body).or_insert(name);
                if name.as_str() < *known {
                    *known = name;
                }
            }
        }
        names
    }

    /// The names that stand for a struct of nothing but zeros.
    pub(crate) fn all_zero(&self, constant: impl Fn(&str) -> Option<i128> + Copy) -> impl Iterator<Item = &str> {
        self.bodies.keys().map(String::as_str).filter(move |name| self.is_all_zero(name, constant))
    }

    /// Whether a name stands for a struct of nothing but zeros, `{ NULL, 0, { 0 } }`; `constant` knows the names of others.
    pub(crate) fn is_all_zero(&self, name: &str, constant: impl Fn(&str) -> Option<i128>) -> bool {
        let Some(body) = self.bodies.get(name).map(|body| body.trim()).filter(|body| body.starts_with('{')) else {
            return false;
        };
        let plain = body.replace("(void *)", "").replace("(void*)", "");
        let parts = plain.split(['{', '}', ',', '(', ')']).map(str::trim).filter(|part| !part.is_empty());
        // A field may be named: `.next = NULL`.
        let mut values = parts.map(|part| part.rsplit('=').next().unwrap_or(part).trim());
        let is_zero = |value: &str| {
            let digits = value.trim_end_matches(['u', 'U', 'l', 'L']);
            let digits = digits.strip_prefix("0x").unwrap_or(digits);
            matches!(value, "NULL" | "0.0" | "false")
                || (!digits.is_empty() && digits.bytes().all(|digit| digit == b'0'))
                || self.number(value).or_else(|| constant(value)) == Some(0)
        };
        values.all(is_zero)
    }

    /// The number that a name stands for.
    pub(crate) fn number(&self, name: &str) -> Option<i128> {
        self.value_of(name, 0)
    }

    fn value_of(&self, name: &str, depth: usize) -> Option<i128> {
        let body = self.bodies.get(name).filter(|_| depth < LONGEST_CHAIN)?;
        let mut reader = NumberReader { macros: self, rest: body.as_str(), depth };
        let value = reader.sum()?;
        reader.rest.trim().is_empty().then_some(value)
    }
}

/// Reads the number that an expression of plain numbers and names stands for.
struct NumberReader<'m> {
    macros: &'m Macros,
    rest: &'m str,
    depth: usize,
}

impl NumberReader<'_> {
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// `1 << 3 | 1`, without regard to which binds closer: what mixes them without parentheses is not read.
    fn sum(&mut self) -> Option<i128> {
        let mut value = self.operand()?;
        let mut used: Option<&str> = None;
        loop {
            let Some(operator) = ["<<", "|", "+", "-", "*"].into_iter().find(|operator| self.take(operator)) else {
                return Some(value);
            };
            if used.is_some_and(|used| used != operator) {
                return None;
            }
            used = Some(operator);
            let right = self.operand()?;
            value = match operator {
                "<<" => value.checked_shl(u32::try_from(right).ok().filter(|shift| *shift < 64)?)?,
                "|" => value | right,
                "+" => value.checked_add(right)?,
                "-" => value.checked_sub(right)?,
                _ => value.checked_mul(right)?,
            };
        }
    }

    fn operand(&mut self) -> Option<i128> {
        if self.take("(") {
            let value = self.sum()?;
            return self.take(")").then_some(value);
        }
        if self.take("-") {
            return self.operand()?.checked_neg();
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        if !word.starts_with(|char: char| char.is_ascii_digit()) {
            return self.macros.value_of(word, self.depth + 1);
        }
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok(),
            None if digits.len() > 1 && digits.starts_with('0') => i128::from_str_radix(digits, 8).ok(),
            None => digits.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_of_nothing_but_zeros_are_known() {
        let macros = Macros::read(
            "#define A { NULL, 0, { 0, NONE }, FIRST }\n#define NONE 0\n#define B {0}\n#define C { 1, 0 }\n#define D { OTHER }\n#define E 0\n#define F { .next = NULL, .size = 0 }\n#define G { -1 }\n#define H { (void *)0, 0x0 }\n",
        );
        let constant = |name: &str| (name == "FIRST").then_some(0);
        let zero = ["A", "B", "C", "D", "E", "F", "G", "H", "I"].map(|name| macros.is_all_zero(name, constant));
        assert_eq!(zero, [true, true, false, false, false, true, false, true, false]);
    }

    #[test]
    fn numbers_and_other_names_are_read() {
        let macros = Macros::read(
            "#define mpz_add __gmpz_add\n#define OK 0\n#define BAD (-3)\n#define FLAG (1u << 4)\n#define BOTH (FLAG | 0x1)\n#define F(x) x\n#define LOOP LOOP\n#define TEXT \"a\"\n#define MIXED 1 + 2 * 3\n",
        );
        assert_eq!(macros.renames().get("__gmpz_add"), Some(&"mpz_add"));
        let numbers = ["OK", "BAD", "FLAG", "BOTH", "LOOP", "TEXT", "F", "MIXED"].map(|name| macros.number(name));
        assert_eq!(numbers, [Some(0), Some(-3), Some(16), Some(17), None, None, None, None]);
    }
}
