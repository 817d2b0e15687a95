//! What may stand in `#[tool(…)]`, `#[toolbox(…)]` and `#[param(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Lit, LitBool, LitStr, Meta, Path, Result, Token};

use crate::attributes::crate_path;

/// The flags of `#[tool]` that are a setter of `ToolMetadata` of the same name.
const FLAGS: [&str; 5] = ["return_direct", "read_only", "destructive", "idempotent", "approval"];

const TOOL_OPTIONS: &str = "`name`, `description`, `output_name`, `return_direct`, `converter`, `timeout`, `read_only`, \
     `destructive`, `idempotent`, `approval`, `serial`, `exclusive`, `blocking`, `crate`";

/// The options of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) krate: Option<Path>,
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Expr>,
    pub(crate) output_name: Option<Expr>,
    pub(crate) blocking: Option<Span>,
    metadata: Vec<TokenStream>,
}

impl ToolOptions {
    /// Reads the options between the parentheses of the attribute.
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        let mut seen = Seen::default();
        let parser = syn::meta::parser(|meta| options.read(&meta, &mut seen));
        parser.parse2(tokens)?;
        seen.exclude("read_only", "destructive", "a tool that destroys something is not read-only")?;
        seen.exclude(
            "serial",
            "exclusive",
            "take `serial` where no two calls of this tool may run at once, also of different batches, and \
             `exclusive` where no other call of its batch may run beside it",
        )?;
        Ok(options)
    }

    /// Reads the options of an attribute inside a `#[toolbox] impl`.
    pub(crate) fn of(attribute: &Attribute) -> Result<Self> {
        Self::parse(list(attribute)?)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>, seen: &mut Seen) -> Result<()> {
        let key = seen.note(meta)?;
        match key.as_str() {
            "crate" => self.krate = Some(crate_path(meta)?),
            "name" => self.name = Some(tool_name(meta.value()?.parse()?)?),
            "description" => self.description = Some(meta.value()?.parse()?),
            "output_name" => self.output_name = Some(meta.value()?.parse()?),
            "converter" => {
                let converter: Expr = meta.value()?.parse()?;
                self.metadata.push(quote!(.with_converter(#converter)));
            }
            "timeout" => {
                let millis = duration(&meta.value()?.parse()?)?;
                self.metadata.push(quote!(.with_timeout(::core::time::Duration::from_millis(#millis))));
            }
            "serial" | "exclusive" => {
                let set = flag(meta)?;
                let concurrency = if key == "serial" { "Serial" } else { "Exclusive" };
                if set {
                    self.metadata.push(concurrency_setter(concurrency));
                }
            }
            "blocking" => {
                if flag(meta)? {
                    self.blocking = Some(meta.path.span());
                }
            }
            key if FLAGS.contains(&key) => {
                let set = flag(meta)?;
                let setter = format_ident!("with_{key}");
                self.metadata.push(quote!(.#setter(#set)));
            }
            unknown => {
                return Err(meta.error(format!("unknown option `{unknown}`; a tool has {TOOL_OPTIONS}")));
            }
        }
        Ok(())
    }

    /// The calls of `ToolMetadata`'s setters, in the order in which the options were written.
    pub(crate) fn metadata(&self) -> Option<TokenStream> {
        let setters = &self.metadata;
        (!setters.is_empty()).then(|| quote!(#(#setters)*))
    }
}

/// The path is relative: the declaration's module brings `Concurrency` into scope.
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
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        let mut seen = Seen::default();
        let parser = syn::meta::parser(|meta| {
            match seen.note(&meta)?.as_str() {
                "crate" => options.krate = Some(crate_path(&meta)?),
                "title" => options.title = Some(meta.value()?.parse()?),
                "version" => options.version = Some(meta.value()?.parse()?),
                unknown => {
                    return Err(meta.error(format!(
                        "unknown option `{unknown}`; a toolbox has `title`, `version`, `crate`; \
                         options of one tool stand in its own `#[tool(…)]`"
                    )));
                }
            }
            Ok(())
        });
        parser.parse2(tokens)?;
        Ok(options)
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
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        let mut seen = Seen::default();
        for attribute in attributes {
            let parser = syn::meta::parser(|meta| options.read(&meta, &mut seen));
            parser.parse2(list(attribute)?)?;
        }
        if options.required.as_ref().is_some_and(LitBool::value) {
            seen.exclude("required", "default", "an argument with a default may be left out, so it is not required")?;
        }
        Ok(options)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>, seen: &mut Seen) -> Result<()> {
        match seen.note(meta)?.as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "description" => self.description = Some(meta.value()?.parse()?),
            "required" => self.required = Some(LitBool::new(flag(meta)?, meta.path.span())),
            "default" => self.default = Some(meta.value()?.parse()?),
            unknown => {
                return Err(meta.error(format!(
                    "unknown option `{unknown}`; a parameter has `name`, `description`, `required`, \
                     `default`; what serde and schemars offer for fields stands in `#[serde(…)]` and \
                     `#[schemars(…)]`"
                )));
            }
        }
        Ok(())
    }
}

/// The options seen so far, since giving one twice is a mistake.
#[derive(Default)]
struct Seen(Vec<(String, Span)>);

impl Seen {
    fn note(&mut self, meta: &ParseNestedMeta<'_>) -> Result<String> {
        let key = crate::attributes::path_text(&meta.path);
        if self.0.iter().any(|(seen, _)| *seen == key) {
            return Err(meta.error(format!("option `{key}` is given twice")));
        }
        self.0.push((key.clone(), meta.path.span()));
        Ok(key)
    }

    fn exclude(&self, first: &str, second: &str, why: &str) -> Result<()> {
        let place = |key: &str| self.0.iter().find(|(seen, _)| seen == key).map(|(_, span)| *span);
        match (place(first), place(second)) {
            (Some(a), Some(b)) => Err(Error::new(
                crate::attributes::joined(a, b),
                format!("`{first}` and `{second}` cannot both be given: {why}"),
            )),
            _ => Ok(()),
        }
    }
}

/// What stands between the parentheses of an attribute; nothing where there are none.
fn list(attribute: &Attribute) -> Result<TokenStream> {
    match &attribute.meta {
        Meta::Path(_) => Ok(TokenStream::new()),
        Meta::List(list) => Ok(list.tokens.clone()),
        Meta::NameValue(meta) => Err(Error::new(meta.span(), "options stand in parentheses: `#[tool(name = \"…\")]`")),
    }
}

/// `flag` or `flag = true` or `flag = false`.
fn flag(meta: &ParseNestedMeta<'_>) -> Result<bool> {
    if meta.input.peek(Token![=]) { Ok(meta.value()?.parse::<LitBool>()?.value) } else { Ok(true) }
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
