//! The document itself: its server, and the order in which its parts are checked.

use fluent_uri::Iri;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{SpecObject, may, must},
    kind::DocumentKind,
};
use crate::tree::{Edit, Kind, NodeId, Tree};

/// Keys that are checked with the references, and the one by which editors find the format's schema.
const HANDLED: &[&str] = &["components", "definitions", "$defs", "$schema"];

/// Checks a document.
pub(super) fn check_tree<'t, 'a>(tree: &'t Tree<'a>) -> Checker<'t, 'a> {
    let mut checker = Checker::new(tree, detect(tree));
    checker.document();
    checker
}

impl Checker<'_, '_> {
    fn document(&mut self) {
        let root = Tree::ROOT;
        if self.tree.kind(root) != Kind::Object {
            let found = self.tree.kind(root).described();
            let key = self.kind.key();
            let version = self.kind.version();
            let minimal = format!(
                r#"{{"{key}": "{version}", "info": {{"title": "Untitled", "version": "1.0.0"}}, "functions": []}}"#
            );
            let message = format!("a document is a JSON object, not {found}");
            let named = |function: NodeId| self.tree.get(function, "name").is_some();
            let is_list = self.tree.kind(root) == Kind::Array && self.tree.children(root).any(named);
            let (help, edits) = if is_list {
                let (before, after) = minimal.split_at(minimal.len() - "[]}".len());
                let (start, end) = self.tree.span(root);
                let edits = vec![Edit::insert(start, before), Edit::insert(end, after.trim_start_matches("[]"))];
                (format!("put the functions into an object: `{before}[…]}}`"), edits)
            } else {
                (format!("write an object: `{minimal}`"), vec![self.tree.replace_value(root, minimal)])
            };
            self.suggest(Code::NotAnObject, At::Value(root), message, Remedy::Edits(help, edits));
            return;
        }
        match self.kind {
            DocumentKind::OpenTool => {
                let fields = [
                    must("opentool", Kind::String),
                    must("info", Kind::Object),
                    must("functions", Kind::Array),
                    may("schemas", Kind::Object),
                    may("server", Kind::Object),
                ];
                let document = self.object("document", root, fields, HANDLED);
                let version = self.version(&document);
                self.body(&document);
                if let Some(server) = document.members[4] {
                    self.server(server, version);
                }
            }
            DocumentKind::OpenDyn => {
                let fields = [
                    must("opendyn", Kind::String),
                    must("info", Kind::Object),
                    must("functions", Kind::Array),
                    may("schemas", Kind::Object),
                    may("code", Kind::Object),
                ];
                let document = self.object("document", root, fields, HANDLED);
                self.version(&document);
                self.body(&document);
                if let Some(code) = document.members[4] {
                    self.code_table(code);
                }
                self.document_extensions(root);
            }
            DocumentKind::OpenWorkflow => {
                self.workflow_document(root);
                return;
            }
        }
        self.check_references();
        self.check_signatures();
    }

    /// What documents that describe functions have: info, functions, schemas.
    fn body(&mut self, document: &SpecObject<5>) {
        let info = || r#"{"title": "Untitled", "version": "1.0.0"}"#.to_owned();
        if let Some(info) = self.required(document, 1, info) {
            self.info(info);
        }
        match document.members[2] {
            Some(functions) if self.tree.kind(functions) == Kind::Object => self.functions_in_an_object(functions),
            _ => {
                if let Some(functions) = self.required(document, 2, || "[]".to_owned()) {
                    self.functions(functions);
                }
            }
        }
        if let Some(schemas) = document.members[3]
            && self.optional(schemas, document.fields[3])
        {
            self.schemas(schemas);
        }
        self.foreign_schemas();
    }

    fn server(&mut self, server: NodeId, version: Option<NodeId>) {
        if !self.optional(server, may("server", Kind::Object)) {
            return;
        }
        let fields = [must("url", Kind::String), may("description", Kind::String)];
        let object = self.object("server", server, fields, &[]);
        self.server_url(server, object.members[0]);
        self.optional_member(&object, 1);
        if let Some(version) = version
            && self.tree.string(version).as_deref() == Some("1.0.0")
        {
            let remedy = Remedy::Edits(
                r#"write `"opentool": "1.1.0"`"#.to_owned(),
                vec![self.tree.replace_value(version, r#""1.1.0""#)],
            );
            self.fix(Code::ServerTooEarly, At::Key(server), "`server` came with OpenTool 1.1.0".to_owned(), remedy);
        }
    }

    /// A made-up URL would be called, so there is an example in the help text but no fix.
    fn server_url(&mut self, server: NodeId, url: Option<NodeId>) {
        let example = r#""http://127.0.0.1:9627/opentool""#;
        match url {
            None => {
                let help = format!(r#"add `"url": {example}`"#);
                let message = "the server has no `url`".to_owned();
                self.report(Code::MissingField, At::Value(server), message, Some(help));
            }
            Some(url) if self.tree.kind(url) != Kind::String => {
                let message = format!("`url` must be a string, not {}", self.tree.kind(url).described());
                self.report(Code::WrongType, At::Value(url), message, Some(format!("replace it by `{example}`")));
            }
            Some(url) => {
                let text = self.tree.string(url).unwrap_or_default();
                if let Some(fault) = server_url_fault(&text) {
                    let message = format!("`url` cannot be the address of a server: {fault}");
                    let help = format!("write the base URL of a server, such as `{example}`");
                    self.report(Code::InvalidServerUrl, At::Value(url), message, Some(help));
                }
            }
        }
    }
}

/// Why a text is no URL of a server; none where it is one.
fn server_url_fault(text: &str) -> Option<&'static str> {
    let Ok(url) = Iri::parse(text.trim()) else {
        return Some("it is no URL");
    };
    let scheme = url.scheme().as_str();
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Some("it does not begin with http:// or https://");
    }
    match url.authority() {
        Some(authority) if authority.host().is_empty() => Some("it names no host"),
        None => Some("it names no host"),
        Some(authority) if authority.port_to_u16().is_err() => Some("its port is no number up to 65535"),
        Some(authority) if authority.has_userinfo() => {
            Some("a user name or password has no place in it; callers give their key as the API key")
        }
        Some(_) if url.has_query() || url.has_fragment() => Some("a base URL has no `?` or `#`"),
        Some(_) => None,
    }
}

/// The kind of a document, by its shape.
fn detect(tree: &Tree<'_>) -> DocumentKind {
    let has = |key| tree.get(Tree::ROOT, key).is_some();
    let is_step = |step: NodeId| tree.get(step, "function").is_some();
    let has_steps = || tree.get(Tree::ROOT, "workflow").is_some_and(|steps| tree.children(steps).any(is_step));
    if has("opentool") {
        DocumentKind::OpenTool
    } else if has("openworkflow") || (!has("opendyn") && !has("functions") && has_steps()) {
        DocumentKind::OpenWorkflow
    } else if has("opendyn") || tree.mentions("callingConvention", "info") || tree.mentions("cType", "schema") {
        DocumentKind::OpenDyn
    } else {
        DocumentKind::OpenTool
    }
}
