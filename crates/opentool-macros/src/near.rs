//! Suggestions for misspelt options.

/// The one of `known` that is a slip away from `written`, or that it abbreviates.
pub(crate) fn nearest(written: &str, known: &[&'static str]) -> Option<&'static str> {
    let abbreviated = |known: &&&str| written.len() >= 3 && known.starts_with(written);
    let slips = |known: &str| distance(written.as_bytes(), known.as_bytes());
    let misspelt = || {
        let (slips, known) = known.iter().map(|known| (slips(known), *known)).min()?;
        // Two slips in four letters are a transposition; in three they are another word.
        (slips <= 2 && slips * 2 <= written.len()).then_some(known)
    };
    known.iter().find(abbreviated).copied().or_else(misspelt)
}

/// How many letters must be added, taken away or replaced to make one word the other.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut left = i + 1;
        let mut row = vec![left];
        for (y, (diagonal, up)) in b.iter().zip(above.iter().zip(above.iter().skip(1))) {
            left = (diagonal + usize::from(x != y)).min(up + 1).min(left + 1);
            row.push(left);
        }
        above = row;
    }
    above.last().copied().unwrap_or_default()
}
