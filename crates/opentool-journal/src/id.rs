//! Ids of runs and owners: the time first, so that they sort, then random digits.

use crate::clock::unix_ms;

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Makes an id of a letter, 9 digits of time and 13 random ones.
pub(crate) fn new_id(letter: char) -> String {
    let mut random = [0_u8; 13];
    if getrandom::fill(&mut random).is_err() {
        // Without a source of randomness the address of a value and the time to the nanosecond still differ.
        let mark = format!("{:p}{:?}", &random, std::time::Instant::now());
        for (index, byte) in mark.bytes().enumerate() {
            random[index % 13] = random[index % 13].wrapping_mul(31).wrapping_add(byte);
        }
    }
    let time = unix_ms();
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 31)]);
    let time = (0..9).rev().map(|place| digit((time >> (5 * place)) as u8));
    std::iter::once(letter).chain(time).chain(random.iter().map(|byte| digit(*byte))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_and_sort_by_time() {
        let ids: HashSet<_> = (0..10_000).map(|_| new_id('r')).collect();
        assert_eq!(ids.len(), 10_000);
        let first = new_id('r');
        std::thread::sleep(std::time::Duration::from_millis(3));
        assert!(first < new_id('r') && first.len() == 23);
    }
}
