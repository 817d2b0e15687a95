//! Texts of others, made fit for a log or a message.

/// How many bytes of a text are shown.
const SHOWN: usize = 2048;

/// The beginning of a text on one line, with its control characters made visible.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(SHOWN) + 4);
    for char in text.trim_end().chars() {
        if shown.len() >= SHOWN {
            shown.push('…');
            break;
        }
        if is_hidden(char) {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Says whether a character moves the cursor, changes colours or reverses the direction of what follows.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible_and_length_is_bounded() {
        assert_eq!(shown("a\x1b[31mb\tc\r\n"), "a\\u{1b}[31mb\\tc");
        assert_eq!(shown("left \u{202e}thgir"), "left \\u{202e}thgir");
        assert_eq!(shown("grüße"), "grüße");
        assert!(shown(&"x".repeat(100_000)).len() < SHOWN + 8);
    }
}
