//! "Did you mean": the known names nearest to one that is not known.
//!
//! One metric for all messages. Case, hyphens, underscores and spaces do not count. Names are near by *spelling* where at
//! most two letters are wrong, missing, too many or swapped, and that is at most a third of the name. They are near by
//! *words* where one has all words of the other and more: `open` and `sqlite3_open`, `getWeather` and
//! `get_weather_now`. The nearer comes first, and spelling before words.

/// Names longer than this many bytes are not compared: no one misspells a known one that way.
const MAX_LENGTH: usize = 128;

/// How many edits two names may be apart.
const MAX_EDITS: usize = 2;

/// Fewer letters than this say too little about a name to find it by its words.
const MIN_WORD_LETTERS: usize = 3;

/// How far two names that are near are apart; the less, the nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// So many letters are wrong, missing, too many or swapped.
    Spelling(usize),
    /// One name has all words of the other, and so many more.
    Words(usize),
}

/// The known name that `name` most probably misspells.
pub fn misspelt<'c>(name: &str, known: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = Comparison::new(name)?;
    let distance = |known: &str| wanted.distance(known).filter(|distance| matches!(distance, Distance::Spelling(_)));
    known
        .into_iter()
        .filter_map(|known| Some((distance(known)?, known)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// The known names that `name` was probably meant to be, the nearest first, at most `limit`.
pub fn names<'c>(name: &str, known: impl IntoIterator<Item = &'c str>, limit: usize) -> Vec<&'c str> {
    ranked(name, known, |known| known).into_iter().take(limit).map(|(_, known)| known).collect()
}

/// The things whose names are near to `name`, each with its distance, the nearest first.
pub fn ranked<T>(name: &str, known: impl IntoIterator<Item = T>, name_of: impl Fn(&T) -> &str) -> Vec<(Distance, T)> {
    let Some(wanted) = Comparison::new(name) else { return Vec::new() };
    let mut near: Vec<_> =
        known.into_iter().filter_map(|known| Some((wanted.distance(name_of(&known))?, known))).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near
}

/// Whether two names differ only in case, hyphens, underscores and spaces.
#[must_use]
pub fn is_same(name: &str, other: &str) -> bool {
    fold(name) == fold(other)
}

/// A name, ready to be compared with many.
struct Comparison<'n> {
    name: &'n str,
    folded: String,
    letters: u64,
}

impl<'n> Comparison<'n> {
    fn new(name: &'n str) -> Option<Self> {
        let folded = fold(name);
        let comparable = !folded.is_empty() && name.len() <= MAX_LENGTH;
        comparable.then(|| Self { name, letters: letters(&folded), folded })
    }

    fn distance(&self, other: &str) -> Option<Distance> {
        if other.len() > MAX_LENGTH {
            return None;
        }
        let folded = fold(other);
        if folded == self.folded {
            return Some(Distance::Spelling(0));
        }
        self.edits(&folded).map(Distance::Spelling).or_else(|| by_words(self.name, other).map(Distance::Words))
    }

    fn edits(&self, other: &str) -> Option<usize> {
        // Two cheap lower bounds: a large library has tens of thousands of names.
        let (length, other_length) = (self.folded.chars().count(), other.chars().count());
        if length.abs_diff(other_length) > MAX_EDITS
            || (self.letters ^ letters(other)).count_ones() as usize > 2 * MAX_EDITS
        {
            return None;
        }
        let edits = strsim::osa_distance(&self.folded, other);
        (edits <= MAX_EDITS && edits * 3 <= length.max(other_length)).then_some(edits)
    }
}

/// How many words one of two names has that the other, all of whose words it has, does not.
fn by_words(name: &str, other: &str) -> Option<usize> {
    let (name, other) = (words(name), words(other));
    let (few, mut many) = if name.len() < other.len() { (name, other) } else { (other, name) };
    if few.iter().map(String::len).sum::<usize>() < MIN_WORD_LETTERS {
        return None;
    }
    for word in &few {
        many.swap_remove(many.iter().position(|other| other == word)?);
    }
    Some(many.len())
}

/// The words of a name in `snake_case`, `kebab-case` or `camelCase`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in name.chars() {
        let starts_word = !character.is_alphanumeric() || (before.is_lowercase() && character.is_uppercase());
        if starts_word {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Case, hyphens, underscores and spaces are what people vary first.
fn fold(name: &str) -> String {
    name.chars().filter(|character| !matches!(character, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The set of letters that occur in a name, folded into 64 bits: one edit changes at most two of them.
fn letters(name: &str) -> u64 {
    name.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) & 63))
}

#[cfg(test)]
mod tests;
