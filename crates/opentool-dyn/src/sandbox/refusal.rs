//! What a library tried and was refused: [`Refusal`].

use std::cell::Cell;

/// What a library may not do unless the operator permits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operation {
    /// To open a connection.
    Network = 1,
    /// To start a process.
    Process = 2,
    /// To become another program.
    Program = 3,
    /// To write, make or remove a file.
    Write = 4,
    /// To end, stop or look into other processes.
    Control = 5,
}

/// What a library tried and was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) operation: Operation,
    /// Whether the library may well have gone on without it, so that the refusal alone makes no failure.
    pub(crate) soft: bool,
    path: Option<String>,
}

/// What `system` and the like fail with where they are refused: an error that no system gives for anything else.
#[cfg(target_os = "linux")]
pub(super) const SPAWN_REFUSED: i32 = libc::ELIBEXEC;
#[cfg(not(target_os = "linux"))]
const SPAWN_REFUSED: i32 = -1;

const SOFT: u32 = 1 << 8;
const PATH_SHIFT: u32 = 4;
const PATH_MASK: u32 = 0b111;

thread_local! {
    /// The number of what this thread was refused last, 0 for nothing. It needs no memory and no end, so that a signal handler
    /// may set it.
    static HERE: Cell<u32> = const { Cell::new(0) };
}

impl Operation {
    /// The number by which a filter tells its reason. `path` is the argument of the system call that is a path.
    pub(crate) const fn code(self, path: Option<u8>) -> u16 {
        let argument = match path {
            Some(argument) => argument as u16 + 1,
            None => 0,
        };
        self as u16 | (argument << PATH_SHIFT)
    }

    /// The same for what a library may go on without.
    pub(crate) const fn soft_code(self, path: Option<u8>) -> u16 {
        self.code(path) | SOFT as u16
    }

    fn of(code: u32) -> Option<Operation> {
        use Operation::{Control, Network, Process, Program, Write};
        [Network, Process, Program, Write, Control].into_iter().find(|operation| *operation as u32 == code & 0xf)
    }

    /// What the library sees: the error that a system without the permission would give.
    pub(crate) fn errno(self) -> i32 {
        match self {
            Operation::Network | Operation::Write => libc::EACCES,
            Operation::Process | Operation::Program | Operation::Control => libc::EPERM,
        }
    }
}

impl Refusal {
    /// Which argument of the refused system call is a path.
    pub(crate) fn path_argument(code: u32) -> Option<usize> {
        ((code >> PATH_SHIFT) & PATH_MASK).checked_sub(1).map(|argument| argument as usize)
    }

    /// Which operation a number stands for, if it is one of ours.
    pub(crate) fn operation_of(code: u32) -> Option<Operation> {
        Operation::of(code)
    }

    /// Reads what was noted. The library may have written it itself.
    pub(crate) fn of(code: u32, path: &[u8]) -> Option<Refusal> {
        if code & !(0xf | SOFT | (PATH_MASK << PATH_SHIFT)) != 0 {
            return None;
        }
        let path = String::from_utf8_lossy(path);
        let path: String = path.chars().filter(|char| !char.is_control()).collect();
        let path = (!path.is_empty()).then_some(path);
        Some(Refusal { operation: Operation::of(code)?, soft: code & SOFT != 0, path })
    }

    /// Notes what this thread was refused; 0 forgets it.
    pub(crate) fn note_here(code: u32) {
        HERE.set(code);
    }

    /// What this thread was refused since that was forgotten, of all that was `noted` last by any thread.
    pub(crate) fn of_this_thread(noted: &Option<Refusal>) -> Option<Refusal> {
        let here = Refusal::of(HERE.get(), &[])?;
        // Only the other one knows the path.
        Some(noted.clone().filter(|noted| noted.operation == here.operation).unwrap_or(here))
    }

    /// The same for somebody who may well go on without.
    pub(crate) fn softened(self) -> Refusal {
        Refusal { soft: true, ..self }
    }

    /// Reads what an error number tells that only a refusal leaves behind.
    pub(crate) fn of_errno(errno: i32) -> Option<Refusal> {
        (errno == SPAWN_REFUSED).then_some(Refusal { operation: Operation::Process, soft: false, path: None })
    }

    /// What was tried, and the option that permits it.
    pub(crate) fn hint(&self) -> String {
        let path = self.path.as_deref();
        match self.operation {
            Operation::Network => {
                "it tried to use the network, which is refused: the operator permits it with `--allow net`".to_owned()
            }
            Operation::Process => {
                "it tried to start a process, which is refused: the operator permits it with `--allow unsafe`"
                    .to_owned()
            }
            Operation::Program => {
                let program = path.map(|path| format!(" `{path}`")).unwrap_or_default();
                format!(
                    "it tried to start the program{program}, which is refused: the operator permits it with `--allow unsafe`"
                )
            }
            Operation::Write => {
                let (file, path) = path.map_or((String::new(), "PATH"), |path| (format!(" `{path}`"), path));
                format!(
                    "it tried to write{file}, which is refused: the operator permits it with `--allow write={path}`, where \
                     the path exists; a folder's path permits to make files in it"
                )
            }
            Operation::Control => {
                "it tried to control other processes, which is refused: the operator permits it with `--allow unsafe`"
                    .to_owned()
            }
        }
    }
}

/// What to say where the system itself refused something, of which nothing but the error number is known.
pub(crate) const READ_HINT: &str = "the library was refused access: if it needs a file outside its own folder, the operator \
     permits it with `--allow read=PATH` or `--allow write=PATH`";

/// What to say where the system gave no memory: the C library says so too where it may not start a program.
pub(crate) const SPAWN_HINT: &str = "there was no memory, or the library tried to start a program, which is refused: the \
     operator permits the one with `--memory SIZE` and the other with `--allow unsafe`";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_refusal_names_the_option_that_permits_it() {
        let refusal = |code: u16, path: &[u8]| Refusal::of(u32::from(code), path).unwrap();
        assert!(refusal(Operation::Network.code(None), b"").hint().ends_with("`--allow net`"));
        assert!(refusal(Operation::Process.code(None), b"").hint().ends_with("`--allow unsafe`"));
        assert!(refusal(Operation::Program.code(Some(0)), b"/bin/sh").hint().contains("program `/bin/sh`, which"));
        let write = refusal(Operation::Write.soft_code(Some(1)), b"/tmp/\x1b[31mx");
        assert!(write.soft && write.hint().contains("`--allow write=/tmp/[31mx`"), "{}", write.hint());
        assert_eq!(Refusal::path_argument(u32::from(Operation::Write.code(Some(1)))), Some(1));
        assert_eq!(Refusal::path_argument(u32::from(Operation::Network.code(None))), None);
        assert_eq!(Refusal::of(0xdead_beef, b""), None);
    }
}
