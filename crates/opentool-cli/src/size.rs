//! Sizes as people write them.

/// `512`, `1k`, `16M`, `2G`: bytes, in units of 1024.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let wrong = || "write a size such as 512k, 16M or 1G".to_owned();
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [("512", 512), ("1k", 1024), ("16M", 16 << 20), ("512MiB", 512 << 20), ("2g", 2 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "M", "1x", "-1k", "1.5M", "99999999999999999999", "99999999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
