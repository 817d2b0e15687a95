//! What a call of a C function costs, beside the same call written by hand.
//!
//! `cargo bench -p opentool-dyn [-- here | growth | number]`
//!
//! The contenders take turns, round after round, so that a noisy machine is noisy for all of them; each is compared by its
//! best round. `scripts/bench dyn` puts other languages beside them.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod here;
mod library;

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if wanted("here") {
        here::race_by_hand();
    }
    if wanted("growth") {
        here::grow();
    }
    // For the script: one number, and nothing else.
    if std::env::args().any(|argument| argument == "number") {
        here::number();
    }
}
