//! Texts made to overload the checker.

use std::time::{Duration, Instant};

use opentool_spec::{Code, CutReason, Function, Info, OpenTool, Parameter, Schema, Severity, check, check_bytes, fix};

/// Enough for a linear pass over a megabyte in a debug build on a busy machine, and far too little for a quadratic one.
const LONG: Duration = Duration::from_secs(20);

fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < LONG, "{what} took {:?}", start.elapsed());
    result
}

fn codes(text: &str) -> Vec<Code> {
    check(text).findings.iter().map(|finding| finding.code).collect()
}

fn function(parameters: &str) -> String {
    format!(
        r#"{{"opentool":"1.1.0","info":{{"title":"T","version":"1"}},"functions":[{{"name":"f","description":"F","parameters":{parameters}}}]}}"#
    )
}

#[test]
fn a_hundred_thousand_nested_brackets_are_too_deep() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(soon("check", || codes(&text)), [Code::TooDeep]);
        assert_eq!(soon("fix", || fix(&text)).text, text);
        assert_eq!(OpenTool::read(&text).document, None);
    }
}

#[test]
fn what_serde_reads_we_read_and_one_level_more_is_too_deep() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(codes(&nested(127)), [Code::NotAnObject]);
    assert!(serde_json::from_str::<serde_json::Value>(&nested(127)).is_ok());
    assert_eq!(codes(&nested(128)), [Code::TooDeep]);
    assert!(serde_json::from_str::<serde_json::Value>(&nested(128)).is_err());
}

#[test]
fn a_million_entries_are_checked_one_by_one() {
    let text = format!(
        r#"{{"opentool":"1.1.0","info":{{"title":"T","version":"1"}},"functions":[{}1]}}"#,
        "1,".repeat(999_999)
    );
    let report = soon("check", || check(&text));
    assert_eq!(report.count(Severity::Error), 1_000_000);
    assert_eq!(report.findings.len() + report.omitted.total(), 1_000_000);
    assert_eq!(report.findings[4_999].pointer, "/functions/4999");
    let text = format!(
        r#"{{"x-list":[{}1],"opentool":"1.1.0","info":{{"title":"T","version":"1"}},"functions":[]}}"#,
        "1,".repeat(999_999)
    );
    assert_eq!(soon("check", || codes(&text)), [Code::NoFunctions]);
}

#[test]
fn many_members_are_searched_for_duplicates_in_one_pass() {
    let members: String = (0..200_000).map(|index| format!(r#""k{index}":1,"#)).collect();
    let text = function("[]").replacen('{', &format!("{{\"x-m\":{{{members}\"k7\":2}},"), 1);
    assert_eq!(soon("check", || codes(&text)), [Code::DuplicateKey]);
    let unknown = function("[]").replacen('{', &format!("{{{members}"), 1);
    assert_eq!(soon("check", || check(&unknown)).count(Severity::Note), 200_000);
}

#[test]
fn fifty_steps_that_double_do_not_explode() {
    let mut schemas = Vec::new();
    for step in 0..50 {
        let next = step + 1;
        schemas.push(format!(
            r##""S{step}":{{"type":"object","properties":{{"a":{{"$ref":"#/schemas/S{next}"}},"b":{{"$ref":"#/schemas/S{next}"}}}}}}"##
        ));
    }
    schemas.push(r#""S50":{"type":"string"}"#.to_owned());
    let text = function(r##"[{"name":"p","schema":{"$ref":"#/schemas/S0"},"required":true}]"##);
    let text = format!(r#"{},"schemas":{{{}}}}}"#, text.strip_suffix('}').unwrap(), schemas.join(","));
    assert_eq!(soon("check", || codes(&text)), []);
    let document: OpenTool = soon("read", || text.parse()).unwrap();
    let strict = soon("inline", || document.to_strict());
    assert!(strict.cuts.iter().any(|cut| cut.reason == CutReason::TooLarge));
    let written = serde_json::to_string(&strict.document).unwrap();
    assert!(written.len() < 20_000_000, "{} bytes", written.len());
    assert_eq!(soon("check", || check(&written)).findings.iter().filter(|f| f.code != Code::UnusedSchema).count(), 0);
}

#[test]
fn a_long_chain_of_aliases_is_followed_and_cut_when_inlined() {
    let schemas: String =
        (0..20_000).map(|step| format!(r##""S{step}":{{"$ref":"#/schemas/S{}"}},"##, step + 1)).collect();
    let text = function(r##"[{"name":"p","schema":{"$ref":"#/schemas/S0"},"required":true}]"##);
    let text = format!(r#"{},"schemas":{{{schemas}"S20000":{{"type":"string"}}}}}}"#, text.strip_suffix('}').unwrap());
    assert_eq!(soon("check", || codes(&text)), []);
    let document: OpenTool = text.parse().unwrap();
    assert!(document.resolve("#/schemas/S0").is_ok());
    let strict = soon("inline", || document.to_strict());
    assert!(strict.cuts.iter().all(|cut| cut.reason == CutReason::TooDeep));
}

#[test]
fn many_wrong_references_beside_many_schemas_stay_cheap() {
    let schemas: String = (0..20_000).map(|index| format!(r#""Schema{index}":{{"type":"string"}},"#)).collect();
    let parameters: String = (0..5_000)
        .map(|index| {
            format!(r##"{{"name":"p{index}","schema":{{"$ref":"#/schemas/Absent{index}Entirely"}},"required":true}},"##)
        })
        .collect();
    let text = function(&format!("[{}]", parameters.trim_end_matches(',')));
    let text = format!(r#"{},"schemas":{{{}}}}}"#, text.strip_suffix('}').unwrap(), schemas.trim_end_matches(','));
    let report = soon("check", || check(&text));
    assert_eq!(report.findings.len() + report.omitted.total(), 25_000);
}

#[test]
fn many_unknown_handles_and_extensions_stay_cheap() {
    let pointer = r#"{"type":"string","cType":{"type":"void","isPointer":true}}"#;
    let parameters: String = (0..5_000)
        .map(|index| {
            format!(
                r#"{{"name":"i{index}","schema":{pointer},"isIn":true,"required":true,"x-handle":"absent-entirely-{index}","x-lngthParm{index}":"o"}},{{"name":"o{index}","schema":{pointer},"isIn":false,"required":false,"x-handle":"handle-that-is-given-{index}"}},"#
            )
        })
        .collect();
    let text = format!(
        r#"{{"opendyn":"1.0.0","info":{{"title":"T","version":"1","callingConvention":"cdecl"}},"functions":[{{"name":"f","description":"F.","parameters":[{}]}}]}}"#,
        parameters.trim_end_matches(',')
    );
    let found = soon("check", || codes(&text));
    assert_eq!(found.iter().filter(|code| **code == Code::UnknownHandle).count(), 5_000);
}

#[test]
fn long_keys_above_many_findings_do_not_multiply() {
    let key = "k".repeat(100_000);
    let properties: String = (0..20_000).map(|index| format!(r#""p{index}":1,"#)).collect();
    let schema = format!(
        r#"{{"type":"object","properties":{{"{key}":{{"type":"object","properties":{{{}}}}}}}}}"#,
        properties.trim_end_matches(',')
    );
    let text = function(&format!(r#"[{{"name":"p","schema":{schema},"required":true}}]"#));
    let report = soon("check", || check(&text));
    assert_eq!(report.count(Severity::Error), 20_000, "none is left out");
    assert!(report.findings.iter().map(|finding| finding.pointer.len()).sum::<usize>() < 40_000_000);
}

#[test]
fn faults_on_one_long_line_are_counted_and_all_fixed() {
    let functions: Vec<_> = (0..50_000).map(|index| format!(r#"{{"name":"f{index}","description":"F"}}"#)).collect();
    let text =
        format!(r#"{{"opentool":"1.1.0","info":{{"title":"T","version":"1"}},"functions":[{}]}}"#, functions.join(","));
    assert_eq!(soon("check", || check(&text)).count(Severity::Warning), 50_000);
    assert_eq!(soon("fix", || fix(&text)).applied, 50_000);
    let numbers: Vec<_> = (0..100_000).map(|index| index.to_string()).collect();
    let schema = format!(r#"{{"type":"object","properties":{{}},"required":[{}]}}"#, numbers.join(","));
    let text = function(&format!(r#"[{{"name":"p","schema":{schema},"required":true}}]"#));
    assert_eq!(soon("check", || check(&text)).count(Severity::Error), 100_000);
}

#[test]
fn what_is_cut_while_inlining_counts_as_produced() {
    let mut schemas = Vec::new();
    for step in 0..12 {
        let selves: String = (0..80).map(|index| format!(r##","s{index}":{{"$ref":"#/schemas/S{step}"}}"##)).collect();
        let next = step + 1;
        schemas.push(format!(
            r##""S{step}":{{"type":"object","properties":{{"a":{{"$ref":"#/schemas/S{next}"}},"b":{{"$ref":"#/schemas/S{next}"}}{selves}}}}}"##
        ));
    }
    schemas.push(format!(r#""S12":{{"type":"string","description":"{}"}}"#, "long ".repeat(40_000)));
    let text = function(r##"[{"name":"p","schema":{"$ref":"#/schemas/S0"},"required":true}]"##);
    let text = format!(r#"{},"schemas":{{{}}}}}"#, text.strip_suffix('}').unwrap(), schemas.join(","));
    let strict = soon("inline", || text.parse::<OpenTool>().unwrap().to_strict());
    let written = serde_json::to_string(&strict.document).unwrap();
    assert!(written.len() < 150_000_000, "{} bytes", written.len());
}

#[test]
fn fixes_uncover_each_other_to_any_depth() {
    let mut schema = r#"{"type":"string"}"#.to_owned();
    for _ in 0..55 {
        schema = format!(r#"{{"type":"array","itms":{schema}}}"#);
    }
    let text = function(&format!(r#"[{{"name":"p","schema":{schema},"required":true}}]"#));
    assert_eq!(fix(&text).text, text.replace("\"itms\":", "\"items\":"));
}

#[test]
fn every_fix_of_a_large_document_is_made() {
    let parameter = r#"{"name":"p","schema":{"type":"int"}}"#;
    let function = format!(r#"{{"name":"NAME","description":"","parameters":[{parameter}]}}"#);
    let functions: Vec<_> = (0..5_000).map(|index| function.replace("NAME", &format!("f{index}"))).collect();
    let text =
        format!(r#"{{"opentool":"1.0.0","info":{{"title":"T","version":"1"}},"functions":[{}]}}"#, functions.join(","));
    let fixed = soon("fix", || fix(&text));
    assert_eq!(fixed.applied, 15_000);
    assert_eq!(fixed.report.findings, []);
}

#[test]
fn invalid_utf8_is_not_json_at_its_line_and_column() {
    let report = check_bytes(b"{\n  \"op\xc3\xa9n\": \"\xff\"}");
    let finding = &report.findings[0];
    assert_eq!((finding.code, finding.line, finding.column), (Code::NotJson, 2, 12));
    assert!(finding.message.contains("0xff"), "{}", finding.message);
}

#[test]
fn a_byte_order_mark_is_passed_over_and_taken_away() {
    let text = format!("\u{feff}{}", function("[]"));
    assert_eq!(codes(&text), [Code::ByteOrderMark]);
    assert_eq!(fix(&text).text, function("[]"));
    assert!(text.parse::<OpenTool>().is_ok());
}

#[test]
fn duplicate_keys_are_seen_through_escapes() {
    let text = function("[]").replace(r#""title":"T""#, r#""title":"T","t\u0069tle":"U""#);
    assert_eq!(codes(&text), [Code::DuplicateKey]);
    assert_eq!(text.parse::<OpenTool>().unwrap().info.title, "U");
}

#[test]
fn numbers_beyond_a_float_are_errors_beyond_64_bits_warnings() {
    let with = |number: &str| function("[]").replacen('{', &format!("{{\"x-n\":{number},"), 1);
    for number in ["1e400", "-1e309", &format!("1{}", "0".repeat(400))] {
        assert_eq!(codes(&with(number)), [Code::NumberTooLarge], "{number}");
    }
    for number in ["18446744073709551616", "-9223372036854775809", &"9".repeat(100)] {
        assert_eq!(codes(&with(number)), [Code::NumberRounded], "{number}");
    }
    for number in ["18446744073709551615", "-9223372036854775808", "1e308", "0.1", "1e-400", "-0"] {
        assert_eq!(codes(&with(number)), [], "{number}");
    }
}

#[test]
fn inlined_schemas_nest_up_to_the_limit_and_not_deeper() {
    let nested = |levels: usize| {
        let deep = (0..levels).fold(Schema::string(), |inner, _| Schema::array(inner));
        let parameter = Parameter::new("p", Schema::reference("#/schemas/Deep"));
        let document = OpenTool::new(Info::new("T", "1")).function(Function::new("f", "F.").parameter(parameter));
        document.schema("Deep", deep).to_strict().cuts
    };
    assert_eq!(nested(56), []);
    assert_eq!(nested(57).iter().map(|cut| cut.reason).collect::<Vec<_>>(), [CutReason::TooDeep]);
}
