//! Why the exports of a file cannot be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a file is not a library whose exports can be read, or not one that this machine can load.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportsError {
    /// There is no such file.
    #[error("there is no library at `{}`", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file cannot be opened or read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path names a directory.
    #[error("`{}` is a directory: name the library in it", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The path names a pipe, a socket or a device.
    #[error("`{}` is not a regular file", .path.display())]
    Special {
        /// The pipe, socket or device.
        path: PathBuf,
    },
    /// The file has no content.
    #[error("`{}` is empty", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is a text for the linker, as the `.so` files of development packages often are.
    #[error("`{}` is a script for the linker, not a library{}", .path.display(), names_instead(.libraries))]
    LinkerScript {
        /// The file.
        path: PathBuf,
        /// The shared libraries that the script names.
        libraries: Vec<String>,
    },
    /// The file is some text.
    #[error("`{}` is a text file, not a library; it begins with {begins:?}", .path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The beginning of its first line.
        begins: String,
    },
    /// The file is a collection of object files, which cannot be loaded.
    #[error("`{}` is a static archive: make a shared library of it, with `cc -shared -o LIBRARY.so -Wl,--whole-archive {} -Wl,--no-whole-archive`", .path.display(), .path.display())]
    Archive {
        /// The file.
        path: PathBuf,
    },
    /// The file is of a known format, but not a shared library.
    #[error("`{}` is {what}, not a shared library", .path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it is, with an article.
        what: &'static str,
    },
    /// The file is of no known format.
    #[error("`{}` is neither ELF nor Mach-O nor PE: it is not a library", .path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The file ends before its contents do.
    #[error("`{}` is truncated: its headers describe {needs} bytes, and it has {has}", .path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How long it should at least be.
        needs: u64,
        /// How long it is.
        has: u64,
    },
    /// The file breaks the rules of its format.
    #[error("`{}` is damaged: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The first rule that it breaks.
        reason: String,
    },
    /// The library is for another kind of machine.
    #[error("`{}` is a library for {is}, and this program runs on {here}", .path.display())]
    OtherMachine {
        /// The file.
        path: PathBuf,
        /// Format and architecture of the library.
        is: String,
        /// Format and architecture of the running program.
        here: String,
    },
}

fn names_instead(libraries: &[String]) -> String {
    match libraries {
        [] => String::new(),
        [one] => format!(": use `{one}`, which it names"),
        [first, others @ ..] => {
            let mut text = format!(": use one of those that it names, `{first}`");
            for other in others {
                text.push_str(", `");
                text.push_str(other);
                text.push('`');
            }
            text
        }
    }
}
