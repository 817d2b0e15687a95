//! The options of `#[tool(…)]`, `#[toolbox(…)]` and `#[param(…)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, Lit, LitBool, LitStr, Path, Result};

use crate::errors::Errors;
use crate::list::{GivenOption, List, Owner};

/// The flags of `#[tool]` that are a setter of `ToolMetadata` of the same name.
const FLAGS: [&str; 6] = ["return_direct", "read_only", "destructive", "idempotent", "open_world", "approval"];

const TOOL: Owner = Owner {
    attribute: "tool",
    noun: "a tool",
    options: &[
        "name",
        "description",
        "output_name",
        "return_direct",
        "converter",
        "timeout",
        "read_only",
        "destructive",
        "idempotent",
        "open_world",
        "approval",
        "serial",
        "exclusive",
        "inline",
        "crate",
    ],
    text: "description",
    hint: "",
};

const TOOLBOX: Owner = Owner {
    attribute: "toolbox",
    noun: "a toolbox",
    options: &["title", "version", "crate"],
    text: "title",
    hint: "; the options of one tool belong in its own `#[tool(…)]`",
};

const PARAM: Owner = Owner {
    attribute: "param",
    noun: "a parameter",
    options: &["name", "description", "required", "default"],
    text: "description",
    hint: "; field options of serde and schemars belong in `#[serde(…)]` and `#[schemars(…)]`",
};

/// The options of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) krate: Option<Path>,
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) output_name: Option<Expr>,
    pub(crate) inline: bool,
    metadata: Vec<TokenStream>,
    /// The flags that are given and not `= false`.
    set: Vec<String>,
}

impl ToolOptions {
    /// Reads the options between the parentheses of the attribute.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut list = List::new(&TOOL, errors);
        list.read_tokens(tokens, |given| options.read(given));
        options.agree(&mut list);
        options
    }

    /// Reads the options of an attribute inside a `#[toolbox] impl`.
    pub(crate) fn from_attribute(attribute: &Attribute, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut list = List::new(&TOOL, errors);
        list.read_attribute(attribute, |given| options.read(given));
        options.agree(&mut list);
        options
    }

    /// Refuses flags that contradict each other; one that is `= false` contradicts nothing.
    fn agree(&self, list: &mut List<'_>) {
        let set = |name: &str| self.set.iter().any(|set| set == name);
        if set("read_only") && set("destructive") {
            list.exclude("read_only", "destructive", "a tool that destroys something is not read-only");
        }
        if set("serial") && set("exclusive") {
            list.exclude(
                "serial",
                "exclusive",
                "take `serial` where no two calls of this tool may run at once, also of different batches, and \
                 `exclusive` where no other call of its batch may run beside it",
            );
        }
    }

    fn flag(&mut self, given: &GivenOption<'_>) -> Result<bool> {
        let set = given.flag()?;
        if set {
            self.set.push(given.key.to_string());
        }
        Ok(set)
    }

    fn read(&mut self, given: &GivenOption<'_>) -> Result<()> {
        let key = given.key.to_string();
        match key.as_str() {
            "crate" => self.krate = Some(given.path()?),
            "name" => self.name = Some(tool_name(given.value()?)?),
            "description" => self.description = Some(given.value()?),
            "output_name" => self.output_name = Some(given.value()?),
            "converter" => {
                let converter: Expr = given.value()?;
                self.metadata.push(quote!(.with_converter(#converter)));
            }
            "timeout" => {
                let millis = duration(&given.value()?)?;
                self.metadata.push(quote!(.with_timeout(::core::time::Duration::from_millis(#millis))));
            }
            "serial" | "exclusive" => {
                let concurrency = if key == "serial" { "Serial" } else { "Exclusive" };
                if self.flag(given)? {
                    self.metadata.push(concurrency_setter(concurrency));
                }
            }
            "inline" => self.inline = self.flag(given)?,
            "blocking" => {
                return Err(given.error(
                    "a plain function runs on the blocking pool by default: leave `blocking` out; `inline` is for quick pure \
                     functions, and an async function calls `ToolContext::run_blocking`",
                ));
            }
            key if FLAGS.contains(&key) => {
                let set = self.flag(given)?;
                let setter = format_ident!("with_{key}");
                self.metadata.push(quote!(.#setter(#set)));
            }
            _ => return Err(given.unknown()),
        }
        Ok(())
    }

    /// The calls of `ToolMetadata`'s setters, in the order in which the options were written.
    pub(crate) fn metadata(&self) -> Option<TokenStream> {
        let setters = &self.metadata;
        (!setters.is_empty()).then(|| quote!(#(#setters)*))
    }
}

/// The path is relative: the generated block imports `__private`.
fn concurrency_setter(variant: &str) -> TokenStream {
    let variant = format_ident!("{variant}");
    quote!(.with_concurrency(__private::Concurrency::#variant))
}

/// The options of `#[toolbox(…)]`.
#[derive(Default)]
pub(crate) struct ToolboxOptions {
    pub(crate) krate: Option<Path>,
    pub(crate) title: Option<Expr>,
    pub(crate) version: Option<Expr>,
}

impl ToolboxOptions {
    /// Reads the options between the parentheses of the attribute.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        List::new(&TOOLBOX, errors).read_tokens(tokens, |given| {
            match given.key.to_string().as_str() {
                "crate" => options.krate = Some(given.path()?),
                "title" => options.title = Some(given.value()?),
                "version" => options.version = Some(given.value()?),
                _ => return Err(given.unknown()),
            }
            Ok(())
        });
        options
    }
}

/// The options of `#[param(…)]`.
#[derive(Clone, Default)]
pub(crate) struct ParamOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) required: Option<LitBool>,
    pub(crate) default: Option<Expr>,
}

impl ParamOptions {
    /// Reads every `#[param(…)]` of one parameter.
    pub(crate) fn from_attributes(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let mut list = List::new(&PARAM, errors);
        for attribute in attributes {
            list.read_attribute(attribute, |given| options.read(given));
        }
        if options.is_required() {
            list.exclude("required", "default", "an argument with a default may be left out, so it is not required");
        }
        options
    }

    /// Says whether the author marked the argument as required.
    pub(crate) fn is_required(&self) -> bool {
        self.required.as_ref().is_some_and(LitBool::value)
    }

    fn read(&mut self, given: &GivenOption<'_>) -> Result<()> {
        match given.key.to_string().as_str() {
            "name" => self.name = Some(given.value()?),
            "description" => self.description = Some(given.value()?),
            "required" => self.required = Some(LitBool::new(given.flag()?, given.key.span())),
            "default" if given.is_bare() => {
                return Err(given.error(
                    "option `default` needs a value: write `default = …`, or `required = false` where the type's own \
                     `Default` will do",
                ));
            }
            "default" => self.default = Some(given.value()?),
            _ => return Err(given.unknown()),
        }
        Ok(())
    }
}

/// The spec's rule for names, checked here so that a macro's tool cannot fail to build for its name.
pub(crate) fn tool_name(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(name)
    } else {
        Err(Error::new(name.span(), format!("tool name `{text}` does not match ^[A-Za-z0-9_-]{{1,64}}$")))
    }
}

/// `timeout = "30s"`, in milliseconds.
fn duration(value: &Lit) -> Result<u64> {
    let wrong = || Error::new(value.span(), "write the timeout as a number with a unit: \"500ms\", \"30s\", \"5m\"");
    let Lit::Str(text) = value else {
        return Err(wrong());
    };
    let text = text.value();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let scale = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(scale).filter(|millis| *millis > 0).ok_or_else(wrong)
}
