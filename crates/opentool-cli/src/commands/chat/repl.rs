//! A conversation, line by line.

use super::{
    super::{ExitStatus, console::Line},
    session::Session,
};
use crate::{failure::Failure, terminal::visible};

const PROMPT: &str = "> ";

const HELP: &str = "\
/tools   which tools the model may call
/help    this
/exit    end the conversation; Ctrl-D does too
Ctrl-C cancels the turn, or the line. The arrow keys show earlier lines.";

/// Reads prompts and answers them until the user ends the conversation.
pub(super) async fn run(session: &Session) -> Result<ExitStatus, Failure> {
    let console = &session.console;
    if !console.is_interactive() {
        return Err(Failure::usage("a conversation needs a terminal for standard error too: give a prompt instead"));
    }
    if let Some(history) = &session.memory.history {
        console.load_history(history);
    }
    loop {
        match console.read_line(PROMPT).await? {
            Line::Text(line) => {
                let said = line.trim();
                if said.is_empty() {
                    continue;
                }
                console.remember(&line, session.memory.history.as_ref());
                match said {
                    "/exit" | "/quit" => break,
                    "/help" => console.note(HELP)?,
                    "/tools" => console.note(visible(&session.tools.join(" ")).into_owned())?,
                    _ if is_command(said) => {
                        console.note(format!("there is no command {}; /help lists the commands", visible(said)))?
                    }
                    _ => session.converse(said).await?,
                }
            }
            Line::Interrupted => console.note("Ctrl-D ends the conversation")?,
            Line::End => break,
        }
    }
    if let Some(options) = session.memory.options() {
        console.note(format!("to continue: opentool chat {}", visible(&options)))?;
    }
    Ok(ExitStatus::Success)
}

/// Whether a line is one slash and a word, rather than a path or something to say.
fn is_command(line: &str) -> bool {
    line.strip_prefix('/').is_some_and(|word| word.chars().all(|char| char.is_ascii_alphabetic()))
}
