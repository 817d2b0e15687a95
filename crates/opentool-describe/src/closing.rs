//! Names that say that a function ends what it is given.

use crate::words;

/// What the names end with of functions that end what they are given, even within a word: `gzclose`, `regfree`.
const ENDINGS: [&str; 20] = [
    "close",
    "free",
    "destroy",
    "finalize",
    "finalise",
    "delete",
    "release",
    "dispose",
    "unref",
    "decref",
    "finish",
    "cleanup",
    "deinit",
    "uninit",
    "terminate",
    "teardown",
    "dealloc",
    "deallocate",
    "destructor",
    "unload",
];
/// Those that other words end with too (`send`, `infini`), so that they count only as words of their own.
const LAST_WORDS: [&str; 8] = ["end", "fini", "term", "done", "discard", "dtor", "drop", "exit"];
/// Those after which the kind of object may be named: `LZ4_freeStream`, `xmlFreeDoc`.
const VERBS: [&str; 11] = [
    "free",
    "close",
    "delete",
    "destroy",
    "release",
    "dispose",
    "dealloc",
    "deallocate",
    "unref",
    "finalize",
    "unload",
];
/// Those after which something is gone, whether that is the object or not.
const FREEING: [&str; 8] = ["free", "delete", "destroy", "dispose", "dealloc", "deallocate", "unload", "shutdown"];
/// What is said of memory which the object does not need.
const UNUSED: [&str; 6] = ["unused", "unneeded", "idle", "spare", "excess", "cached"];
/// What may stand after all of them.
const QUALIFIERS: [&str; 8] = ["all", "r", "w", "full", "safe", "ex", "8", "instance"];

/// Whether the name of a function says that something of this kind ends: `sqlite3_close_v2`, `widget_free`, `inflateEnd`.
pub(crate) fn ends(function: &str, kind: &str) -> bool {
    let mut words = words::split(function);
    while words.len() > 1 && words.last().is_some_and(|word| is_qualifier(word)) {
        words.pop();
    }
    // `bam_destroy1`
    let Some(last) = words.last().map(|last| last.trim_end_matches(|char: char| char.is_ascii_digit())) else {
        return false;
    };
    if asks(&words) || (last == "exit" && sets(&words)) {
        return false;
    }
    if ENDINGS.iter().any(|ending| last.ends_with(ending)) || LAST_WORDS.contains(&last) {
        return true;
    }
    let plain: String = kind.to_lowercase().chars().filter(|char| char.is_alphanumeric()).collect();
    let is_kind = |rest: &str| rest.len() >= 3 && plain.contains(rest);
    let verb = words.iter().rposition(|word| VERBS.contains(&word.as_str()));
    if verb.is_some_and(|verb| is_kind(&words[verb + 1..].concat())) {
        return true;
    }
    // `freeaddrinfo`
    VERBS.iter().any(|verb| last.strip_prefix(verb).is_some_and(is_kind))
}

/// Whether the name says that something is freed which may be the object, or only a part of it: `image_free_extensions`.
pub(crate) fn frees(function: &str) -> bool {
    let words = words::split(function);
    let Some(verb) = words.iter().rposition(|word| FREEING.contains(&word.as_str())) else { return false };
    if asks(&words[..=verb]) || (words[verb] == "shutdown" && sets(&words)) {
        return false;
    }
    // What something is deleted from is still there, and so is what uses memory when that is freed which it does not use.
    !words[verb + 1..].iter().any(|word| word == "from" || UNUSED.contains(&word.as_str()))
}

/// Whether something is only asked for: `pool_num_free`, `base_got_exit`.
fn asks(words: &[String]) -> bool {
    let before = &words[..words.len().saturating_sub(1)];
    before.iter().any(|word| ["get", "got", "is", "has", "was", "num", "count"].contains(&word.as_str()))
}

/// Whether something is set that is called so: `stream_set_shutdown`.
fn sets(words: &[String]) -> bool {
    words.iter().any(|word| word == "set")
}

fn is_qualifier(word: &str) -> bool {
    let is_version = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    QUALIFIERS.contains(&word) || is_version(word.trim_start_matches('v'))
}

/// Whether the name says that a struct that the caller made is emptied: `mpz_clear`, `gmp_randclear`.
pub(crate) fn clears(function: &str) -> bool {
    words::split(function).last().is_some_and(|last| last.ends_with("clear"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destructors_are_known_by_name_and_kind() {
        for (function, kind) in [
            ("sqlite3_close_v2", "sqlite3"),
            ("gzclose_r", "gzFile_s"),
            ("LZ4_freeStream", "LZ4_stream_t"),
            ("ZSTD_freeCCtx", "ZSTD_CCtx"),
            ("xmlFreeDoc", "xmlDoc"),
            ("pcre2_code_free_8", "pcre2_code_8"),
            ("XML_ParserFree", "XML_Parser"),
            ("freeaddrinfo", "addrinfo"),
            ("BIO_free_all", "BIO"),
            ("BrotliEncoderDestroyInstance", "BrotliEncoderState"),
            ("cJSON_Delete", "cJSON"),
            ("inflateEnd", "z_stream"),
            ("bam_destroy1", "bam1_t"),
            ("nfc_exit", "nfc_context"),
            ("unload_datafile", "DATAFILE"),
            ("libdeflate_free_compressor", "libdeflate_compressor"),
        ] {
            assert!(ends(function, kind), "{function}");
        }
        for (function, kind) in [
            ("sqlite3_db_release_memory", "sqlite3"),
            ("dev_send", "dev"),
            ("dev_append", "dev"),
            ("dev_freeze", "dev"),
            ("pcre2_jit_free_unused_memory_8", "pcre2_general_context_8"),
            ("sqlite3_reset", "sqlite3_stmt"),
            ("json_object_clear", "json_t"),
            ("event_base_got_exit", "event_base"),
            ("pool_num_free", "pool"),
            ("loop_set_exit", "loop"),
        ] {
            assert!(!ends(function, kind), "{function}");
        }
    }

    #[test]
    fn names_say_that_an_object_outlives_what_is_freed() {
        for function in ["image_free_extensions", "list_delete_items", "pool_free_memory", "shutdown_dialog"] {
            assert!(frees(function), "{function}");
        }
        for function in
            ["pcre2_jit_free_unused_memory_8", "cJSON_DeleteItemFromArray", "dev_freeze", "BIO_get_shutdown"]
        {
            assert!(!frees(function), "{function}");
        }
    }
}
