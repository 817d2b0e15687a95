//! The guide "My library as tools" does what it shows, on a library that is compiled here.

use serde_json::Value;

use super::readme::walk;
use super::*;

const GUIDE: &str = include_str!("../../../../docs/my-library-as-tools.md");

/// What the vendor does not show.
const SOURCE: &str = r#"
#include "station.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct station { const char *name; double celsius; };

int station_open(const char *name, station **opened) {
    int is_roof = strcmp(name, "roof") == 0;
    if (!is_roof && strcmp(name, "garden") != 0) return 2;
    station *made = malloc(sizeof *made);
    made->name = is_roof ? "roof" : "garden";
    made->celsius = is_roof ? 21.5 : 18.25;
    *opened = made;
    return 0;
}
int station_temperature(station *which, station_unit unit, double *value) {
    if (unit != STATION_CELSIUS && unit != STATION_KELVIN) return 3;
    *value = which->celsius + (unit == STATION_KELVIN ? 273.15 : 0);
    return 0;
}
int station_report(station *which, char *text, size_t size) {
    return snprintf(text, size, "%s: %.1f degrees", which->name, which->celsius);
}
double station_mean(const double *readings, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += readings[i];
    return count ? sum / count : 0;
}
void station_close(station *which) { free(which); }
int station_watch(station *which, void (*changed)(double value, void *data), void *data) {
    if (changed) changed(which->celsius, data);
    return 0;
}
"#;

/// Does to the document what the guide asks of its reader: a function takes the place of the one of its name, and other keys
/// are put beside the functions.
fn edit(folder: &TestFolder, block: &str) {
    let mut document = json(&folder.read("station.opendyn.json"));
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
    folder.put("station.opendyn.json", serde_json::to_string_pretty(&document).unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn every_step_from_the_header_to_a_served_library_works() {
    let folder = TestFolder::new();
    let (mut commands, mut edits) = (0, 0);
    for block in GUIDE.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "c" => {
                folder.put("station.h", text);
                let source = folder.put("station.c", SOURCE);
                let mut compiler = std::process::Command::new("cc");
                let library = folder.path("libstation.so");
                assert!(compiler.args(["-shared", "-fPIC", "-o"]).args([library, source]).status().unwrap().success());
            }
            "json" => {
                edit(&folder, text);
                edits += 1;
            }
            "console" => commands += walk(&folder, text, "2>&1"),
            other => panic!("a block of `{other}` that no test tries"),
        }
    }
    assert!(commands >= 10 && edits == 2, "{commands} commands, {edits} edits");
}
