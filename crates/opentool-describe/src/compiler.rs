//! The C compiler of the system.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::error::DescribeError;
use crate::options::Options;

/// How the C compiler is run.
#[derive(Debug)]
pub(crate) struct Compiler<'o> {
    options: &'o Options,
    /// The command, with the options that the environment variable `CC` may hold too.
    pub(crate) words: String,
}

impl<'o> Compiler<'o> {
    pub(crate) fn new(options: &'o Options) -> Self {
        let compiler = options.compiler.clone().or_else(|| std::env::var_os("CC")).filter(|name| !name.is_empty());
        let compiler = compiler.unwrap_or_else(|| OsString::from("cc"));
        Self { options, words: compiler.to_string_lossy().into_owned() }
    }

    /// Runs the compiler over a source.
    pub(crate) fn run(&self, arguments: &[&str], source: &str) -> Result<Output, DescribeError> {
        let mut words = self.words.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        // What it says is looked at, so it must not say it in another language.
        command.env("LC_ALL", "C").args(words).args(arguments).args(["-x", "c"]);
        for folder in &self.options.includes {
            command.arg("-I").arg(folder);
        }
        for define in &self.options.defines {
            command.arg(format!("-D{define}"));
        }
        command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |source| DescribeError::Compiler { compiler: self.words.clone(), source };
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A compiler that stops reading says why on its standard error.
            let _ = stdin.write_all(source.as_bytes());
        }
        child.wait_with_output().map_err(failed)
    }
}
