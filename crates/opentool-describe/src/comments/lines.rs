//! The lines of a header: what is code, what is comment, and which comment is about what.

use super::comment::Comment;
use super::text;

/// How far above a prototype its comment is looked for.
const FARTHEST: usize = 40;

/// The lines of a header.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    comments: Vec<CommentSpan>,
    /// Of every line, the last name before its comment.
    names: Vec<Option<String>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Line {
    /// Whether there is something besides comments and spaces.
    has_code: bool,
    /// Whether that ends a declaration.
    ends_declaration: bool,
    /// Whether that declares a type or has a body, so that a comment above is about something else than functions.
    is_other: bool,
    is_directive: bool,
    /// Whether the line begins between parentheses.
    is_inside: bool,
    /// The comment that begins here, and the one that ends here.
    begins: Option<usize>,
    ends: Option<usize>,
    /// The comment before all code of the line, and the one after it.
    leading: Option<usize>,
    trailing: Option<usize>,
}

#[derive(Debug)]
struct CommentSpan {
    last: usize,
    text: String,
    /// Where the comment begins in its line.
    column: usize,
    /// Whether it is about what stands before it, not about what follows.
    points_back: bool,
}

impl Lines {
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = LineReader::default();
        for content in text.lines() {
            reader.line(content);
        }
        reader.all
    }

    /// What is said about the prototype on some lines, counted from one: by a comment of its own, else by one that it shares.
    pub(crate) fn about(&self, first: usize, last: usize) -> Option<Comment> {
        let (first, last) = (first.checked_sub(1)?, last.checked_sub(1)?);
        let (begin, end) = (self.lines.get(first)?, self.lines.get(last)?);
        let above = self.above(first);
        let leading = begin.leading.filter(|comment| !self.comments[*comment].points_back);
        let directly = above.filter(|(_, is_shared)| !is_shared).map(|(comment, _)| comment);
        let trailing = end.trailing.filter(|_| end.ends_declaration);
        let own = [leading, directly, trailing, self.below(last)].into_iter().flatten();
        let read = |comment: usize| text::read(&self.comments[comment].text);
        own.map(read).find(|comment| *comment != Comment::default()).or_else(|| {
            let (comment, _) = above.filter(|(_, is_shared)| *is_shared)?;
            let comment = read(comment);
            // What is said of parameters and results is meant for one function.
            let is_general = comment.parameters.is_empty() && comment.returns.is_none() && !comment.text.is_empty();
            is_general.then_some(Comment { is_shared: true, ..comment })
        })
    }

    /// The comment above, and whether it stands above another prototype, which this one follows without an empty line.
    fn above(&self, first: usize) -> Option<(usize, bool)> {
        let mut is_shared = false;
        for number in (first.saturating_sub(FARTHEST)..first).rev() {
            let line = self.lines[number];
            if line.is_directive {
                return None;
            }
            if !line.has_code {
                let is_empty = line.ends.is_none() && line.begins.is_none() && !line.is_inside;
                if is_empty && number + 1 == first {
                    return self.apart(number).map(|comment| (comment, false));
                }
                let comment = line.ends.filter(|comment| !line.is_inside && !self.comments[*comment].points_back)?;
                return Some((comment, is_shared));
            }
            let has_its_own = line.leading.is_some() || (line.trailing.is_some() && line.ends_declaration);
            if has_its_own || line.is_other {
                return None;
            }
            is_shared |= line.ends_declaration;
        }
        None
    }

    /// The comment of Doxygen above an empty line, which is about what follows that.
    fn apart(&self, empty: usize) -> Option<usize> {
        let above = self.lines.get(empty.checked_sub(1)?).filter(|line| !line.has_code && !line.is_inside)?;
        let comment = above.ends.filter(|comment| !self.comments[*comment].points_back)?;
        let text = &self.comments[comment].text;
        let is_of_function = text.starts_with(['*', '!']) && text.contains(['@', '\\']);
        let is_of_all = ["file", "defgroup", "addtogroup", "name", "mainpage", "{", "}"]
            .iter()
            .any(|word| text.contains(&format!("@{word}")) || text.contains(&format!("\\{word}")));
        (is_of_function && !is_of_all).then_some(comment)
    }

    /// The comment right below, where it does not stand right above something else.
    fn below(&self, last: usize) -> Option<usize> {
        let comment = self.lines.get(last + 1).filter(|line| !line.has_code)?.begins?;
        let span = self.comments.get(comment)?;
        let after = self.lines.get(span.last + 1);
        let is_free = after.is_none_or(|after| !after.has_code || after.is_directive);
        (is_free || span.points_back).then_some(comment)
    }

    /// Comments between the parentheses, each about the parameter before it on its line.
    pub(crate) fn parameters(&self, first: usize, last: usize, comment: &mut Comment) {
        for number in first.saturating_sub(1)..last {
            let Some(line) = self.lines.get(number) else { return };
            let (Some(begins), Some(name)) = (line.begins.filter(|_| !line.ends_declaration), &self.names[number])
            else {
                continue;
            };
            let Some(text) = self.comments.get(begins).map(|comment| text::read(&comment.text).text) else { continue };
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
}

/// Reads lines one after another.
#[derive(Debug, Default)]
struct LineReader {
    all: Lines,
    /// The comment that is open.
    inside: Option<CommentSpan>,
    /// How many parentheses are open.
    depth: usize,
    /// Whether the next line belongs to a directive.
    continues: bool,
}

impl LineReader {
    fn line(&mut self, content: &str) {
        let number = self.all.lines.len();
        let is_directive = self.continues || (self.inside.is_none() && content.trim_start().starts_with('#'));
        self.continues = is_directive && content.ends_with('\\');
        let mut line = Line { is_directive, is_inside: self.depth > 0, ..Line::default() };
        let mut at = 0;
        loop {
            let rest = &content[at..];
            if let Some(mut span) = self.inside.take() {
                let Some(end) = rest.find("*/") else {
                    span.text.push_str(rest);
                    span.text.push('\n');
                    self.inside = Some(span);
                    break;
                };
                span.text.push_str(&rest[..end]);
                span.last = number;
                at += end + 2;
                self.end(span, &mut line);
                continue;
            }
            let Some(begin) = next_comment(rest) else {
                self.code(&mut line, rest);
                break;
            };
            self.code(&mut line, &rest[..begin]);
            let column = at + begin;
            if rest[begin..].starts_with("//") {
                self.line_comment(&mut line, &rest[begin..], column);
                break;
            }
            // Where it ends is not known yet, but its number is.
            self.begin(&mut line);
            at += begin + 2;
            let points_back = line.has_code || is_back_pointing(&content[at..]);
            self.inside = Some(CommentSpan { last: number, text: String::new(), column, points_back });
        }
        self.all.lines.push(line);
        let before = next_comment(content).map(|at| &content[..at]).filter(|_| line.begins.is_some());
        self.all.names.push(before.and_then(last_name));
    }

    fn code(&mut self, line: &mut Line, code: &str) {
        let code = code.trim();
        let Some(last) = code.chars().last() else { return };
        line.is_other |= code.contains(['{', '}']) || (!line.has_code && code.starts_with("typedef"));
        line.has_code = true;
        line.trailing = None;
        line.ends_declaration = matches!(last, ';' | '{' | '}');
        if line.is_directive {
            return;
        }
        for char in code.chars() {
            match char {
                '(' => self.depth += 1,
                ')' => self.depth = self.depth.saturating_sub(1),
                // Nothing is open beyond a declaration, however it was written.
                ';' => self.depth = 0,
                _ => {}
            }
        }
    }

    /// A comment begins, whose number is the next one.
    fn begin(&self, line: &mut Line) {
        let comment = self.all.comments.len();
        line.begins.get_or_insert(comment);
        if line.has_code {
            line.trailing = Some(comment);
        }
    }

    fn end(&mut self, span: CommentSpan, line: &mut Line) {
        let comment = self.all.comments.len();
        line.ends = Some(comment);
        if !line.has_code {
            line.leading = Some(comment);
        }
        self.all.comments.push(span);
    }

    /// A comment to the end of the line, which goes on where the line above has nothing else, or one in the same column.
    fn line_comment(&mut self, line: &mut Line, text: &str, column: usize) {
        let number = self.all.lines.len();
        let above = self.all.lines.last().and_then(|above| Some((above.has_code, above.ends?)));
        if let Some((after_code, above)) = above
            && !line.has_code
            && above + 1 == self.all.comments.len()
            && (!after_code || self.all.comments[above].column == column)
        {
            let comment = &mut self.all.comments[above];
            comment.text.push('\n');
            comment.text.push_str(text);
            comment.last = number;
            line.ends = Some(above);
            return;
        }
        self.begin(line);
        let points_back = line.has_code || is_back_pointing(text);
        self.end(CommentSpan { last: number, text: text.to_owned(), column, points_back }, line);
    }
}

/// Whether a comment says by `<` that it is about what stands before it: `/**< so */`, `///< so`.
fn is_back_pointing(text: &str) -> bool {
    text.trim_start_matches(['/', '*', '!']).starts_with('<') && !text.starts_with('<')
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::comment::ParameterComment;
    use super::*;

    fn about(header: &str, prototype: &str) -> Option<Comment> {
        let line = header.lines().position(|line| line.contains(prototype)).unwrap() + 1;
        Lines::read(header).about(line, line)
    }

    fn text(header: &str, prototype: &str) -> Option<(String, bool)> {
        about(header, prototype).map(|comment| (comment.text, comment.is_shared))
    }

    fn own(text: &str) -> Option<(String, bool)> {
        Some((text.to_owned(), false))
    }

    fn shared(text: &str) -> Option<(String, bool)> {
        Some((text.to_owned(), true))
    }

    #[test]
    fn a_comment_above_a_prototype_is_shared_by_those_that_follow() {
        let header = "/* Adds two\n * numbers. */\nint add(int a, int b);\nint add3(int a, int b,\n  int c);\nint add4(void);\n\nint lone(void);\n";
        assert_eq!(text(header, "add("), own("Adds two numbers."));
        assert_eq!(text(header, "add3("), shared("Adds two numbers."));
        assert_eq!(text(header, "add4("), shared("Adds two numbers."));
        assert_eq!(text(header, "lone("), None);
    }

    #[test]
    fn a_comment_about_parameters_or_results_is_not_shared() {
        let header = "/** Adds.\n * @param a one */\nint add(int a);\nint sub(int a);\n\n/** Tells. @return it */\nint tell(void);\nint hide(void);\n";
        assert_eq!(text(header, "add("), own("Adds."));
        assert_eq!(text(header, "sub("), None);
        assert_eq!(text(header, "tell("), own("Tells."));
        assert_eq!(text(header, "hide("), None);
    }

    #[test]
    fn a_comment_below_is_taken_where_it_stands_above_nothing_else() {
        let header =
            "int first(void);\n/*\n  Does this.\n*/\n\nint second(void);\n/* About the third. */\nint third(void);\n";
        assert_eq!(text(header, "first"), own("Does this."));
        assert_eq!(text(header, "second("), None);
        assert_eq!(text(header, "third("), own("About the third."));
    }

    #[test]
    fn a_comment_on_the_line_of_a_prototype_belongs_to_that_only() {
        let header = "int one(void); // the one\nint two(int /* wide */ x); /* the two */\nint three(void);\n/* the four */ int four(void);\nint five(void);\n";
        assert_eq!(text(header, "one("), own("the one"));
        assert_eq!(text(header, "two("), own("the two"));
        assert_eq!(text(header, "three("), None);
        assert_eq!(text(header, "four("), own("the four"));
        assert_eq!(text(header, "five("), None);
    }

    #[test]
    fn a_comment_after_a_prototype_is_not_about_the_next() {
        let header = "int one(void); // the one\n               // and only\nint two(void); /* the two\n  of it */\nint three(void);\nint four(void);\n  ///< the four\nint five(void);\n";
        assert_eq!(text(header, "one("), own("the one and only"));
        assert_eq!(text(header, "two("), own("the two of it"));
        assert_eq!(text(header, "three("), None);
        assert_eq!(text(header, "four("), own("the four"));
        assert_eq!(text(header, "five("), None);
    }

    #[test]
    fn a_comment_above_a_prototypes_macro_is_about_the_prototype() {
        let header = "/* Adds. */\nAPI\nint add(int a);\n#define TWICE(x) \\\n  (2 * (x))\nint twice(int x);\n#endif /* so */\nint last(void);\n";
        assert_eq!(text(header, "add("), own("Adds."));
        assert_eq!(text(header, "twice("), None);
        assert_eq!(text(header, "last("), None);
    }

    #[test]
    fn comments_between_the_parentheses_are_about_parameters() {
        let header = "/* Prepares. */\nint prepare(\n  db *base,  /* the base */\n  int *left  /* OUT: how much is left */\n);\nint again(\n  int x /* a number */\n);\nint more(\n  /* a length */\n  int x);\nint other(void);\n";
        let lines = Lines::read(header);
        let mut comment = lines.about(2, 5).unwrap();
        lines.parameters(2, 5, &mut comment);
        assert_eq!(comment.text, "Prepares.");
        assert_eq!(comment.parameters["base"], ParameterComment { text: "the base".into(), direction: None });
        assert_eq!(
            comment.parameters["left"],
            ParameterComment { text: "how much is left".into(), direction: Some((false, true)) }
        );
        assert_eq!(lines.about(6, 8).map(|comment| (comment.text, comment.is_shared)), shared("Prepares."));
        assert_eq!(text(header, "other("), None);
    }

    #[test]
    fn a_doxygen_comment_may_stand_apart_by_an_empty_line() {
        let header = "/**\n * Starts.\n * @returns 1\n */\n\nAPI(int)\nstart(void);\n\n/** @file all */\n\nint one(void);\n\n/* Plain. */\n\nint two(void);\n";
        let line = header.lines().position(|line| line.contains("start(")).unwrap() + 1;
        let comment = Lines::read(header).about(line - 1, line).unwrap();
        assert_eq!((comment.text.as_str(), comment.returns.as_deref()), ("Starts.", Some("1")));
        assert_eq!(text(header, "one("), None);
        assert_eq!(text(header, "two("), None);
    }

    #[test]
    fn what_looks_like_a_comment_in_a_string_is_none() {
        assert_eq!(next_comment(r#"f("//", '"') // real"#), Some(13));
        assert_eq!(next_comment(r#"f("/* \" */")"#), None);
    }
}
