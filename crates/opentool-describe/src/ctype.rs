//! The types of C, as far as prototypes use them.

use std::rc::Rc;

use opentool_spec::CTypeName;

/// A type, and whether it is `const`.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) kind: TypeKind,
    pub(crate) is_const: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeKind {
    Void,
    Scalar(CTypeName),
    /// `signed char`, which the spec does not have.
    SignedChar,
    /// What the spec has no name for: `long double`, complex numbers, vectors.
    Other(String),
    Enum(Rc<Enumeration>),
    /// A struct or union, by the key of its [`Record`].
    Record(Rc<str>),
    Pointer(Rc<Type>),
    Array(Rc<Type>, Option<u64>),
    Function(Rc<Signature>),
    VaList,
    /// Another name for a type.
    Alias(Rc<str>, Rc<Type>),
}

/// An enumeration with the names of its values.
#[derive(Debug)]
pub(crate) struct Enumeration {
    pub(crate) tag: Option<String>,
    pub(crate) values: Vec<(String, Option<i128>)>,
}

impl Enumeration {
    /// The type that holds all its values, as compilers choose it: `int` where that does.
    fn c_type(&self) -> CTypeName {
        let values = || self.values.iter().filter_map(|(_, value)| *value);
        let (least, most) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
        if i32::try_from(least).is_ok() && i32::try_from(most).is_ok() {
            CTypeName::Int
        } else if least >= 0 && u32::try_from(most).is_ok() {
            CTypeName::UnsignedInt
        } else if i64::try_from(most).is_ok() {
            CTypeName::LongLong
        } else {
            CTypeName::UnsignedLongLong
        }
    }
}

/// A struct or union.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// `struct point`, or the name of the type where there is no tag.
    pub(crate) name: String,
    pub(crate) is_union: bool,
    /// None where the headers do not say what is in it.
    pub(crate) fields: Option<Vec<Field>>,
}

/// A field of a struct or union.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Empty where it has none.
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// How many bits it has, where it is one of some bits.
    pub(crate) bits: Option<u64>,
}

impl Record {
    /// The name as C programs write it: `struct point`, or that of the type where there is no tag.
    pub(crate) fn written<'r>(&'r self, key: &'r str) -> &'r str {
        if key.contains('#') { &self.name } else { key }
    }
}

/// What a function takes and gives.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) returns: Type,
    pub(crate) parameters: Vec<(Option<String>, Type)>,
    pub(crate) is_variadic: bool,
    /// `f()`, which says nothing about what the function takes.
    pub(crate) is_unspecified: bool,
}

impl From<TypeKind> for Type {
    fn from(kind: TypeKind) -> Self {
        Type { kind, is_const: false }
    }
}

impl Type {
    /// The type behind its other names.
    pub(crate) fn resolved(&self) -> Type {
        let mut end = self.clone();
        while let TypeKind::Alias(_, target) = &end.kind {
            end = Type { kind: target.kind.clone(), is_const: end.is_const || target.is_const };
        }
        end
    }

    /// What it points to, where it is a pointer; what an array or function decays to counts.
    pub(crate) fn pointee(&self) -> Option<Type> {
        let resolved = self.resolved();
        match resolved.kind {
            TypeKind::Pointer(target) => Some((*target).clone()),
            // What is said of an array is said of its elements: `typedef float vec3[3]; f(const vec3 a)`.
            TypeKind::Array(target, _) => {
                Some(Type { is_const: target.is_const || resolved.is_const, ..(*target).clone() })
            }
            _ => None,
        }
    }

    /// How many elements it has, where it is an array of a length that is known.
    pub(crate) fn array_length(&self) -> Option<u64> {
        match self.resolved().kind {
            TypeKind::Array(_, length) => length.filter(|length| *length > 0),
            _ => None,
        }
    }

    /// The C type of the spec, where it is passed as one of those.
    pub(crate) fn scalar(&self) -> Option<CTypeName> {
        match self.resolved().kind {
            TypeKind::Scalar(name) => Some(name),
            TypeKind::SignedChar => Some(CTypeName::Char),
            TypeKind::Enum(enumeration) => Some(enumeration.c_type()),
            _ => None,
        }
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.scalar().is_some_and(|name| !matches!(name, CTypeName::Bool | CTypeName::Float | CTypeName::Double))
    }

    /// Whether it is some `char`, or `void`, which stands for bytes too.
    pub(crate) fn is_bytes(&self) -> bool {
        matches!(self.scalar(), Some(CTypeName::Char | CTypeName::UnsignedChar)) || self.is_void()
    }

    /// Whether it is the plain `char` that texts are made of.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.resolved().kind, TypeKind::Scalar(CTypeName::Char))
    }

    pub(crate) fn is_void(&self) -> bool {
        matches!(self.resolved().kind, TypeKind::Void)
    }

    pub(crate) fn is_function(&self) -> bool {
        match self.resolved().kind {
            TypeKind::Function(_) => true,
            TypeKind::Pointer(target) => target.is_function(),
            _ => false,
        }
    }

    /// Whether one of its names is one of these.
    pub(crate) fn is_named(&self, wanted: &[&str]) -> bool {
        self.has_name(|name| wanted.contains(&name))
    }

    /// Whether one of its names is as wanted.
    pub(crate) fn has_name(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        let mut end = self.clone();
        while let TypeKind::Alias(name, target) = &end.kind {
            if is_wanted(name) {
                return true;
            }
            end = (**target).clone();
        }
        false
    }

    /// The innermost name of `void`, or of a `void *`, where it has one: `BZFILE`, `iconv_t`.
    pub(crate) fn alias_of_void(&self) -> Option<Rc<str>> {
        let mut end = self.clone();
        let mut last = None;
        while let TypeKind::Alias(name, target) = &end.kind {
            last = Some(name.clone());
            end = (**target).clone();
        }
        match &end.kind {
            TypeKind::Void => last,
            TypeKind::Pointer(target) if matches!(target.kind, TypeKind::Void) => last,
            _ => None,
        }
    }

    pub(crate) fn enumeration(&self) -> Option<Rc<Enumeration>> {
        match self.resolved().kind {
            TypeKind::Enum(enumeration) => Some(enumeration),
            _ => None,
        }
    }

    /// The key of the struct or union that it is.
    pub(crate) fn record(&self) -> Option<Rc<str>> {
        match self.resolved().kind {
            TypeKind::Record(key) => Some(key),
            _ => None,
        }
    }

    /// The declaration of something of this type, as C writes it.
    pub(crate) fn declare(&self, name: &str) -> String {
        let constant = if self.is_const { "const " } else { "" };
        let spaced =
            |word: &str| if name.is_empty() { format!("{constant}{word}") } else { format!("{constant}{word} {name}") };
        match &self.kind {
            TypeKind::Void => spaced("void"),
            TypeKind::Scalar(scalar) => spaced(scalar.as_str()),
            TypeKind::SignedChar => spaced("signed char"),
            TypeKind::Other(text) => spaced(text),
            TypeKind::Enum(enumeration) => match &enumeration.tag {
                Some(tag) => spaced(&format!("enum {tag}")),
                None => spaced("int"),
            },
            TypeKind::Record(key) => spaced(key),
            TypeKind::VaList => spaced("va_list"),
            TypeKind::Alias(alias, _) => spaced(alias),
            TypeKind::Pointer(target) => {
                let name = format!("*{}{name}", if self.is_const && !name.is_empty() { "const " } else { "" });
                match target.kind {
                    TypeKind::Function(_) | TypeKind::Array(..) => target.declare(&format!("({name})")),
                    _ => target.declare(&name),
                }
            }
            TypeKind::Array(element, length) => {
                element.declare(&format!("{name}[{}]", length.map(|length| length.to_string()).unwrap_or_default()))
            }
            TypeKind::Function(signature) => {
                signature.returns.declare(&format!("{name}({})", signature.parameter_list()))
            }
        }
    }
}

impl Signature {
    /// What stands between the parentheses.
    pub(crate) fn parameter_list(&self) -> String {
        if self.is_unspecified {
            return String::new();
        }
        let mut list: Vec<_> =
            self.parameters.iter().map(|(name, kind)| kind.declare(name.as_deref().unwrap_or_default())).collect();
        if self.is_variadic {
            list.push("...".to_owned());
        }
        if list.is_empty() { "void".to_owned() } else { list.join(", ") }
    }

    /// The whole prototype.
    pub(crate) fn prototype(&self, name: &str) -> String {
        self.returns.declare(&format!("{name}({})", self.parameter_list()))
    }
}
