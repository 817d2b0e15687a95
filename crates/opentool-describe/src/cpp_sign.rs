//! What shows that a header needs a C++ compiler: [`CppSign`].

/// Standard headers that only C++ has.
const STANDARD: &[&str] = &[
    "algorithm",
    "any",
    "array",
    "atomic",
    "bitset",
    "chrono",
    "complex",
    "concepts",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "deque",
    "exception",
    "expected",
    "filesystem",
    "format",
    "fstream",
    "functional",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "list",
    "map",
    "memory",
    "mutex",
    "new",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ranges",
    "regex",
    "set",
    "span",
    "sstream",
    "stdexcept",
    "streambuf",
    "string",
    "string_view",
    "thread",
    "tuple",
    "type_traits",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "utility",
    "variant",
    "vector",
    "cmath",
];

/// What showed that a header is C++, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CppSign {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// The complaint of a C compiler about a header of the C++ library.
pub(crate) fn missing_standard_header(said: &str) -> Option<CppSign> {
    said.lines().find_map(|line| {
        let (place, complaint) = line.split_once(" fatal error: ")?;
        let name = complaint.split([':', ' ', '\'']).find(|word| !word.is_empty())?;
        let mut place = place.trim_end_matches(':').split(':');
        let place = format!("{}:{}", place.next()?, place.next()?);
        STANDARD.contains(&name).then(|| CppSign { place, text: format!("#include <{name}>") })
    })
}
