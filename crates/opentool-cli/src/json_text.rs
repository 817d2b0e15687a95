//! JSON laid out for people, digit by digit as it came.

/// Puts the members and elements of a JSON text on lines of their own.
///
/// A detour over values would round large numbers and merge equal keys.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut chars = json.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => {
                out.push(char);
                while let Some(char) = chars.next() {
                    out.push(char);
                    match char {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(char);
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(char);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push(char),
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_layout_is_that_of_the_json_library() {
        let value = json!({ "a": [1, { "b": "x\"{}[],:\\" }, [], {}], "c": null, "d": " e \n" });
        let text = value.to_string();
        assert_eq!(indented(&text), serde_json::to_string_pretty(&value).unwrap_or_default());
        assert_eq!(indented(&indented(&text)), indented(&text));
        for scalar in [json!("a"), json!(1.5), Value::Null] {
            assert_eq!(indented(&scalar.to_string()), scalar.to_string());
        }
    }

    #[test]
    fn digits_stay() {
        assert_eq!(indented(r#"[ 12345678901234567890123 , 1.10 ]"#), "[\n  12345678901234567890123,\n  1.10\n]");
    }
}
