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

/// A JSON text without layout in which every text stands in the plainest way that means the same.
///
/// What a person is asked about must read as what is run: `"\u0072m"` is `"rm"`. Digits and equal keys stay.
pub(crate) fn canonical(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(char) = rest.chars().next() {
        let length = if char == '"' { string_length(rest) } else { char.len_utf8() };
        let (token, after) = rest.split_at(length);
        match char {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => match serde_json::from_str::<String>(token) {
                Ok(text) => out.push_str(&serde_json::Value::from(text).to_string()),
                Err(_) => out.push_str(token),
            },
            _ => out.push_str(token),
        }
        rest = after;
    }
    out
}

/// How many bytes the text has that begins here, with its quotes.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
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
    fn a_canonical_text_reads_as_what_it_means() {
        let json = r#" { "\u0072m" : [ "\/tmp\/\u002a" , 12345678901234567890123 , 1.10 ], "a": "b\\\" \u001b", "a": "é \ud800" } "#;
        let expected = r#"{"rm":["/tmp/*",12345678901234567890123,1.10],"a":"b\\\" \u001b","a":"é \ud800"}"#;
        assert_eq!(canonical(json), expected);
        assert_eq!(canonical(expected), expected);
        assert_eq!(canonical(r#"{"open": "end"#), r#"{"open":"end"#);
    }

    #[test]
    fn digits_stay() {
        assert_eq!(indented(r#"[ 12345678901234567890123 , 1.10 ]"#), "[\n  12345678901234567890123,\n  1.10\n]");
    }
}
