//! The terminal: what is written to it, and questions to its user.

use std::{
    io::{self, IsTerminal as _},
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustyline::{Behavior, Config, DefaultEditor, error::ReadlineError};

use crate::{
    failure::Failure,
    terminal::{self, drop_typed, write_data},
};

/// What the user typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D.
    End,
}

/// The streams of the process and, on a terminal, a line editor.
///
/// The model's text goes to standard output, everything else to standard error.
pub(super) struct Console {
    editor: Option<Mutex<DefaultEditor>>,
    screen: Mutex<Screen>,
}

/// What is on the screen.
#[derive(Default)]
struct Screen {
    /// Whether a question is open, so that nothing else may be written.
    asking: bool,
    /// What waits for the end of that.
    held: Vec<Piece>,
    /// Whether the model's text ended in the middle of a line.
    open_line: bool,
    /// Whether a line of progress is shown, which goes away before anything else is written.
    progress: bool,
    /// Whether it ended with a CR, which may turn out to be a part of a line's end.
    after_cr: bool,
}

enum Piece {
    Text(String),
    Note(String),
}

impl Console {
    /// Takes the streams. Questions are possible only if the caller wants them and both streams are a terminal.
    pub(super) fn new(wants_to_ask: bool) -> Result<Arc<Self>, Failure> {
        let is_interactive = wants_to_ask && io::stdin().is_terminal() && io::stderr().is_terminal();
        let editor = match is_interactive {
            true => Some(Mutex::new(editor()?)),
            false => None,
        };
        Ok(Arc::new(Console { editor, screen: Mutex::default() }))
    }

    /// Whether the user can be asked.
    pub(super) fn is_interactive(&self) -> bool {
        self.editor.is_some()
    }

    /// Whether what is written there is seen by a person who waits.
    pub(super) fn is_terminal(&self) -> bool {
        let can_erase = std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
        io::stderr().is_terminal() && can_erase
    }

    /// Shows a line of progress in place of the last one, unless a line of text or a question is open.
    pub(super) fn show_progress(&self, line: String) {
        let mut screen = self.screen();
        if !screen.asking && !screen.open_line {
            screen.progress = true;
            // A line of progress that is not seen is no loss.
            let _ = terminal::replace_line(&line);
        }
    }

    /// Takes the line of progress away.
    pub(super) fn clear_progress(&self) {
        self.screen().clear_progress();
    }

    /// Writes a piece of the model's text.
    pub(super) fn say(&self, text: &str) -> Result<(), Failure> {
        self.put(Piece::Text(text.to_owned()))
    }

    /// Writes a line about what happens.
    pub(super) fn note(&self, line: impl Into<String>) -> Result<(), Failure> {
        self.put(Piece::Note(line.into()))
    }

    /// Ends the line that the model left open.
    pub(super) fn end_line(&self) -> Result<(), Failure> {
        let open = self.screen().open_line;
        if open { self.say("\n") } else { Ok(()) }
    }

    /// Waits for a line; without an editor there is none.
    pub(super) async fn read_line(self: &Arc<Self>, prompt: &'static str) -> Result<Line, Failure> {
        self.with_editor(move |editor| editor.readline(prompt)).await
    }

    /// Shows a question and waits for the answer; meanwhile nothing else is written.
    pub(super) async fn ask(self: &Arc<Self>, question: String, prompt: impl Into<String>) -> Result<Line, Failure> {
        let (console, prompt) = (self.clone(), prompt.into());
        self.with_editor(move |editor| {
            console.hold(question)?;
            // What was typed before the question appeared is no answer to it.
            let answer = drop_typed().map_err(ReadlineError::from).and_then(|()| editor.readline(&prompt));
            console.release()?;
            answer
        })
        .await
    }

    /// Reads the lines of earlier sessions; a failure is ignored.
    pub(super) fn load_history(&self, file: &Path) {
        if let Some(mut editor) = self.editor() {
            let _ = editor.load_history(file);
        }
    }

    /// Keeps a line for the arrow keys, in this session and later ones.
    pub(super) fn remember(&self, line: &str, file: Option<&PathBuf>) {
        if let Some(mut editor) = self.editor() {
            let _ = editor.add_history_entry(line);
            if let Some(file) = file {
                let _ = editor.append_history(file);
            }
        }
    }

    async fn with_editor(
        self: &Arc<Self>,
        read: impl FnOnce(&mut DefaultEditor) -> rustyline::Result<String> + Send + 'static,
    ) -> Result<Line, Failure> {
        let console = self.clone();
        let read = tokio::task::spawn_blocking(move || match console.editor() {
            Some(mut editor) => read(&mut editor),
            None => Err(ReadlineError::Eof),
        });
        match read.await {
            Ok(Ok(line)) => Ok(Line::Text(line)),
            Ok(Err(ReadlineError::Interrupted)) => Ok(Line::Interrupted),
            Ok(Err(ReadlineError::Eof)) => Ok(Line::End),
            Ok(Err(ReadlineError::Io(source))) => Err(of_terminal(source)),
            Ok(Err(error)) => Err(of_terminal(io::Error::other(error))),
            Err(error) => Err(of_terminal(error.into())),
        }
    }

    fn editor(&self) -> Option<MutexGuard<'_, DefaultEditor>> {
        // A panic while a line was edited does not matter for the next line.
        self.editor.as_ref().map(|editor| editor.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, piece: Piece) -> Result<(), Failure> {
        let mut screen = self.screen();
        if screen.asking {
            screen.held.push(piece);
            return Ok(());
        }
        screen.write(piece).map_err(Failure::output)
    }

    fn hold(&self, question: String) -> io::Result<()> {
        let mut screen = self.screen();
        screen.write(Piece::Note(question))?;
        screen.asking = true;
        Ok(())
    }

    fn release(&self) -> io::Result<()> {
        let mut screen = self.screen();
        screen.asking = false;
        mem::take(&mut screen.held).into_iter().try_for_each(|piece| screen.write(piece))
    }
}

impl Screen {
    /// Keeps a CR at the end of a piece for the next one, where a LF may follow.
    fn hold_cr(&mut self, text: String) -> String {
        let mut text = if mem::take(&mut self.after_cr) { format!("\r{text}") } else { text };
        self.after_cr = text.ends_with('\r');
        if self.after_cr {
            text.pop();
        }
        text
    }

    fn clear_progress(&mut self) {
        if mem::take(&mut self.progress) {
            let _ = terminal::replace_line("");
        }
    }

    fn write(&mut self, piece: Piece) -> io::Result<()> {
        self.clear_progress();
        match piece {
            Piece::Text(text) if text.is_empty() => Ok(()),
            Piece::Text(text) => {
                let text = if io::stdout().is_terminal() { self.hold_cr(text) } else { text };
                if !text.is_empty() {
                    self.open_line = !text.ends_with('\n');
                }
                write_data(&text)
            }
            Piece::Note(line) if line.is_empty() => Ok(()),
            Piece::Note(line) => {
                self.after_cr = false;
                // What the model says next begins a line of its own, wherever the notes go.
                if mem::take(&mut self.open_line) {
                    write_data("\n")?;
                }
                terminal::write_note(&line)
            }
        }
    }
}

fn editor() -> Result<DefaultEditor, Failure> {
    // The terminal itself, since standard output may be redirected.
    let config = Config::builder().behavior(Behavior::PreferTerm).history_ignore_space(true).build();
    DefaultEditor::with_config(config).map_err(|error| of_terminal(io::Error::other(error)))
}

fn of_terminal(source: io::Error) -> Failure {
    Failure::Read { name: "the terminal".to_owned(), source }
}
