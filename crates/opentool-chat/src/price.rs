//! What tokens cost: [`Price`] and [`PriceTable`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// What a million tokens of a model cost, in the currency of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// What the model reads.
    pub input: f64,
    /// What the model writes, its reasoning included.
    pub output: f64,
    /// What the model reads from a cache; without it, as much as what it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// What is written to a cache; without it, as much as what it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// Sets what a million tokens cost that the model reads and writes.
    #[must_use]
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Sets what a million tokens cost that the model reads from a cache.
    #[must_use]
    pub fn with_cached_input(mut self, price: f64) -> Self {
        self.cached_input = Some(price);
        self
    }

    /// Sets what a million tokens cost that are written to a cache.
    #[must_use]
    pub fn with_cache_write(mut self, price: f64) -> Self {
        self.cache_write = Some(price);
        self
    }

    /// Returns what so many tokens cost.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let (cached, written) = (usage.cached_input_tokens, usage.cache_write_tokens);
        let plain = usage.input_tokens.saturating_sub(cached).saturating_sub(written);
        let parts = [
            (plain, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum()
    }
}

/// What tokens cost, by model; the prices are the user's.
///
/// A model is found by its name, else by the longest name in the table that its own begins with, so that `gpt-5-mini` stands for
/// `gpt-5-mini-2025-08-07` too. It is read from JSON: `{"gpt-5-mini": {"input": 0.25, "cached_input": 0.025, "output": 2}}`.
///
/// ```
/// use opentool_chat::{Price, PriceTable, Usage};
///
/// let prices = PriceTable::new().with("gpt-5-mini", Price::new(0.25, 2.0).with_cached_input(0.025));
/// let usage = Usage::new(3_000_000, 1_000_000).with_cached_input_tokens(2_000_000);
/// assert_eq!(prices.cost("gpt-5-mini-2025-08-07", &usage), Some(0.25 + 2.0 * 0.025 + 2.0));
/// assert_eq!(prices.cost("other", &usage), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable(BTreeMap<String, Price>);

impl PriceTable {
    /// Makes an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the price of a model, or of all whose name begins so.
    #[must_use]
    pub fn with(mut self, model: impl Into<String>, price: Price) -> Self {
        self.0.insert(model.into(), price);
        self
    }

    /// Returns the price of a model.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<&Price> {
        let longest =
            self.0.iter().filter(|(name, _)| model.starts_with(name.as_str())).max_by_key(|(name, _)| name.len());
        longest.map(|(_, price)| price)
    }

    /// Returns what so many tokens of a model cost; none where its price is not known.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        self.price(model).map(|price| price.cost(usage))
    }
}
