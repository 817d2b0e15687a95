//! Which functions of a library may not be called for a while: [`Breakers`].

use std::collections::HashMap;
use std::time::Instant;

use super::backoff::CircuitBreaker;

/// The circuit breakers of one library. A function that ends its workers is refused, and no other.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    /// Where workers exit and no function is known to be the cause.
    library: Option<CircuitBreaker>,
    functions: HashMap<usize, CircuitBreaker>,
}

/// What a call was admitted as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Admitted {
    /// Whether the library or the function has failed before, so that an answer has to be recorded.
    pub(super) has_failed: bool,
    probes_library: bool,
    probes_function: bool,
}

impl Breakers {
    /// Whether nothing has failed.
    pub(super) fn is_empty(&self) -> bool {
        self.library.is_none() && self.functions.is_empty()
    }

    /// Admits a call of a function, or says why it is refused.
    pub(super) fn admit(&mut self, function: usize, now: Instant) -> Result<Admitted, String> {
        let mut admitted = Admitted::default();
        if self.is_empty() {
            return Ok(admitted);
        }
        if let Some(breaker) = self.functions.get_mut(&function) {
            admitted.has_failed = true;
            admitted.probes_function = breaker.admit(now)?;
        }
        if let Some(breaker) = &mut self.library {
            admitted.has_failed = true;
            match breaker.admit(now) {
                Ok(probes) => admitted.probes_library = probes,
                Err(reason) => {
                    self.release(function, admitted);
                    return Err(reason);
                }
            }
        }
        Ok(admitted)
    }

    /// A call has ended, whether it was answered or not.
    pub(super) fn release(&mut self, function: usize, admitted: Admitted) {
        if admitted.probes_function
            && let Some(breaker) = self.functions.get_mut(&function)
        {
            breaker.stop_probing();
        }
        if admitted.probes_library
            && let Some(breaker) = &mut self.library
        {
            breaker.stop_probing();
        }
    }

    /// A call of a function was answered.
    pub(super) fn record_success(&mut self, function: usize) {
        self.library = None;
        self.functions.remove(&function);
    }

    /// A worker has exited in which no function was running, or could not be started.
    pub(super) fn record_library_failure(&mut self, now: Instant, reason: &str) {
        self.library.get_or_insert_default().record_failure(now, reason);
    }

    /// A worker has exited in which these functions may have been running: of several, it was one that failed most often in a row.
    pub(super) fn record_failure(&mut self, functions: &[usize], now: Instant, reason: &str) {
        let failures =
            |breakers: &Breakers, function| breakers.functions.get(function).map_or(0, CircuitBreaker::failures);
        let most = functions.iter().map(|function| failures(self, function)).max();
        for function in functions {
            if Some(failures(self, function)) == most {
                self.functions.entry(*function).or_default().record_failure(now, reason);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_function_that_fails_is_refused_and_no_other() {
        let (now, mut breakers) = (Instant::now(), Breakers::default());
        for _ in 0..8 {
            assert!(breakers.admit(3, now).is_ok());
            breakers.record_failure(&[3], now, "it crashed");
        }
        assert!(breakers.admit(3, now).unwrap_err().contains("8 times in a row"));
        assert_eq!(breakers.admit(4, now), Ok(Admitted::default()));
        breakers.record_success(4);
        assert!(breakers.admit(3, now).is_err());
        breakers.record_success(3);
        assert_eq!(breakers.admit(3, now), Ok(Admitted::default()));
    }

    #[test]
    fn of_several_functions_the_one_that_is_never_answered_is_refused() {
        let (now, mut breakers) = (Instant::now(), Breakers::default());
        for _ in 0..9 {
            breakers.record_failure(&[3, 4], now, "it crashed");
            breakers.record_success(4);
        }
        // None is answered from now on.
        for _ in 0..7 {
            breakers.record_failure(&[3, 4], now, "it crashed");
        }
        assert!(breakers.admit(3, now).is_err());
        assert_eq!(breakers.admit(4, now), Ok(Admitted::default()));
    }

    #[test]
    fn exits_without_a_call_refuse_every_function_until_one_works() {
        let (now, mut breakers) = (Instant::now(), Breakers::default());
        for _ in 0..8 {
            breakers.record_library_failure(now, "it crashed");
        }
        assert!(breakers.admit(1, now).is_err());
        breakers.record_success(1);
        assert_eq!(breakers.admit(2, now), Ok(Admitted::default()));
    }
}
