//! A crate as its files say it: modules, the items they define, the paths they use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, Expr, Item, ItemMod, ItemUse, Lit, Macro, Meta, UseTree};

use crate::cfg::{is_test, predicate};
use crate::impls::{self, Impl};

/// The modules of a crate; the first is its root.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) modules: Vec<Module>,
    pub(crate) types: Vec<TypeName>,
}

#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// The names of the items that it defines.
    pub(crate) items: BTreeSet<String>,
    pub(crate) macros: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// The paths that its code uses, imports included.
    pub(crate) paths: BTreeSet<Vec<String>>,
    pub(crate) impls: Vec<Impl>,
}

/// A leaf of a `use`.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    /// The name under which it is known from then on; none for `*`.
    pub(crate) name: Option<String>,
    pub(crate) path: Vec<String>,
}

/// A struct, enum, union, trait or alias.
#[derive(Debug)]
pub(crate) struct TypeName {
    pub(crate) name: String,
    pub(crate) module: usize,
    /// The `cfg` predicates under which it exists.
    cfgs: Vec<String>,
}

impl TypeName {
    /// Says whether only one of two definitions can be compiled.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        let denies = |a: &Self, b: &Self| a.cfgs.iter().any(|cfg| b.cfgs.contains(&format!("not({cfg})")));
        denies(self, other) || denies(other, self)
    }
}

impl Crate {
    /// Reads a crate from its root file.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut found =
            Self { modules: vec![Module { name: "crate".to_owned(), ..Module::default() }], types: Vec::new() };
        let file = parse(root)?;
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        found.items(0, &file.items, &Place { folder: folder.clone(), beside: folder }, &[])?;
        Ok(found)
    }

    /// The path of a module, for people.
    pub(crate) fn name(&self, module: usize) -> String {
        match self.modules[module].parent {
            None => "crate".to_owned(),
            Some(0) => self.modules[module].name.clone(),
            Some(parent) => format!("{}::{}", self.name(parent), self.modules[module].name),
        }
    }

    fn items(&mut self, module: usize, items: &[Item], place: &Place, cfgs: &[String]) -> Result<(), String> {
        for item in items {
            let attributes = attributes(item);
            if attributes.iter().any(is_test) {
                continue;
            }
            let mut cfgs = cfgs.to_vec();
            cfgs.extend(attributes.iter().filter_map(predicate));
            match item {
                Item::Mod(child) => self.child(module, child, place, &cfgs)?,
                _ => self.item(module, item, &cfgs),
            }
        }
        Ok(())
    }

    fn child(&mut self, parent: usize, child: &ItemMod, place: &Place, cfgs: &[String]) -> Result<(), String> {
        let name = child.ident.to_string().trim_start_matches("r#").to_owned();
        let index = self.modules.len();
        self.modules.push(Module { name: name.clone(), parent: Some(parent), ..Module::default() });
        self.modules[parent].children.insert(name.clone(), index);
        if let Some((_, items)) = &child.content {
            let inner = Place { folder: place.folder.join(&name), beside: place.beside.clone() };
            return self.items(index, items, &inner, cfgs);
        }
        let given = child.attrs.iter().find_map(path_attribute);
        let (file, folder) = match given {
            Some(path) => {
                (place.beside.join(&path), place.beside.join(path).parent().unwrap_or(Path::new("")).to_owned())
            }
            None => {
                let beside = place.folder.join(format!("{name}.rs"));
                let within = place.folder.join(&name);
                (if beside.is_file() { beside } else { within.join("mod.rs") }, within)
            }
        };
        let parsed = parse(&file)?;
        let beside = file.parent().unwrap_or(Path::new("")).to_owned();
        self.items(index, &parsed.items, &Place { folder, beside }, cfgs)
    }

    fn item(&mut self, module: usize, item: &Item, cfgs: &[String]) {
        let found = &mut self.modules[module];
        match item {
            Item::Macro(definition) => {
                if let Some(name) = &definition.ident {
                    found.items.insert(name.to_string());
                    found.macros.insert(name.to_string());
                }
            }
            Item::Fn(item) => drop(found.items.insert(item.sig.ident.to_string())),
            Item::Const(item) => drop(found.items.insert(item.ident.to_string())),
            Item::Static(item) => drop(found.items.insert(item.ident.to_string())),
            _ => {}
        }
        if let Some(name) = type_name(item) {
            found.items.insert(name);
        }
        let mut code = Code { module: found, types: Vec::new(), block: None };
        code.visit_item_mut(&mut item.clone());
        let types = code.types;
        self.types.extend(types.into_iter().map(|name| TypeName { name, module, cfgs: cfgs.to_vec() }));
    }
}

/// Where the files of child modules are: below a folder, or beside the file for `#[path]`.
struct Place {
    folder: PathBuf,
    beside: PathBuf,
}

fn parse(path: &Path) -> Result<syn::File, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    syn::parse_file(&text).map_err(|error| format!("cannot parse {}: {error}", path.display()))
}

/// Collects what the code of an item uses.
struct Code<'a> {
    module: &'a mut Module,
    types: Vec<String>,
    /// The `impl` block that is read.
    block: Option<Impl>,
}

impl VisitMut for Code<'_> {
    fn visit_item_mut(&mut self, item: &mut Item) {
        if attributes(item).iter().any(is_test) {
            return;
        }
        self.types.extend(type_name(item));
        visit_mut::visit_item_mut(self, item);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        let around = std::mem::replace(&mut self.block, Impl::new(block));
        visit_mut::visit_item_impl_mut(self, block);
        self.module.impls.extend(std::mem::replace(&mut self.block, around));
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        if let Some(block) = self.block.as_mut().filter(|_| impls::is_self(&call.receiver)) {
            block.called.insert(call.method.to_string());
        }
        visit_mut::visit_expr_method_call_mut(self, call);
    }

    fn visit_impl_item_mut(&mut self, item: &mut syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Const(item) => &item.attrs,
            _ => return visit_mut::visit_impl_item_mut(self, item),
        };
        if !attributes.iter().any(is_test) {
            visit_mut::visit_impl_item_mut(self, item);
        }
    }

    fn visit_item_use_mut(&mut self, item: &mut ItemUse) {
        if item.attrs.iter().any(is_test) {
            return;
        }
        let mut leaves = Vec::new();
        leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            self.module.paths.insert(leaf.path.clone());
            self.module.imports.push(leaf);
        }
    }

    /// A visibility such as `pub(super)` uses nothing.
    fn visit_visibility_mut(&mut self, _: &mut syn::Visibility) {}

    /// Attributes name code too, as paths and in strings: `#[serde(with = "crate::text")]`. A single name is an option of theirs.
    fn visit_attribute_mut(&mut self, attribute: &mut Attribute) {
        let Meta::List(list) = &attribute.meta else { return };
        let mut paths = BTreeSet::new();
        paths_in(list.tokens.clone(), &mut paths);
        paths_in_strings(list.tokens.clone(), &mut paths);
        self.module.paths.extend(paths.into_iter().filter(|path| path.len() > 1));
    }

    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        if path.leading_colon.is_none() {
            self.module.paths.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        if let (Some(block), true) = (&mut self.block, path.segments.first().is_some_and(|first| first.ident == "Self"))
        {
            block.called.extend(path.segments.iter().nth(1).map(|segment| segment.ident.to_string()));
        }
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        self.visit_path_mut(&mut call.path);
        paths_in(call.tokens.clone(), &mut self.module.paths);
        if let Some(block) = &mut self.block {
            impls::calls_in(call.tokens.clone(), &mut block.called);
        }
    }
}

/// Finds what looks like a path in the tokens of a macro: names joined by `::`, and single ones.
fn paths_in(tokens: TokenStream, paths: &mut BTreeSet<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 && !path.is_empty() {
                    paths.insert(std::mem::take(&mut path));
                }
                path.push(name.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            other => {
                if !path.is_empty() {
                    paths.insert(std::mem::take(&mut path));
                }
                colons = 0;
                if let TokenTree::Group(group) = other {
                    paths_in(group.stream(), paths);
                }
            }
        }
    }
    if !path.is_empty() {
        paths.insert(path);
    }
}

/// Finds the paths that are written as strings.
fn paths_in_strings(tokens: TokenStream, paths: &mut BTreeSet<Vec<String>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => paths_in_strings(group.stream(), paths),
            TokenTree::Literal(literal) => {
                let path =
                    syn::parse_str::<syn::LitStr>(&literal.to_string()).and_then(|text| text.parse::<syn::Path>());
                if let Ok(path) = path {
                    paths.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

fn leaves_of(tree: &UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<Import>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            leaves_of(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push(Import { name: prefix.last().cloned(), path: prefix.clone() });
        }
        UseTree::Name(name) => {
            let mut path = prefix.clone();
            path.push(name.ident.to_string());
            leaves.push(Import { name: path.last().cloned(), path });
        }
        UseTree::Rename(rename) => {
            let mut path = prefix.clone();
            if rename.ident != "self" {
                path.push(rename.ident.to_string());
            }
            leaves.push(Import { name: Some(rename.rename.to_string()), path });
        }
        UseTree::Glob(_) => leaves.push(Import { name: None, path: prefix.clone() }),
        UseTree::Group(group) => {
            for tree in &group.items {
                leaves_of(tree, prefix, leaves);
            }
        }
    }
}

fn type_name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Struct(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::TraitAlias(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            other => Some(other.to_token_stream().to_string()),
        },
        _ => None,
    }
}
