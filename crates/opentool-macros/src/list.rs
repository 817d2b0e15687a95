//! A list of options, as it stands between the parentheses of an attribute.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Ident, Lit, LitBool, Meta, Result, Token};

use crate::attributes::Faults;
use crate::near::nearest;

/// Whose options they are, for the wording of faults.
pub(crate) struct Owner {
    /// The attribute.
    pub(crate) attribute: &'static str,
    /// What it describes.
    pub(crate) noun: &'static str,
    pub(crate) options: &'static [&'static str],
    /// What a text that stands there alone was meant to be.
    pub(crate) text: &'static str,
    /// Where else to look for an option that is not among them.
    pub(crate) elsewhere: &'static str,
}

/// Reads the lists of one owner. A faulty option does not keep those behind it from being read.
pub(crate) struct List<'f> {
    owner: &'static Owner,
    seen: Vec<Ident>,
    faults: &'f mut Faults,
}

impl<'f> List<'f> {
    pub(crate) fn new(owner: &'static Owner, faults: &'f mut Faults) -> Self {
        Self { owner, seen: Vec::new(), faults }
    }

    /// Reads what the compiler found between the parentheses.
    pub(crate) fn read_tokens(&mut self, tokens: TokenStream, mut each: impl FnMut(&Given<'_>) -> Result<()>) {
        let result = (|input: ParseStream<'_>| self.read(input, &mut each)).parse2(tokens);
        self.faults.take(result);
    }

    /// Reads an attribute; one without parentheses has no options.
    pub(crate) fn read_attribute(&mut self, attribute: &Attribute, mut each: impl FnMut(&Given<'_>) -> Result<()>) {
        match &attribute.meta {
            Meta::Path(_) => {}
            // Not by its tokens alone, since only the attribute knows where the list ends.
            Meta::List(_) => {
                let result = attribute.parse_args_with(|input: ParseStream<'_>| self.read(input, &mut each));
                self.faults.take(result);
            }
            Meta::NameValue(_) => {
                let Owner { attribute: name, text, .. } = self.owner;
                self.faults.at(attribute, format!("options stand in parentheses: `#[{name}({text} = …)]`"));
            }
        }
    }

    /// Says that two options contradict each other, where both were given.
    pub(crate) fn exclude(&mut self, first: &str, second: &str, why: &str) {
        let find = |name: &str| self.seen.iter().find(|key| *key == name).map(Ident::span);
        if let (Some(a), Some(b)) = (find(first), find(second)) {
            let message = format!("`{first}` and `{second}` cannot both be given: {why}");
            self.faults.push(Error::new(a.join(b).unwrap_or(a), message));
        }
    }

    fn read(&mut self, input: ParseStream<'_>, each: &mut impl FnMut(&Given<'_>) -> Result<()>) -> Result<()> {
        while !input.is_empty() {
            if let Err(fault) = self.read_one(input, each) {
                self.faults.push(fault);
            }
            while !at_end(input) {
                input.parse::<TokenTree>()?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    }

    fn read_one(&mut self, input: ParseStream<'_>, each: &mut impl FnMut(&Given<'_>) -> Result<()>) -> Result<()> {
        if input.peek(Lit) {
            return Err(input.error(self.unnamed()));
        }
        let key = input.call(Ident::parse_any)?;
        if self.seen.contains(&key) {
            return Err(Error::new(key.span(), format!("option `{key}` is given twice")));
        }
        self.seen.push(key.clone());
        each(&Given { owner: self.owner, key, input })?;
        if at_end(input) { Ok(()) } else { Err(input.error("expected `,`")) }
    }

    /// About a value that stands there without a name.
    fn unnamed(&self) -> String {
        let Owner { attribute, text, .. } = self.owner;
        let comment = if *text == "description" { ", or a doc comment" } else { "" };
        format!("an option has a name: write `#[{attribute}({text} = …)]`{comment}")
    }
}

fn at_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

/// One option: its name, and what stands behind it.
pub(crate) struct Given<'a> {
    owner: &'static Owner,
    pub(crate) key: Ident,
    pub(crate) input: ParseStream<'a>,
}

impl Given<'_> {
    /// Reads `= value`.
    pub(crate) fn value<T: Parse>(&self) -> Result<T> {
        self.equals()?;
        self.input.parse()
    }

    /// Reads the `=` of an option that has a value.
    pub(crate) fn equals(&self) -> Result<()> {
        let equals = self.input.parse::<Option<Token![=]>>()?;
        if equals.is_none() || at_end(self.input) {
            let key = &self.key;
            return Err(self.error(format!("option `{key}` needs a value: write `{key} = …`")));
        }
        Ok(())
    }

    /// Says whether nothing stands behind the name.
    pub(crate) fn is_bare(&self) -> bool {
        at_end(self.input)
    }

    /// `flag` or `flag = true` or `flag = false`.
    pub(crate) fn flag(&self) -> Result<bool> {
        if !self.input.peek(Token![=]) {
            return Ok(true);
        }
        let key = &self.key;
        let value: LitBool = self.value().map_err(|error| {
            Error::new(error.span(), format!("`{key}` is a flag: write `{key}` or `{key} = false`"))
        })?;
        Ok(value.value)
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new(self.key.span(), message)
    }

    /// The fault of an option that its owner does not have.
    pub(crate) fn unknown(&self) -> Error {
        let Self { owner: Owner { noun, options, elsewhere, .. }, key, .. } = self;
        if let Some(meant) = nearest(&key.to_string(), options) {
            return self.error(format!("unknown option `{key}`: did you mean `{meant}`?"));
        }
        let known: Vec<String> = options.iter().map(|option| format!("`{option}`")).collect();
        self.error(format!("unknown option `{key}`; {noun} has {}{elsewhere}", known.join(", ")))
    }
}
