//! The text of a comment: sentences, headings, the commands of Doxygen.

use super::comment::Comment;

/// Descriptions are read by models on every request: longer ones are cut where a sentence ends.
const LONGEST: usize = 600;

/// The commands that begin something new wherever they stand in a line.
const COMMANDS: [&str; 22] = [
    "param",
    "return",
    "returns",
    "retval",
    "result",
    "brief",
    "short",
    "details",
    "note",
    "warning",
    "remark",
    "remarks",
    "attention",
    "deprecated",
    "pre",
    "post",
    "see",
    "sa",
    "since",
    "throws",
    "exception",
    "tparam",
];

/// The commands that only say how the next word looks.
const INLINE: [&str; 6] = ["c", "p", "a", "e", "b", "em"];

/// What the words that come next are part of.
enum Part {
    Text,
    Parameter(String),
    Returns,
    Nothing,
}

/// Reads the text of a comment, with the commands of Doxygen where there are some.
pub(crate) fn read(text: &str) -> Comment {
    let mut reader = CommentReader { comment: Comment::default(), part: Part::Text, paragraphs: vec![String::new()] };
    if !is_box_with_a_title(text) {
        for line in text.lines().filter(|line| !is_rule(line) && !is_heading(line)) {
            let line = line.trim().trim_start_matches(['*', '/', '!', '<']).trim_end_matches(['*', '/']).trim();
            if line.is_empty() {
                reader.paragraph();
            }
            for piece in pieces(line) {
                reader.piece(piece);
            }
        }
    }
    reader.finish()
}

/// Reads a comment piece by piece.
struct CommentReader {
    comment: Comment,
    part: Part,
    paragraphs: Vec<String>,
}

impl CommentReader {
    fn paragraph(&mut self) {
        self.part = Part::Text;
        self.paragraphs.push(String::new());
    }

    /// A piece of a line, which a command may begin.
    fn piece(&mut self, piece: &str) {
        let words = match piece.strip_prefix(['@', '\\']) {
            Some(command) => match command.split_once(' ').filter(|(name, _)| INLINE.contains(name)) {
                // A word that is only set in another type: `@c NULL`.
                Some((_, rest)) => rest,
                None => self.command(command),
            },
            None => piece,
        };
        let target = match &self.part {
            Part::Text => self.paragraphs.last_mut(),
            Part::Parameter(name) => self.comment.parameters.get_mut(name).map(|parameter| &mut parameter.text),
            Part::Returns => Some(self.comment.returns.get_or_insert_default()),
            Part::Nothing => None,
        };
        let Some(target) = target else { return };
        for word in words.split_whitespace() {
            if !target.is_empty() {
                target.push(' ');
            }
            target.push_str(word);
        }
    }

    /// Begins what a command begins, and returns the words that belong to it.
    fn command<'t>(&mut self, command: &'t str) -> &'t str {
        let (name, rest) = command.split_at(command.find([' ', '\t', '[']).unwrap_or(command.len()));
        let (options, words) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((options, words)) => (options, words.trim()),
            None => ("", rest.trim()),
        };
        let (part, words) = match name {
            "param" => {
                let (name, text) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
                // `@param x - the value` and `@param x: the value` only set the name apart.
                let name = name.trim_end_matches(':');
                let text = text.trim_start();
                let text =
                    ["- ", "-- ", "– ", "— ", ": "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
                let direction = match options.replace(' ', "").as_str() {
                    "in" => Some((true, false)),
                    "out" => Some((false, true)),
                    "in,out" | "inout" | "out,in" => Some((true, true)),
                    _ => None,
                };
                self.comment.parameters.entry(name.to_owned()).or_default().direction = direction;
                (Part::Parameter(name.to_owned()), text)
            }
            "return" | "returns" | "retval" | "result" => (Part::Returns, words),
            "brief" | "short" | "details" | "note" | "warning" | "remark" | "remarks" | "attention" | "deprecated"
            | "pre" | "post" => (Part::Text, words),
            _ => (Part::Nothing, words),
        };
        self.part = part;
        words
    }

    fn finish(mut self) -> Comment {
        self.paragraphs.retain(|paragraph| paragraph.chars().any(char::is_alphanumeric));
        self.comment.full = self.paragraphs.join("\n");
        self.comment.text = shortened(&self.comment.full);
        self.comment.returns = self.comment.returns.filter(|text| !text.is_empty());
        for parameter in self.comment.parameters.values_mut() {
            parameter.direction = parameter.direction.or_else(|| direction_in(&parameter.text));
        }
        self.comment
    }
}

/// Which way data goes, where the description of a parameter says it in so many words.
fn direction_in(text: &str) -> Option<(bool, bool)> {
    const BUFFERS: [&str; 8] = ["buffer", "array", "vector", "matrix", "parameter", "argument", "quaternion", "."];
    let lower = text.to_lowercase();
    let lower = lower.trim_start_matches("the ").trim_start_matches(['[', '(']);
    let says = |word: &str| {
        let rest = lower.strip_prefix(word)?;
        let is_mark = rest.starts_with([']', ')', ':']) || rest.is_empty();
        let of_buffer = BUFFERS.iter().any(|buffer| rest.trim_start().starts_with(buffer));
        (is_mark || of_buffer).then_some(())
    };
    let both =
        ["in/out", "in,out", "in, out", "inout", "input/output", "input and output"].iter().find_map(|word| says(word));
    if both.is_some() {
        return Some((true, true));
    }
    let out = ["out", "output"].iter().find_map(|word| says(word)).map(|()| (false, true));
    out.or_else(|| ["in", "input"].iter().find_map(|word| says(word)).map(|()| (true, false)))
}

/// A line, cut before each command that stands in it.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = rest.match_indices([' ', '\t']).map(|(at, _)| at + 1).find(|at| begins_with_command(&rest[*at..]));
        let (piece, after) = rest.split_at(cut.unwrap_or(rest.len()));
        rest = after;
        Some(piece.trim_end())
    })
}

fn begins_with_command(text: &str) -> bool {
    text.strip_prefix(['@', '\\']).is_some_and(|rest| {
        let end = rest.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len());
        COMMANDS.contains(&&rest[..end])
    })
}

/// What lines are drawn with.
fn draws(char: char) -> bool {
    matches!(char, '-' | '=' | '*' | '#' | '~' | '+' | '/')
}

/// A line that is drawn: `----------`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.chars().count() > 3 && line.chars().all(|char| draws(char) || char == ' ')
}

/// A title between drawn lines on one line: `---- Basic ----`, `***** Basic *****`.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    // What begins every line of a comment is no drawing.
    let line = line.strip_prefix("//").unwrap_or(line).trim_start_matches([' ', '!']);
    let line = line.strip_prefix("* ").unwrap_or(line).trim();
    let (before, after) =
        (line.len() - line.trim_start_matches(draws).len(), line.len() - line.trim_end_matches(draws).len());
    before >= 2 && after >= 2 && before < line.len()
}

/// A title between drawn lines, each on a line of its own, and nothing else.
fn is_box_with_a_title(text: &str) -> bool {
    let lines: Vec<_> =
        text.lines().filter(|line| !line.trim().trim_matches(draws).is_empty() || is_rule(line)).collect();
    match lines.as_slice() {
        [above, title, below] => {
            is_rule(above) && is_rule(below) && !title.trim_end_matches([' ', '*', '/']).ends_with('.')
        }
        _ => false,
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
    use super::super::comment::ParameterComment;
    use super::*;

    #[test]
    fn line_comments_and_the_commands_of_doxygen_are_read() {
        let text = "/// @brief Reads a sensor.\n///\n/// It waits.\n/// @param[out] value The value,\n///   in kelvin.\n/// @param[in, out] id Which one.\n/// @return 0 for success\n/// @see other";
        let comment = read(text);
        assert_eq!(comment.text, "Reads a sensor.\nIt waits.");
        assert_eq!(
            comment.parameters["value"],
            ParameterComment { text: "The value, in kelvin.".into(), direction: Some((false, true)) }
        );
        assert_eq!(
            comment.parameters["id"],
            ParameterComment { text: "Which one.".into(), direction: Some((true, true)) }
        );
        assert_eq!(comment.returns.as_deref(), Some("0 for success"));
    }

    #[test]
    fn a_direction_may_be_said_in_words() {
        for (text, expected) in [
            ("(out) the sum", Some((false, true))),
            ("Output vector", Some((false, true))),
            ("The output array, of three numbers", Some((false, true))),
            ("Output", Some((false, true))),
            ("[in] a number", Some((true, false))),
            ("input buffer", Some((true, false))),
            ("in/out: how many", Some((true, true))),
            ("output file name", None),
            ("information to write", None),
            ("input", Some((true, false))),
            ("the value", None),
        ] {
            assert_eq!(direction_in(text), expected, "{text}");
        }
    }

    #[test]
    fn what_sets_a_name_apart_is_no_part_of_the_description() {
        let comment = read("* @param x - the value\n * @param y: the other\n * @param[in] z -1 for none");
        let said = |name: &str| comment.parameters[name].text.as_str();
        assert_eq!([said("x"), said("y"), said("z")], ["the value", "the other", "-1 for none"]);
    }

    #[test]
    fn commands_that_follow_each_other_on_one_line_are_read_too() {
        let comment =
            read(r"* \brief Adds, by mail to a@returns.org. \param[in] x the number \returns the sum \sa more ");
        assert_eq!(comment.text, "Adds, by mail to a@returns.org.");
        assert_eq!(
            comment.parameters["x"],
            ParameterComment { text: "the number".into(), direction: Some((true, false)) }
        );
        assert_eq!(comment.returns.as_deref(), Some("the sum"));
    }

    #[test]
    fn a_word_in_another_type_goes_on_with_the_text() {
        let comment = read("* @param[in] version The value or\n *   @c NULL.\n * @returns\n *   @c 1 for success.");
        assert_eq!(comment.parameters["version"].text, "The value or NULL.");
        assert_eq!(comment.returns.as_deref(), Some("1 for success."));
    }

    #[test]
    fn a_heading_is_no_description() {
        for heading in [
            " ---- Basic ---- ",
            "---=== Basic functions ===---",
            "** Basic **",
            " --Basic-- ",
            "// ===== Basic =====",
            "//////// Basic ////////",
            " ========\n * Basic functions\n * ======== ",
            "// -------\n// Basic\n// -------",
            "*****************\n * Basic\n ****************",
        ] {
            assert_eq!(read(heading), Comment::default(), "{heading}");
        }
        for (text, expected) in [
            (" - Adds - ", "- Adds -"),
            ("**************\n * Adds.\n *************", "Adds."),
            (" ---- Basic ----\n * Adds. ", "Adds."),
            ("**************\n * Adds what\n * there is\n *************", "Adds what there is"),
            (" Adds\n -----\n so. ", "Adds so."),
            ("* Adds *", "Adds"),
            ("** Adds\n** more.\n", "Adds more."),
            (" __attribute__", "__attribute__"),
        ] {
            assert_eq!(read(text).text, expected, "{text}");
        }
    }

    #[test]
    fn a_long_comment_is_cut_after_a_sentence() {
        let text = read(&"This is a sentence of eight words, more or less. ".repeat(40)).text;
        assert!(text.len() <= LONGEST && text.ends_with("or less."), "{text}");
    }
}
