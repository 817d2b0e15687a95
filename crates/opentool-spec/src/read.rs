//! From a text to a typed document, lenient or strict.

use std::str::FromStr;

use serde::de::DeserializeOwned;

use crate::{
    check::{Analysis, Code, DocumentErrors, DocumentKind, Finding, Fix, Report, Severity},
    fix::apply_fixes,
    model::{OpenDyn, OpenTool, OpenWorkflow},
};

/// What could be read of a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reading<D> {
    /// The document in the current shape; none where the text is not a JSON object, or something in it fits no field.
    pub document: Option<D>,
    /// What was found in the text.
    pub report: Report,
}

/// A document of any kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Document {
    /// A description of callable functions.
    OpenTool(OpenTool),
    /// A description of the functions of a dynamic library.
    OpenDyn(OpenDyn),
    /// Calls of functions in a fixed order.
    OpenWorkflow(OpenWorkflow),
}

impl Document {
    /// Reads a document of any kind, by its shape.
    pub fn read(text: &str) -> Reading<Document> {
        let analysis = Analysis::new(text);
        let document = match analysis.kind {
            Some(DocumentKind::OpenDyn) => deserialize(&analysis, text).map(Document::OpenDyn),
            Some(DocumentKind::OpenTool) => deserialize(&analysis, text).map(Document::OpenTool),
            Some(DocumentKind::OpenWorkflow) => deserialize(&analysis, text).map(Document::OpenWorkflow),
            None => None,
        };
        Reading { document, report: analysis.report() }
    }
}

impl OpenTool {
    /// Reads a document leniently.
    ///
    /// Documents of the older generations come out in the current shape, types of other languages as those of the
    /// spec, and missing values as placeholders; the report lists it all. A document without warnings and
    /// errors is read as it is, and writing it produces the same JSON. To refuse documents with errors, use
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
    /// Reads a document leniently, as [`OpenTool::read`] does.
    pub fn read(text: &str) -> Reading<OpenDyn> {
        read(text, DocumentKind::OpenDyn)
    }
}

impl OpenWorkflow {
    /// Reads a document leniently, as [`OpenTool::read`] does.
    pub fn read(text: &str) -> Reading<OpenWorkflow> {
        read(text, DocumentKind::OpenWorkflow)
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

impl FromStr for OpenWorkflow {
    type Err = DocumentErrors;

    fn from_str(text: &str) -> Result<Self, DocumentErrors> {
        OpenWorkflow::read(text).into_result()
    }
}

impl<D> Reading<D> {
    /// The document, or its errors if there are any.
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
    let analysis = Analysis::new(text);
    let found = analysis.kind;
    let document = if found == Some(kind) { deserialize(&analysis, text) } else { None };
    let mut report = analysis.report();
    if let Some(found) = found.filter(|found| *found != kind) {
        report.findings.insert(0, Finding::wrong_kind(kind, found));
    }
    Reading { document, report }
}

/// The typed document, from the text itself or, where its shape is not the model's, from a fixed copy.
fn deserialize<D: DeserializeOwned>(analysis: &Analysis<'_>, text: &str) -> Option<D> {
    let shapes =
        |code: Code, fix: &Fix| code.shapes_the_model() && (fix.automatic || code.severity() == Severity::Error);
    if analysis.fixes(shapes).next().is_none() {
        return serde_json::from_str(text).ok();
    }
    serde_json::from_str(&apply_fixes(text, shapes).text).ok()
}
