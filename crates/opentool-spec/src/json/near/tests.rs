use super::*;

#[test]
fn spelling_mistakes_are_found() {
    for (wrong, right) in [
        ("titel", "title"),
        ("ad", "add"),
        ("prot", "port"),
        ("descripton", "description"),
        ("color", "colour"),
        ("lable", "label"),
        ("getWeather", "get_weather"),
        ("API-KEYS", "api_keys"),
        ("größe", "grösse"),
    ] {
        assert_eq!(misspelt(wrong, ["unrelated", right]), Some(right), "{wrong}");
    }
}

#[test]
fn a_third_of_a_name_may_be_wrong_and_no_more() {
    assert_eq!(misspelt("ab", ["cd", "ax"]), None);
    assert_eq!(misspelt("abc", ["abd"]), Some("abd"));
    assert_eq!(misspelt("abcde", ["abcxy"]), None);
    assert_eq!(misspelt("abcdef", ["abcdxy"]), Some("abcdxy"));
    assert_eq!(misspelt("abcdefghijkl", ["abcdefghixyz"]), None, "three letters are too many in any name");
}

#[test]
fn names_with_the_same_words_and_more_are_near() {
    assert_eq!(names("open", ["sqlite3_open", "sqlite3_openness"], 3), ["sqlite3_open"]);
    assert_eq!(names("vendor_cosine", ["cosine", "sine"], 3), ["cosine"]);
    assert_eq!(names("getCurrentTime", ["current_time", "current_date"], 3), ["current_time"]);
    assert_eq!(names("forecast_weather", ["weather_forecast"], 3), ["weather_forecast"]);
    assert!(names("fetch_news", ["fetch_mail"], 3).is_empty());
    assert!(names("a", ["a_b"], 3).is_empty(), "one letter says too little");
    assert_eq!(misspelt("open", ["sqlite3_open"]), None, "more words are no spelling mistake");
}

#[test]
fn the_nearest_name_comes_first() {
    let known = ["add_number", "adds", "ADD", "add_up_numbers"];
    assert_eq!(names("add", known, 3), ["ADD", "adds", "add_number"]);
    assert_eq!(names("add", known, 1), ["ADD"]);
}

#[test]
fn names_that_are_empty_or_too_long_have_no_neighbours() {
    let long = "x".repeat(100_000);
    assert!(names("", ["a"], 3).is_empty());
    assert!(names("__", ["-"], 3).is_empty());
    assert!(names(&long, [long.as_str()], 3).is_empty());
    assert!(names("xxxx", [long.as_str()], 3).is_empty());
}
