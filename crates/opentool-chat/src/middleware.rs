//! What stands around every request to a model: [`ModelMiddleware`].

mod around;
mod concurrency;
mod fallback;
mod interface;
mod rate;

pub(crate) use self::around::Around;
pub use self::concurrency::ConcurrencyLimit;
pub use self::fallback::Fallback;
pub use self::interface::ModelMiddleware;
pub use self::rate::RateLimit;
