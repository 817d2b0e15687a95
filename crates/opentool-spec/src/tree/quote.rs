//! Values in messages.

/// A value in a message: shortened, and in backticks.
pub(crate) fn quote(raw: &str) -> String {
    const SHOWN: usize = 60;
    let line: String = raw.chars().take(SHOWN + 1).map(|char| if char.is_control() { ' ' } else { char }).collect();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}
