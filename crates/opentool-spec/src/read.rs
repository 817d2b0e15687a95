//! From a text to a typed document, forgiving or strict.

use std::str::FromStr;

use serde::de::DeserializeOwned;

use crate::{
    OpenDyn, OpenTool,
    check::{Code, DocumentErrors, DocumentKind, Examined, Finding, Fix, Report, Severity},
    fix::mend,
};

/// A text that was read as well as it could be.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reading<D> {
    /// The document in the current shape; none where the text is no JSON object or something in it has no counterpart.
    pub document: Option<D>,
    /// What was found in the text.
    pub report: Report,
}

/// A document of either kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Document {
    /// A description of callable functions.
    OpenTool(OpenTool),
    /// A description of the functions of a dynamic library.
    OpenDyn(OpenDyn),
}

impl Document {
    /// Reads a document of either kind, by its shape.
    pub fn read(text: &str) -> Reading<Document> {
        let examined = Examined::new(text);
        let document = match examined.kind {
            Some(DocumentKind::OpenDyn) => lower(&examined, text).map(Document::OpenDyn),
            Some(DocumentKind::OpenTool) => lower(&examined, text).map(Document::OpenTool),
            None => None,
        };
        Reading { document, report: examined.report() }
    }
}

impl OpenTool {
    /// Reads a document, forgiving what can be forgiven.
    ///
    /// Documents of the older generations come out in the current shape, types as other languages spell them as the
    /// spec has them, and what is missing as a placeholder: the report has it all. A document without warnings and
    /// errors is read as it is, and writing it gives the same JSON again. To refuse documents with errors, use
    /// [`str::parse`].
    ///
    /// ```
    /// use opentool_spec::{OpenTool, SchemaType, Severity};
    ///
    /// let reading = OpenTool::read(r#"{"opentool": "1.0.0", "info": {"title": "Calculator", "version": "1.0.0"},
    ///   "functions": [{"name": "half", "description": "Halve.", "parameters":
    ///     {"type": "object", "properties": {"x": {"type": "double", "required": true}}}}]}"#);
    /// let half = &reading.document.unwrap().functions[0];
    /// assert_eq!(half.parameters[0].schema.schema_type, Some(SchemaType::Number));
    /// assert!(half.parameters[0].required);
    /// assert_eq!(reading.report.count(Severity::Warning), 2);
    /// ```
    pub fn read(text: &str) -> Reading<OpenTool> {
        read(text, DocumentKind::OpenTool)
    }
}

impl OpenDyn {
    /// Reads a document, forgiving what can be forgiven, as [`OpenTool::read`] does.
    pub fn read(text: &str) -> Reading<OpenDyn> {
        read(text, DocumentKind::OpenDyn)
    }
}

impl FromStr for OpenTool {
    type Err = DocumentErrors;

    fn from_str(text: &str) -> Result<Self, DocumentErrors> {
        OpenTool::read(text).into_result()
    }
}

impl FromStr for OpenDyn {
    type Err = DocumentErrors;

    fn from_str(text: &str) -> Result<Self, DocumentErrors> {
        OpenDyn::read(text).into_result()
    }
}

impl<D> Reading<D> {
    /// The document, if nothing was wrong with it that a reader has to guess about.
    pub fn into_result(self) -> Result<D, DocumentErrors> {
        let errors: Vec<_> =
            self.report.findings.into_iter().filter(|finding| finding.severity == Severity::Error).collect();
        match self.document {
            Some(document) if errors.is_empty() => Ok(document),
            _ => Err(DocumentErrors(errors)),
        }
    }
}

fn read<D: DeserializeOwned>(text: &str, kind: DocumentKind) -> Reading<D> {
    let examined = Examined::new(text);
    let found = examined.kind;
    let document = if found == Some(kind) { lower(&examined, text) } else { None };
    let mut report = examined.report();
    if let Some(found) = found.filter(|found| *found != kind) {
        report.findings.insert(0, Finding::wrong_kind(kind, found));
    }
    Reading { document, report }
}

/// The typed document, from the text itself or, where its shape is not the model's, from a mended copy.
fn lower<D: DeserializeOwned>(examined: &Examined<'_>, text: &str) -> Option<D> {
    let shapes =
        |code: Code, fix: &Fix| code.shapes_the_model() && (fix.automatic || code.severity() == Severity::Error);
    if examined.fixes(shapes).next().is_none() {
        return serde_json::from_str(text).ok();
    }
    let (mended, _) = mend(text, shapes);
    serde_json::from_str(&mended).ok()
}
