//! The words that names are made of, and what they say.

/// What the names of parameters are made of that count something.
const COUNTING: [&str; 26] = [
    "len", "length", "size", "sz", "bytes", "nbytes", "count", "cnt", "cap", "capacity", "max", "maxlen", "maxsize",
    "num", "avail", "limit", "elements", "items", "siz", "byte", "nelem", "nitems", "nmemb", "bufsize", "buflen",
    "nel",
];
/// What those end with that write it as one word: `pwdlen`, `buffersize`.
const COUNTING_ENDS: [&str; 6] = ["len", "length", "size", "count", "bytes", "sz"];
/// What a buffer that the function fills is called.
const OUTPUTS: [&str; 21] = [
    "error",
    "err",
    "status",
    "dst",
    "dest",
    "destination",
    "out",
    "output",
    "result",
    "ret",
    "res",
    "into",
    "encoded",
    "digest",
    "hash",
    "rop",
    "target",
    "outbuf",
    "obuf",
    "dstbuf",
    "decoded",
];
/// What a buffer that the function reads is called.
const INPUTS: [&str; 20] = [
    "src",
    "source",
    "in",
    "input",
    "from",
    "key",
    "salt",
    "pwd",
    "password",
    "passwd",
    "msg",
    "message",
    "plaintext",
    "inbuf",
    "ibuf",
    "srcbuf",
    "iv",
    "nonce",
    "secret",
    "seed",
];
/// What functions are called that read a buffer, and those that fill one.
const WRITERS: [&str; 9] = ["write", "put", "send", "update", "append", "feed", "push", "load", "puts"];
const READERS: [&str; 10] = ["read", "get", "recv", "receive", "fetch", "pull", "copy", "generate", "random", "fill"];
/// What functions have in their names that make an object of its own, whatever they are given.
const MAKING: [&str; 14] = [
    "new",
    "create",
    "copy",
    "dup",
    "clone",
    "ref",
    "alloc",
    "init",
    "open",
    "parse",
    "load",
    "duplicate",
    "make",
    "compile",
];
/// What numbers are called that count nothing, whatever their type.
const SETTINGS: [&str; 12] =
    ["flags", "flag", "options", "opts", "mode", "level", "seed", "id", "type", "base", "index", "version"];
/// Names that say that bytes are text.
const TEXTS: [&str; 33] = [
    "version", "encoded", "hex", "b64", "ascii", "text", "str", "string", "name", "sql", "utf8", "pattern", "regex",
    "json", "xml", "html", "path", "file", "filename", "title", "label", "line", "word", "format", "fmt", "query",
    "url", "uri", "host", "mode", "charset", "encoding", "locale",
];
/// What texts are called that end by themselves, so that a number after them may well be about something else.
const LABELS: [&str; 9] = ["name", "label", "title", "path", "file", "dir", "directory", "device", "mode"];
/// What the names of numbers have in them that count bytes.
const BYTES: [&str; 8] = ["len", "siz", "sz", "byte", "cap", "avail", "max", "limit"];
/// What functions are about whose bytes are no text.
const BINARY: [&str; 30] = [
    "compress",
    "decompress",
    "uncompress",
    "deflate",
    "inflate",
    "encrypt",
    "decrypt",
    "digest",
    "hash",
    "cipher",
    "hmac",
    "sha",
    "md5",
    "crc",
    "checksum",
    "sign",
    "verify",
    "seal",
    "pack",
    "unpack",
    "buff",
    "random",
    "mac",
    "encode",
    "decode",
    "base64",
    "blake2",
    "adler",
    "adler32",
    "crc32",
];

/// A name, cut into its words: `LZ4_freeStream` → `lz4`, `free`, `stream`.
pub(crate) fn split(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let chars: Vec<char> = name.chars().collect();
    let mut word = String::new();
    for (at, char) in chars.iter().enumerate() {
        if !char.is_alphanumeric() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            continue;
        }
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1);
        // `freeStream` and `XMLParser` both have two words.
        let begins = char.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
                || (before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase())));
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(char.to_lowercase());
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Whether a name has one of some words in it.
pub(crate) fn has_any(name: &str, wanted: &[&str]) -> bool {
    split(name).iter().any(|word| wanted.contains(&word.as_str()))
}

/// Whether the name of a function says that it makes an object: `request_copy`.
pub(crate) fn makes(function: &str) -> bool {
    has_any(function, &MAKING)
}

/// Whether a name says that something is counted: `srcSize`, `pwdlen`, `nByte`.
pub(crate) fn counts(name: &str) -> bool {
    is_hungarian(name)
        || split(name).iter().any(|word| {
            let word = word.trim_end_matches(|char: char| char.is_ascii_digit());
            COUNTING.contains(&word) || COUNTING_ENDS.iter().any(|end| word.len() > end.len() && word.ends_with(end))
        })
}

/// Whether a name says that a number is a setting, which counts nothing.
pub(crate) fn is_setting(name: &str) -> bool {
    has_any(name, &SETTINGS) && !counts(name)
}

/// `nByte`, `n_items`: the Hungarian way.
pub(crate) fn is_hungarian(name: &str) -> bool {
    name.strip_prefix('n').is_some_and(|rest| rest.starts_with(|char: char| char.is_uppercase() || char == '_'))
}

/// Whether a counter is that of a buffer by its name: `srcSize` of `src`, `maxDstSize` of `dst`, `keylen` of `key`.
pub(crate) fn belongs_to(counter: &str, buffer: &str) -> bool {
    let bare = buffer.trim_start_matches("p_").trim_start_matches('_');
    let buffer_words = split(bare);
    let lower = counter.to_lowercase();
    let Some(first) = buffer_words.first() else { return false };
    let joined: String = buffer_words.concat();
    let plain: String = lower.chars().filter(|char| char.is_alphanumeric()).collect();
    if bare.len() >= 2 && (plain.starts_with(&joined) || split(counter).iter().any(|word| word == &joined)) {
        return true;
    }
    let counter_words = split(counter);
    if buffer_words.len() > 1 && buffer_words.iter().filter(|word| !is_storage(word)).count() > 0 {
        // `input_buffer` and `input_size`, `dst_buf` and `dstCapacity`.
        return buffer_words.iter().filter(|word| !is_storage(word)).all(|word| counter_words.contains(word));
    }
    // `dictionary` and `dictSize`.
    counter_words
        .iter()
        .any(|word| word.len() >= 3 && !COUNTING.contains(&word.as_str()) && first.starts_with(word.as_str()))
}

/// Whether a counter is named after something else than a buffer: `stream_size` after `version`.
pub(crate) fn is_of_another(counter: &str, buffer: &str) -> bool {
    const PLAIN: [&str; 14] =
        ["n", "in", "max", "of", "str", "text", "total", "out", "num", "the", "p", "src", "dst", "array"];
    let buffer = buffer.to_lowercase();
    let is_about_another = |word: &String| {
        let bare = COUNTING_ENDS.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        bare.len() > 2
            && !COUNTING.contains(&word.as_str())
            && !is_storage(bare)
            && !PLAIN.contains(&bare)
            && !buffer.contains(bare)
            && !bare.contains(&buffer)
    };
    counts(counter) && !belongs_to(counter, &buffer) && split(counter).iter().any(is_about_another)
}

/// Whether a text is the name of something: `name`, `newname`, `path`.
pub(crate) fn is_label(parameter: &str) -> bool {
    split(parameter).iter().any(|word| LABELS.contains(&word.as_str()) || word.ends_with("name"))
}

/// Whether a counter may count elements rather than bytes: `n` of `values`.
pub(crate) fn may_count_elements(counter: &str, buffer: &str) -> bool {
    let lower = counter.to_lowercase();
    !lower.is_empty()
        && !BYTES.iter().any(|word| lower.contains(word))
        && !split(buffer).iter().any(|word| word != "array" && is_storage(word))
}

/// Whether the name of a function says that it returns bytes: `buffer_get_bytes`.
pub(crate) fn gives_bytes(function: &str) -> bool {
    split(function)
        .last()
        .is_some_and(|last| matches!(last.as_str(), "bytes" | "data" | "buf" | "buffer" | "blob" | "raw"))
}

/// Words that say only that something is stored.
fn is_storage(word: &str) -> bool {
    matches!(word, "buf" | "buffer" | "ptr" | "p" | "data" | "array" | "arr" | "bytes" | "start" | "addr")
}

/// Whether a parameter is read or written by its name, and by that of its function.
pub(crate) fn direction(function: &str, parameter: &str) -> Option<Direction> {
    let words = split(parameter);
    let plain = |word: &String| word.trim_end_matches(|char: char| char.is_ascii_digit() || char == 'p').to_owned();
    let has =
        |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()) || wanted.contains(&&*plain(word)));
    match (has(&INPUTS), has(&OUTPUTS)) {
        (true, false) => return Some(Direction::In),
        (false, true) => return Some(Direction::Out),
        _ => {}
    }
    let function = split(function);
    let ends = |wanted: &[&str]| {
        function.iter().any(|word| {
            wanted.iter().any(|wanted| {
                word == wanted
                    || (word.len() > wanted.len() && word.len() <= wanted.len() + 3 && word.ends_with(wanted))
            })
        })
    };
    match (ends(&WRITERS), ends(&READERS)) {
        (true, false) => Some(Direction::In),
        (false, true) => Some(Direction::Out),
        // `message_from_buffer`
        (false, false) => {
            let is_source = |pair: &[String]| pair[0] == "from" && (is_storage(&pair[1]) || pair[1] == "memory");
            function.windows(2).any(is_source).then_some(Direction::In)
        }
        _ => None,
    }
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// Whether the name of a parameter says that it is text.
pub(crate) fn is_text(parameter: &str) -> bool {
    let plain = parameter.trim_start_matches(['z', 'p', 's']);
    has_any(parameter, &TEXTS) || has_any(plain, &TEXTS)
}

/// Whether the name of a function says that its bytes are no text.
pub(crate) fn is_binary(function: &str) -> bool {
    split(function).iter().any(|word| {
        let word = word.trim_start_matches("bz");
        BINARY.contains(&word) || ["compress", "decompress", "encrypt", "decrypt"].iter().any(|end| word.ends_with(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_words_and_counters_find_their_buffers() {
        assert_eq!(split("LZ4_freeStream"), ["lz4", "free", "stream"]);
        assert_eq!(split("XML_ParserFree"), ["xml", "parser", "free"]);
        assert_eq!(split("xmlFreeDoc"), ["xml", "free", "doc"]);
        for (counter, buffer) in [
            ("srcSize", "src"),
            ("sourceLen", "source"),
            ("dstCapacity", "dst"),
            ("maxDstSize", "dst"),
            ("targetDstSize", "dst"),
            ("pwdlen", "pwd"),
            ("dictSize", "dictionary"),
            ("in_nbytes", "in"),
            ("out_nbytes_avail", "out"),
            ("input_size", "input_buffer"),
            ("key_length", "key"),
        ] {
            assert!(belongs_to(counter, buffer), "{counter} {buffer}");
        }
        for (counter, buffer) in [("srcSize", "dst"), ("dstCapacity", "src"), ("size", "buffer"), ("n", "values")] {
            assert!(!belongs_to(counter, buffer), "{counter} {buffer}");
        }
        assert!(is_of_another("stream_size", "version") && is_of_another("blockSize", "in"));
        assert!(
            !is_of_another("nByte", "zSql")
                && !is_of_another("buflen", "text")
                && !is_of_another("text_length", "text")
        );
        assert!(counts("encodedlen") && counts("nByte") && counts("destLen") && !counts("place") && !counts("flags"));
    }

    #[test]
    fn names_say_which_way_data_goes() {
        assert_eq!(direction("f", "source"), Some(Direction::In));
        assert_eq!(direction("f", "dest"), Some(Direction::Out));
        assert_eq!(direction("BZ2_bzwrite", "buf"), Some(Direction::In));
        assert_eq!(direction("BZ2_bzread", "buf"), Some(Direction::Out));
        assert_eq!(direction("f", "values"), None);
        assert_eq!(direction("message_from_buffer", "it"), Some(Direction::In));
        assert!(is_binary("BZ2_bzBuffToBuffCompress") && !is_binary("station_report"));
    }
}
