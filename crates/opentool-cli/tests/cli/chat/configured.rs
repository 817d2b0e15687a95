//! The model of `[model]` in a configuration file, and of the options that go before it.

use serde_json::{Value, json};

use super::super::{page::SignedIn, serving::Served};
use super::model::{Model, Reply};
use super::{TestFolder, chat_in};

/// A file whose model is a scripted one.
fn table(model: &Model) -> String {
    format!(
        "[model]\nprovider = \"openai\"\nname = \"scripted\"\nbase-url = \"{}\"\nkey = {{ env = \"MY_KEY\" }}\n",
        model.url("/v1")
    )
}

#[test]
fn the_model_of_a_trusted_file_is_asked_with_the_key_it_names() {
    let model = Model::start(vec![Reply::says("From the file."), Reply::says("Again.")]);
    let folder = TestFolder::with("opentool.toml", table(&model));
    let ran = chat_in(&folder, &["Hello"], &[("MY_KEY", "s3cret-key")], "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("opentool.toml is not trusted, so its model is not used"), "{ran:?}");
    assert!(model.asked().is_empty(), "a file that is not trusted sends nothing");

    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let ran = chat_in(&folder, &["Hello"], &[("MY_KEY", "s3cret-key")], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "From the file.\n"), "{ran:?}");
    let asked = model.asked();
    assert_eq!(asked[0].body["model"], "scripted");
    assert!(asked[0].head.contains("Bearer s3cret-key"), "{}", asked[0].head);

    let ran = chat_in(&folder, &["Hello"], &[], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("the variable MY_KEY of the environment is not set"), "{ran:?}");
    folder.put("key", "of-the-file\n");
    let ran = chat_in(&folder, &["--model-key-file", "key", "Hello"], &[], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Again.\n"), "{ran:?}");
    assert!(model.asked()[1].head.contains("Bearer of-the-file"));
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_table() {
    let replies = || vec![Reply::says("Here.")];
    let [of_file, of_variable, of_option] = [(); 3].map(|()| Model::start(replies()));
    let folder = TestFolder::with("opentool.toml", table(&of_file));
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let variable_url = of_variable.url("/v1");
    let environment = [
        ("OPENTOOL_MODEL", "openai:variable"),
        ("OPENAI_BASE_URL", variable_url.as_str()),
        ("OPENAI_API_KEY", "of-the-environment"),
    ];
    let url = of_option.url("/v1");
    let ran = chat_in(&folder, &["-m", "openai:option", "--model-url", &url, "Hello"], &environment, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let asked = of_option.asked();
    assert_eq!(asked[0].body["model"], "option");
    assert!(!asked[0].head.contains("of-the-environment"), "the key goes to no address that was given");

    assert_eq!(chat_in(&folder, &["Hello"], &environment, "").code, Some(0));
    let asked = of_variable.asked();
    assert_eq!(asked[0].body["model"], "variable");
    assert!(asked[0].head.contains("Bearer of-the-environment"));
    assert!(of_file.asked().is_empty());

    folder.put("opentool.toml", "[model]\nprovider = 7\n");
    let ran = chat_in(&folder, &["-m", "openai:option", "--model-url", &url, "Hello"], &[], "");
    assert_eq!(ran.code, Some(1), "the script is at its end, and the file was not read: {ran:?}");
}

#[test]
fn the_faults_of_the_table_are_shown_at_once_with_their_places() {
    let folder = TestFolder::with(
        "opentool.toml",
        "[model]\nprovider = \"olama\"\nnmae = \"qwen3\"\nbase-url = \"planted\"\nkey = \"planted\"\n",
    );
    let ran = chat_in(&folder, &["Hello"], &[], "");
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr, @r#"
    error: `[model]` needs `name`
     --> opentool.toml:1:2
      |
    1 | [model]
      |  ^^^^^

    error: `provider` cannot be `olama`
     --> opentool.toml:2:12
      |
    2 | provider = …
      |            ^
      |
      = help: did you mean "ollama"?

    error: `[model]` has no key `nmae`
     --> opentool.toml:3:1
      |
    3 | nmae = …
      | ^^^^
      |
      = help: did you mean `name`?

    error: `base-url` must begin with http:// or https://
     --> opentool.toml:4:12
      |
    4 | base-url = …
      |            ^

    error: `key` is secret and must not stand in the file
     --> opentool.toml:5:7
      |
    5 | key = …
      |       ^
      |
      = help: write `key = { env = "VARIABLE" }` or `key = { file = "FILE" }`
    "#);
    assert!(!ran.stderr.contains("planted"));
    let served = folder.run(&["serve", "--port", "0"]);
    assert_eq!((served.code, served.stderr), (Some(2), ran.stderr));
}

#[test]
fn serve_takes_a_model_and_says_which() {
    let model = Model::start(vec![]);
    let folder = TestFolder::with("opentool.toml", table(&model));
    let key = ("MY_KEY", "s3cret-key");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[key]);
    assert!(served.announcement.contains("model:  openai:scripted\n"), "{}", served.announcement);
    served.wait_for_log("settings from opentool.toml (named by --config): model\n");
    let served = Served::start(&folder, &["--config", "opentool.toml", "--model", "ollama:qwen3"], &[key]);
    assert!(served.announcement.contains("model:  ollama:qwen3\n"), "{}", served.announcement);
    assert!(!served.announcement.contains("s3cret-key") && !served.logged().contains("s3cret-key"));

    let untrusted = folder.run(&["serve", "--port", "0"]);
    assert_eq!(untrusted.code, Some(2));
    assert!(untrusted.stderr.contains("opentool.toml:2: model.provider = \"openai\""), "{untrusted:?}");
    let empty = TestFolder::new();
    assert!(!Served::start(&empty, &[], &[]).announcement.contains("model"));
    // Meant for `opentool chat`, and not usable here.
    let environment = [("OPENTOOL_MODEL", "anthropic:claude"), ("ANTHROPIC_API_KEY", ""), ("ANTHROPIC_BASE_URL", "")];
    let served = Served::start(&empty, &[], &environment);
    served.wait_for_log("the model of OPENTOOL_MODEL is not used: ");
    assert!(!served.announcement.contains("model"));
    let ran = empty
        .command()
        .args(["serve", "--port", "0", "--model", "azure:x"])
        .env_remove("AZURE_OPENAI_ENDPOINT")
        .output();
    let ran = ran.unwrap();
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
}

#[test]
fn another_model_of_the_file_is_asked_without_a_restart() {
    let [first, second] = ["From the first.", "From the second."].map(|text| Model::start(vec![Reply::says(text)]));
    let file = |model: &Model, name: &str| {
        let text = table(model).replace("\"scripted\"", &format!("{name:?}"));
        text.replace("{ env = \"MY_KEY\" }", "{ file = \"key\" }")
    };
    let folder = TestFolder::with("opentool.toml", file(&first, "one"));
    folder.put("key", "key-of-the-first");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[("OPENTOOL_API_KEY", "page-key")]);
    let browser = SignedIn::by_key(&served, "page-key");
    let turn = json!({ "conversation": "talk", "turn": "t1", "text": "Hello" });
    let answer = || browser.lines("/ui/api/chat", &turn).pop().unwrap()["text"].clone();
    let model = || browser.get("/ui/api/info")["chat"]["model"].clone();
    assert_eq!((model(), answer()), (json!("one"), json!("From the first.")));
    assert!(first.asked()[0].head.contains("Bearer key-of-the-first"));

    folder.put("key", "key-of-the-second");
    folder.put("opentool.toml", file(&second, "two"));
    served.wait_for_log("; model: openai:two\n");
    assert_eq!((model(), answer()), (json!("two"), json!("From the second.")));
    let asked = second.asked();
    assert_eq!(asked[0].said_by("user"), ["Hello", "Hello"], "the conversation goes on");
    assert!(asked[0].head.contains("Bearer key-of-the-second"));

    folder.put("opentool.toml", file(&second, "two").replace("openai", "opnai"));
    served.wait_for_log(" --> opentool.toml:2:12\n");
    assert_eq!(model(), "two", "a faulty file changes nothing");
    folder.put("opentool.toml", "tag = \"7\"\n");
    served.wait_for_log("; no model\n");
    assert_eq!(browser.get("/ui/api/info")["chat"], Value::Null);
    assert_eq!(browser.post("/ui/api/chat", &turn).status, 404);
    assert!(!served.logged().contains("key-of-the"), "{}", served.logged());
}

#[test]
fn a_model_calls_a_tool_of_the_file_as_often_as_its_table_says() {
    let call = || Reply::calls("add", r#"{"a":1,"b":2}"#);
    let other = || Reply::calls("add", r#"{"a":3,"b":4}"#);
    let model = Model::start(vec![call(), other(), Reply::says("Done.")]);
    let source = "[sources.own]\nkind = \"demo\"\nonly = [\"add\"]\n[sources.own.tool.add]\nmax-calls-per-turn = 1\n";
    let folder = TestFolder::with("opentool.toml", format!("{}{source}", table(&model)));
    let arguments = ["--config", "opentool.toml", "own", "Add"];
    let ran = chat_in(&folder, &arguments, &[("MY_KEY", "s3cret-key")], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{ran:?}");
    let answers = model.asked()[2].said_by("tool");
    assert!(answers[0].contains('3') && !answers[1].contains('7') && answers[1].contains('1'), "{answers:?}");
}
