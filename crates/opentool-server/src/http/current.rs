//! The service that answers requests now: [`CurrentService`].

use std::sync::{Arc, PoisonError, RwLock};

use super::service::Service;

/// The service that answers the next request. Requests that run keep the one that they began with.
pub(crate) struct CurrentService(RwLock<Arc<Service>>);

impl CurrentService {
    pub(crate) fn new(service: Arc<Service>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(service)))
    }

    pub(crate) fn get(&self) -> Arc<Service> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, service: Arc<Service>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = service;
    }
}
