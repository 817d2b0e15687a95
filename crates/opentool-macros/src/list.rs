//! A list of options between the parentheses of an attribute.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Ident, Lit, LitBool, LitStr, Meta, Path, Result, Token};

use crate::errors::Errors;
use crate::near::nearest;

/// The attribute that has the options, for the wording of errors.
pub(crate) struct Owner {
    /// The attribute.
    pub(crate) attribute: &'static str,
    /// What it describes.
    pub(crate) noun: &'static str,
    pub(crate) options: &'static [&'static str],
    /// The option that a text without a name was probably meant for.
    pub(crate) text: &'static str,
    /// Where an option that is not among them may belong.
    pub(crate) hint: &'static str,
}

/// Reads the lists of one owner. A wrong option does not keep those after it from being read.
pub(crate) struct List<'f> {
    owner: &'static Owner,
    seen: Vec<Ident>,
    errors: &'f mut Errors,
}

impl<'f> List<'f> {
    pub(crate) fn new(owner: &'static Owner, errors: &'f mut Errors) -> Self {
        Self { owner, seen: Vec::new(), errors }
    }

    /// Reads what the compiler found between the parentheses.
    pub(crate) fn read_tokens(&mut self, tokens: TokenStream, mut each: impl FnMut(&GivenOption<'_>) -> Result<()>) {
        let result = (|input: ParseStream<'_>| self.read(input, &mut each)).parse2(tokens);
        self.errors.take(result);
    }

    /// Reads an attribute; one without parentheses has no options.
    pub(crate) fn read_attribute(
        &mut self,
        attribute: &Attribute,
        mut each: impl FnMut(&GivenOption<'_>) -> Result<()>,
    ) {
        match &attribute.meta {
            Meta::Path(_) => {}
            // Not by its tokens alone, since only the attribute knows where the list ends.
            Meta::List(_) => {
                let result = attribute.parse_args_with(|input: ParseStream<'_>| self.read(input, &mut each));
                self.errors.take(result);
            }
            Meta::NameValue(_) => {
                let Owner { attribute: name, text, .. } = self.owner;
                self.errors.at(attribute, format!("options belong in parentheses: `#[{name}({text} = …)]`"));
            }
        }
    }

    /// Says that two options contradict each other, where both were given.
    pub(crate) fn exclude(&mut self, first: &str, second: &str, why: &str) {
        let find = |name: &str| self.seen.iter().find(|key| *key == name).map(Ident::span);
        if let (Some(a), Some(b)) = (find(first), find(second)) {
            let message = format!("`{first}` and `{second}` cannot both be given: {why}");
            self.errors.push(Error::new(a.join(b).unwrap_or(a), message));
        }
    }

    fn read(&mut self, input: ParseStream<'_>, each: &mut impl FnMut(&GivenOption<'_>) -> Result<()>) -> Result<()> {
        while !input.is_empty() {
            if let Err(error) = self.read_one(input, each) {
                self.errors.push(error);
            }
            while !at_end(input) {
                input.parse::<TokenTree>()?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    }

    fn read_one(
        &mut self,
        input: ParseStream<'_>,
        each: &mut impl FnMut(&GivenOption<'_>) -> Result<()>,
    ) -> Result<()> {
        if input.peek(Lit) {
            return Err(input.error(self.unnamed()));
        }
        let key = input.call(Ident::parse_any)?;
        if self.seen.contains(&key) {
            return Err(Error::new(key.span(), format!("option `{key}` is given twice")));
        }
        self.seen.push(key.clone());
        each(&GivenOption { owner: self.owner, key, input })?;
        if at_end(input) { Ok(()) } else { Err(input.error("expected `,`")) }
    }

    /// The message about a value without a name.
    fn unnamed(&self) -> String {
        let Owner { attribute, text, .. } = self.owner;
        let comment = if *text == "description" { ", or a doc comment" } else { "" };
        format!("an option has a name: write `#[{attribute}({text} = …)]`{comment}")
    }
}

fn at_end(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

/// One option: its name, and what follows it.
pub(crate) struct GivenOption<'a> {
    owner: &'static Owner,
    pub(crate) key: Ident,
    input: ParseStream<'a>,
}

impl GivenOption<'_> {
    /// Reads `= value`.
    pub(crate) fn value<T: Parse>(&self) -> Result<T> {
        self.equals()?;
        self.input.parse()
    }

    /// Reads the `=` of an option that has a value.
    fn equals(&self) -> Result<()> {
        let equals = self.input.parse::<Option<Token![=]>>()?;
        if equals.is_none() || at_end(self.input) {
            let key = &self.key;
            return Err(self.error(format!("option `{key}` needs a value: write `{key} = …`")));
        }
        Ok(())
    }

    /// Says whether the name has no value.
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

    /// Reads `= path`, also written as a string.
    pub(crate) fn path(&self) -> Result<Path> {
        self.equals()?;
        if self.input.peek(LitStr) {
            self.input.parse::<LitStr>()?.parse_with(Path::parse_mod_style)
        } else {
            self.input.call(Path::parse_mod_style)
        }
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::new(self.key.span(), message)
    }

    /// The error of an unknown option.
    pub(crate) fn unknown(&self) -> Error {
        let Self { owner: Owner { noun, options, hint, .. }, key, .. } = self;
        if let Some(meant) = nearest(&key.to_string(), options) {
            return self.error(format!("unknown option `{key}`: did you mean `{meant}`?"));
        }
        let known: Vec<String> = options.iter().map(|option| format!("`{option}`")).collect();
        self.error(format!("unknown option `{key}`; {noun} has {}{hint}", known.join(", ")))
    }
}
