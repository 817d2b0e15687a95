//! Numbers as their text says them.
//!
//! An integer that fits `i64` or `u64` is never rounded. Everything else is the double nearest to
//! its text, which is what a schema's own bounds beyond that range are too. One literal needs care:
//! an integer just below [`i64::MIN`] would round *up* to it and pass as an `i64`; it becomes the
//! next double below instead. So every comparison with a bound that fits `i64` or `u64` is exact.

use std::cmp::Ordering;

/// 2^63, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
/// 2^64, exactly.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// A number literal: its text, and what it amounts to.
#[derive(Debug, Clone, Copy)]
pub struct Number<'t> {
    /// The literal itself.
    pub text: &'t str,
    /// What it amounts to.
    pub quantity: Quantity,
}

/// What a number literal amounts to.
#[derive(Debug, Clone, Copy)]
pub enum Quantity {
    /// An integer of at least zero.
    Unsigned(u64),
    /// An integer below zero.
    Signed(i64),
    /// A finite double: a literal with a fraction or an exponent, `-0`, or an integer too large
    /// for the other two.
    Double(f64),
}

impl Quantity {
    /// Makes the quantity of an integer literal whose digits fit a `u64`.
    #[inline]
    pub(super) fn from_digits(negative: bool, magnitude: u64) -> Option<Self> {
        match (negative, magnitude) {
            (false, magnitude) => Some(Self::Unsigned(magnitude)),
            // JSON tells `-0` from `0`, an integer type cannot.
            (true, 0) => Some(Self::Double(-0.0)),
            (true, magnitude) => 0_i64.checked_sub_unsigned(magnitude).map(Self::Signed),
        }
    }

    /// Makes the quantity of any other literal, or none where it is beyond the doubles.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let double = text.parse::<f64>().ok().filter(|double| double.is_finite())?;
        let is_integer_literal = !text.contains(['.', 'e', 'E']);
        Some(Self::Double(if is_integer_literal && double == -TWO_TO_63 { double.next_down() } else { double }))
    }

    /// Makes the quantity of a number in a schema.
    pub(super) fn from_schema(number: &serde_json::Number) -> Option<Self> {
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
    pub(super) fn is_integer(self) -> bool {
        match self {
            Self::Unsigned(_) | Self::Signed(_) => true,
            Self::Double(double) => double.fract() == 0.0,
        }
    }

    /// Compares two quantities without rounding either.
    pub(super) fn compare(self, other: Self) -> Ordering {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        match text.strip_prefix('-') {
            Some(digits) => digits.parse().ok().and_then(|m| Quantity::from_digits(true, m)),
            None => text.parse().ok().and_then(|m| Quantity::from_digits(false, m)),
        }
        .or_else(|| Quantity::from_text(text))
        .unwrap_or_else(|| unreachable!("{text} is finite"))
    }

    #[test]
    fn integers_beyond_two_to_53_keep_their_last_digit() {
        let order = |left, right| quantity(left).compare(quantity(right));
        assert_eq!(order("9007199254740993", "9007199254740992.0"), Ordering::Greater);
        assert_eq!(order("18446744073709551615", "18446744073709551614"), Ordering::Greater);
        assert_eq!(order("18446744073709551615", "18446744073709551616"), Ordering::Less);
        assert_eq!(order("-9223372036854775808", "-9223372036854775807"), Ordering::Less);
    }

    #[test]
    fn an_integer_just_below_i64_does_not_round_up_into_it() {
        let below = quantity("-9223372036854775809");
        assert_eq!(below.compare(Quantity::Signed(i64::MIN)), Ordering::Less);
        let float = quantity("-9223372036854775808.0");
        assert_eq!(float.compare(Quantity::Signed(i64::MIN)), Ordering::Equal);
    }

    #[test]
    fn fractions_lie_between_their_neighbours() {
        for (left, right) in [("-1", "-0.5"), ("-0.5", "0"), ("0", "0.5"), ("2", "2.000001")] {
            assert_eq!(quantity(left).compare(quantity(right)), Ordering::Less, "{left} {right}");
            assert_eq!(quantity(right).compare(quantity(left)), Ordering::Greater, "{right} {left}");
        }
        assert_eq!(quantity("-0").compare(quantity("0")), Ordering::Equal);
    }

    #[test]
    fn a_number_beyond_the_doubles_has_no_quantity() {
        assert!(Quantity::from_text("1e400").is_none());
        assert!(Quantity::from_text(&"9".repeat(400)).is_none());
        assert!(Quantity::from_text("1e-400").is_some_and(Quantity::is_integer));
    }
}
