//! "Did you mean": the known word nearest to a misspelt one.

/// Words longer than this are not compared: nobody misspells a known one that way.
const LONGEST: usize = 64;

/// The candidate that `word` most probably misspells.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let folded = fold(word);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .filter_map(|candidate| {
            let other = fold(candidate);
            if folded.len().abs_diff(other.len()) > 4 {
                return None; // more than two characters apart, whatever their width
            }
            let distance = if folded == other { 0 } else { strsim::damerau_levenshtein(&folded, &other) };
            let longest = folded.len().max(other.len());
            (distance <= 2 && distance * 3 <= longest).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Whether two words differ only in what people vary first.
pub(crate) fn is_same(word: &str, other: &str) -> bool {
    fold(word) == fold(other)
}

/// Case, hyphens and underscores are what people vary first.
fn fold(word: &str) -> String {
    word.chars().filter(|char| !matches!(char, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// A value in a message: shortened, and in backticks.
pub(crate) fn quote(raw: &str) -> String {
    const SHOWN: usize = 60;
    let line: String = raw.chars().take(SHOWN + 1).map(|char| if char.is_control() { ' ' } else { char }).collect();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}
