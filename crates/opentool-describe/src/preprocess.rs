//! Headers as the C compiler sees them, with the place that every declaration comes from.

use std::path::{Path, PathBuf};

use crate::compiler::Compiler;
use crate::cpp_sign;
use crate::error::DescribeError;
use crate::find_header::{expanded, folders_of};
use crate::macros::Macros;
use crate::options::Options;

/// Headers after preprocessing.
#[derive(Debug)]
pub(crate) struct Preprocessed {
    pub(crate) text: String,
    /// In the order of their offsets.
    markers: Vec<LineMarker>,
    files: Vec<SourceFile>,
    /// The text that includes the headers.
    pub(crate) includes: String,
    pub(crate) macros: Macros,
}

/// Where the preprocessor marks that the text after it comes from a line of a file.
#[derive(Debug, Clone, Copy)]
struct LineMarker {
    /// Where the text after the marker begins.
    offset: usize,
    file: usize,
    line: usize,
}

/// A file that was included.
#[derive(Debug)]
struct SourceFile {
    path: PathBuf,
    /// Whether its prototypes are wanted.
    wanted: bool,
}

/// A line of a header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeaderLine<'s> {
    pub(crate) file: &'s Path,
    pub(crate) line: usize,
    /// Whether the prototypes of the file are wanted.
    pub(crate) wanted: bool,
}

impl Preprocessed {
    /// Runs the preprocessor over all headers at once, as a program would include them.
    pub(crate) fn read(options: &Options) -> Result<Self, DescribeError> {
        if options.headers.is_empty() {
            return Err(DescribeError::NoHeader);
        }
        let mut source = String::new();
        let mut given = Vec::new();
        for header in &expanded(options)? {
            if header.is_dir() {
                return Err(DescribeError::HeaderDirectory { path: header.clone() });
            }
            // A file that is there is meant; another name is looked for where the compiler looks.
            let (text, known) = match header.canonicalize() {
                Ok(path) => (format!("#include \"{}\"\n", path.display()), path),
                Err(_) => (format!("#include <{}>\n", header.display()), header.clone()),
            };
            if text.matches(['\n', '"', '\\']).count() > 3 {
                return Err(DescribeError::HeaderName { path: header.clone() });
            }
            source.push_str(&text);
            given.push(known);
        }
        let compiler = Compiler::new(options);
        let text = preprocess(&compiler, &["-E"], &source, &given)?;
        // What is defined where all headers end.
        let macros = preprocess(&compiler, &["-E", "-dM"], &source, &given)?;
        Ok(Self { includes: source, macros: Macros::read(&macros), ..Self::new(text, &given) })
    }

    fn new(text: String, given: &[PathBuf]) -> Self {
        let mut files: Vec<SourceFile> = Vec::new();
        let mut markers: Vec<LineMarker> = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            offset += line.len();
            let Some((number, name, flags)) = line_marker(line) else { continue };
            let file = match files.iter().position(|file| file.path == Path::new(&name)) {
                Some(file) => file,
                None => {
                    let path = PathBuf::from(&name);
                    // A file begins where another includes it.
                    let includer = markers.last().map(|marker| &files[marker.file]);
                    // What our own text includes was given, by whatever name the compiler knows it: `curses.h` for `ncurses.h`.
                    let is_ours = includer.is_some_and(|includer| includer.path == Path::new("<stdin>"));
                    let wanted = (is_ours && flags.contains(" 1")) || is_wanted(&path, includer, given);
                    files.push(SourceFile { path, wanted });
                    files.len() - 1
                }
            };
            markers.push(LineMarker { offset, file, line: number });
        }
        Self { text, markers, files, includes: String::new(), macros: Macros::default() }
    }

    /// The place in a header that a byte of the preprocessed text comes from.
    pub(crate) fn place(&self, offset: usize) -> Option<HeaderLine<'_>> {
        let index = self.markers.partition_point(|marker| marker.offset <= offset).checked_sub(1)?;
        let marker = self.markers[index];
        let newlines = self.text[marker.offset..offset].matches('\n').count();
        let file = &self.files[marker.file];
        Some(HeaderLine { file: &file.path, line: marker.line + newlines, wanted: file.wanted })
    }

    /// The last line up to a byte of the preprocessed text that a person has written: its place, and what stands there.
    pub(crate) fn written(&self, offset: usize) -> (String, String) {
        let mut start = self.text.len().min(offset);
        start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let is_written = |line: &str| !line.trim().is_empty() && line_marker(line).is_none();
        let line_at = |start: usize| self.text[start..].lines().next().unwrap_or_default();
        // Where a header ends too early, the fault is found behind it, where nothing is.
        while start > 0 && !is_written(line_at(start)) {
            start = self.text[..start - 1].rfind('\n').map_or(0, |newline| newline + 1);
        }
        let line = line_at(start);
        let Some(place) = self.place(start) else { return ("a header".to_owned(), line.to_owned()) };
        let header = std::fs::read_to_string(place.file).unwrap_or_default();
        let line = header.lines().nth(place.line.saturating_sub(1)).unwrap_or(line);
        (format!("{}:{}", place.file.display(), place.line), line.to_owned())
    }

    /// The pieces of text that come from wanted headers.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (usize, &str)> {
        let ends = self.markers.iter().skip(1).map(|next| next.offset).chain([self.text.len()]);
        let pieces = self.markers.iter().zip(ends);
        pieces.filter(|(marker, _)| self.files[marker.file].wanted).map(|(marker, end)| {
            let piece = &self.text[marker.offset..end];
            // The last line is the next marker.
            let end = piece.rfind("\n# ").map_or(piece.len(), |at| at + 1);
            (marker.offset, &piece[..if piece.starts_with("# ") { 0 } else { end }])
        })
    }
}

fn preprocess(
    compiler: &Compiler<'_>,
    arguments: &[&str],
    source: &str,
    given: &[PathBuf],
) -> Result<String, DescribeError> {
    let output = compiler.run(arguments, source)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(match cpp_sign::missing_standard_header(&said) {
        Some(sign) => sign.into(),
        None => {
            DescribeError::Preprocessor { compiler: compiler.words.clone(), folders: folders_of(&said, given), said }
        }
    })
}

/// Whether the prototypes in a file count: those of the headers that were given, and of the parts that they are made of.
///
/// A header is made of what it includes from its own folder, where that is no folder of everybody's headers; there, of what
/// lies in a folder named like it (`lzma.h` and `lzma/`), of what is named like it (`ncurses.h` and `ncurses_dll.h`), and, if it
/// is one of the system, of what lies in `bits/`. What else it includes belongs to others.
fn is_wanted(path: &Path, includer: Option<&SourceFile>, given: &[PathBuf]) -> bool {
    let real = path.canonicalize();
    let is_given = |header: &PathBuf| {
        path == header
            || (!header.is_absolute() && path.ends_with(header))
            || real.as_ref().is_ok_and(|path| path == header)
    };
    if given.iter().any(is_given) {
        return true;
    }
    let Some(includer) = includer.filter(|includer| includer.wanted) else { return false };
    if path.components().any(|part| part.as_os_str() == "bits") {
        return true;
    }
    let (Some(folder), Some(stem)) = (includer.path.parent(), includer.path.file_stem()) else { return false };
    if !is_shared_folder(folder) {
        return path.starts_with(folder);
    }
    let stem = stem.to_string_lossy();
    let own = path.file_stem().map(|own| own.to_string_lossy().into_owned()).unwrap_or_default();
    // The same file by another name: `ncurses.h` is made of `curses.h` alone.
    let is_alias =
        || real.as_ref().is_ok_and(|real| includer.path.canonicalize().is_ok_and(|includer| includer == *real));
    path.starts_with(folder.join(&*stem))
        || (path.parent() == Some(folder)
            && stem.len() >= 3
            && (own.starts_with(&*stem) || stem.ends_with(&own) && own.len() >= 3))
        || is_alias()
}

/// Whether a folder holds the headers of many libraries.
fn is_shared_folder(folder: &Path) -> bool {
    let of_everybody = |root: &Path| folder == root || (folder.parent() == Some(root) && is_triplet(folder));
    of_everybody(Path::new("/usr/include")) || of_everybody(Path::new("/usr/local/include"))
}

/// `x86_64-linux-gnu`: the folder for one kind of machine.
fn is_triplet(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().matches('-').count() >= 2)
}

/// `# 53 "/usr/include/math.h" 1 3` → the line, the file and the flags.
fn line_marker(line: &str) -> Option<(usize, String, &str)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    let (name, flags) = rest.strip_prefix('"')?.rsplit_once('"')?;
    Some((number.parse().ok()?, name.replace("\\\\", "\\").replace("\\\"", "\""), flags.trim_end()))
}
