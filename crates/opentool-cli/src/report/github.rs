//! Findings as GitHub workflow commands, which annotate the lines of a pull request.

use std::io::{self, Write};

use opentool_spec::{Finding, Severity};

use crate::terminal::visible;

/// Writes one finding as one command.
pub(super) fn write(out: &mut impl Write, file: &str, finding: &Finding) -> io::Result<()> {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let (line, column, code) = (finding.line, finding.column, finding.code);
    let file = property(&visible(file));
    let mut message = visible(&finding.message).into_owned();
    if let Some(help) = &finding.help {
        message.push_str("\nhelp: ");
        message.push_str(&visible(help));
    }
    writeln!(out, "::{command} file={file},line={line},col={column},title={code}::{}", data(&message))
}

/// The text of a command: one line, with `%` as the escape.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which also ends at `:` and `,`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_cannot_end_a_command_or_start_another() {
        assert_eq!(super::data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(super::property("a,b:c%"), "a%2Cb%3Ac%25");
    }
}
