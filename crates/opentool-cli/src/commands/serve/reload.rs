//! A server whose configuration file is read again when it changes: [`Reloader`].

use std::time::Duration;

use opentool::ChangeSignal;
use opentool_server::ReloadHandle;
use tokio::{sync::oneshot, task::AbortHandle};

use super::{
    super::model::ModelName,
    fingerprints::Fingerprints,
    options::Options,
    page::PageContent,
    prepare::{config_failure, prepare},
    setup::{Opened, Setup},
    signals::Hangups,
    tool_set::ToolSet,
};
use crate::{
    failure::Failure,
    report::counted,
    setting::Setting,
    telemetry::Export,
    terminal::{complain, note, visible, warn},
};

/// How often files are looked at. One that differs is read once it has stayed the same for this long, so that a half-written file does
/// not count.
const POLL: Duration = Duration::from_millis(500);

/// What is served now, and what it was made from.
pub(super) struct Reloader {
    pub(super) setup: Setup,
    pub(super) options: Options,
    pub(super) set: ToolSet,
    /// The model that people chat with on the page.
    pub(super) model: Option<ModelName>,
    /// What the page has of all this.
    pub(super) content: PageContent,
    pub(super) seen: Fingerprints,
    pub(super) handle: ReloadHandle,
    pub(super) export: Option<&'static Export>,
    /// The signal of all sets, one after the other.
    pub(super) changed: ChangeSignal,
    /// What passes on the signals of the set that is served.
    pub(super) forward: Option<AbortHandle>,
    /// The name of the file for messages; none where there is no file to read again.
    pub(super) file: Option<String>,
    /// What stood in the file when it was last taken.
    pub(super) settings: Vec<Setting>,
}

impl Reloader {
    /// Watches the files, and listens to SIGHUP, until the server has stopped; then gives back the set.
    pub(super) async fn run(mut self, mut hangups: Hangups, mut stopped: oneshot::Receiver<()>) -> ToolSet {
        let mut last = self.seen.clone();
        loop {
            let is_asked = tokio::select! {
                _ = &mut stopped => return self.set,
                () = tokio::time::sleep(POLL) => false,
                () = hangups.next() => true,
            };
            if is_asked {
                self.read_keys();
            }
            if self.file.is_none() {
                continue;
            }
            let looked = tokio::task::spawn_blocking({
                let seen = self.seen.clone();
                move || seen.again()
            });
            let Ok(now) = looked.await else { continue };
            let is_settled = now == last;
            last = now;
            if is_asked || (is_settled && last != self.seen) {
                self.read_file().await;
                last = self.seen.clone();
            }
        }
    }

    /// Reads keys and certificates again.
    fn read_keys(&self) {
        match self.handle.reload() {
            Ok(()) => note(&"SIGHUP: keys and certificates were read again"),
            Err(error) => warn(&format_args!("SIGHUP: {error}; what was read before stays in use")),
        }
    }

    /// Reads the file again. Where anything is wrong with it, what is served stays as it is.
    async fn read_file(&mut self) {
        let (setup, known, in_use) = (self.setup.clone(), self.set.signatures(), self.settings.clone());
        // Libraries are opened and files read off the threads that serve.
        let opening = tokio::task::spawn_blocking(move || {
            let mut seen = Fingerprints::default();
            let opened = setup.open(&mut seen, &known, Some(&in_use));
            (opened, seen)
        });
        let Ok((opened, seen)) = opening.await else { return };
        self.seen = seen;
        let taken = match opened {
            Ok(opened) => self.take(opened).await,
            Err(failure) => Err(failure),
        };
        let file = self.file.as_deref().unwrap_or_default();
        match taken {
            Ok(report) => note(&format_args!("{} was read again: {report}", visible(file))),
            Err(Failure::Untrusted { name, problem, settings, command, .. }) => {
                let unused = "what was read before stays in use until it is";
                complain(&Failure::Untrusted { name, problem, unused, settings, command });
            }
            Err(failure) => {
                complain(&failure);
                note(&format_args!(
                    "{} is not used as it stands now: what was read before stays in use",
                    visible(file)
                ));
            }
        }
    }

    /// Serves what was opened, in place of what is served now; says what differs.
    async fn take(&mut self, opened: Opened) -> Result<String, Failure> {
        let Opened { options, sources, model, places, settings, .. } = opened;
        let set = ToolSet::attach(sources, Some(&self.set), &options.set).await?;
        let replaced = prepare(&options, &places, &set, self.export, &self.changed).and_then(|ready| {
            self.handle
                .replace(&ready.host, ready.config)
                .map(|()| ready.forward)
                .map_err(|error| config_failure(&error, &places))
        });
        let forward = match replaced {
            Ok(forward) => forward,
            Err(failure) => {
                set.close_all_but(Some(&self.set)).await;
                return Err(failure);
            }
        };
        if let Some(earlier) = std::mem::replace(&mut self.forward, forward) {
            earlier.abort();
        }
        let (model_name, model) = model.unzip();
        let run_details = model_name.as_ref().map(|name| self.setup.run_details(&options, name)).unwrap_or_default();
        self.content.replace(&set, model, run_details);
        self.changed.send();
        let report = difference(&self.set, &set)
            + access_difference(&self.options, &options)
            + &model_difference(self.model.as_ref(), model_name.as_ref());
        (self.model, self.settings) = (model_name, settings);
        say_what_waits(&self.options, &options);
        let wait = self.set.longest_call(&self.options.set);
        let earlier = std::mem::replace(&mut self.set, set).without(&self.set);
        self.options = options;
        if !earlier.is_empty() {
            // Calls that run are finished with the sources that they began with.
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                earlier.close_all_but(None).await;
            });
        }
        Ok(report)
    }
}

/// What one set has and the other has not.
fn difference(before: &ToolSet, after: &ToolSet) -> String {
    let (before, after) = (before.names(), after.names());
    let listed = |word: &str, names: Vec<&String>| {
        let mut names: Vec<_> = names.into_iter().map(String::as_str).collect();
        names.sort_unstable();
        let more = names.len().saturating_sub(5);
        let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        match (names.len(), more) {
            (0, _) => String::new(),
            (_, 0) => format!("; {word} {}", visible(&shown)),
            _ => format!("; {word} {} and {more} more", visible(&shown)),
        }
    };
    let added = listed("new:", after.difference(&before).collect());
    let removed = listed("gone:", before.difference(&after).collect());
    format!("{}{added}{removed}", counted(after.len(), "tool"))
}

/// Whether callers need a key now and did not before, or the other way round.
fn access_difference(before: &Options, after: &Options) -> &'static str {
    match (before.has_keys(), after.has_keys()) {
        (true, false) => "; callers need no API key any more",
        (false, true) => "; callers need an API key now",
        _ => "",
    }
}

/// The model that is new, or that there is none any more.
fn model_difference(before: Option<&ModelName>, after: Option<&ModelName>) -> String {
    let [before, after] = [before, after].map(|model| model.map(ToString::to_string));
    match after {
        _ if after == before => String::new(),
        Some(model) => format!("; model: {}", visible(&model)),
        None => "; no model".to_owned(),
    }
}

/// Says which settings take effect after a restart only.
fn say_what_waits(before: &Options, after: &Options) {
    let waiting = before.fixed_differences(after);
    if !waiting.is_empty() {
        note(&format_args!("takes effect after a restart: {}", waiting.join(", ")));
    }
}
