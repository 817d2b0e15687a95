//! Every field row of the specs, in a document that is read and written unchanged.

use opentool_spec::{CTypeName, OpenDyn, OpenTool, SchemaType, Severity};

/// A document around one function, written compactly.
fn opentool(version: &str, function: &str, rest: &str) -> String {
    format!(r#"{{"opentool":"{version}","info":{{"title":"T","version":"1.0.0"}},"functions":[{function}]{rest}}}"#)
}

fn with_schema(schema: &str) -> String {
    let function =
        format!(r#"{{"name":"f","description":"F.","parameters":[{{"name":"p","schema":{schema},"required":true}}]}}"#);
    opentool("1.1.0", &function, "")
}

const FUNCTION: &str = r#"{"name":"f","description":"F.","parameters":[]}"#;

fn opentool_rows() -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("OpenTool.opentool 1.0.0", opentool("1.0.0", FUNCTION, "")),
        ("OpenTool.opentool 1.1.0", opentool("1.1.0", FUNCTION, "")),
        ("OpenTool.opentool of an unknown 1.x", opentool("1.9.3", FUNCTION, "")),
        ("OpenTool.info, Info.title, Info.version", opentool("1.1.0", FUNCTION, "")),
        ("Info.description", opentool("1.1.0", FUNCTION, "").replace(r#""T","#, r#""T","description":"D","#)),
        ("OpenTool.server, Server.url", opentool("1.1.0", FUNCTION, r#","server":{"url":"http://localhost"}"#)),
        (
            "Server.description",
            opentool("1.1.0", FUNCTION, r#","server":{"url":"http://localhost","description":"Here"}"#),
        ),
        ("OpenTool.functions, Function.name, .description, .parameters", opentool("1.1.0", FUNCTION, "")),
        ("OpenTool.schemas", opentool("1.1.0", FUNCTION, r#","schemas":{"S":{"type":"string"}}"#)),
        ("Function.return null", opentool("1.1.0", &FUNCTION.replace("[]", r#"[],"return":null"#), "")),
        (
            "Function.return, Return.name, Return.schema",
            opentool("1.1.0", &FUNCTION.replace("[]", r#"[],"return":{"name":"r","schema":{"type":"string"}}"#), ""),
        ),
        (
            "Return.description",
            opentool(
                "1.1.0",
                &FUNCTION.replace("[]", r#"[],"return":{"name":"r","description":"R","schema":{"type":"string"}}"#),
                "",
            ),
        ),
        ("Parameter.name, .schema, .required", with_schema(r#"{"type":"string"}"#)),
        (
            "Parameter.description",
            with_schema(r#"{"type":"string"}"#).replace(r#""name":"p","#, r#""name":"p","description":"P","#),
        ),
        ("Parameter.required false", with_schema(r#"{"type":"string"}"#).replace("true", "false")),
        ("Schema.description", with_schema(r#"{"type":"string","description":"S"}"#)),
        ("Schema.properties", with_schema(r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}"#)),
        (
            "Schema.required",
            with_schema(r#"{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}"#),
        ),
        ("Schema.items", with_schema(r#"{"type":"array","items":{"type":"array","items":{"type":"number"}}}"#)),
        ("Schema.enum", with_schema(r#"{"type":"string","enum":["b","a"]}"#)),
        ("Schema.enum of its own type", with_schema(r#"{"type":"integer","enum":[2,1]}"#)),
        (
            "$ref",
            opentool("1.1.0", FUNCTION, r##","schemas":{"A":{"$ref":"#/schemas/B"},"B":{"type":"string"}}"##),
        ),
        (
            "unknown keys, everywhere, in their place",
            r#"{"x-a":1,"opentool":"1.1.0","note":null,"info":{"z":[1,{"b":1,"a":2}],"title":"T","version":"1.0.0","a":1},"functions":[{"x":{},"name":"f","description":"F.","stream":true,"parameters":[{"q":1.5,"name":"p","schema":{"minimum":-1,"type":"integer","maximum":18446744073709551615},"required":true,"z":""}]}]}"#.to_owned(),
        ),
        (
            "key order",
            r#"{"functions":[{"parameters":[{"required":true,"schema":{"description":"S","type":"string"},"name":"p"}],"description":"F.","name":"f"}],"info":{"version":"1.0.0","title":"T"},"opentool":"1.1.0"}"#.to_owned(),
        ),
    ];
    for kind in SchemaType::ALL {
        let inner = match kind {
            SchemaType::Object => r#","properties":{}"#,
            SchemaType::Array => r#","items":{"type":"string"}"#,
            _ => "",
        };
        rows.push(("Schema.type", with_schema(&format!(r#"{{"type":"{kind}"{inner}}}"#))));
    }
    rows
}

fn with_c_type(schema: &str) -> String {
    format!(
        r#"{{"opendyn":"1.0.0","info":{{"title":"T","version":"1.0.0","callingConvention":"cdecl"}},"functions":[{{"name":"f","description":"F.","parameters":[{{"name":"p","schema":{schema},"isIn":true,"required":true}}]}}]}}"#
    )
}

fn opendyn_rows() -> Vec<(&'static str, String)> {
    let plain = with_c_type(r#"{"type":"integer","cType":{"type":"int","isPointer":false}}"#);
    let optional = plain.replace(r#""required":true"#, r#""required":false"#);
    let mut rows = vec![
        ("OpenDyn.opendyn, .info, .functions, Info.title, .version, .callingConvention", plain.clone()),
        ("Info.callingConvention stdcall", plain.replace("cdecl", "stdcall")),
        ("Info.description", plain.replace(r#""T","#, r#""T","description":"D","#)),
        ("OpenDyn.code", format!(r#"{},"code":{{"0":"fine","-1":"not fine"}}}}"#, plain.strip_suffix('}').unwrap())),
        (
            "OpenDyn.schemas",
            format!(
                r#"{},"schemas":{{"S":{{"type":"integer","cType":{{"type":"int","isPointer":false}}}}}}}}"#,
                plain.strip_suffix('}').unwrap()
            ),
        ),
        (
            "Return.name, .schema, .description",
            plain.replace(
                "}]}]",
                r#"}],"return":{"name":"r","description":"R","schema":{"type":"integer","cType":{"type":"int","isPointer":false}}}}]"#,
            ),
        ),
        ("Function.return null", plain.replace("}]}]", r#"}],"return":null}]"#)),
        ("Parameter.isIn false", {
            with_c_type(r#"{"type":"integer","cType":{"type":"int","isPointer":true}}"#).replace(r#""isIn":true"#, r#""isIn":false"#)
        }),
        ("Parameter.required false", optional.clone()),
        ("Parameter.description", plain.replace(r#""name":"p","#, r#""name":"p","description":"P","#)),
        ("Schema.description", plain.replace(r#""type":"integer","#, r#""type":"integer","description":"S","#)),
        ("Schema without cType", with_c_type(r#"{"type":"integer"}"#)),
        ("extensions", optional.replace(r#""isIn":true"#, r#""x-handle":"db","isIn":true,"x-closes":true"#)),
    ];
    for kind in SchemaType::ALL {
        if kind != SchemaType::Object {
            rows.push((
                "Schema.type",
                with_c_type(&format!(r#"{{"type":"{kind}","cType":{{"type":"char","isPointer":true}}}}"#)),
            ));
        }
    }
    for name in CTypeName::ALL {
        let schema = format!(r#"{{"type":"integer","cType":{{"type":"{name}","isPointer":true}}}}"#);
        let handle = with_c_type(&schema)
            .replace(r#""isIn":true,"required":true"#, r#""x-handle":"h","isIn":true,"required":false"#);
        rows.push(("CType.type, .isPointer", handle));
    }
    rows
}

#[test]
fn every_field_of_opentool_round_trips_unchanged() {
    for (row, text) in opentool_rows() {
        let reading = OpenTool::read(&text);
        assert_eq!(reading.report.count(Severity::Error), 0, "{row}: {:?}", reading.report.findings);
        assert_eq!(reading.report.count(Severity::Warning), 0, "{row}: {:?}", reading.report.findings);
        assert_eq!(serde_json::to_string(&reading.document.unwrap()).unwrap(), text, "{row}");
        let strictly: OpenTool = text.parse().unwrap();
        assert_eq!(serde_json::to_string(&strictly).unwrap(), text, "{row}");
    }
}

#[test]
fn every_field_of_opendyn_round_trips_unchanged() {
    for (row, text) in opendyn_rows() {
        let reading = OpenDyn::read(&text);
        assert_eq!(reading.report.count(Severity::Error), 0, "{row}: {:?}", reading.report.findings);
        assert_eq!(reading.report.count(Severity::Warning), 0, "{row}: {:?}", reading.report.findings);
        assert_eq!(serde_json::to_string(&reading.document.unwrap()).unwrap(), text, "{row}");
    }
}

#[test]
fn the_rows_cover_every_field_of_the_models() {
    // A field that is added to a model without a row here would be missed: the rows together use all of them.
    let all: String = opentool_rows().into_iter().chain(opendyn_rows()).map(|(_, text)| text).collect();
    let fields = [
        "opentool",
        "opendyn",
        "info",
        "server",
        "functions",
        "schemas",
        "code",
        "title",
        "description",
        "version",
        "callingConvention",
        "url",
        "name",
        "parameters",
        "return",
        "schema",
        "required",
        "isIn",
        "type",
        "properties",
        "items",
        "enum",
        "$ref",
        "cType",
        "isPointer",
    ];
    for field in fields {
        assert!(all.contains(&format!("\"{field}\":")), "{field}");
    }
}

#[test]
fn a_document_of_the_other_kind_is_refused_by_name() {
    let error = with_c_type(r#"{"type":"integer"}"#).parse::<OpenTool>().unwrap_err();
    assert!(error.to_string().contains("this is an OpenDyn document, not an OpenTool one"), "{error}");
}

#[test]
fn what_the_builders_make_is_a_clean_document() {
    use opentool_spec::{Function, Info, Parameter, Return, Schema, ServerObject, check};
    let document = OpenTool::new(Info::new("Weather", "2.0.0").described("Forecasts."))
        .server(ServerObject::new("https://example.com/opentool").described("Production."))
        .function(
            Function::new("forecast", "The forecast.")
                .parameter(Parameter::new("city", Schema::string()).described("Where."))
                .parameter(Parameter::new("days", Schema::integer()).optional())
                .returning(Return::new("days", Schema::array(Schema::reference("#/schemas/Day"))).described("Days.")),
        )
        .schema("Day", Schema::object().property("sky", Schema::string().one_of(["clear", "grey"])));
    let text = serde_json::to_string(&document).unwrap();
    assert_eq!(check(&text).findings, []);
    assert_eq!(text.parse::<OpenTool>().unwrap(), document);
}
