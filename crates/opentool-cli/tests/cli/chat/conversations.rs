//! Conversations that go on from one run to the next.

use super::*;

#[test]
fn a_named_conversation_goes_on_where_it_was_and_others_do_not_hear_of_it() {
    let folder = TestFolder::new();
    let model = Model::start(vec![
        Reply::calls("add", r#"{"a":1,"b":2}"#),
        Reply::says("Hello Ann, 3."),
        Reply::says("You are Ann."),
        Reply::says("I do not know."),
        Reply::says("Nor do I."),
    ]);
    let first = ["--conversation", "trip", "--system", "Be brief.", "I am Ann. 1 + 2?"];
    assert_eq!(chat(&folder, &model, &first, "").code, Some(0));
    let ran = chat(&folder, &model, &["--conversation", "trip", "--json", "Who am I?"], "");
    assert_eq!(json(&ran.stdout)["conversation"], "trip", "{}", ran.stderr);
    assert_eq!(chat(&folder, &model, &["--conversation", "other", "Who am I?"], "").code, Some(0));
    assert_eq!(chat(&folder, &model, &["Who am I?"], "").code, Some(0));

    let asked = model.asked();
    assert_eq!(asked[2].said_by("user"), ["I am Ann. 1 + 2?", "Who am I?"]);
    assert_eq!(asked[2].said_by("tool"), ["3"]);
    assert_eq!(asked[3].said_by("user"), ["Who am I?"]);
    assert_eq!(asked[4].said_by("user"), ["Who am I?"]);
    assert!(folder.path("data").join("opentool/conversations.sqlite").is_file());
}

#[test]
fn a_memory_file_can_be_chosen_and_one_that_is_none_is_refused() {
    let folder = TestFolder::with("letter.txt", "this is a letter and no database, ".repeat(50));
    let model = Model::start(vec![Reply::says("Hello."), Reply::says("Again.")]);
    for _ in 0..2 {
        let ran = chat(&folder, &model, &["--memory", "mine.sqlite", "--conversation", "a", "Hello"], "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert_eq!(model.asked()[1].said_by("user"), ["Hello", "Hello"]);
    assert!(!folder.path("data").join("opentool/conversations.sqlite").exists());
    let ran = chat(&folder, &model, &["--memory", "letter.txt", "--conversation", "a", "Hello"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("letter.txt is no SQLite database: give another file"), "{}", ran.stderr);
}

#[test]
fn a_turn_without_an_answer_is_not_gone_on_with_unless_tools_acted_in_it() {
    let folder = TestFolder::new();
    let model = Model::start(vec![
        Reply::Refuses(400, "no"),
        Reply::calls("add", r#"{"a":1,"b":2}"#),
        Reply::Refuses(400, "no"),
        Reply::says("Hello."),
    ]);
    for prompt in ["one", "two", "three"] {
        chat(&folder, &model, &["--conversation", "a", prompt], "");
    }
    let last = model.asked().pop().unwrap();
    assert_eq!(last.said_by("user"), ["two", "three"]);
    assert_eq!(last.said_by("tool"), ["3"], "what was done is known");
    assert_eq!(
        last.said_by("assistant"),
        ["null", "[The turn ended here without a whole answer: refused]"],
        "and that nothing came of it"
    );
}
