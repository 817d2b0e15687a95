//! Patterns for names.

/// A pattern in which `*` stands for anything and `?` for one character.
#[derive(Debug, Clone)]
pub(crate) struct Glob(String);

impl Glob {
    pub(crate) fn new(pattern: String) -> Self {
        Self(pattern)
    }

    /// Whether it is about names that are reserved for the system.
    pub(crate) fn is_reserved(&self) -> bool {
        self.0.starts_with("__")
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut of) = (0, 0);
        // Where the last star was, and how much of the name it stands for: only that one is ever tried again.
        let mut star: Option<(usize, usize)> = None;
        while of < name.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, of));
                    at += 1;
                }
                Some(byte) if *byte == b'?' || *byte == name[of] => {
                    at += 1;
                    of += 1;
                }
                _ => match &mut star {
                    Some((after, until)) => {
                        *until += 1;
                        (at, of) = (*after + 1, *until);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_what_they_should() {
        let matches = |pattern: &str, name: &str| Glob::new(pattern.to_owned()).matches(name);
        for (pattern, name) in
            [("sqlite3_*", "sqlite3_open"), ("*", ""), ("*_v?", "close_v2"), ("a*b*c", "aXbXbXc"), ("cos", "cos")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("sqlite3_*", "sqlite_open"), ("?", ""), ("cos", "cosh"), ("a*b*c", "aXbX"), ("", "x")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(50), &"a".repeat(49)));
    }
}
