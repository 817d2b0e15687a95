//! How much there is of a value: buffers, lengths and what names them.

use opentool_spec::DynFunction;

use super::buffer::{Buffer, Length};
use super::extension::{Extensions, LARGEST_BUFFER};

/// How many bytes a text that goes out may have where the document does not say it.
pub(super) const DEFAULT_BUFFER: usize = 4096;

/// The size of an out buffer, and what says how much of it counts; `element` is the size of an element.
pub(super) fn buffer(
    function: &DynFunction,
    keys: Extensions<'_>,
    element: usize,
    default: Option<usize>,
) -> Result<Buffer, String> {
    let size_parameter = parameter(function, keys, "x-sizeParam")?;
    let length = length(function, keys)?;
    let size = match size(keys, element)?.or(default) {
        Some(size) => size,
        None if size_parameter.is_some() => (DEFAULT_BUFFER / element).max(1),
        None => {
            return Err(
                "how many elements the buffer has must be said by `x-size`, `maxItems` or `x-sizeParam`".to_owned()
            );
        }
    };
    Ok(Buffer { size, size_parameter, length })
}

/// What says how much of a value counts (`x-lengthParam`): a parameter or the return value.
pub(super) fn length(function: &DynFunction, keys: Extensions<'_>) -> Result<Option<Length>, String> {
    match keys.name("x-lengthParam")? {
        Some(name) if function.returns.as_ref().is_some_and(|returns| returns.name == name) => Ok(Some(Length::Return)),
        Some(name) => Ok(Some(Length::Parameter(position(function, "x-lengthParam", name)?))),
        None => Ok(None),
    }
}

/// How many elements there are, by `x-size` or the schema's `maxItems`.
pub(super) fn size(keys: Extensions<'_>, element: usize) -> Result<Option<usize>, String> {
    let Some(size) = keys.count("x-size")?.map_or_else(|| keys.count("maxItems"), |size| Ok(Some(size)))? else {
        return Ok(None);
    };
    match size.checked_mul(element) {
        Some(bytes) if bytes <= LARGEST_BUFFER => Ok(Some(size)),
        _ => Err(format!("{size} elements are more than the {LARGEST_BUFFER} bytes that a buffer may have")),
    }
}

/// The parameter that a key names.
pub(super) fn parameter(function: &DynFunction, keys: Extensions<'_>, key: &str) -> Result<Option<usize>, String> {
    keys.name(key)?.map(|name| position(function, key, name)).transpose()
}

pub(super) fn position(function: &DynFunction, key: &str, name: &str) -> Result<usize, String> {
    let found = function.parameters.iter().position(|parameter| parameter.name == name);
    found.ok_or_else(|| format!("`{key}` names `{name}`, which is no parameter of the function"))
}
