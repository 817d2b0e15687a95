#![allow(clippy::unwrap_used)]
use super::*;
use serde_json::json;

#[test]
fn unknown_keys_key_order_and_nulls_survive_a_round_trip() {
    let text = r##"{"x-first":1,"functions":[{"description":"d","return":null,"stream":true,"name":"f","parameters":[{"required":false,"schema":{"$ref":"#/schemas/S"},"name":"p","x":[1,{"b":1,"a":2}]}]}],"opentool":"1.0.0","info":{"version":"2","title":"t","z":null},"schemas":{"b":{"type":"string"},"a":{"enum":["x"],"type":"string"}}}"##;
    let document: OpenTool = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&document).unwrap(), text);
    assert_eq!(serde_json::to_value(Schema::string()).unwrap(), json!({"type": "string"}));
}
