//! Arithmetic that says so instead of giving a wrong number.

use opentool::{tool, toolbox};

/// A calculator over whole numbers.
#[derive(Debug)]
pub(super) struct Calculator;

/// Why there is no result. The model reads it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum CalculatorError {
    #[error("{a} {operation} {b} does not fit into 64 bits")]
    Overflow { a: i64, operation: char, b: i64 },
    #[error("{0} cannot be divided by zero")]
    DivisionByZero(i64),
}

/// A quotient without its fraction, and what is left.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(super) struct Quotient {
    /// How often the divisor fits in.
    quotient: i64,
    /// What is left; it has the sign of the dividend.
    remainder: i64,
}

#[toolbox]
impl Calculator {
    /// Add two integers.
    #[tool(inline, read_only, idempotent, output_name = "sum")]
    fn add(
        /// The first number.
        a: i64,
        /// The number to add to it.
        b: i64,
    ) -> Result<i64, CalculatorError> {
        a.checked_add(b).ok_or(CalculatorError::Overflow { a, operation: '+', b })
    }

    /// Subtract one integer from another.
    #[tool(inline, read_only, idempotent, output_name = "difference")]
    fn subtract(
        /// The number to subtract from.
        a: i64,
        /// The number to subtract.
        b: i64,
    ) -> Result<i64, CalculatorError> {
        a.checked_sub(b).ok_or(CalculatorError::Overflow { a, operation: '-', b })
    }

    /// Multiply two integers.
    #[tool(inline, read_only, idempotent, output_name = "product")]
    fn multiply(
        /// The first factor.
        a: i64,
        /// The second factor.
        b: i64,
    ) -> Result<i64, CalculatorError> {
        a.checked_mul(b).ok_or(CalculatorError::Overflow { a, operation: '*', b })
    }

    /// Divide one integer by another, giving the whole quotient and the remainder.
    #[tool(inline, read_only, idempotent)]
    fn divide(
        /// The number to divide.
        a: i64,
        /// The number to divide by; not zero.
        b: i64,
    ) -> Result<Quotient, CalculatorError> {
        if b == 0 {
            return Err(CalculatorError::DivisionByZero(a));
        }
        let quotient = a.checked_div(b).ok_or(CalculatorError::Overflow { a, operation: '/', b })?;
        Ok(Quotient { quotient, remainder: a.wrapping_rem(b) })
    }
}

#[cfg(test)]
mod tests {
    use opentool::{ErrorKind, testing::Probe};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn the_four_operations_calculate() {
        let probe = Probe::new(Calculator);
        for (name, result) in [
            ("add", json!(-4)),
            ("subtract", json!(-10)),
            ("multiply", json!(-21)),
            ("divide", json!({ "quotient": -2, "remainder": -1 })),
        ] {
            probe.call(name, json!({ "a": -7, "b": 3 })).await.assert_json(result);
        }
    }

    #[tokio::test]
    async fn what_does_not_fit_is_an_error_that_shows_the_numbers() {
        let probe = Probe::new(Calculator);
        for (name, a, b, message) in [
            ("add", i64::MAX, 1, "9223372036854775807 + 1 does not fit into 64 bits"),
            ("subtract", i64::MIN, 1, "-9223372036854775808 - 1 does not fit into 64 bits"),
            ("multiply", i64::MAX, 2, "9223372036854775807 * 2 does not fit into 64 bits"),
            ("divide", i64::MIN, -1, "-9223372036854775808 / -1 does not fit into 64 bits"),
            ("divide", 5, 0, "5 cannot be divided by zero"),
        ] {
            let answer = probe.call(name, json!({ "a": a, "b": b })).await;
            answer.assert_error(ErrorKind::Failed).assert_message(message);
        }
    }

    #[tokio::test]
    async fn a_number_with_a_fraction_is_refused() {
        let answer = Probe::new(Calculator).call("add", json!({ "a": 1.5, "b": 2 })).await;
        answer.assert_error(ErrorKind::InvalidArguments);
    }
}
