//! Secrets taken out of what is recorded.

use super::rules::Redaction;
use super::walk::Walk;

impl Redaction {
    /// Returns the arguments of a call without secrets. Arguments that cannot be read, and may hold one, become `[redacted]` as a whole.
    #[must_use]
    pub fn arguments(&self, tool: &str, arguments: &str) -> String {
        let mut secrets = self.secrets();
        let redacted = Walk::new(self, &mut secrets).arguments(tool, arguments);
        self.secrets().out_of_json(&redacted)
    }

    /// Returns a JSON text without secrets. Calls in it (objects with `name` and `arguments`) have the schemas of their tools, and so have
    /// the answers to them (`tool` and `text`).
    #[must_use]
    pub fn json(&self, json: &str) -> String {
        let mut secrets = self.secrets();
        let redaction = self.clone().with_tools_of(json);
        let redacted = Walk::new(&redaction, &mut secrets).json(json);
        secrets.out_of_json(&redacted)
    }
}
