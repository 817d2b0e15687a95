//! Files that go with a prompt.

use std::path::PathBuf;

use opentool_chat::{Media, UserMessage};

use crate::failure::Failure;

/// How many bytes of files a prompt may have; providers take less.
const MAX_SIZE: usize = 64 << 20;

/// Reads the files.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Media>, Failure> {
    let mut files = Vec::with_capacity(paths.len());
    let mut size = 0;
    for path in paths {
        // Before it is read: a device has no end.
        match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => {
                return Err(Failure::usage(format!("--attach {}: it is no file", path.display())));
            }
            Ok(metadata) if metadata.len() > MAX_SIZE as u64 => return Err(too_large()),
            _ => {}
        }
        let file = Media::from_path(path).map_err(|error| Failure::usage(format!("--attach: {error}")))?;
        size += file.size().unwrap_or_default();
        files.push(file);
    }
    if size > MAX_SIZE { Err(too_large()) } else { Ok(files) }
}

fn too_large() -> Failure {
    Failure::usage(format!("--attach: the files are larger than {} MiB", MAX_SIZE >> 20))
}

/// What the user says, with the files.
pub(super) fn message(prompt: &str, files: Vec<Media>) -> UserMessage {
    files.into_iter().fold(UserMessage::new(prompt), UserMessage::with_media)
}
