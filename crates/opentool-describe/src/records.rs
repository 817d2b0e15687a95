//! What structs and addresses are to callers: handles, structs that we allocate, or values.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::closing;
use crate::ctype::{Field, Record, Type, TypeKind};
use crate::declarations::{Declarations, Prototype};
use crate::layout::Layout;
use crate::words;

/// What functions that prepare a struct of the caller's have in their names, the clearest first.
const PREPARING: [&[&str]; 3] = [
    &["init", "initialize", "initialise", "init2", "inits"],
    &["setup", "construct", "ctor"],
    &["start", "starts", "begin"],
];
/// Names of addresses that stand for anything.
const ANYTHING: [&str; 8] =
    ["voidp", "voidpf", "voidpc", "gpointer", "gconstpointer", "png_voidp", "png_const_voidp", "GLvoid"];

/// What a struct is to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordRole {
    /// The library makes it: callers have a token for it.
    Handle,
    /// The caller makes it and the library fills it: we allocate it, and callers have a token for it.
    Allocated,
    /// Callers see its fields.
    Value,
}

/// What is said of structs that a caller sets to zero before a function prepares them.
#[derive(Debug, Default)]
pub(crate) struct Preparers {
    /// The macros of nothing but zeros: `LZMA_STREAM_INIT`.
    pub(crate) zeros: HashSet<String>,
    /// The functions whose comments say that they initialise something.
    pub(crate) functions: HashSet<String>,
}

impl Preparers {
    /// Whether a struct has a macro of nothing but zeros: that of its own name, in capitals.
    fn has_zeros(&self, record: &str) -> bool {
        let plain = record.trim_end_matches("_t").trim_start_matches('_').to_uppercase();
        let suffixes = ["_INIT", "_INITIALIZER", "_INITIALISER", "_ZERO"];
        suffixes.iter().any(|suffix| {
            self.zeros.contains(&format!("{plain}{suffix}")) || self.zeros.contains(&format!("{plain}_T{suffix}"))
        })
    }
}

/// The structs of a library.
#[derive(Debug)]
pub(crate) struct Records<'d> {
    declarations: &'d Declarations,
    roles: HashMap<Rc<str>, RecordRole>,
    layouts: HashMap<Rc<str>, Layout>,
    /// The sizes of the structs that we allocate.
    sizes: HashMap<Rc<str>, u64>,
    /// The functions that prepare a struct that we allocate.
    makers: HashMap<Rc<str>, HashSet<String>>,
    /// The structs of which some function takes an array of a known length.
    arrays: HashSet<Rc<str>>,
    /// The names of `void` and `void *` that stand for objects: `BZFILE`, `iconv_t`.
    addresses: HashSet<Rc<str>>,
}

impl<'d> Records<'d> {
    /// Finds out what the structs are, from all functions that there are; `prove` keeps the layouts that are right, and
    /// `measure` tells the sizes of others.
    pub(crate) fn find(
        declarations: &'d Declarations,
        functions: &[&Prototype],
        preparers: &Preparers,
        prove: impl FnOnce(HashMap<Rc<str>, Layout>) -> HashMap<Rc<str>, Layout>,
        measure: impl FnOnce(&[Rc<str>]) -> HashMap<Rc<str>, u64>,
    ) -> Self {
        let mut records = Self {
            declarations,
            roles: HashMap::new(),
            layouts: HashMap::new(),
            sizes: HashMap::new(),
            makers: HashMap::new(),
            arrays: HashSet::new(),
            addresses: HashSet::new(),
        };
        records.find_addresses(functions);
        let seen = SeenRecords::collect(functions);
        for (key, record) in &declarations.records {
            if record.fields.is_none() || is_veiled(record) {
                records.roles.insert(key.clone(), RecordRole::Handle);
            }
        }
        let candidates =
            seen.all.iter().filter_map(|key| Some((key.clone(), Layout::find(&declarations.records, key)?)));
        records.layouts = prove(records.with_nested(candidates.collect()));
        let makers_of = |key: &Rc<str>| {
            let makers = seen.makers_of(key, functions);
            let is_zeroed = || {
                let name = declarations.records.get(key).map_or("", |record| record.name.as_str());
                preparers.has_zeros(name.trim_start_matches("struct "))
            };
            if makers.is_empty() && is_zeroed() { seen.starters_of(key, functions, preparers) } else { makers }
        };
        let is_unproven = |key: &&Rc<str>| {
            let has_fields = declarations.records.get(*key).is_some_and(|record| record.fields.is_some());
            has_fields && !records.layouts.contains_key(*key) && !makers_of(key).is_empty()
        };
        let unproven: Vec<Rc<str>> = seen.all.iter().filter(is_unproven).cloned().collect();
        records.sizes = measure(&unproven);
        let proven = records.layouts.iter().map(|(key, layout)| (key.clone(), layout.size));
        records.sizes.extend(proven);
        for key in &seen.all {
            if records.roles.contains_key(key) {
                continue;
            }
            let makers = makers_of(key);
            let is_value = records.is_value(key);
            // What is passed by value has its fields seen, whatever addresses of it are handed out.
            let is_made = (seen.handed_out.contains(key) && !(is_value && seen.by_value.contains(key)))
                || (seen.extended.contains(key) && seen.ended.contains(key))
                || (seen.returned.contains(key) && (!is_value || seen.changed.contains(key)));
            let role = if is_made {
                RecordRole::Handle
            } else if !makers.is_empty() && records.sizes.contains_key(key) && !is_stream_of_c(key) {
                records.makers.insert(key.clone(), makers);
                RecordRole::Allocated
            } else if is_value {
                RecordRole::Value
            } else if seen.returned.contains(key) {
                RecordRole::Handle
            } else {
                continue;
            };
            records.roles.insert(key.clone(), role);
        }
        records.arrays = seen.arrays;
        records
    }

    /// Adds the layouts of the structs within structs.
    fn with_nested(&self, mut layouts: HashMap<Rc<str>, Layout>) -> HashMap<Rc<str>, Layout> {
        let mut open: Vec<Rc<str>> = layouts.keys().cloned().collect();
        while let Some(key) = open.pop() {
            let fields = self.declarations.records.get(&key).and_then(|record| record.fields.as_ref());
            for inner in fields.into_iter().flatten().filter_map(|field| nested(&field.kind)) {
                // What has no name cannot be asked about.
                let is_named = self.declarations.records.get(&inner).is_some_and(|record| !record.name.is_empty());
                if is_named
                    && !layouts.contains_key(&inner)
                    && let Some(layout) = Layout::find(&self.declarations.records, &inner)
                {
                    layouts.insert(inner.clone(), layout);
                    open.push(inner);
                }
            }
        }
        layouts
            .retain(|key, _| self.declarations.records.get(key).is_some_and(|record| !record.written(key).is_empty()));
        layouts
    }

    fn find_addresses(&mut self, functions: &[&Prototype]) {
        let named = |kind: &Type| {
            let alias = kind.alias_of_void().or_else(|| kind.pointee()?.alias_of_void())?;
            (!ANYTHING.contains(&&*alias) && !alias.to_lowercase().ends_with("voidp")).then_some(alias)
        };
        for function in functions {
            let returned = named(&function.signature.returns);
            let handed_out =
                function.signature.parameters.iter().filter_map(|(_, kind)| named(&kind.pointee()?.pointee()?));
            self.addresses.extend(returned.into_iter().chain(handed_out));
        }
        // What nothing takes is no object, but an address of anything.
        let taken: HashSet<Rc<str>> = functions
            .iter()
            .flat_map(|function| &function.signature.parameters)
            .filter_map(|(_, kind)| named(kind))
            .collect();
        self.addresses.retain(|alias| taken.contains(alias));
    }

    /// The key of the object that a pointer of this type stands for.
    pub(crate) fn behind(&self, kind: &Type) -> Option<Rc<str>> {
        if let Some(alias) = kind.alias_of_void()
            && matches!(kind.resolved().kind, TypeKind::Pointer(_))
            && self.addresses.contains(&alias)
        {
            return Some(alias);
        }
        self.object(&kind.pointee()?)
    }

    /// The key of the object that this is: that of a struct, or the name of a `void`.
    pub(crate) fn object(&self, target: &Type) -> Option<Rc<str>> {
        target.record().or_else(|| {
            let alias = target.alias_of_void().filter(|_| target.is_void())?;
            self.addresses.contains(&alias).then_some(alias)
        })
    }

    pub(crate) fn role(&self, key: &Rc<str>) -> Option<RecordRole> {
        if self.addresses.contains(key) { Some(RecordRole::Handle) } else { self.roles.get(key).copied() }
    }

    pub(crate) fn record(&self, key: &str) -> Option<&Record> {
        self.declarations.records.get(key)
    }

    /// The layout, where the C compiler has confirmed it.
    pub(crate) fn layout(&self, key: &str) -> Option<&Layout> {
        self.layouts.get(key)
    }

    /// How many bytes a struct has, where that is known.
    pub(crate) fn size(&self, key: &str) -> Option<u64> {
        self.sizes.get(key).copied()
    }

    /// Whether a function prepares a struct that we allocate.
    pub(crate) fn is_maker(&self, function: &str, key: &str) -> bool {
        self.makers.get(key).is_some_and(|makers| makers.contains(function))
    }

    /// Whether some function takes an array of these structs.
    pub(crate) fn is_in_arrays(&self, key: &str) -> bool {
        self.arrays.contains(key)
    }

    /// Whether the headers say what is in the struct.
    pub(crate) fn has_fields(&self, key: &Rc<str>) -> bool {
        self.record(key).is_some_and(|record| record.fields.is_some())
    }

    /// What callers call the struct.
    pub(crate) fn name(&self, key: &str) -> String {
        let name = self.record(key).map_or(key, |record| record.name.as_str());
        let plain = name.trim_start_matches("struct ").trim_start_matches("union ");
        let bare = plain.trim_start_matches('_').trim_end_matches("_struct");
        if bare.is_empty() { plain.to_owned() } else { bare.to_owned() }
    }

    /// Whether callers can see all of a struct: numbers, texts in place, and structs and arrays of such.
    fn is_value(&self, key: &Rc<str>) -> bool {
        let is_whole = |record: &&Record| !record.is_union && !is_beginning(key) && self.layouts.contains_key(key);
        let Some(record) = self.record(key).filter(is_whole) else {
            return false;
        };
        let fields = record.fields.as_ref().filter(|_| !self.counts_its_texts(record));
        fields.is_some_and(|fields| {
            fields.iter().all(|field| !field.name.is_empty() && field.bits.is_none() && self.is_plain(field))
        })
    }

    fn is_plain(&self, field: &Field) -> bool {
        let mut kind = field.kind.resolved();
        if let TypeKind::Array(element, Some(length)) = &kind.kind
            && *length > 0
        {
            kind = element.resolved();
        }
        match &kind.kind {
            TypeKind::Record(inner) => self.is_value(inner),
            // A text, which ends by itself.
            TypeKind::Pointer(target) => target.is_bytes() && !target.is_void() && !words::is_binary(&field.name),
            _ => kind.scalar().is_some(),
        }
    }

    /// Whether a struct points to texts and has numbers that may be their lengths.
    fn counts_its_texts(&self, record: &Record) -> bool {
        let fields = || record.fields.iter().flatten();
        let has_pointers = fields().any(|field| field.kind.pointee().is_some() && field.kind.array_length().is_none());
        has_pointers && fields().any(|field| field.kind.is_integer() && words::counts(&field.name))
    }
}

/// The struct that a field is, or that its elements are.
fn nested(kind: &Type) -> Option<Rc<str>> {
    match kind.resolved().kind {
        TypeKind::Record(key) => Some(key),
        TypeKind::Array(element, _) => nested(&element),
        _ => None,
    }
}

/// Whether a name has a word for preparing something in it, also within a word (`randinit`), but none for its contrary.
fn prepares(function: &str, preparing: &[&str]) -> bool {
    let own = words::split(function.trim_end_matches(['_', '2']));
    let is_contrary = |word: &String| ["deinit", "uninit", "reinit", "restart"].contains(&word.as_str());
    !own.iter().any(is_contrary)
        && own
            .iter()
            .any(|word| preparing.iter().any(|wanted| word == wanted || (*wanted == "init" && word.ends_with("init"))))
}

/// Whether the only field of a struct says that it has none: `struct _TidyDoc { int _opaque; }`.
fn is_veiled(record: &Record) -> bool {
    let Some([only]) = record.fields.as_deref() else { return false };
    ["opaque", "dummy", "unused", "private", "placeholder", "reserved"].contains(&only.name.trim_matches('_'))
}

/// Whether a struct is only the beginning of others, so that its size says nothing.
fn is_beginning(key: &str) -> bool {
    key == "struct sockaddr"
}

/// Whether this is the `FILE` of the C library, which no other library prepares.
fn is_stream_of_c(key: &str) -> bool {
    key == "struct _IO_FILE" || key == "struct __sFILE"
}

/// The structs that functions use, and how.
#[derive(Debug, Default)]
struct SeenRecords {
    all: HashSet<Rc<str>>,
    returned: HashSet<Rc<str>>,
    handed_out: HashSet<Rc<str>>,
    /// Those that are taken or returned as they are.
    by_value: HashSet<Rc<str>>,
    /// Those of which some function takes many.
    arrays: HashSet<Rc<str>>,
    /// Those that some function may change or end.
    changed: HashSet<Rc<str>>,
    /// Those that a function returns which is given one, as lists do that begin with NULL.
    extended: HashSet<Rc<str>>,
    /// Those that some function ends.
    ended: HashSet<Rc<str>>,
}

impl SeenRecords {
    fn collect(functions: &[&Prototype]) -> Self {
        let mut seen = Self::default();
        for function in functions {
            let signature = &function.signature;
            let takes = |key: &Rc<str>| {
                signature
                    .parameters
                    .iter()
                    .any(|(_, kind)| kind.pointee().and_then(|target| target.record()).as_ref() == Some(key))
            };
            // What gives back what it was given makes nothing.
            let returned = signature.returns.pointee().and_then(|target| target.record());
            seen.all.extend(returned.clone());
            seen.extended.extend(returned.clone().filter(takes));
            seen.returned.extend(returned.filter(|key| !takes(key) || closing::ends(&function.name, key)));
            seen.by_value.extend(signature.returns.record());
            for (_, kind) in &signature.parameters {
                seen.by_value.extend(kind.record());
                let many = kind.array_length().filter(|length| *length > 1).and_then(|_| kind.pointee()?.record());
                seen.arrays.extend(many);
                let Some(target) = kind.pointee() else { continue };
                seen.handed_out.extend(target.pointee().and_then(|inner| inner.record()).filter(|_| !target.is_const));
                let Some(key) = target.record() else { continue };
                let is_ended = closing::ends(&function.name, &key);
                if !target.is_const || is_ended {
                    seen.changed.insert(key.clone());
                }
                if is_ended && signature.parameters.len() == 1 {
                    seen.ended.insert(key.clone());
                }
                seen.all.insert(key);
            }
        }
        seen.all.extend(seen.by_value.iter().cloned());
        seen.all.extend(seen.returned.iter().cloned());
        seen.all.extend(seen.handed_out.iter().cloned());
        seen
    }

    /// The functions that take a struct first and of which it is said that they initialise something.
    fn starters_of(&self, key: &Rc<str>, functions: &[&Prototype], preparers: &Preparers) -> HashSet<String> {
        let users = functions.iter().filter(|function| {
            let first = function.signature.parameters.first().and_then(|(_, kind)| kind.pointee());
            first.is_some_and(|target| !target.is_const && target.record().as_ref() == Some(key))
        });
        let starters = users.filter(|function| preparers.functions.contains(&function.name));
        starters.map(|function| function.name.clone()).collect()
    }

    /// The functions that prepare a struct, by the clearest of the words for it.
    fn makers_of(&self, key: &Rc<str>, functions: &[&Prototype]) -> HashSet<String> {
        let takes_first = |function: &&&Prototype| {
            let first = function.signature.parameters.first().and_then(|(_, kind)| kind.pointee());
            first.is_some_and(|target| !target.is_const && target.record().as_ref() == Some(key))
        };
        let users: Vec<&&Prototype> = functions.iter().filter(takes_first).collect();
        for preparing in PREPARING {
            let makers: HashSet<String> = users
                .iter()
                .filter(|function| prepares(&function.name, preparing))
                .map(|function| function.name.clone())
                .collect();
            if !makers.is_empty() {
                return makers;
            }
        }
        HashSet::new()
    }
}
