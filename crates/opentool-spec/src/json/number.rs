//! Numbers as their text says them.
//!
//! An integer that fits `i64` or `u64` is never rounded, also where it is written with a fraction or an exponent. All
//! other numbers are the double nearest to their text, which is what a schema's own bounds beyond that range are too.
//! One literal needs care: an integer just below [`i64::MIN`] would round *up* to it and pass as an `i64`; it becomes
//! the next double below instead. So every comparison with a bound that fits `i64` or `u64` is exact.

use std::cmp::Ordering;

/// 2^63, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
/// 2^64, exactly.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// A number literal as a lexer finds it.
#[derive(Debug, Clone, Copy)]
pub struct NumberLiteral<'t> {
    /// The literal itself.
    pub text: &'t str,
    pub(super) negative: bool,
    /// The digits of an integer literal, where they fit.
    pub(super) digits: Option<u64>,
    /// Whether it has neither fraction nor exponent.
    pub is_integer: bool,
}

/// A number: its text, and what it amounts to.
#[derive(Debug, Clone, Copy)]
pub struct Number<'t> {
    /// The literal itself.
    pub text: &'t str,
    /// What it amounts to.
    pub quantity: Quantity,
}

/// What a number literal amounts to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// An integer of at least zero.
    Unsigned(u64),
    /// An integer below zero.
    Signed(i64),
    /// A finite double: a literal with a fraction, `-0`, or an integer too large for the other two.
    Double(f64),
}

impl NumberLiteral<'_> {
    /// What the literal amounts to; none where it is beyond the doubles.
    #[inline]
    #[must_use]
    pub fn quantity(&self) -> Option<Quantity> {
        self.digits
            .and_then(|digits| Quantity::from_digits(self.negative, digits))
            .or_else(|| Quantity::from_text(self.text))
    }

    /// Whether the literal fits 64 bits as an integer, signed or not.
    #[must_use]
    pub fn fits_integer(&self) -> bool {
        self.digits.is_some_and(|digits| !self.negative || digits <= i64::MIN.unsigned_abs())
    }
}

impl Quantity {
    /// Makes the quantity of an integer literal whose digits fit a `u64`.
    #[inline]
    fn from_digits(negative: bool, magnitude: u64) -> Option<Self> {
        match (negative, magnitude) {
            (false, magnitude) => Some(Self::Unsigned(magnitude)),
            // JSON tells `-0` from `0`, an integer type cannot.
            (true, 0) => Some(Self::Double(-0.0)),
            (true, magnitude) => 0_i64.checked_sub_unsigned(magnitude).map(Self::Signed),
        }
    }

    /// Makes the quantity of any number literal; none where it is beyond the doubles.
    fn from_text(text: &str) -> Option<Self> {
        let integer = plain_integer(text);
        if let Some(integer) = integer.as_deref().filter(|integer| *integer != "-0") {
            if let Ok(integer) = integer.parse() {
                return Some(Self::Unsigned(integer));
            }
            if let Ok(integer) = integer.parse() {
                return Some(Self::Signed(integer));
            }
        }
        let double = text.parse::<f64>().ok().filter(|double| double.is_finite())?;
        let rounded_up = integer.is_some() && double == -TWO_TO_63;
        Some(Self::Double(if rounded_up { double.next_down() } else { double }))
    }

    /// Makes the quantity of a number that was parsed; none where it is not finite.
    #[must_use]
    pub fn from_number(number: &serde_json::Number) -> Option<Self> {
        if let Some(integer) = number.as_u64() {
            Some(Self::Unsigned(integer))
        } else if let Some(integer) = number.as_i64() {
            Some(Self::Signed(integer))
        } else {
            number.as_f64().map(Self::Double)
        }
    }

    /// Whether JSON Schema counts this as an integer, as it does `1.0` and `1e3`.
    #[inline]
    #[must_use]
    pub fn is_integer(self) -> bool {
        match self {
            Self::Unsigned(_) | Self::Signed(_) => true,
            Self::Double(double) => double.fract() == 0.0,
        }
    }

    /// The double nearest to it.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Unsigned(integer) => integer as f64,
            Self::Signed(integer) => integer as f64,
            Self::Double(double) => double,
        }
    }

    /// Compares two quantities without rounding either.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        match (self.as_integer(), other.as_integer()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            (Ok(left), Err(right)) => compare_with_double(left, right),
            (Err(left), Ok(right)) => compare_with_double(right, left).reverse(),
            // Both are finite, so there is always an order.
            (Err(left), Err(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
        }
    }

    fn as_integer(self) -> Result<i128, f64> {
        match self {
            Self::Unsigned(integer) => Ok(i128::from(integer)),
            Self::Signed(integer) => Ok(i128::from(integer)),
            Self::Double(double) => Err(double),
        }
    }
}

impl From<i64> for Quantity {
    fn from(integer: i64) -> Self {
        u64::try_from(integer).map_or(Self::Signed(integer), Self::Unsigned)
    }
}

/// Compares an integer out of `i64` or `u64` with a double.
#[expect(clippy::cast_possible_truncation, reason = "a floor between the two guards is an integer of at most 65 bits")]
fn compare_with_double(integer: i128, double: f64) -> Ordering {
    if double >= TWO_TO_64 {
        return Ordering::Less;
    }
    if double < -TWO_TO_63 {
        return Ordering::Greater;
    }
    let floor = double.floor();
    integer.cmp(&(floor as i128)).then(if double > floor { Ordering::Less } else { Ordering::Equal })
}

/// The digits that a number written as an integer has at most: those of an `i128`, the widest type that is read.
const MAX_DIGITS: usize = 39;

/// An integer literal without fraction and exponent for one that may have them: `1` for `1.0`, `1000` for `1e3`.
///
/// None where the literal is no integer, or has more than 39 digits.
pub(super) fn plain_integer(literal: &str) -> Option<String> {
    let (sign, unsigned) = literal.strip_prefix('-').map_or(("", literal), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // Zeros at the end of the fraction say nothing; neither do those in front.
    let fraction = fraction.trim_end_matches('0');
    if exponent.is_empty() && !fraction.is_empty() {
        return None;
    }
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(format!("{sign}0"));
    }
    // An exponent that is no `i64` stands for a number of more digits than there is room for, or for a fraction.
    let exponent = if exponent.is_empty() { 0 } else { exponent.parse::<i64>().ok()? };
    let shift = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = match usize::try_from(shift) {
        Ok(zeros) if zeros <= MAX_DIGITS => format!("{digits}{:0<zeros$}", ""),
        Ok(_) => return None,
        Err(_) => {
            let dropped = usize::try_from(shift.unsigned_abs()).ok()?;
            let kept = digits.len().checked_sub(dropped).filter(|kept| *kept > 0)?;
            let (kept, dropped) = digits.split_at(kept);
            if dropped.bytes().any(|digit| digit != b'0') {
                return None;
            }
            kept.to_owned()
        }
    };
    (digits.len() <= MAX_DIGITS).then(|| format!("{sign}{digits}"))
}

#[cfg(test)]
mod tests;
