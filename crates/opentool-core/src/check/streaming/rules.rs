//! What a value has to be, and the pass over the text that finds out.

use opentool_spec::json::{JsonError, JsonErrorKind, Lexer, Number, Quantity};

/// An object of known properties.
#[derive(Debug)]
pub(in crate::check) struct ObjectRule {
    pub(super) properties: Box<[Property]>,
    /// The required properties, a bit each.
    pub(super) required: u64,
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    pub(super) rule: Rule,
    /// Whether `null` would be dropped before the check.
    pub(super) drops_null: bool,
}

#[derive(Debug)]
pub(super) enum Rule {
    /// Anything is allowed.
    Any,
    Scalar(ScalarRule),
    List {
        item: Box<Rule>,
        or_null: bool,
        min_items: u64,
        max_items: u64,
    },
    Object {
        object: ObjectRule,
        or_null: bool,
    },
}

/// What a scalar has to be.
#[derive(Debug)]
pub(super) struct ScalarRule {
    pub(super) null: bool,
    pub(super) boolean: bool,
    pub(super) number: Option<NumberRule>,
    pub(super) string: Option<StringRule>,
}

#[derive(Debug)]
pub(super) struct NumberRule {
    pub(super) integers_only: bool,
    pub(super) limits: Box<[Limit]>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) side: Side,
    pub(super) at: Quantity,
    pub(super) exclusive: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Least,
    Most,
}

#[derive(Debug)]
pub(super) struct StringRule {
    /// Code points.
    pub(super) min_length: usize,
    pub(super) max_length: usize,
    /// The values allowed, sorted, where they are listed.
    pub(super) values: Option<Box<[Box<str>]>>,
}

/// Ends the pass: the text is not accepted here.
struct NotAccepted;

impl From<JsonError> for NotAccepted {
    fn from(_: JsonError) -> Self {
        Self
    }
}

/// Turns a condition into the result of a check.
#[inline]
fn accept_if(condition: bool) -> Result<(), NotAccepted> {
    if condition { Ok(()) } else { Err(NotAccepted) }
}

impl ObjectRule {
    /// Whether a text is accepted as it stands.
    pub(in crate::check) fn accepts(&self, text: &str) -> bool {
        let mut lexer = Lexer::new(text);
        lexer.skip_whitespace();
        self.check(&mut lexer).is_ok() && lexer.expect_end().is_ok()
    }

    fn check(&self, lexer: &mut Lexer<'_>) -> Result<(), NotAccepted> {
        lexer.expect(b'{', JsonErrorKind::Value)?;
        lexer.skip_whitespace();
        let mut seen = 0_u64;
        if !lexer.eat(b'}') {
            let mut expected = 0;
            loop {
                let index = self.member(lexer, expected)?;
                let bit = 1 << index;
                accept_if(seen & bit == 0)?;
                seen |= bit;
                expected = index + 1;
                if lexer.closes(true)? {
                    break;
                }
            }
        }
        accept_if(seen & self.required == self.required)
    }

    /// Reads a member and says which property it is.
    #[inline]
    fn member(&self, lexer: &mut Lexer<'_>, expected: usize) -> Result<usize, NotAccepted> {
        let name = lexer.name()?;
        let (index, property) = self.property(name.raw, expected).filter(|_| !name.escaped).ok_or(NotAccepted)?;
        accept_if(!(property.drops_null && lexer.peek() == Some(b'n')))?;
        property.rule.check(lexer)?;
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
    fn check(&self, lexer: &mut Lexer<'_>) -> Result<(), NotAccepted> {
        match self {
            Self::Scalar(scalar) => scalar.check(lexer),
            // What is nested may have names twice, which is for the validator's tree to find.
            Self::Any => Ok(lexer.skip_scalar()?),
            Self::List { or_null: true, .. } | Self::Object { or_null: true, .. } if lexer.peek() == Some(b'n') => {
                Ok(lexer.literal("null")?)
            }
            Self::List { item, min_items, max_items, .. } => {
                let items = item.check_all(lexer)?;
                accept_if((*min_items..=*max_items).contains(&items))
            }
            Self::Object { object, .. } => object.check(lexer),
        }
    }

    /// Reads a list and says how many items it has.
    fn check_all(&self, lexer: &mut Lexer<'_>) -> Result<u64, NotAccepted> {
        lexer.expect(b'[', JsonErrorKind::Value)?;
        lexer.skip_whitespace();
        if lexer.eat(b']') {
            return Ok(0);
        }
        let mut items = 0;
        loop {
            lexer.skip_whitespace();
            self.check(lexer)?;
            items += 1;
            if lexer.closes(false)? {
                return Ok(items);
            }
        }
    }
}

impl ScalarRule {
    #[inline]
    fn check(&self, lexer: &mut Lexer<'_>) -> Result<(), NotAccepted> {
        match (lexer.peek(), self) {
            (Some(b'-' | b'0'..=b'9'), Self { number: Some(number), .. }) => number.check(lexer.number()?),
            (Some(b'"'), Self { string: Some(string), .. }) => string.check(lexer),
            (Some(b't'), Self { boolean: true, .. }) => Ok(lexer.literal("true")?),
            (Some(b'f'), Self { boolean: true, .. }) => Ok(lexer.literal("false")?),
            (Some(b'n'), Self { null: true, .. }) => Ok(lexer.literal("null")?),
            _ => Err(NotAccepted),
        }
    }
}

impl NumberRule {
    #[inline]
    fn check(&self, Number { quantity, .. }: Number<'_>) -> Result<(), NotAccepted> {
        accept_if(
            (!self.integers_only || quantity.is_integer()) && self.limits.iter().all(|limit| limit.allows(quantity)),
        )
    }
}

impl Limit {
    #[inline]
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

impl StringRule {
    #[inline]
    fn check(&self, lexer: &mut Lexer<'_>) -> Result<(), NotAccepted> {
        let string = lexer.string()?;
        // Decoded or not, a string has no more code points than bytes.
        let fits = self.min_length == 0 && string.raw.len() <= self.max_length;
        if fits && self.values.is_none() {
            return Ok(());
        }
        let is_listed = |values: &[Box<str>]| values.binary_search_by(|value| (**value).cmp(string.raw)).is_ok();
        accept_if(
            !string.escaped
                && self.values.as_deref().is_none_or(is_listed)
                && (fits || (self.min_length..=self.max_length).contains(&string.raw.chars().count())),
        )
    }
}
