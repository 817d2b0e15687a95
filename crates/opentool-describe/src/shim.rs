//! What a small C function could look like that makes a tool of what cannot be one by itself.

use std::collections::HashMap;
use std::rc::Rc;

use opentool_dyn::Export;

use crate::ctype::{Field, Record, Signature, Type, TypeKind};
use crate::error::CppExport;

/// A shim for a function, where its obstacles are of the kinds that a few lines of C remove.
pub(crate) fn c_shim(name: &str, signature: &Signature, records: &HashMap<Rc<str>, Record>) -> Option<String> {
    if signature.is_unspecified {
        return None;
    }
    let has_callback = signature.parameters.iter().any(|(_, kind)| kind.is_function());
    let mut shim =
        Shim { records, has_callback, helps: false, takes: Vec::new(), before: String::new(), passes: Vec::new() };
    for (index, (own, kind)) in signature.parameters.iter().enumerate() {
        let own =
            own.as_deref().map_or_else(|| format!("arg{}", index + 1), |own| own.trim_start_matches('_').to_owned());
        shim.parameter(&own, kind)?;
    }
    if signature.is_variadic {
        shim.helps = true;
        shim.takes.push("const char *text".to_owned());
        shim.passes.push("text".to_owned());
    }
    let call = format!("{name}({})", shim.passes.join(", "));
    let (returns, body) = shim.returned(&signature.returns, &call)?;
    if shim.takes.is_empty() || !shim.helps {
        return None;
    }
    let head = returns.declare(&format!("{name}_tool({})", shim.takes.join(", ")));
    Some(format!("{head} {{ {}{body} }}", shim.before))
}

/// A shim for a C++ function, by its demangled declaration.
fn of_cpp(declaration: &str) -> Option<String> {
    let (path, rest) = declaration.split_once('(')?;
    let list = rest.strip_suffix(')')?;
    let plain = |char: char| char.is_alphanumeric() || matches!(char, '_' | ':');
    // Constructors, operators, templates and what needs an object are beyond a line.
    if !path.chars().all(plain) || list.contains(['<', '(', '&']) {
        return None;
    }
    let own =
        path.rsplit("::").next().filter(|own| own.starts_with(|char: char| char.is_alphabetic() || char == '_'))?;
    let kinds: Vec<&str> = list.split(", ").filter(|kind| !kind.is_empty() && *kind != "void").collect();
    let takes: Vec<_> = kinds.iter().enumerate().map(|(index, kind)| format!("{kind} arg{}", index + 1)).collect();
    let passes: Vec<_> = (1..=kinds.len()).map(|index| format!("arg{index}")).collect();
    Some(format!("extern \"C\" auto {own}_tool({}) {{ return {path}({}); }}", takes.join(", "), passes.join(", ")))
}

/// A C++ function that a look-up by name finds, with a shim for it.
pub(crate) fn cpp_export(export: &Export) -> Option<CppExport> {
    let callable = export.is_default() && export.kind().is_callable();
    let declaration = callable.then(|| export.demangled()).flatten()?;
    Some(CppExport { symbol: export.name().to_owned(), shim: of_cpp(&declaration), declaration })
}

struct Shim<'r> {
    records: &'r HashMap<Rc<str>, Record>,
    /// Then an address of anything is what the callback is given, and nothing where there is none.
    has_callback: bool,
    /// Whether the shim takes other things than the function.
    helps: bool,
    takes: Vec<String>,
    before: String,
    passes: Vec<String>,
}

impl Shim<'_> {
    fn parameter(&mut self, name: &str, kind: &Type) -> Option<()> {
        let double = || Type::from(TypeKind::Scalar(opentool_spec::CTypeName::Double));
        match kind.resolved().kind {
            TypeKind::Record(key) => {
                self.fields(name, kind, &key)?;
                self.passes.push(name.to_owned());
            }
            TypeKind::Other(text) if is_wide_number(&text) => {
                self.helps = true;
                self.takes.push(double().declare(name));
                self.passes.push(name.to_owned());
            }
            TypeKind::Function(_) => self.nothing(),
            TypeKind::Pointer(target) => match target.resolved().kind {
                TypeKind::Function(_) => self.nothing(),
                TypeKind::Void | TypeKind::Pointer(_) if self.has_callback => self.nothing(),
                TypeKind::Void => return None,
                TypeKind::Record(key) if scalar_fields(self.records, &key).is_some() => {
                    let plain = Type { is_const: false, ..(*target).clone() };
                    self.fields(name, &plain, &key)?;
                    self.passes.push(format!("&{name}"));
                }
                _ => self.same(name, kind),
            },
            TypeKind::Other(_) | TypeKind::VaList => return None,
            _ => self.same(name, kind),
        }
        Some(())
    }

    fn nothing(&mut self) {
        self.helps = true;
        self.passes.push("NULL".to_owned());
    }

    fn same(&mut self, name: &str, kind: &Type) {
        self.takes.push(kind.declare(name));
        self.passes.push(name.to_owned());
    }

    /// Takes the fields of a struct one by one, and makes the struct of them.
    fn fields(&mut self, name: &str, kind: &Type, key: &Rc<str>) -> Option<()> {
        let fields = scalar_fields(self.records, key)?;
        self.helps = true;
        let mut values = Vec::new();
        for Field { name: field, kind: of_field, .. } in &fields {
            let own = format!("{name}_{field}");
            self.takes.push(of_field.declare(&own));
            values.push(format!(".{field} = {own}"));
        }
        self.before.push_str(&format!(
            "{} = {{ {} }}; ",
            written(self.records, kind, key).declare(name),
            values.join(", ")
        ));
        Some(())
    }

    /// The type that the shim returns, and the end of its body.
    fn returned(&mut self, kind: &Type, call: &str) -> Option<(Type, String)> {
        match kind.resolved().kind {
            TypeKind::Record(key) => {
                let fields = scalar_fields(self.records, &key)?;
                self.helps = true;
                let mut body = format!("{} = {call};", written(self.records, kind, &key).declare("result"));
                for Field { name: field, kind: of_field, .. } in &fields {
                    self.takes.push(of_field.declare(&format!("*out_{field}")));
                    body.push_str(&format!(" *out_{field} = result.{field};"));
                }
                Some((TypeKind::Void.into(), body))
            }
            TypeKind::Other(text) if is_wide_number(&text) => {
                self.helps = true;
                Some((TypeKind::Scalar(opentool_spec::CTypeName::Double).into(), format!("return {call};")))
            }
            TypeKind::Void => Some((TypeKind::Void.into(), format!("{call};"))),
            TypeKind::Other(_) | TypeKind::Function(_) => None,
            TypeKind::Pointer(target) if target.is_void() || target.is_function() => None,
            _ => Some((kind.clone(), format!("return {call};"))),
        }
    }
}

fn is_wide_number(text: &str) -> bool {
    text == "long double" || text.starts_with("_Float")
}

/// The type of a struct as C programs write it: by its name where it has no tag.
fn written(records: &HashMap<Rc<str>, Record>, kind: &Type, key: &Rc<str>) -> Type {
    match (&kind.kind, records.get(key)) {
        (TypeKind::Record(_), Some(record)) if key.contains('#') => TypeKind::Other(record.name.clone()).into(),
        _ => Type { is_const: false, ..kind.clone() },
    }
}

fn scalar_fields(records: &HashMap<Rc<str>, Record>, key: &Rc<str>) -> Option<Vec<Field>> {
    let record = records.get(key)?;
    let fields = record.fields.as_ref().filter(|fields| !record.is_union && !fields.is_empty() && fields.len() <= 8)?;
    let plain = |field: &Field| !field.name.is_empty() && field.kind.scalar().is_some();
    fields.iter().all(plain).then(|| fields.clone())
}
