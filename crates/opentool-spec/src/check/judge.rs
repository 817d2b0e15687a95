//! The judge: walks a tree once, and says everything there is to say about it.

use foldhash::{HashSet, HashSetExt as _};

use super::{
    Code, DocumentGeneration, Fix,
    draft::{At, Draft, Remedy},
    dynamic::Signature,
    references::References,
    suggest::nearest,
};
use crate::tree::{Kind, NodeId, Tree, json_string};

/// Which of the specs a document follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DocumentKind {
    /// A description of callable functions.
    OpenTool,
    /// A description of the functions of a dynamic library.
    OpenDyn,
}

impl DocumentKind {
    /// The key that names the spec's version, which is also the kind's name in lower case.
    pub const fn key(self) -> &'static str {
        match self {
            DocumentKind::OpenTool => "opentool",
            DocumentKind::OpenDyn => "opendyn",
        }
    }

    /// The version of the spec that this crate writes.
    pub const fn version(self) -> &'static str {
        match self {
            DocumentKind::OpenTool => crate::OpenTool::VERSION,
            DocumentKind::OpenDyn => crate::OpenDyn::VERSION,
        }
    }

    const fn known_versions(self) -> &'static [&'static str] {
        match self {
            DocumentKind::OpenTool => &["1.0.0", "1.1.0"],
            DocumentKind::OpenDyn => &["1.0.0"],
        }
    }
}

impl std::fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DocumentKind::OpenTool => "OpenTool",
            DocumentKind::OpenDyn => "OpenDyn",
        })
    }
}

/// A field of an object of a spec.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    kind: Kind,
    /// The code under which its absence is told, if it is.
    absent: Option<Code>,
}

/// A field whose absence is an error.
pub(super) const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, absent: Some(Code::MissingField) }
}

/// A field whose absence is told under a code of its own.
pub(super) const fn should(name: &'static str, kind: Kind, absent: Code) -> Field {
    Field { name, kind, absent: Some(absent) }
}

/// A field that may be absent.
pub(super) const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, absent: None }
}

impl Field {
    /// Whether a member that is not in the spec is this field under a wrong name.
    fn is_meant_by(self, key: &str, kind: Kind) -> bool {
        let fits = kind == self.kind || (self.name == "parameters" && kind == Kind::Object);
        let synonym = match self.name {
            "parameters" => matches!(key, "params" | "args" | "arguments" | "inputSchema" | "input_schema"),
            "description" => key == "desc",
            _ => false,
        };
        fits && (synonym || (!JSON_SCHEMA.contains(&key) && nearest(key, [self.name]).is_some()))
    }
}

/// The members of an object that its spec knows, in the order of the fields asked for. One that is there under a wrong
/// name, which was told, counts as found: what stands in it is judged all the same.
pub(super) type Members<const N: usize> = [Option<NodeId>; N];

/// Keys of a document that are told with the references, and the one by which editors find the format's schema.
const TOLD_ELSEWHERE: &[&str] = &["components", "definitions", "$defs", "$schema"];

/// Keys of JSON Schema, which are no misspellings of anything.
const JSON_SCHEMA: &[&str] = &[
    "$schema",
    "$id",
    "$defs",
    "$comment",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "definitions",
    "deprecated",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "readOnly",
    "title",
    "uniqueItems",
    "writeOnly",
];

/// Judges one document.
#[derive(Debug)]
pub(super) struct Checker<'t, 'a> {
    pub(super) tree: &'t Tree<'a>,
    pub(super) kind: DocumentKind,
    pub(super) generation: DocumentGeneration,
    pub(super) drafts: Vec<Draft>,
    pub(super) references: References<'a>,
    /// The functions of an OpenDyn document, judged once references are resolved.
    pub(super) signatures: Vec<Signature>,
    /// The objects with a member under a wrong name, which was told.
    pub(super) renamed: HashSet<NodeId>,
    /// Whether the walk is inside parameters of an older generation, which will not stay where they are.
    pub(super) in_older: bool,
}

impl<'t, 'a> Checker<'t, 'a> {
    /// Everything there is to say about the tree.
    pub(super) fn run(tree: &'t Tree<'a>) -> Self {
        let kind = detect(tree);
        let mut judge = Checker {
            tree,
            kind,
            generation: DocumentGeneration::C,
            drafts: Vec::new(),
            references: References::default(),
            signatures: Vec::new(),
            renamed: HashSet::new(),
            in_older: false,
        };
        judge.document();
        judge
    }

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
            self.suggest(Code::NotAnObject, At::Value(root), message, Remedy::Replace(root, minimal));
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
                let members = self.members(root, &fields, TOLD_ELSEWHERE);
                let version = self.version(root, &fields, &members);
                self.body(root, &fields, &members);
                if let Some(server) = members[4] {
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
                let members = self.members(root, &fields, TOLD_ELSEWHERE);
                self.version(root, &fields, &members);
                self.body(root, &fields, &members);
                if let Some(code) = members[4] {
                    self.code_table(code);
                }
                self.document_extensions(root);
            }
        }
        self.judge_references();
        self.judge_signatures();
    }

    /// What both kinds of document have: info, functions, schemas.
    fn body(&mut self, root: NodeId, fields: &[Field; 5], members: &Members<5>) {
        let info = || r#"{"title": "Untitled", "version": "1.0.0"}"#.to_owned();
        if let Some(info) = self.required("document", root, fields, members, 1, info) {
            self.info(info);
        }
        if let Some(functions) = self.required("document", root, fields, members, 2, || "[]".to_owned()) {
            self.functions(functions);
        }
        if let Some(schemas) = members[3]
            && self.optional(schemas, fields[3])
        {
            self.schemas(schemas);
        }
        self.schemas_elsewhere();
    }

    /// Judges the spec's version and returns its node where it is one of 1.x.
    fn version(&mut self, root: NodeId, fields: &[Field; 5], members: &Members<5>) -> Option<NodeId> {
        let current = json_string(self.kind.version());
        // A number means its text; only one of 1.x can be brought to the current version.
        let foreign = |node: &NodeId| self.tree.kind(*node) == Kind::Number && !is_one_point_x(self.tree.raw(*node));
        let node = if members[0].is_some_and(|node| foreign(&node)) {
            self.required("document", root, fields, members, 0, || current.clone())?
        } else {
            self.required_fixably("document", root, fields, members, 0, || current.clone())?
        };
        let version = self.tree.string(node)?;
        let key = self.kind.key();
        if !is_one_point_x(&version) {
            let message = format!("`{key}` {} is not supported: only 1.x is", super::quote(self.tree.raw(node)));
            self.suggest(Code::UnsupportedVersion, At::Value(node), message, Remedy::Replace(node, current));
            return None;
        }
        if !self.kind.known_versions().contains(&&*version) {
            let message = format!("no spec has the version {}; read as {current}", super::quote(self.tree.raw(node)));
            self.fix(Code::UnknownVersion, At::Value(node), message, Remedy::Replace(node, current));
        }
        Some(node)
    }

    fn info(&mut self, info: NodeId) {
        let title = (must("title", Kind::String), || json_string("Untitled"));
        let version = (must("version", Kind::String), || json_string("1.0.0"));
        let convention = should("callingConvention", Kind::String, Code::NoCallingConvention);
        if self.kind == DocumentKind::OpenDyn {
            let fields = [title.0, version.0, may("description", Kind::String), convention];
            let members = self.members(info, &fields, &[]);
            self.required("info", info, &fields, &members, 0, title.1);
            self.required("info", info, &fields, &members, 1, version.1);
            self.optional_member(&fields, &members, 2);
            self.calling_convention(info, &fields, &members, 3);
        } else {
            let fields = [title.0, version.0, may("description", Kind::String)];
            let members = self.members(info, &fields, &[]);
            self.required("info", info, &fields, &members, 0, title.1);
            self.required("info", info, &fields, &members, 1, version.1);
            self.optional_member(&fields, &members, 2);
        }
    }

    fn server(&mut self, server: NodeId, version: Option<NodeId>) {
        if !self.optional(server, may("server", Kind::Object)) {
            return;
        }
        let fields = [must("url", Kind::String), may("description", Kind::String)];
        let members = self.members(server, &fields, &[]);
        self.server_url(server, members[0]);
        self.optional_member(&fields, &members, 1);
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

    /// A made-up URL would be called: what stands in for one is only ever said, never written.
    fn server_url(&mut self, server: NodeId, url: Option<NodeId>) {
        let example = r#""http://127.0.0.1:9627/opentool""#;
        match url {
            None => {
                let help = format!(r#"add `"url": {example}`"#);
                let message = "the server has no `url`".to_owned();
                self.tell(Code::MissingField, At::Value(server), message, Some(help));
            }
            Some(url) if self.tree.kind(url) != Kind::String => {
                let message = format!("`url` must be a string, not {}", self.tree.kind(url).described());
                self.tell(Code::WrongType, At::Value(url), message, Some(format!("replace it by `{example}`")));
            }
            Some(_) => {}
        }
    }

    // ---- objects and their fields

    /// Sorts the members of an object: those asked for, and unknown ones, which are told.
    /// `elsewhere` are keys that another part of the judge tells about.
    pub(super) fn members<const N: usize>(
        &mut self,
        object: NodeId,
        fields: &[Field; N],
        elsewhere: &[&str],
    ) -> Members<N> {
        let tree = self.tree;
        let mut found = [None; N];
        let mut unknown = Vec::new();
        for member in tree.children(object) {
            let key = tree.key(member);
            if let Some(index) = fields.iter().position(|field| field.name == key) {
                found[index] = Some(member);
            } else if !elsewhere.contains(&&*key) && !self.is_extension(&key) {
                unknown.push(member);
            }
        }
        for member in self.last_of_each_key(unknown) {
            let (key, kind) = (tree.key(member), tree.kind(member));
            if self.misspelt_extension(object, member) || key.starts_with("x-") {
                continue;
            }
            let meant = (0..N).find(|index| found[*index].is_none() && fields[*index].is_meant_by(&key, kind));
            let shown = super::quote(&key);
            let Some(index) = meant else {
                let message = format!("the spec has no {shown} here: it is kept, and other readers ignore it");
                self.tell(Code::UnknownKey, At::Key(member), message, None);
                continue;
            };
            let Field { name, absent, .. } = fields[index];
            found[index] = Some(member);
            self.renamed.insert(object);
            let message = match absent {
                Some(_) => format!("`{name}` is missing here, and {shown} is not in the spec"),
                None => format!("the spec has no {shown} here: it is kept, and other readers ignore it"),
            };
            let remedy = Remedy::Rename(member, name.to_owned());
            self.fix(absent.unwrap_or(Code::UnknownKey), At::Key(member), message, remedy);
        }
        found
    }

    /// The members without those that a later one overrides, which are told as duplicates already.
    pub(super) fn last_of_each_key(&self, members: Vec<NodeId>) -> Vec<NodeId> {
        if members.len() < 2 {
            return members;
        }
        let mut seen = HashSet::with_capacity(members.len());
        let mut last: Vec<_> = members.into_iter().rev().filter(|member| seen.insert(self.tree.key(*member))).collect();
        last.reverse();
        last
    }

    /// A field that must be there, of the right kind. What stands in for it is a placeholder.
    pub(super) fn required<const N: usize>(
        &mut self,
        noun: &str,
        object: NodeId,
        fields: &[Field; N],
        members: &Members<N>,
        index: usize,
        placeholder: impl FnOnce() -> String,
    ) -> Option<NodeId> {
        self.required_as(false, noun, object, fields, members, index, placeholder)
    }

    /// A field that must be there, and for which there is only one right value.
    pub(super) fn required_fixably<const N: usize>(
        &mut self,
        noun: &str,
        object: NodeId,
        fields: &[Field; N],
        members: &Members<N>,
        index: usize,
        value: impl FnOnce() -> String,
    ) -> Option<NodeId> {
        self.required_as(true, noun, object, fields, members, index, value)
    }

    #[allow(clippy::too_many_arguments, reason = "private, behind the two methods above")]
    fn required_as<const N: usize>(
        &mut self,
        automatic: bool,
        noun: &str,
        object: NodeId,
        fields: &[Field; N],
        members: &Members<N>,
        index: usize,
        value: impl FnOnce() -> String,
    ) -> Option<NodeId> {
        let field = fields[index];
        let Some(node) = members[index] else {
            let message = format!("the {noun} has no `{}`", field.name);
            let remedy = Remedy::Add(object, field.name, value());
            self.propose(automatic, Code::MissingField, At::Value(object), message, remedy);
            return None;
        };
        if self.tree.kind(node) == field.kind {
            return Some(node);
        }
        let remedy = match self.as_text(node, field.kind).filter(|_| !automatic) {
            Some(text) => return self.wrong_type(true, node, field, Remedy::Replace(node, text)),
            None => Remedy::Replace(node, value()),
        };
        self.wrong_type(automatic, node, field, remedy)
    }

    /// Whether an optional field, where it is present, has the right kind.
    pub(super) fn optional_member<const N: usize>(&mut self, fields: &[Field; N], members: &Members<N>, index: usize) {
        if let Some(node) = members[index] {
            self.optional(node, fields[index]);
        }
    }

    /// Whether an optional value has the right kind; otherwise its removal, or the text it means, is proposed.
    pub(super) fn optional(&mut self, node: NodeId, field: Field) -> bool {
        let kind = self.tree.kind(node);
        if kind == field.kind {
            return true;
        }
        let (automatic, remedy) = match self.as_text(node, field.kind) {
            Some(text) => (true, Remedy::Replace(node, text)),
            None => (kind == Kind::Null, Remedy::Remove(node)),
        };
        self.wrong_type::<()>(automatic, node, field, remedy);
        false
    }

    /// A number where a text is wanted, such as a version, means that text.
    fn as_text(&self, node: NodeId, wanted: Kind) -> Option<String> {
        let number = self.tree.kind(node) == Kind::Number;
        (wanted == Kind::String && number).then(|| json_string(self.tree.raw(node)))
    }

    fn wrong_type<T>(&mut self, automatic: bool, node: NodeId, field: Field, remedy: Remedy) -> Option<T> {
        let found = self.tree.kind(node).described();
        let message = format!("`{}` must be {}, not {found}", field.name, field.kind.described());
        self.propose(automatic, Code::WrongType, At::Value(node), message, remedy);
        None
    }

    // ---- telling

    /// Tells something that an edit settles without asking.
    pub(super) fn fix(&mut self, code: Code, at: At, message: String, remedy: Remedy) {
        self.propose(true, code, at, message, remedy);
    }

    /// Tells something that an edit settles once its author has filled in the placeholder.
    pub(super) fn suggest(&mut self, code: Code, at: At, message: String, remedy: Remedy) {
        self.propose(false, code, at, message, remedy);
    }

    pub(super) fn propose(&mut self, automatic: bool, code: Code, at: At, message: String, remedy: Remedy) {
        let help = Some(remedy.help(self.tree));
        let fix = Some(Fix { automatic, edits: remedy.into_edits(self.tree) });
        self.drafts.push(Draft { code, span: at.span(self.tree), node: at.node(), message, help, fix });
    }

    /// Tells something that only words can settle.
    pub(super) fn tell(&mut self, code: Code, at: At, message: String, help: Option<String>) {
        self.drafts.push(Draft { code, span: at.span(self.tree), node: at.node(), message, help, fix: None });
    }
}

/// The kind of a document, by its shape.
fn detect(tree: &Tree<'_>) -> DocumentKind {
    let has = |key| tree.get(Tree::ROOT, key).is_some();
    if has("opentool") {
        DocumentKind::OpenTool
    } else if has("opendyn") || tree.mentions("callingConvention", "info") || tree.mentions("cType", "schema") {
        DocumentKind::OpenDyn
    } else {
        DocumentKind::OpenTool
    }
}

/// Whether a version is one of 1.x.
pub(crate) fn is_one_point_x(version: &str) -> bool {
    let mut parts = version.split('.');
    parts.next() == Some("1") && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
