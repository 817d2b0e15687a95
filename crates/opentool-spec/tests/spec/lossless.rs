//! Fixing loses nothing that an author wrote: documents of all generations and with slips, in which every text is unique.

use opentool_spec::fix;
use serde_json::{Map, Value, json};

#[test]
fn every_text_of_a_document_is_there_after_fixing() {
    for seed in 1..400 {
        let mut writer = Writer { random: seed * 0x9E37_79B9, texts: 0 };
        let document = writer.document();
        let text = if seed % 2 == 0 { document.to_string() } else { serde_json::to_string_pretty(&document).unwrap() };
        let fixed = fix(&text).text;
        for number in 1..=writer.texts {
            let mark = format!("<{number}>");
            assert!(!text.contains(&mark) || fixed.contains(&mark), "{mark} of seed {seed} is lost:\n{text}\n{fixed}");
        }
    }
}

/// Writes documents at random.
struct Writer {
    random: u64,
    texts: usize,
}

impl Writer {
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 20) % limit
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("<{}>", self.texts)
    }

    fn pick(&mut self, values: &[Value]) -> Value {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()].clone()
    }

    /// Adds a text under one of these keys, sometimes.
    fn remark(&mut self, object: &mut Map<String, Value>, keys: &[&str]) {
        if self.one_in(3) {
            let key = keys[usize::try_from(self.below(keys.len() as u64)).unwrap()];
            let text = self.text();
            object.insert(key.to_owned(), text.into());
        }
    }

    fn schema(&mut self, depth: u64) -> Map<String, Value> {
        let mut schema = Map::new();
        if self.one_in(8) {
            schema.insert("$ref".to_owned(), "#/schemas/A".into());
        } else if !self.one_in(7) {
            let types = [
                json!("string"),
                json!("int"),
                json!("object"),
                json!("array"),
                json!("bool"),
                json!(["string", "null"]),
            ];
            let kind = self.pick(&types);
            schema.insert("type".to_owned(), kind);
        }
        self.remark(&mut schema, &["description"]);
        self.remark(&mut schema, &["title", "default", "x-a", "format", "foo"]);
        if self.one_in(4) {
            let values = vec![self.text(), self.text()];
            schema.insert("enum".to_owned(), values.into());
        }
        if depth < 3 && self.one_in(2) {
            let mut properties = Map::new();
            for _ in 0..=self.below(2) {
                let property = self.property(depth + 1);
                properties.insert(self.text(), property);
            }
            if self.one_in(3) {
                let name = properties.keys().next().unwrap().clone();
                schema.insert("required".to_owned(), json!([name]));
            }
            schema.insert("properties".to_owned(), properties.into());
        }
        if depth < 3 && self.one_in(5) {
            let items = self.property(depth + 1);
            schema.insert("items".to_owned(), items);
        }
        schema
    }

    /// A schema, one that says by itself that it is required, or one inside an object.
    fn property(&mut self, depth: u64) -> Value {
        let mut schema = self.schema(depth);
        if self.one_in(3) {
            return self.wrapped(schema).into();
        }
        if self.one_in(3) && !schema.contains_key("required") {
            let required = self.pick(&[json!(true), json!(false)]);
            schema.insert("required".to_owned(), required);
        }
        schema.into()
    }

    fn wrapped(&mut self, schema: Map<String, Value>) -> Map<String, Value> {
        let mut wrapped = Map::from_iter([("schema".to_owned(), schema.into())]);
        if self.one_in(2) {
            let required = self.pick(&[json!(true), json!(false), json!("yes")]);
            wrapped.insert("required".to_owned(), required);
        }
        self.remark(&mut wrapped, &["description"]);
        self.remark(&mut wrapped, &["x-b", "note", "in"]);
        wrapped
    }

    fn parameter(&mut self, named: bool) -> Value {
        let schema = self.schema(0);
        let mut parameter =
            if self.one_in(3) && !schema.contains_key("required") { schema } else { self.wrapped(schema) };
        if named {
            let name = self.text();
            parameter.insert("name".to_owned(), name.into());
        }
        parameter.into()
    }

    fn parameters(&mut self) -> Value {
        match self.below(4) {
            0 => (0..self.below(3)).map(|_| self.parameter(true)).collect(),
            1 => self.parameter(true),
            2 => {
                let named = (0..=self.below(2)).map(|_| {
                    let own = self.one_in(4);
                    let parameter = self.parameter(own);
                    (self.text(), parameter)
                });
                Value::Object(named.collect())
            }
            _ => {
                let mut schema = self.schema(0);
                schema.shift_remove("$ref");
                let kind = self.pick(&[json!("object"), json!("object"), json!("string")]);
                schema.insert("type".to_owned(), kind);
                schema.into()
            }
        }
    }

    fn function(&mut self, named: bool) -> Value {
        let mut function = json!({ "description": self.text(), "parameters": self.parameters() });
        if named {
            function["name"] = self.text().into();
        }
        let key = if self.one_in(2) { "return" } else { "returns" };
        let schema = self.schema(1);
        match self.below(4) {
            0 => function[key] = json!({ "name": self.text(), "schema": schema }),
            1 => function[key] = json!({ self.text(): self.wrapped(schema) }),
            2 => function[key] = schema.into(),
            _ => {}
        }
        function
    }

    fn document(&mut self) -> Value {
        let functions = match self.below(6) {
            0 => json!({ self.text(): self.function(false) }),
            1 => self.function(true),
            _ => json!([self.function(true), self.function(true)]),
        };
        json!({
            "opentool": "1.0.0",
            "info": { "title": self.text(), "version": "1" },
            "functions": functions,
            "schemas": { "A": { "type": "string", "description": self.text(), "enum": [self.text(), self.text()] } },
        })
    }
}
