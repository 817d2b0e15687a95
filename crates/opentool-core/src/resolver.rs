//! From a name to a tool at run time: [`Resolver`].

use std::fmt;
use std::sync::Arc;

use crate::Tool;

/// Finds a tool by name while a call runs.
///
/// Only the tools attached to a request may run. A resolver given to the
/// [executor](crate::ExecutorBuilder::resolver) widens that, and only because its user said so.
/// A [`Toolbox`](crate::Toolbox), a [`Chain`] and a closure `Fn(&str) -> Option<Arc<dyn Tool>>` are resolvers.
pub trait Resolver: Send + Sync + 'static {
    /// Returns the tool of that name, if this resolver has it.
    fn resolve(&self, name: &str) -> Option<Arc<dyn Tool>>;
}

impl<F> Resolver for F
where
    F: Fn(&str) -> Option<Arc<dyn Tool>> + Send + Sync + 'static,
{
    fn resolve(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self(name)
    }
}

/// Asks resolvers in order; the first hit wins and the later ones are not asked.
///
/// ```
/// use std::sync::Arc;
/// use opentool_core::{Chain, Resolver, Tool, Toolbox};
///
/// let chain = Chain::new()
///     .then(Toolbox::new())
///     .then(|_name: &str| None::<Arc<dyn Tool>>);
/// assert!(chain.resolve("add").is_none());
/// ```
#[derive(Clone, Default)]
pub struct Chain(Vec<Arc<dyn Resolver>>);

impl Chain {
    /// Makes a chain that finds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a resolver that is asked after those before it.
    #[must_use]
    pub fn then(mut self, resolver: impl Resolver) -> Self {
        self.0.push(Arc::new(resolver));
        self
    }
}

impl Resolver for Chain {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.iter().find_map(|resolver| resolver.resolve(name))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({} resolvers)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_shows_how_many_resolvers_it_has() {
        let none = |_: &str| None::<Arc<dyn Tool>>;
        assert_eq!(format!("{:?}", Chain::new().then(none).then(none)), "Chain(2 resolvers)");
    }
}
