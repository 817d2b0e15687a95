//! What a library tried and the sandbox denied: [`Denial`].

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
    /// To write into the pipe of its worker.
    Pipe = 6,
}

/// An operation that the sandbox denied to a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) operation: Operation,
    /// Whether libraries often go on without it, so that the denial alone does not fail the call.
    pub(crate) soft: bool,
    path: Option<String>,
}

/// The `errno` of `system` and the like where they are denied: one that the system uses for nothing else.
#[cfg(target_os = "linux")]
pub(crate) const SPAWN_DENIED: i32 = libc::ELIBEXEC;
#[cfg(not(target_os = "linux"))]
pub(crate) const SPAWN_DENIED: i32 = -1;

const SOFT: u32 = 1 << 8;
const PATH_SHIFT: u32 = 4;
const PATH_MASK: u32 = 0b111;

thread_local! {
    /// The code of what this thread was denied last, 0 for nothing. It is const-initialised and needs no destructor, so that
    /// a signal handler may set it.
    static THREAD_DENIAL: Cell<u32> = const { Cell::new(0) };
}

impl Operation {
    /// The number by which a seccomp filter reports its reason. `path` is the argument of the system call that is a path.
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

    pub(crate) fn from_code(code: u32) -> Option<Operation> {
        use Operation::{Control, Network, Pipe, Process, Program, Write};
        [Network, Process, Program, Write, Control, Pipe].into_iter().find(|operation| *operation as u32 == code & 0xf)
    }

    /// What the library sees: the error that a system without the permission would give.
    pub(crate) fn errno(self) -> i32 {
        match self {
            Operation::Network | Operation::Write => libc::EACCES,
            Operation::Process | Operation::Program | Operation::Control => libc::EPERM,
            Operation::Pipe => libc::EBADF,
        }
    }
}

impl Denial {
    /// Which argument of the refused system call is a path.
    pub(crate) fn path_argument(code: u32) -> Option<usize> {
        ((code >> PATH_SHIFT) & PATH_MASK).checked_sub(1).map(|argument| argument as usize)
    }

    /// Reads what was recorded. The library may have written it itself.
    pub(crate) fn from_code(code: u32, path: &[u8]) -> Option<Denial> {
        if code & !(0xf | SOFT | (PATH_MASK << PATH_SHIFT)) != 0 {
            return None;
        }
        let operation = Operation::from_code(code)?;
        let path = String::from_utf8_lossy(path);
        let path: String = path.chars().filter(|char| !char.is_control()).collect();
        let path = (!path.is_empty()).then_some(path);
        Some(Denial { operation, soft: code & SOFT != 0, path })
    }

    /// Records what this thread was denied; 0 clears it.
    pub(crate) fn record_for_thread(code: u32) {
        THREAD_DENIAL.set(code);
    }

    /// What this thread was denied since that was cleared; `last` is what any thread was denied last.
    pub(crate) fn of_thread(last: &Option<Denial>) -> Option<Denial> {
        let here = Denial::from_code(THREAD_DENIAL.get(), &[])?;
        // Only the shared record has the path.
        Some(last.clone().filter(|last| last.operation == here.operation).unwrap_or(here))
    }

    /// The same, as something that libraries often go on without.
    pub(crate) fn softened(self) -> Denial {
        Denial { soft: true, ..self }
    }

    /// Reads an `errno` that only a denial leaves behind.
    pub(crate) fn from_errno(errno: i32) -> Option<Denial> {
        (errno == SPAWN_DENIED).then_some(Denial { operation: Operation::Process, soft: false, path: None })
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
            Operation::Pipe => "it tried to write into the pipe of its worker, which is never permitted".to_owned(),
        }
    }
}

/// The hint where the system itself denied something, of which only the `errno` is known.
pub(crate) const READ_HINT: &str = "the library was refused access: if it needs files beside itself and what it links, the operator \
     permits it with `--allow read=PATH` or `--allow write=PATH`";

/// The hint for `ENOMEM`, which the C library also reports where it may not start a program.
pub(crate) const SPAWN_HINT: &str = "there was no memory, or the library tried to start a program, which is refused: the \
     operator permits the one with `--memory SIZE` and the other with `--allow unsafe`";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_denial_names_the_option_that_permits_it() {
        let denial = |code: u16, path: &[u8]| Denial::from_code(u32::from(code), path).unwrap();
        assert!(denial(Operation::Network.code(None), b"").hint().ends_with("`--allow net`"));
        assert!(denial(Operation::Process.code(None), b"").hint().ends_with("`--allow unsafe`"));
        assert!(denial(Operation::Program.code(Some(0)), b"/bin/sh").hint().contains("program `/bin/sh`, which"));
        let write = denial(Operation::Write.soft_code(Some(1)), b"/tmp/\x1b[31mx");
        assert!(write.soft && write.hint().contains("`--allow write=/tmp/[31mx`"), "{}", write.hint());
        assert_eq!(Denial::path_argument(u32::from(Operation::Write.code(Some(1)))), Some(1));
        assert_eq!(Denial::path_argument(u32::from(Operation::Network.code(None))), None);
        assert_eq!(Denial::from_code(0xdead_beef, b""), None);
    }
}
