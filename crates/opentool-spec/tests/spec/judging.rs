//! How findings read, and that none hides another.
use opentool_spec::*;

const TWELVE: &str = r##"{
  "opentool": "1.0.0",
  "info": {"title": 7, "version": "1.0.0"},
  "functions": [
    {"name": "bad name", "description": "A.", "parameters": []},
    {"name": "b", "parameters": []},
    {"name": "c", "description": ""},
    {"name": "d", "description": "D.", "parameters": [
      {"name": "p", "schema": {"type": "int"}, "required": true},
      {"name": "p", "schema": {"type": "strin"}},
      {"name": "q", "schema": {"$ref": "#/schemas/Nowhere"}, "required": true},
      {"name": "r", "schema": {"description": "no type"}, "required": true},
      {"name": "s", "schema": {"type": "array"}, "required": true}
    ]}
  ]
}"##;

#[test]
fn twelve_different_faults_are_told_in_one_run_in_the_order_of_the_text_and_none_twice() {
    let found: Vec<_> =
        check(TWELVE).findings.iter().map(|f| (f.code.as_str(), f.pointer.clone(), f.line, f.column)).collect();
    let expected = [
        ("OT011", "/info/title", 3, 21),
        ("OT020", "/functions/0/name", 5, 14),
        ("OT010", "/functions/1", 6, 5),
        ("OT025", "/functions/2", 7, 5),
        ("OT024", "/functions/2/description", 7, 34),
        ("OT042", "/functions/3/parameters/0/schema/type", 9, 40),
        ("OT026", "/functions/3/parameters/1", 10, 7),
        ("OT022", "/functions/3/parameters/1/name", 10, 16),
        ("OT041", "/functions/3/parameters/1/schema/type", 10, 40),
        ("OT050", "/functions/3/parameters/2/schema/$ref", 11, 40),
        ("OT040", "/functions/3/parameters/3/schema", 12, 31),
        ("OT045", "/functions/3/parameters/4/schema", 13, 31),
    ]
    .map(|(code, pointer, line, column)| (code, pointer.to_owned(), line, column));
    assert_eq!(found, expected);
    let codes: std::collections::HashSet<_> = expected.iter().map(|(code, ..)| code).collect();
    assert_eq!(codes.len(), 12, "twelve different ones");
}
