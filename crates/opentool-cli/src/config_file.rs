//! A configuration file, and whether it is trusted: [`ConfigFile`].

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    config_fault::ConfigFault,
    failure::Failure,
    setting::{CONFIG_FILE, Setting},
    trusted::{TrustState, TrustedFiles},
};

/// A configuration file, read once: what is judged is what is used.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    pub(crate) text: String,
    is_named: bool,
}

impl ConfigFile {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let bytes =
            fs::read(path).map_err(|source| Failure::Read { name: path.to_string_lossy().into_owned(), source })?;
        let file = |text| ConfigFile { path: path.to_owned(), text, is_named: false };
        String::from_utf8(bytes).map(file).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let file = file(String::from_utf8_lossy(error.as_bytes()).into_owned());
            let fault = ConfigFault::new(at..at, "the file is not UTF-8 from here on").with_help("save it as UTF-8");
            Failure::Config { message: fault.render(&file.name(), &file.text), next: None }
        })
    }

    /// A file of this folder with a text, for tests.
    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Self {
        ConfigFile { path: CONFIG_FILE.into(), text: text.to_owned(), is_named: true }
    }

    /// Reads the file that the user named, which is trusted by that, otherwise that of this folder, where there is one.
    pub(crate) fn given_or_found(named: Option<&Path>) -> Result<Option<Self>, Failure> {
        match named {
            Some(path) => Ok(Some(ConfigFile { is_named: true, ..Self::open(path)? })),
            None => match Self::open(Path::new(CONFIG_FILE)) {
                Ok(file) => Ok(Some(file)),
                Err(Failure::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(failure) => Err(failure),
            },
        }
    }

    /// Where a folder has its file.
    pub(crate) fn path_in(folder: &Path) -> PathBuf {
        folder.join(CONFIG_FILE)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that paths in the file start from.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Whether the user named it.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// The name that stands in messages.
    pub(crate) fn name(&self) -> String {
        self.path.strip_prefix(".").unwrap_or(&self.path).to_string_lossy().into_owned()
    }

    /// Whether it is trusted as it stands.
    pub(crate) fn trust_state(&self) -> Result<TrustState, Failure> {
        match TrustedFiles::for_user() {
            Ok(trusted) => trusted.look_up(&self.path, self.text.as_bytes()),
            // Without a folder for records none can be there.
            Err(_) => Ok(TrustState::Unknown),
        }
    }

    /// Records that it is trusted as it stands, with what stands in it.
    pub(crate) fn trust(&self, settings: &[Setting]) -> Result<(), Failure> {
        let keys: Vec<_> =
            settings.iter().filter(|setting| setting.is_missed()).map(|setting| setting.key.as_str()).collect();
        TrustedFiles::for_user()?.add(&self.path, self.text.as_bytes(), &keys)
    }

    /// The settings that it had when it was trusted and has no longer, where a server that is started would miss them.
    pub(crate) fn lost_since_trusted(&self, settings: &[Setting]) -> Result<Vec<String>, Failure> {
        let Ok(trusted) = TrustedFiles::for_user() else { return Ok(Vec::new()) };
        let mut keys = trusted.keys(&self.path)?;
        keys.retain(|key| !settings.iter().any(|setting| setting.key == *key));
        Ok(keys)
    }

    /// Fails where settings need trust and the file was neither named nor is trusted as it stands; says whether it had to be.
    pub(crate) fn check_trust<'a>(
        &self,
        settings: impl Iterator<Item = &'a Setting>,
        command: &'static str,
    ) -> Result<bool, Failure> {
        self.check_change(settings, &[], command)
    }

    /// The same for a file that is in use: what it has lost of that may need trust too.
    pub(crate) fn check_change<'a>(
        &self,
        settings: impl Iterator<Item = &'a Setting>,
        lost: &[String],
        command: &'static str,
    ) -> Result<bool, Failure> {
        let needed: Vec<_> = settings.filter(|setting| !setting.is_harmless()).collect();
        if self.is_named || (needed.is_empty() && lost.is_empty()) {
            return Ok(false);
        }
        let name = self.name();
        let problem = match self.trust_state()? {
            TrustState::Given => return Ok(true),
            TrustState::Changed => "has changed since it was trusted",
            TrustState::Unknown => "is not trusted",
        };
        let unused = match command {
            "serve" => "nothing is served",
            _ if lost.is_empty() && needed.iter().all(|setting| setting.key.starts_with("model.")) => {
                "its model is not used"
            }
            _ => "its sources are not used",
        };
        let needed = needed.iter().map(|setting| format!("{name}:{}: {setting}", setting.line));
        let lost = lost.iter().map(|setting| format!("{name}: no longer {setting}"));
        let settings = needed.chain(lost).collect();
        Err(Failure::Untrusted { name, problem, unused, settings, command })
    }
}
