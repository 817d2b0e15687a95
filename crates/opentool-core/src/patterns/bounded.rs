//! A pattern that is matched without backtracking, under a budget: [`BoundedPattern`].
//!
//! A lazy DFA takes one step for each byte. What takes long is building its states: a pattern such as `[ab]*a[ab]{8000}c` has
//! more of them than any memory. How many bytes of states were built says how much work it was, and is what the budget counts;
//! a text that needs more than fit in the cache is refused.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use jsonschema::{
    Keyword, ValidationError,
    json::{Json, Node},
};
use opentool_spec::json::excerpt;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Hir, HirKind, Look};

/// How large a pattern may be when compiled, in bytes: enough for `^\p{L}{1,64}$` and `^.{1,4000}$`.
const MAX_COMPILED: usize = 4 << 20;
/// How many bytes of states may be built for all texts of one value, and for one text.
const BUDGET: usize = 4 << 20;
/// How many bytes of states are always kept for the next text.
const SMALL: usize = 16 << 10;
/// How many bytes of states all patterns together keep, apart from small caches.
const MAX_KEPT: usize = 32 << 20;
/// How many characters of a pattern are shown.
const MAX_SHOWN: usize = 120;

thread_local! {
    /// What is left of the budget. A value is checked on one thread, from beginning to end.
    static LEFT: Cell<usize> = const { Cell::new(BUDGET) };
}

/// Gives the value that is checked next the whole budget.
pub(crate) fn start_budget() {
    LEFT.set(BUDGET);
}

/// A compiled pattern.
pub(crate) struct BoundedPattern {
    pattern: Box<str>,
    dfa: DFA,
    /// The states that were built for the last text.
    kept: Mutex<Option<KeptCache>>,
}

/// How many bytes of states all patterns keep.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// A cache that is counted among those that are kept.
struct KeptCache {
    cache: Cache,
    _count: Counted,
}

/// Bytes that are counted in [`KEPT`].
struct Counted(usize);

impl KeptCache {
    /// Keeps a cache, unless too much is kept already.
    fn new(cache: Cache) -> Option<Self> {
        let bytes = cache.memory_usage();
        let others = KEPT.fetch_add(bytes, Relaxed);
        let kept = Self { cache, _count: Counted(bytes) };
        (bytes <= SMALL || others + bytes <= MAX_KEPT).then_some(kept)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.0, Relaxed);
    }
}

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("`{pattern}` is no regular expression")]
    Invalid { pattern: String },
    #[error(
        "the pattern `{pattern}` has look-around or a back reference, which can take exponential time to match; patterns \
         that come from elsewhere must do without"
    )]
    Backtracks { pattern: String },
    #[error("the pattern `{pattern}` is too large; repeat less in it, or state lengths with minLength and maxLength")]
    TooLarge { pattern: String },
}

/// The budget is used up.
#[derive(Clone, Copy)]
struct Exhausted;

impl BoundedPattern {
    /// Compiles a pattern of JSON Schema, which are those of ECMAScript.
    pub(crate) fn compile(pattern: &str) -> Result<Self, PatternError> {
        let shown = || excerpt(pattern, MAX_SHOWN).into_owned();
        let invalid = || PatternError::Invalid { pattern: shown() };
        let too_large = || PatternError::TooLarge { pattern: shown() };
        let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| invalid())?;
        let hir = regex_syntax::parse(&translated).map_err(|error| match error {
            regex_syntax::Error::Parse(error)
                if matches!(error.kind(), ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference) =>
            {
                PatternError::Backtracks { pattern: shown() }
            }
            _ => invalid(),
        })?;
        let compiler = thompson::Config::new().nfa_size_limit(Some(MAX_COMPILED)).which_captures(WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(compiler).build_from_hir(&with_ascii_boundaries(hir));
        // A large pattern has a larger cache, since a few of its states must fit.
        let config =
            Config::new().cache_capacity(BUDGET).skip_cache_capacity_check(true).minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa.map_err(|_| too_large())?);
        Ok(Self { pattern: pattern.into(), dfa: dfa.map_err(|_| too_large())?, kept: Mutex::new(None) })
    }

    fn is_match(&self, text: &str) -> Result<bool, Exhausted> {
        // Where another thread has the cache, this one builds its own.
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(KeptCache { mut cache, _count }) = kept
            && let Ok(found) = self.search(&mut cache, text)
        {
            self.keep(cache);
            return Ok(found);
        }
        // There was none, or it had no room for the states of this text.
        let mut cache = self.dfa.create_cache();
        let found = self.search(&mut cache, text);
        match found {
            Ok(_) => self.keep(cache),
            // All of the budget went into this text.
            Err(Exhausted) => LEFT.set(0),
        }
        found
    }

    fn search(&self, cache: &mut Cache, text: &str) -> Result<bool, Exhausted> {
        if LEFT.get() == 0 {
            return Err(Exhausted);
        }
        let before = cache.memory_usage();
        let found = self.dfa.try_search_fwd(cache, &Input::new(text).earliest(true));
        LEFT.set(LEFT.get().saturating_sub(cache.memory_usage().saturating_sub(before)));
        // Nothing else makes the engine stop: it stops at no byte, since the boundaries of words are those of ASCII.
        found.map(|found| found.is_some()).map_err(|_| Exhausted)
    }

    /// Keeps the states for the next text.
    fn keep(&self, cache: Cache) {
        let kept = KeptCache::new(cache);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}

impl<'i, F: Json> Keyword<'i, F> for BoundedPattern {
    fn validate(&self, instance: F::Node<'i>) -> Result<(), ValidationError<'i>> {
        let Some(text) = instance.as_string() else { return Ok(()) };
        let pattern = excerpt(&self.pattern, MAX_SHOWN);
        match self.is_match(&text) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ValidationError::custom(format!("expected text that matches the pattern {pattern}"))),
            Err(Exhausted) => Err(ValidationError::custom(format!(
                "matching the pattern {pattern} takes too much work; expected a shorter text"
            ))),
        }
    }

    fn is_valid(&self, instance: F::Node<'i>) -> bool {
        instance.as_string().is_none_or(|text| matches!(self.is_match(&text), Ok(true)))
    }
}

impl fmt::Debug for BoundedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoundedPattern").field(&self.pattern).finish()
    }
}

/// A pattern whose `\b` and `\B` mean ASCII words, as ECMAScript has it. The engine knows no others beyond ASCII text.
fn with_ascii_boundaries(hir: Hir) -> Hir {
    let all = |parts: Vec<Hir>| parts.into_iter().map(with_ascii_boundaries).collect();
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(Look::WordUnicode) => Hir::look(Look::WordAscii),
        HirKind::Look(Look::WordUnicodeNegate) => Hir::look(Look::WordAsciiNegate),
        HirKind::Look(Look::WordStartUnicode) => Hir::look(Look::WordStartAscii),
        HirKind::Look(Look::WordEndUnicode) => Hir::look(Look::WordEndAscii),
        HirKind::Look(Look::WordStartHalfUnicode) => Hir::look(Look::WordStartHalfAscii),
        HirKind::Look(Look::WordEndHalfUnicode) => Hir::look(Look::WordEndHalfAscii),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(mut repetition) => {
            *repetition.sub = with_ascii_boundaries(*repetition.sub);
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            *capture.sub = with_ascii_boundaries(*capture.sub);
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        start_budget();
        let compiled = BoundedPattern::compile(pattern).unwrap_or_else(|error| panic!("{error}"));
        compiled.is_match(text).unwrap_or_else(|Exhausted| panic!("{pattern} is too hard"))
    }

    #[test]
    fn patterns_mean_what_ecmascript_says() {
        for (pattern, yes, no) in [
            ("^a+$", "aaa", "aab"),
            ("b", "abc", "ac"),
            ("", "", "\u{0}never"),
            (r"^\d+$", "12", "١٢"),
            (r"^\w+$", "a_1", "é"),
            (r"\bcat\b", "a cat é", "concat"),
            (r"^é\bx$", "éx", "ex"),
            (r"^\S*$", "a\u{e9}", "a\u{a0}b"),
            (r"^\p{L}{1,64}$", "Zürich", "Zürich 1"),
            ("^.{1,4000}$", "å", ""),
            ("^(a|b|c)$", "b", "d"),
            (r"^[\u4e00-\u9fff]+$", "漢字", "kanji"),
        ] {
            assert!(matches(pattern, yes), "{pattern} {yes}");
            assert!(pattern.is_empty() || !matches(pattern, no), "{pattern} {no}");
        }
    }

    #[test]
    fn patterns_that_would_backtrack_are_linear_or_refused() {
        assert!(!matches("^(a+)+$", &format!("{}b", "a".repeat(32 << 10))));
        assert!(!matches("^(a|aa)*b$", &"a".repeat(32 << 10)));
        for pattern in ["^(?=.*x)(?=.*y).*$", "^(?!no).*$", "(?<=a)b", r"^(a+)\1$"] {
            let error = BoundedPattern::compile(pattern).unwrap_err();
            assert!(matches!(error, PatternError::Backtracks { .. }), "{error}");
        }
        assert!(matches!(BoundedPattern::compile("(").unwrap_err(), PatternError::Invalid { .. }));
        assert!(matches!(BoundedPattern::compile("(a{1000}){1000}").unwrap_err(), PatternError::TooLarge { .. }));
        // Just as large as it may be.
        assert!(!matches("[ab]*a[ab]{40000}c", "ab"));
    }

    /// A text without any order, of two letters.
    fn noise(length: usize, seed: u64) -> String {
        let mut state = seed;
        let letters = (0..length).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 { 'a' } else { 'b' }
        });
        letters.collect()
    }

    #[test]
    fn the_work_for_one_value_is_bounded() {
        // Each of these has more states than any memory; one long text uses the budget up, or several short ones.
        for (pattern, length) in [("[ab]*a[ab]{500}c", 32 << 10), ("(?:.*a.{300}|.*b.{300})c", 1 << 10)] {
            let compiled = BoundedPattern::compile(pattern).unwrap();
            start_budget();
            let refused = (0..100_000).find(|seed| compiled.is_match(&noise(length, *seed)).is_err());
            assert!(refused.is_some(), "{pattern} with texts of {length}");
            // What comes next starts from the beginning, also on a cache that was used.
            start_budget();
            assert!(matches!(compiled.is_match("ab"), Ok(false)), "{pattern}");
        }
    }

    #[test]
    fn a_text_that_was_matched_before_costs_nothing() {
        start_budget();
        let compiled = BoundedPattern::compile(r"^\p{L}{1,60}$").unwrap();
        let text = "é".repeat(60);
        assert!(matches!(compiled.is_match(&text), Ok(true)));
        let left = LEFT.get();
        assert!(left < BUDGET);
        assert!((0..1000).all(|_| matches!(compiled.is_match(&text), Ok(true))));
        assert_eq!(LEFT.get(), left);
    }
}
