//! Conversion between units.

use std::fmt;

use opentool::tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A unit of length, mass, volume, duration or temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    Millimetre,
    Centimetre,
    Metre,
    Kilometre,
    Inch,
    Foot,
    Yard,
    Mile,
    NauticalMile,
    Gram,
    Kilogram,
    Tonne,
    Ounce,
    Pound,
    Millilitre,
    Litre,
    CubicMetre,
    UsFluidOunce,
    UsGallon,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Kelvin,
    Celsius,
    Fahrenheit,
}

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Length,
    Mass,
    Volume,
    Duration,
    Temperature,
}

/// How a unit stands to the base unit of its dimension: `base = (value + zero) * factor`.
struct Scale {
    dimension: Dimension,
    factor: f64,
    zero: f64,
}

impl Unit {
    fn scale(self) -> Scale {
        use Dimension::{Duration, Length, Mass, Temperature, Volume};
        let (dimension, factor, zero) = match self {
            Unit::Millimetre => (Length, 1e-3, 0.0),
            Unit::Centimetre => (Length, 1e-2, 0.0),
            Unit::Metre => (Length, 1.0, 0.0),
            Unit::Kilometre => (Length, 1e3, 0.0),
            Unit::Inch => (Length, 0.0254, 0.0),
            Unit::Foot => (Length, 0.3048, 0.0),
            Unit::Yard => (Length, 0.9144, 0.0),
            Unit::Mile => (Length, 1609.344, 0.0),
            Unit::NauticalMile => (Length, 1852.0, 0.0),
            Unit::Gram => (Mass, 1e-3, 0.0),
            Unit::Kilogram => (Mass, 1.0, 0.0),
            Unit::Tonne => (Mass, 1e3, 0.0),
            Unit::Ounce => (Mass, 0.028_349_523_125, 0.0),
            Unit::Pound => (Mass, 0.453_592_37, 0.0),
            Unit::Millilitre => (Volume, 1e-3, 0.0),
            Unit::Litre => (Volume, 1.0, 0.0),
            Unit::CubicMetre => (Volume, 1e3, 0.0),
            Unit::UsFluidOunce => (Volume, 0.029_573_529_562_5, 0.0),
            Unit::UsGallon => (Volume, 3.785_411_784, 0.0),
            Unit::Second => (Duration, 1.0, 0.0),
            Unit::Minute => (Duration, 60.0, 0.0),
            Unit::Hour => (Duration, 3_600.0, 0.0),
            Unit::Day => (Duration, 86_400.0, 0.0),
            Unit::Week => (Duration, 604_800.0, 0.0),
            Unit::Kelvin => (Temperature, 1.0, 0.0),
            Unit::Celsius => (Temperature, 1.0, 273.15),
            Unit::Fahrenheit => (Temperature, 5.0 / 9.0, 459.67),
        };
        Scale { dimension, factor, zero }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dimension::Length => "length",
            Dimension::Mass => "mass",
            Dimension::Volume => "volume",
            Dimension::Duration => "duration",
            Dimension::Temperature => "temperature",
        })
    }
}

/// Why there is no result. The model reads it.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConversionError {
    #[error("{from} is a unit of {from_dimension}, {to} one of {to_dimension}: give two units that measure the same")]
    Different { from: Unit, from_dimension: Dimension, to: Unit, to_dimension: Dimension },
    #[error("{value} {unit} is below absolute zero")]
    BelowAbsoluteZero { value: f64, unit: Unit },
    #[error("{value} {from} is too large for {to}")]
    Overflow { value: f64, from: Unit, to: Unit },
}

/// Convert a value from one unit to another of the same kind: length, mass, volume, duration or temperature.
#[tool(inline, read_only, idempotent, output_name = "value")]
pub(super) fn convert_unit(
    /// How many of the unit `from`.
    value: f64,
    /// The unit of the value.
    from: Unit,
    /// The unit to convert to.
    to: Unit,
) -> Result<f64, ConversionError> {
    let (source, target) = (from.scale(), to.scale());
    if source.dimension != target.dimension {
        let (from_dimension, to_dimension) = (source.dimension, target.dimension);
        return Err(ConversionError::Different { from, from_dimension, to, to_dimension });
    }
    if from == to {
        return Ok(value);
    }
    let base = (value + source.zero) * source.factor;
    if source.dimension == Dimension::Temperature && base < 0.0 {
        return Err(ConversionError::BelowAbsoluteZero { value, unit: from });
    }
    let converted = significant(base / target.factor - target.zero);
    if converted.is_finite() { Ok(converted) } else { Err(ConversionError::Overflow { value, from, to }) }
}

/// Twelve significant digits: what is behind them is noise of the factors, and a model would repeat it.
fn significant(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use opentool::{ErrorKind, testing::Probe};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn values_are_converted_without_noise() {
        let probe = Probe::new(convert_unit::tool());
        for (value, from, to, result) in [
            (1.0, "mile", "kilometre", 1.609344),
            (3.0, "foot", "inch", 36.0),
            (0.1, "kilometre", "metre", 100.0),
            (100.0, "celsius", "fahrenheit", 212.0),
            (-40.0, "fahrenheit", "celsius", -40.0),
            (0.0, "kelvin", "celsius", -273.15),
            (1.0, "us_gallon", "litre", 3.785411784),
            (2.0, "week", "day", 14.0),
            (5.0, "pound", "pound", 5.0),
        ] {
            let answer = probe.call("convert_unit", json!({ "value": value, "from": from, "to": to })).await;
            answer.assert_json(result);
        }
    }

    #[tokio::test]
    async fn impossible_conversions_say_why() {
        let probe = Probe::new(convert_unit::tool());
        for (value, from, to, message) in [
            (
                1.0,
                "kilogram",
                "metre",
                "kilogram is a unit of mass, metre one of length: give two units that measure the same",
            ),
            (-300.0, "celsius", "kelvin", "-300 celsius is below absolute zero"),
            (1e308, "kilometre", "millimetre", &format!("{} kilometre is too large for millimetre", 1e308)),
        ] {
            let answer = probe.call("convert_unit", json!({ "value": value, "from": from, "to": to })).await;
            answer.assert_error(ErrorKind::Failed).assert_message(message);
        }
    }

    #[tokio::test]
    async fn an_unknown_unit_is_refused_by_the_schema() {
        let probe = Probe::new(convert_unit::tool());
        let answer = probe.call("convert_unit", json!({ "value": 1, "from": "furlong", "to": "metre" })).await;
        answer.assert_error(ErrorKind::InvalidArguments);
    }
}
