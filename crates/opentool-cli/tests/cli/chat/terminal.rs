//! A terminal with the binary in it.

use std::{
    io::{Read as _, Write as _},
    process::{Child, ExitStatus},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use pty_process::{
    Size,
    blocking::{Command, Pty, open},
};

use super::super::{
    TestFolder, binary,
    serving::{MAX_WAIT, wait_until},
};

/// What Ctrl-C and Ctrl-D send.
pub(super) const CTRL_C: &str = "\u{3}";
pub(super) const CTRL_D: &str = "\u{4}";
pub(super) const UP: &str = "\u{1b}[A";

/// The binary at a terminal, which it has for itself.
pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    shown: Arc<Mutex<String>>,
    /// How much of what was shown the test has seen.
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(folder: &TestFolder, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(40, 200)).unwrap();
        let mut command = Command::new(binary()).args(arguments).current_dir(folder.0.path());
        for variable in super::VARIABLES {
            command = command.env_remove(variable);
        }
        let command = command.env("TERM", "xterm").env("NO_COLOR", "1").env("XDG_DATA_HOME", folder.path("data"));
        let child = command.envs(environment.iter().copied()).spawn(pts).unwrap();
        let (pty, shown) = (Arc::new(pty), Arc::new(Mutex::new(String::new())));
        let (reader, screen) = (pty.clone(), shown.clone());
        thread::spawn(move || {
            let (mut bytes, mut unread) = ([0; 4096], Vec::new());
            // Where the child is gone, Linux has an error instead of an end.
            while let Ok(count @ 1..) = (&*reader).read(&mut bytes) {
                unread.extend_from_slice(&bytes[..count]);
                // A read may end within a character, whose rest the next one brings.
                let whole = str::from_utf8(&unread).map_or_else(|error| error.valid_up_to(), str::len);
                screen.lock().unwrap().push_str(str::from_utf8(&unread[..whole]).unwrap());
                unread.drain(..whole);
            }
        });
        Terminal { child, pty, shown, seen: 0 }
    }

    /// Waits until the binary has opened a file.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_file(&self, path: &std::path::Path) {
        let files = format!("/proc/{}/fd", self.child.id());
        let is_open = || {
            let mut files = std::fs::read_dir(&files).into_iter().flatten().flatten();
            files.any(|file| std::fs::read_link(file.path()).is_ok_and(|open| open == path))
        };
        wait_until(is_open, || format!("{} to be opened: {:?}", path.display(), self.shown()));
    }

    /// Everything that was shown.
    pub(crate) fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// Waits until something new is shown, and returns what was shown before it.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let found = || self.shown()[self.seen..].find(text);
        wait_until(|| found().is_some(), || format!("`{text}` in {:?}", &self.shown()[self.seen..]));
        let start = self.seen;
        let at = start + found().unwrap();
        self.seen = at + text.len();
        self.shown()[start..at].to_owned()
    }

    /// Types.
    pub(crate) fn type_in(&mut self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line.
    pub(crate) fn enter(&mut self, line: &str) {
        self.type_in(line);
        self.type_in("\r");
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < MAX_WAIT, "it does not end: {:?}", self.shown());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
