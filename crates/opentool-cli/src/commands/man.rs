//! `opentool man`: manual pages.

use std::{fs, path::PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use opentool_spec::json::near;

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    replace::replace_file,
    report::counted,
    terminal::{note, visible, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool man | man -l -                                   Read the page of opentool
  opentool man mcp login | man -l -                         … or that of a command
  opentool man --output ~/.local/share/man/man1             Write the pages of all commands

Standard output: a page in roff, as man(1) reads it. With --output DIR, one file a command: opentool.1,
opentool-serve.1 and so on.

Exit codes: 0 printed or written; 2 wrong usage, or a file that cannot be written.";

/// Print the manual page of a command, or write those of all
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ManPages {
    /// The command whose page is printed [default: opentool itself]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder, which is made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl ManPages {
    /// Prints or writes the pages of a command line.
    pub(super) fn run(&self, mut root: Command) -> Result<ExitStatus, Failure> {
        root.build();
        let pages = pages(&root, "opentool");
        let Some(folder) = &self.output else {
            let name: Vec<_> = ["opentool"].into_iter().chain(self.command.iter().map(String::as_str)).collect();
            let name = name.join("-");
            let Some((_, command)) = pages.iter().find(|(page, _)| *page == name) else {
                let near = near::names(&name, pages.iter().map(|(page, _)| page.as_str()), 1).first().copied();
                let near = near.and_then(|page| page.strip_prefix("opentool-"));
                let next = near
                    .map_or("opentool --help".to_owned(), |page| format!("opentool man {}", page.replace('-', " ")));
                let message = format!("there is no command `{}`", self.command.join(" "));
                return Err(Failure::usage_with(message, Some(next)));
            };
            write_data(&page(&name, command)).map_err(Failure::output)?;
            return Ok(ExitStatus::Success);
        };
        let made = fs::create_dir_all(folder);
        made.map_err(|source| Failure::Write { name: folder.to_string_lossy().into_owned(), source })?;
        for (name, command) in &pages {
            replace_file(&folder.join(format!("{name}.1")), &page(name, command))?;
        }
        let (count, folder) = (counted(pages.len(), "page"), folder.to_string_lossy());
        note(&format_args!("{count} written to {}", visible(&folder)));
        Ok(ExitStatus::Success)
    }
}

/// A command and all below it, each with the name of its page.
fn pages<'a>(command: &'a Command, name: &str) -> Vec<(String, &'a Command)> {
    let mut pages = vec![(name.to_owned(), command)];
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    for below in below {
        pages.extend(self::pages(below, &format!("{name}-{}", below.get_name())));
    }
    pages
}

/// The page of a command.
fn page(name: &str, command: &Command) -> String {
    let man = Man::new(command.clone().version(env!("CARGO_PKG_VERSION"))).title(name);
    let man = man.source(concat!("opentool ", env!("CARGO_PKG_VERSION"))).manual("opentool");
    // Writing to memory does not fail.
    let mut text = Vec::new();
    let _ = man.render_title(&mut text);
    let _ = man.render_name_section(&mut text);
    let _ = man.render_synopsis_section(&mut text);
    let _ = man.render_description_section(&mut text);
    let _ = man.render_options_section(&mut text);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut text);
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if let Some(help) = command.get_after_help() {
        text.push_str(&sections(&help.to_string()));
    }
    text
}

/// The text after the options: examples line by line, prose in paragraphs.
fn sections(help: &str) -> String {
    let mut text = String::new();
    let (mut is_sample, mut is_open) = (false, false);
    for line in help.lines() {
        let indented = line.starts_with("  ");
        if is_sample && !indented {
            text.push_str(".fi\n");
            is_sample = false;
        }
        if indented {
            if !is_sample {
                text.push_str(".nf\n");
                is_sample = true;
            }
            text.push_str(&escaped(line));
            text.push('\n');
        } else if let Some(codes) = line.strip_prefix("Exit codes: ") {
            text.push_str(&format!(".SH \"EXIT STATUS\"\n{}\n", escaped(codes)));
            is_open = true;
        } else if line == "Examples:" {
            text.push_str(".SH EXAMPLES\n");
        } else if line.is_empty() {
            is_open = false;
        } else {
            // Prose after the samples has a section of its own, once.
            if !is_open {
                let is_first = !text.contains(".SH NOTES");
                text.push_str(if is_first { ".SH NOTES\n" } else { ".PP\n" });
                is_open = true;
            }
            text.push_str(&escaped(line));
            text.push('\n');
        }
    }
    if is_sample {
        text.push_str(".fi\n");
    }
    text
}

/// A line that roff takes as text.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_lines_and_prose_does_not() {
        let help = "Examples:\n  opentool a -b   First\n  opentool a\n\nProse that is\nlong.\n.dot\n\nMore.\n\nExit codes: 0 done; 2 wrong\nusage.";
        let expected = ".SH EXAMPLES\n.nf\n  opentool a \\-b   First\n  opentool a\n.fi\n.SH NOTES\nProse that is\nlong.\n\\&.dot\n.PP\nMore.\n.SH \"EXIT STATUS\"\n0 done; 2 wrong\nusage.\n";
        assert_eq!(sections(help), expected);
    }
}
