//! The flat checker: one pass over the text, no allocation, no tree.
//!
//! It serves the schemas that most tools have: an object of scalars and lists of scalars. What it
//! accepts is accepted. What it refuses goes to the validator, which explains the refusal, and so
//! does what it leaves undecided: text where something has to be dropped or decoded first.

mod compile;
mod glance;

use super::{
    cursor::{Cursor, Malformed},
    number::{Number, Quantity},
};

pub(super) use compile::compile;

/// What the flat checker makes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The arguments satisfy the schema as they stand.
    Accepted,
    /// The arguments do not satisfy the schema, whatever would be dropped.
    Refused,
    /// The validator has to look.
    Undecided,
}

/// A flat schema, compiled.
#[derive(Debug)]
pub(super) struct Flat {
    properties: Box<[Property]>,
    /// The required properties, a bit each.
    required: u64,
}

#[derive(Debug)]
struct Property {
    name: Box<str>,
    /// The name as a text has it: quoted, escaped, and with its colon.
    written: Box<[u8]>,
    rule: Rule,
    /// Whether `null` would be dropped before the check.
    drops_null: bool,
}

#[derive(Debug)]
enum Rule {
    /// Anything goes.
    Free,
    Scalar(Scalar),
    List {
        item: Scalar,
        or_null: bool,
        min_items: u64,
        max_items: u64,
    },
}

/// What a scalar has to be.
#[derive(Debug)]
struct Scalar {
    null: bool,
    boolean: bool,
    number: Option<Numbers>,
    string: Option<Strings>,
}

#[derive(Debug)]
struct Numbers {
    integers_only: bool,
    /// The integers of up to 18 digits that satisfy the limits: the first and the last of them.
    low: i64,
    high: i64,
    /// The limits themselves, for all other numbers.
    limits: Box<[Limit]>,
}

#[derive(Debug, Clone, Copy)]
struct Limit {
    side: Side,
    at: Quantity,
    exclusive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Least,
    Most,
}

#[derive(Debug)]
struct Strings {
    /// Code points.
    min_length: usize,
    max_length: usize,
    /// The values allowed, sorted, where they are listed.
    values: Option<Box<[Box<str>]>>,
}

/// Why the pass over the text ends early.
enum Stop {
    Refused,
    Undecided,
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Self {
        Self::Refused
    }
}

impl Flat {
    /// Judges a text in one pass.
    pub(super) fn judge(&self, text: &str) -> Verdict {
        match self.object(&mut Cursor::new(text)) {
            Ok(()) => Verdict::Accepted,
            Err(Stop::Refused) => Verdict::Refused,
            Err(Stop::Undecided) => Verdict::Undecided,
        }
    }

    fn object(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        cursor.expect(b'{', "expected an object")?;
        cursor.skip_whitespace();
        let mut seen = 0_u64;
        if !cursor.eat(b'}') {
            let mut expected = 0;
            loop {
                let index = self.member(cursor, expected)?;
                let bit = 1 << index;
                if seen & bit != 0 {
                    return Err(Stop::Refused);
                }
                seen |= bit;
                expected = index + 1;
                cursor.skip_whitespace();
                if cursor.eat(b'}') {
                    break;
                }
                cursor.expect(b',', "expected `,` or `}`")?;
                cursor.skip_whitespace();
            }
        }
        cursor.expect_end()?;
        if seen & self.required == self.required { Ok(()) } else { Err(Stop::Refused) }
    }

    /// Reads a member and says which property it is.
    #[inline]
    fn member(&self, cursor: &mut Cursor<'_>, expected: usize) -> Result<usize, Stop> {
        if cursor.peek() != Some(b'"') {
            return Err(Stop::Refused);
        }
        let name = cursor.string()?;
        if name.escaped {
            return Err(Stop::Undecided);
        }
        let (index, property) = self.property(name.raw, expected).ok_or(Stop::Undecided)?;
        cursor.expect(b':', "expected `:`")?;
        cursor.skip_whitespace();
        if property.drops_null && cursor.peek() == Some(b'n') {
            return Err(Stop::Undecided);
        }
        property.rule.check(cursor)?;
        Ok(index)
    }

    /// Finds a property; models mostly keep to the order of the schema, so that is tried first.
    #[inline]
    fn property(&self, name: &str, expected: usize) -> Option<(usize, &Property)> {
        if let Some(property) = self.properties.get(expected)
            && *property.name == *name
        {
            return Some((expected, property));
        }
        self.properties.iter().enumerate().find(|(_, property)| *property.name == *name)
    }
}

impl Rule {
    #[inline]
    fn check(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        match self {
            Self::Scalar(scalar) => scalar.check(cursor),
            Self::Free => match cursor.peek() {
                Some(b'"') => Ok(cursor.string().map(drop)?),
                Some(b'-' | b'0'..=b'9') => Ok(cursor.number().map(drop)?),
                Some(b't') => Ok(cursor.literal("true")?),
                Some(b'f') => Ok(cursor.literal("false")?),
                Some(b'n') => Ok(cursor.literal("null")?),
                Some(b'{' | b'[') => Err(Stop::Undecided),
                _ => Err(Stop::Refused),
            },
            Self::List { item, or_null, min_items, max_items } => {
                if *or_null && cursor.peek() == Some(b'n') {
                    return Ok(cursor.literal("null")?);
                }
                let items = item.check_all(cursor)?;
                let fits = (*min_items..=*max_items).contains(&items);
                if fits { Ok(()) } else { Err(Stop::Refused) }
            }
        }
    }
}

impl Scalar {
    #[inline]
    fn check(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        match (cursor.peek(), self) {
            (Some(b'-' | b'0'..=b'9'), Self { number: Some(numbers), .. }) => numbers.check(cursor.number()?),
            (Some(b'"'), Self { string: Some(strings), .. }) => strings.check(cursor),
            (Some(b't'), Self { boolean: true, .. }) => Ok(cursor.literal("true")?),
            (Some(b'f'), Self { boolean: true, .. }) => Ok(cursor.literal("false")?),
            (Some(b'n'), Self { null: true, .. }) => Ok(cursor.literal("null")?),
            _ => Err(Stop::Refused),
        }
    }

    /// Reads a list and says how many items it has.
    fn check_all(&self, cursor: &mut Cursor<'_>) -> Result<u64, Stop> {
        let mut items = 0;
        cursor.expect(b'[', "expected a list")?;
        cursor.skip_whitespace();
        if cursor.eat(b']') {
            return Ok(items);
        }
        loop {
            cursor.skip_whitespace();
            self.check(cursor)?;
            items += 1;
            cursor.skip_whitespace();
            if cursor.eat(b']') {
                return Ok(items);
            }
            cursor.expect(b',', "expected `,` or `]`")?;
        }
    }
}

impl Numbers {
    #[inline]
    fn check(&self, number: Number<'_>) -> Result<(), Stop> {
        let small = match number.quantity {
            Quantity::Unsigned(integer) => i64::try_from(integer).ok(),
            Quantity::Signed(integer) => Some(integer),
            Quantity::Double(_) => None,
        };
        let fits = match small {
            Some(integer) if integer.unsigned_abs() <= glance::MAX_SMALL.unsigned_abs() => {
                self.low <= integer && integer <= self.high
            }
            _ => {
                (!self.integers_only || number.quantity.is_integer())
                    && self.limits.iter().all(|limit| limit.allows(number.quantity))
            }
        };
        if fits { Ok(()) } else { Err(Stop::Refused) }
    }
}

impl Limit {
    fn allows(self, quantity: Quantity) -> bool {
        let order = quantity.compare(self.at);
        match (self.side, self.exclusive) {
            (Side::Least, false) => order.is_ge(),
            (Side::Least, true) => order.is_gt(),
            (Side::Most, false) => order.is_le(),
            (Side::Most, true) => order.is_lt(),
        }
    }
}

impl Strings {
    #[inline]
    fn check(&self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        let string = cursor.string()?;
        // Decoded or not, a string has no more code points than bytes.
        if self.min_length == 0 && string.raw.len() <= self.max_length && self.values.is_none() {
            return Ok(());
        }
        if string.escaped {
            return Err(Stop::Undecided);
        }
        let listed = self
            .values
            .as_ref()
            .is_none_or(|values| values.binary_search_by(|value| (**value).cmp(string.raw)).is_ok());
        let fits = listed && self.length_fits(string.raw);
        if fits { Ok(()) } else { Err(Stop::Refused) }
    }

    fn length_fits(&self, string: &str) -> bool {
        if self.min_length == 0 && string.len() <= self.max_length {
            return true;
        }
        (self.min_length..=self.max_length).contains(&string.chars().count())
    }
}
