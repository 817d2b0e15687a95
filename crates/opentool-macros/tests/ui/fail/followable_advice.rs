#![allow(unused_variables)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use opentool::prelude::*;

// Every type that is advised here is taken by the tools of `opentool-core/tests/declaring`.
#[tool]
fn paths(plain: &Path, qualified: &std::path::Path, optional: Option<&Path>, foreign: &OsStr) {}

#[tool]
fn lists(words: &[&str], pairs: &[(&str, u8)], map: &HashMap<&str, Vec<&str>>, labels: Vec<&'static str>) {}

#[tool]
fn texts(cow: Cow<'_, str>, implied: Cow<str>, twice: &&str, mutable: &mut String, listed: Vec<&String>) {}

#[tool]
fn unsized_types(text: str, numbers: [u8]) {}

#[tool]
fn unreadable(object: &dyn Display, boxed: Box<dyn Display>, hidden: &impl Display, function: fn(u8) -> u8) {}

#[tool]
fn contexts(optional: Option<&ToolContext>, shared: Arc<ToolContext>) {}

#[tool]
fn fallible() -> Result<&'static str, Box<dyn std::error::Error>> {
    Ok("")
}

#[tool]
fn boxed_future() -> std::pin::Pin<Box<dyn Future<Output = u8>>> {
    Box::pin(async { 1 })
}

fn main() {}
