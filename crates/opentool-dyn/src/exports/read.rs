//! From a file to [`Exports`].

use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _};
use std::path::Path;

use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};
use object::read::{ExportFlags, ExportTarget, NameOrOrdinal};
use object::{
    Architecture, BinaryFormat, FileKind, Object, ObjectKind, ObjectSection, ObjectSegment, ReadCache, ReadRef,
    SectionKind, elf,
};

use super::error::ExportsError;
use super::format::Format;
use super::symbol::{Export, ExportKind};
use super::table::Exports;

/// Larger files are read in the parts that matter, at a system call each.
const WHOLE: u64 = 64 << 20;
/// The beginning of a file that is looked at to say what it is.
const HEAD: usize = 4096;
/// All names together; symbols that share one long name could otherwise ask for any amount of memory.
const NAMES: usize = 256 << 20;

impl Exports {
    /// Reads the exports of the library at a path.
    ///
    /// A universal Mach-O file is read for the architecture of the running program, or else for its first one.
    ///
    /// # Errors
    ///
    /// Where there is no such file, it is no shared library, or it is damaged. A library for another machine is read
    /// nevertheless; [`loadable_here`](Self::loadable_here) checks that.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ExportsError> {
        file(path.as_ref())
    }
}

fn file(path: &Path) -> Result<Exports, ExportsError> {
    let unreadable = |source: std::io::Error| match source.kind() {
        ErrorKind::NotFound => ExportsError::Missing { path: path.to_owned() },
        _ => ExportsError::Unreadable { path: path.to_owned(), source },
    };
    // Looked at before it is opened, because opening a pipe waits for its other end.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(ExportsError::Directory { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(ExportsError::Special { path: path.to_owned() });
    }
    if metadata.len() == 0 {
        return Err(ExportsError::Empty { path: path.to_owned() });
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(unreadable)?;
    let kind = recognise(path, &head)?;
    if metadata.len() <= WHOLE {
        let mut bytes = head;
        (&mut file).take(WHOLE).read_to_end(&mut bytes).map_err(unreadable)?;
        FileReader { path, data: bytes.as_slice() }.library(kind)
    } else {
        file.rewind().map_err(unreadable)?;
        FileReader { path, data: &ReadCache::new(file) }.library(kind)
    }
}

/// The format, where it is one of a library; otherwise what the file is instead.
fn recognise(path: &Path, head: &[u8]) -> Result<FileKind, ExportsError> {
    let path = || path.to_owned();
    match FileKind::parse(head) {
        Ok(FileKind::Archive) => Err(ExportsError::Archive { path: path() }),
        Ok(kind) => Ok(kind),
        Err(_) if head.starts_with(b"\x7fELF") => {
            Err(ExportsError::Malformed { path: path(), reason: "its first header is not a known one".into() })
        }
        Err(_) => match std::str::from_utf8(head) {
            Ok(text) if looks_like_linker_script(text) => {
                Err(ExportsError::LinkerScript { path: path(), libraries: libraries_of_script(text) })
            }
            Ok(text) if !text.contains('\0') => {
                let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
                Err(ExportsError::Text { path: path(), begins: line.chars().take(40).collect() })
            }
            _ => Err(ExportsError::Unknown { path: path() }),
        },
    }
}

fn looks_like_linker_script(text: &str) -> bool {
    text.contains("GNU ld script") || ["GROUP", "INPUT"].iter().any(|word| command(text, word).is_some())
}

/// What stands in the parentheses after a command of a linker script.
fn command<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let at = text.match_indices(word).find_map(|(at, _)| text[at + word.len()..].trim_start().strip_prefix('('))?;
    // The inner group of `GROUP ( a AS_NEEDED ( b ) )` ends first; what is in it counts like the rest.
    Some(at.rfind(')').map_or(at, |end| &at[..end]))
}

fn libraries_of_script(text: &str) -> Vec<String> {
    ["GROUP", "INPUT"]
        .iter()
        .filter_map(|word| command(text, word))
        .flat_map(|inside| inside.split(|char: char| char.is_whitespace() || matches!(char, '(' | ')' | ',')))
        .filter(|word| word.ends_with(".so") || word.contains(".so."))
        // What every process has loaded, and what holds no functions of the library.
        .filter(|word| !word.contains("ld-linux") && !word.contains("ld64"))
        .map(str::to_owned)
        .collect()
}

/// A file of a known format.
struct FileReader<'p, R> {
    path: &'p Path,
    data: R,
}

impl<'data, R: ReadRef<'data>> FileReader<'_, R> {
    fn malformed(&self, reason: impl ToString) -> ExportsError {
        ExportsError::Malformed { path: self.path.to_owned(), reason: reason.to_string() }
    }

    fn other_kind(&self, what: &'static str) -> ExportsError {
        ExportsError::OtherKind { path: self.path.to_owned(), what }
    }

    fn library(&self, kind: FileKind) -> Result<Exports, ExportsError> {
        match kind {
            FileKind::Elf32
            | FileKind::Elf64
            | FileKind::MachO32
            | FileKind::MachO64
            | FileKind::Pe32
            | FileKind::Pe64 => self.single(self.data),
            FileKind::MachOFat32 => {
                let fat = MachOFatFile32::parse(self.data).map_err(|error| self.malformed(error))?;
                self.slice(fat.arches())
            }
            FileKind::MachOFat64 => {
                let fat = MachOFatFile64::parse(self.data).map_err(|error| self.malformed(error))?;
                self.slice(fat.arches())
            }
            _ => Err(self.other_kind("an object file of another kind")),
        }
    }

    /// Reads one architecture of a universal file.
    fn slice<A: FatArch>(&self, all: &[A]) -> Result<Exports, ExportsError> {
        let native = |arch: &&A| name_of(arch.architecture()) == std::env::consts::ARCH;
        let chosen = all.iter().find(native).or(all.first());
        let chosen = chosen.ok_or_else(|| self.malformed("a universal file without an architecture"))?;
        let data = chosen.data(self.data).map_err(|error| self.malformed(error))?;
        FileReader { path: self.path, data }.single(data)
    }

    fn single<'d, D: ReadRef<'d>>(&self, data: D) -> Result<Exports, ExportsError> {
        let has = data.len().map_err(|()| self.malformed("its length is not known"))?;
        if let Some(needs) = length_by_headers(data).filter(|&needs| needs > has) {
            return Err(ExportsError::Truncated { path: self.path.to_owned(), needs, has });
        }
        let file = object::File::parse(data).map_err(|error| self.malformed(error))?;
        match file.kind() {
            ObjectKind::Dynamic => {}
            ObjectKind::Relocatable => {
                return Err(self.other_kind("an object file (link it with `cc -shared`)"));
            }
            ObjectKind::Executable => return Err(self.other_kind("a program")),
            ObjectKind::Core => return Err(self.other_kind("a memory image of a crashed program")),
            _ => return Err(self.other_kind("an object file of another kind")),
        }
        // Loading a file that lacks pages of a segment kills the process when they are touched.
        let ends = file.segments().map(|segment| segment.file_range()).map(|(from, size)| from.saturating_add(size));
        if let Some(needs) = ends.max().filter(|&needs| needs > has) {
            return Err(ExportsError::Truncated { path: self.path.to_owned(), needs, has });
        }
        let format = match file.format() {
            BinaryFormat::Elf => Format::Elf,
            BinaryFormat::MachO => Format::MachO,
            _ => Format::Pe,
        };
        if format == Format::Elf && file.sections().next().is_none() {
            return Err(self.malformed("its section headers were removed, so its symbols cannot be read"));
        }
        let mut symbols = self.symbols(&file, format)?;
        symbols.sort_unstable_by(|a, b| {
            a.name.cmp(&b.name).then(b.default.cmp(&a.default)).then_with(|| a.version.cmp(&b.version))
        });
        symbols.dedup();
        let mut needed = Vec::new();
        for library in file.import_libraries().map_err(|error| self.malformed(error))? {
            let library = library.map_err(|error| self.malformed(error))?;
            needed.push(text(library.name()));
        }
        Ok(Exports {
            path: self.path.to_owned(),
            format,
            architecture: name_of(file.architecture()),
            little_endian: file.is_little_endian(),
            symbols,
            needed,
        })
    }

    fn symbols<'d, D: ReadRef<'d>>(
        &self,
        file: &object::File<'d, D>,
        format: Format,
    ) -> Result<Vec<Export>, ExportsError> {
        let code: Vec<_> = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        let by_address = |address: u64| match code.iter().any(|range| range.contains(&address)) {
            true => ExportKind::Function,
            false => ExportKind::Data,
        };
        let mut bytes = 0usize;
        let mut symbols = Vec::new();
        for export in file.exports().map_err(|error| self.malformed(error))? {
            let export = export.map_err(|error| self.malformed(error))?;
            let (st_type, version, default) = match export.flags() {
                ExportFlags::Elf { st_info, version, version_hidden, .. } => {
                    (Some(st_info.st_type()), version.map(text), !version_hidden)
                }
                _ => (None, None, true),
            };
            let kind = match export.target() {
                ExportTarget::Address { address } => match st_type {
                    Some(elf::STT_FUNC) => ExportKind::Function,
                    Some(elf::STT_OBJECT) => ExportKind::Data,
                    _ => by_address(address),
                },
                ExportTarget::Resolver { .. } => ExportKind::Indirect,
                ExportTarget::Tls { .. } | ExportTarget::TlvDescriptor { .. } => ExportKind::ThreadLocal,
                ExportTarget::Reexport { library, name } => ExportKind::Forwarded {
                    library: text(library),
                    symbol: match name {
                        NameOrOrdinal::Name(name) => text(name),
                        NameOrOrdinal::Ordinal(ordinal) => format!("#{ordinal}"),
                    },
                },
                // The names of versions are such symbols: nothing stands behind them.
                _ => continue,
            };
            // What has only a number cannot be looked up by name.
            let NameOrOrdinal::Name(name) = export.name() else { continue };
            let name = match format {
                Format::MachO => name.strip_prefix(b"_").unwrap_or(name),
                _ => name,
            };
            bytes += name.len();
            if bytes > NAMES {
                return Err(self.malformed("the names of its symbols are of no sensible length"));
            }
            symbols.push(Export { name: text(name), kind, version, default });
        }
        Ok(symbols)
    }
}

/// How long an ELF file is by its own account: its section headers come last.
fn length_by_headers<'data, R: ReadRef<'data>>(data: R) -> Option<u64> {
    let ident = data.read_bytes_at(0, 6).ok()?;
    if !ident.starts_with(b"\x7fELF") {
        return None;
    }
    let wide = ident[4] == 2;
    let little = ident[5] == 1;
    let number = |at: u64, size: u64| {
        let bytes = data.read_bytes_at(at, size).ok()?;
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) })
    };
    let (offset, size, count) = match wide {
        true => (number(0x28, 8), number(0x3a, 2), number(0x3c, 2)),
        false => (number(0x20, 4), number(0x2e, 2), number(0x30, 2)),
    };
    match (offset, size, count) {
        (Some(offset), Some(size), Some(count)) => offset.checked_add(size * count),
        // Not even the first header is whole.
        _ => Some(if wide { 64 } else { 52 }),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The word of [`std::env::consts::ARCH`] for an architecture.
fn name_of(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Aarch64 => "aarch64",
        Architecture::Aarch64_Ilp32 => "aarch64 with 32-bit pointers",
        Architecture::Arm => "arm",
        Architecture::I386 => "x86",
        Architecture::X86_64 => "x86_64",
        Architecture::X86_64_X32 => "x86_64 with 32-bit pointers",
        Architecture::LoongArch64 => "loongarch64",
        Architecture::Mips => "mips",
        Architecture::Mips64 => "mips64",
        Architecture::PowerPc => "powerpc",
        Architecture::PowerPc64 => "powerpc64",
        Architecture::Riscv32 => "riscv32",
        Architecture::Riscv64 => "riscv64",
        Architecture::S390x => "s390x",
        Architecture::Sparc64 => "sparc64",
        _ => "another architecture",
    }
}
