//! What the text of a header says about its prototypes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Descriptions are read by models on every request: longer ones are cut where a sentence ends.
const LONGEST: usize = 600;
/// How far above a prototype its comment is looked for.
const FARTHEST: usize = 40;

/// What a comment says about a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comment {
    pub(super) text: String,
    pub(super) parameters: HashMap<String, OfParameter>,
    pub(super) returns: Option<String>,
}

/// What a comment says about a parameter (`@param[out] length How much was written.`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OfParameter {
    pub(super) text: String,
    /// Whether data goes in and out, where it is said.
    pub(super) direction: Option<(bool, bool)>,
}

/// The comments of headers, read when they are asked for.
#[derive(Debug, Default)]
pub(super) struct Comments {
    files: HashMap<PathBuf, Lines>,
}

impl Comments {
    /// The comment about what stands on some lines of a file, counted from one.
    pub(super) fn about(&mut self, file: &Path, first: usize, last: usize) -> Option<Comment> {
        if !self.files.contains_key(file) {
            let text = std::fs::read(file).unwrap_or_default();
            self.files.insert(file.to_owned(), Lines::of(&String::from_utf8_lossy(&text)));
        }
        let lines = self.files.get(file)?;
        let mut comment = lines.about(first, last).map(Comment::of).unwrap_or_default();
        lines.parameters(first, last, &mut comment);
        (comment != Comment::default()).then_some(comment)
    }
}

/// The lines of a header: what is code, and what is comment.
#[derive(Debug, Default)]
struct Lines {
    lines: Vec<Line>,
    comments: Vec<Span>,
    /// Of every line, the last name before its comment.
    names: Vec<Option<String>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Line {
    /// Whether there is something besides comments and spaces.
    has_code: bool,
    /// Whether that ends a declaration.
    ends_declaration: bool,
    /// Whether the line ends with a comment.
    ends_with_comment: bool,
    is_directive: bool,
    /// The comment that begins here, and the one that ends here.
    begins: Option<usize>,
    ends: Option<usize>,
}

#[derive(Debug)]
struct Span {
    last: usize,
    text: String,
}

impl Lines {
    fn of(text: &str) -> Self {
        let mut all = Lines::default();
        let mut inside: Option<String> = None;
        for (number, content) in text.lines().enumerate() {
            let mut line = Line { is_directive: content.trim_start().starts_with('#'), ..Line::default() };
            let mut rest = content;
            let code = |line: &mut Line, code: &str| {
                if let Some(last) = code.trim_end().chars().last() {
                    line.has_code = true;
                    line.ends_with_comment = false;
                    line.ends_declaration = matches!(last, ';' | '{' | '}');
                }
            };
            loop {
                if let Some(comment) = &mut inside {
                    let Some(end) = rest.find("*/") else {
                        comment.push_str(rest);
                        comment.push('\n');
                        break;
                    };
                    comment.push_str(&rest[..end]);
                    let text = inside.take().unwrap_or_default();
                    line.ends = Some(all.comments.len());
                    line.ends_with_comment = true;
                    all.comments.push(Span { last: number, text });
                    rest = &rest[end + 2..];
                    continue;
                }
                let Some(at) = next_comment(rest) else {
                    code(&mut line, rest);
                    break;
                };
                code(&mut line, &rest[..at]);
                if rest[at..].starts_with("/*") {
                    inside = Some(String::new());
                    // Where it ends is not known yet, but its number is.
                    line.begins.get_or_insert(all.comments.len());
                    rest = &rest[at + 2..];
                    continue;
                }
                all.line_comment(number, &mut line, &rest[at..]);
                break;
            }
            all.lines.push(line);
            let before = next_comment(content).map(|at| &content[..at]).filter(|_| line.begins.is_some());
            all.names.push(before.and_then(last_name));
        }
        all
    }

    /// A comment to the end of the line, which goes on where the line above has nothing else.
    fn line_comment(&mut self, number: usize, line: &mut Line, text: &str) {
        let above = number.checked_sub(1).and_then(|above| self.lines.get(above)).copied();
        if let Some(Line { has_code: false, ends: Some(above), .. }) = above
            && !line.has_code
            && above + 1 == self.comments.len()
        {
            let comment = &mut self.comments[above];
            comment.text.push('\n');
            comment.text.push_str(text);
            comment.last = number;
            line.ends = Some(above);
            return;
        }
        line.begins = Some(self.comments.len());
        line.ends = Some(self.comments.len());
        line.ends_with_comment = true;
        self.comments.push(Span { last: number, text: text.to_owned() });
    }

    fn about(&self, first: usize, last: usize) -> Option<&str> {
        let (first, last) = (first.checked_sub(1)?, last.checked_sub(1)?);
        let line = *self.lines.get(last)?;
        let own = line.begins.filter(|_| line.has_code && line.ends_declaration && line.ends_with_comment);
        let found = self.above(first).or(own).or_else(|| self.below(last))?;
        self.comments.get(found).map(|comment| comment.text.as_str())
    }

    /// The comment right above; prototypes that follow each other without an empty line share it.
    fn above(&self, first: usize) -> Option<usize> {
        for number in (first.saturating_sub(FARTHEST)..first).rev() {
            let line = self.lines[number];
            match line.ends {
                Some(comment) if !line.has_code => return Some(comment),
                Some(_) if line.ends_declaration => return None,
                Some(_) => {}
                None if !line.has_code || line.is_directive => return None,
                None => {}
            }
        }
        None
    }

    /// Comments between the parentheses, each about the parameter before it on its line.
    fn parameters(&self, first: usize, last: usize, comment: &mut Comment) {
        for number in first.saturating_sub(1)..last {
            let Some(line) = self.lines.get(number) else { return };
            let (Some(begins), Some(name)) = (line.begins.filter(|_| !line.ends_declaration), &self.names[number])
            else {
                continue;
            };
            let Some(text) = self.comments.get(begins).map(|comment| Comment::of(&comment.text).text) else { continue };
            let parameter = comment.parameters.entry(name.clone()).or_default();
            let (direction, text) = match text.split_once(": ") {
                Some(("OUT", rest)) => (Some((false, true)), rest.to_owned()),
                Some(("IN", rest)) => (Some((true, false)), rest.to_owned()),
                Some(("IN/OUT" | "INOUT", rest)) => (Some((true, true)), rest.to_owned()),
                _ => (None, text),
            };
            parameter.direction = parameter.direction.or(direction);
            if parameter.text.is_empty() {
                parameter.text = text;
            }
        }
    }

    /// The comment right below, where it does not stand right above something else.
    fn below(&self, last: usize) -> Option<usize> {
        let comment = self.lines.get(last + 1).filter(|line| !line.has_code)?.begins?;
        let after = self.lines.get(self.comments.get(comment)?.last + 1);
        after.is_none_or(|after| !after.has_code || after.is_directive).then_some(comment)
    }
}

/// `const char *sql,` → `sql`.
fn last_name(code: &str) -> Option<String> {
    let end = code.trim_end_matches(|char: char| !char.is_alphanumeric() && char != '_');
    let start = end.rfind(|char: char| !char.is_alphanumeric() && char != '_').map_or(0, |at| at + 1);
    end[start..].starts_with(|char: char| char.is_alphabetic() || char == '_').then(|| end[start..].to_owned())
}

/// Where the next comment begins, outside of strings.
fn next_comment(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut quote = None;
    let mut at = 0;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if open == byte => quote = None,
            (None, byte @ (b'"' | b'\'')) => quote = Some(byte),
            (None, b'/') if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

impl Comment {
    /// Reads the text of a comment, with the commands of Doxygen where there are some.
    fn of(text: &str) -> Self {
        enum Into {
            Text,
            Parameter(String),
            Returns,
            Nothing,
        }
        let mut comment = Comment::default();
        let mut into = Into::Text;
        let mut paragraphs = vec![String::new()];
        for line in text.lines() {
            let line = line.trim().trim_start_matches(['*', '/', '!', '<']).trim_end_matches(['*', '/']).trim();
            let mut words = line;
            let command =
                line.strip_prefix(['@', '\\']).map(|rest| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
            if let Some((command, rest)) = command {
                words = rest.trim();
                let (name, options) = command.split_once('[').unwrap_or((command, ""));
                into = match name {
                    "param" => {
                        let (name, text) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
                        words = text.trim();
                        let direction = match options.trim_end_matches(']') {
                            "in" => Some((true, false)),
                            "out" => Some((false, true)),
                            "in,out" | "inout" | "in, out" | "out,in" => Some((true, true)),
                            _ => None,
                        };
                        comment.parameters.entry(name.to_owned()).or_default().direction = direction;
                        Into::Parameter(name.to_owned())
                    }
                    "return" | "returns" | "retval" | "result" => Into::Returns,
                    "brief" | "short" | "details" | "note" | "warning" | "remark" | "attention" | "deprecated"
                    | "pre" | "post" => Into::Text,
                    _ => Into::Nothing,
                };
            } else if line.is_empty() {
                into = Into::Text;
                paragraphs.push(String::new());
                continue;
            }
            let target = match &into {
                Into::Text => paragraphs.last_mut(),
                Into::Parameter(name) => comment.parameters.get_mut(name).map(|parameter| &mut parameter.text),
                Into::Returns => Some(comment.returns.get_or_insert_default()),
                Into::Nothing => None,
            };
            if let Some(target) = target {
                for word in words.split_whitespace() {
                    if !target.is_empty() {
                        target.push(' ');
                    }
                    target.push_str(word);
                }
            }
        }
        paragraphs.retain(|paragraph| paragraph.chars().any(char::is_alphanumeric));
        comment.text = shortened(&paragraphs.join("\n"));
        comment.returns = comment.returns.filter(|text| !text.is_empty());
        comment
    }
}

/// The first sentences of a text.
fn shortened(text: &str) -> String {
    let Some((cut, _)) = text.char_indices().nth(LONGEST) else { return text.to_owned() };
    let head = &text[..cut];
    match head.rfind(['\n']).max(head.rfind(". ").map(|at| at + 1)).filter(|at| *at > LONGEST / 4) {
        Some(end) => head[..end].to_owned(),
        None => format!("{}…", head.rsplit_once(' ').map_or(head, |(head, _)| head)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn about(header: &str, prototype: &str) -> Option<Comment> {
        let line = header.lines().position(|line| line.contains(prototype)).unwrap() + 1;
        Lines::of(header).about(line, line).map(Comment::of)
    }

    #[test]
    fn the_comment_above_a_prototype_is_about_it_and_about_those_that_follow() {
        let header =
            "/* Adds two\n * numbers. */\nint add(int a, int b);\nint add3(int a, int b, int c);\n\nint lone(void);\n";
        assert_eq!(about(header, "add(").unwrap().text, "Adds two numbers.");
        assert_eq!(about(header, "add3(").unwrap().text, "Adds two numbers.");
        assert_eq!(about(header, "lone("), None);
    }

    #[test]
    fn a_comment_below_is_taken_where_it_stands_above_nothing_else() {
        let header =
            "int first(void);\n/*\n  Does this.\n*/\n\nint second(void);\n/* About the third. */\nint third(void);\n";
        assert_eq!(about(header, "first").unwrap().text, "Does this.");
        assert_eq!(about(header, "second("), None);
        assert_eq!(about(header, "third(").unwrap().text, "About the third.");
    }

    #[test]
    fn a_comment_at_the_end_of_the_line_belongs_to_that_line_only() {
        let header = "int one(void); // the one\nint two(void); /* the two */\nint three(void);\n";
        assert_eq!(about(header, "one(").unwrap().text, "the one");
        assert_eq!(about(header, "two(").unwrap().text, "the two");
        assert_eq!(about(header, "three("), None);
    }

    #[test]
    fn line_comments_and_the_commands_of_doxygen_are_read() {
        let header = "/// @brief Reads a sensor.\n///\n/// It waits.\n/// @param[out] value The value,\n///   in kelvin.\n/// @param id Which one.\n/// @return 0 for success\n/// @see other\nint read_sensor(int id, double *value);\n";
        let comment = about(header, "read_sensor(").unwrap();
        assert_eq!(comment.text, "Reads a sensor.\nIt waits.");
        assert_eq!(
            comment.parameters["value"],
            OfParameter { text: "The value, in kelvin.".into(), direction: Some((false, true)) }
        );
        assert_eq!(comment.parameters["id"], OfParameter { text: "Which one.".into(), direction: None });
        assert_eq!(comment.returns.as_deref(), Some("0 for success"));
    }

    #[test]
    fn comments_between_the_parentheses_are_about_parameters() {
        let header = "/* Prepares. */\nint prepare(\n  db *base,  /* the base */\n  int *left  /* OUT: how much is left */\n);\nint again(\n  int x /* a number */\n);\n";
        let lines = Lines::of(header);
        let mut comment = Comment::of(lines.about(2, 5).unwrap());
        lines.parameters(2, 5, &mut comment);
        assert_eq!(comment.text, "Prepares.");
        assert_eq!(comment.parameters["base"], OfParameter { text: "the base".into(), direction: None });
        assert_eq!(
            comment.parameters["left"],
            OfParameter { text: "how much is left".into(), direction: Some((false, true)) }
        );
        assert_eq!(Comment::of(lines.about(6, 8).unwrap()).text, "Prepares.");
    }

    #[test]
    fn a_long_comment_is_cut_after_a_sentence() {
        let header =
            format!("/* {} */\nint f(void);\n", "This is a sentence of eight words, more or less. ".repeat(40));
        let text = about(&header, "f(").unwrap().text;
        assert!(text.len() <= LONGEST && text.ends_with("or less."), "{text}");
    }

    #[test]
    fn what_looks_like_a_comment_in_a_string_is_none() {
        assert_eq!(next_comment(r#"f("//", '"') // real"#), Some(13));
        assert_eq!(next_comment(r#"f("/* \" */")"#), None);
    }
}
