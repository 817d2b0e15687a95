//! The guide "My library as tools" does what it shows, on the SQLite of the system.

use serde_json::Value;

use super::readme::walk;
use super::*;

const GUIDE: &str = include_str!("../../../../docs/my-library-as-tools.md");
const HEADER: &str = "/usr/include/sqlite3.h";

/// Does to the document what the guide asks of its reader: a function takes the place of the one of its name, and other keys
/// are put beside the functions.
fn edit(folder: &TestFolder, block: &str) {
    let mut document = json(&folder.read("sqlite.opendyn.json"));
    let edited = json(block);
    match edited.get("name") {
        Some(name) => {
            let functions = document["functions"].as_array_mut().unwrap();
            let place = functions.iter().position(|function| &function["name"] == name).unwrap();
            functions[place] = edited;
        }
        None => {
            let keys: Vec<(String, Value)> = edited.as_object().unwrap().clone().into_iter().collect();
            document.as_object_mut().unwrap().extend(keys);
        }
    }
    folder.put("sqlite.opendyn.json", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn every_step_from_the_header_to_a_served_library_works() {
    let Ok(header) = std::fs::read_to_string(HEADER) else {
        eprintln!("skipped: {HEADER} is not there (apt-get install libsqlite3-dev)");
        return;
    };
    let folder = TestFolder::new();
    let (mut commands, mut edits) = (0, 0);
    for block in GUIDE.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            // What is shown of the header stands in it.
            "c" => {
                for line in text.lines() {
                    assert!(header.contains(line), "{line}");
                }
            }
            "json" => {
                edit(&folder, text);
                edits += 1;
            }
            "console" => commands += walk(&folder, text, "2>&1"),
            other => panic!("a block of `{other}` that no test tries"),
        }
    }
    assert!(commands >= 10 && edits == 3, "{commands} commands, {edits} edits");
}
