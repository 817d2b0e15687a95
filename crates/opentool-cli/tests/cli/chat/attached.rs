//! Files that go with a prompt.

use serde_json::json;

use super::*;

#[test]
fn files_go_with_the_prompt_in_the_form_of_the_provider() {
    let folder = TestFolder::new();
    std::fs::write(folder.path("pixel.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    folder.put("notes.md", "# Milk");
    let model = Model::start(vec![Reply::says("A pixel.")]);
    let ran = chat(&folder, &model, &["--attach", "pixel.png", "--attach", "notes.md", "What is this?"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "A pixel.\n"), "{}", ran.stderr);
    let content = &model.asked()[0].body["messages"][0]["content"];
    let expected = json!([
        { "type": "text", "text": "What is this?" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } },
        { "type": "text", "text": "notes.md:\n```\n# Milk\n```" },
    ]);
    assert_eq!(*content, expected);
}

#[test]
fn a_file_that_cannot_be_sent_is_an_error_before_the_model_is_asked() {
    let folder = TestFolder::new();
    folder.put("what", "x");
    folder.put("film.mp4", "x");
    folder.put("empty.png", "");
    let model = Model::start(vec![]);
    for (file, expected) in [
        ("none.png", "none.png cannot be read: "),
        ("what", "what has no extension that names its media type"),
        (".", "--attach .: it is no file"),
        ("empty.png", "the image/png is empty"),
        ("film.mp4", "openai cannot take `film.mp4` [video/mp4, 1 bytes]: it takes images"),
    ] {
        let ran = chat(&folder, &model, &["--attach", file, "What is this?"], "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{file}: {}", ran.stderr);
    }
    assert!(model.asked().is_empty());
}
