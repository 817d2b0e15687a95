#![allow(clippy::unwrap_used)]

use super::Ollama;
use super::format::OllamaFormat;
use crate::provider::Provider;
use crate::provider::wire::WireFormat;

#[test]
fn a_host_is_read_as_ollama_reads_it() {
    for (host, url) in [
        ("127.0.0.1", "http://127.0.0.1:11434/api/chat"),
        ("gpu.example", "http://gpu.example:11434/api/chat"),
        ("gpu.example:1234", "http://gpu.example:1234/api/chat"),
        ("gpu.example:80", "http://gpu.example/api/chat"),
        (":1234", "http://127.0.0.1:1234/api/chat"),
        ("0.0.0.0", "http://127.0.0.1:11434/api/chat"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234/api/chat"),
        ("[::]:1234", "http://127.0.0.1:1234/api/chat"),
        ("[::1]", "http://[::1]:11434/api/chat"),
        ("http://gpu.example", "http://gpu.example/api/chat"),
        ("http://gpu.example:11434/", "http://gpu.example:11434/api/chat"),
        ("https://ollama.com/api", "https://ollama.com/api/chat"),
        ("https://proxy.example/ollama", "https://proxy.example/ollama/api/chat"),
    ] {
        assert_eq!(OllamaFormat::endpoint(host).unwrap().as_str(), url, "{host}");
    }
    assert!(OllamaFormat::endpoint("me:s3cret@host").is_err_and(|error| !error.contains("s3cret")));
}

#[test]
fn ollama_needs_no_variables_and_uses_those_it_finds() {
    let provider = Ollama::from_variables(|_| None).unwrap();
    assert_eq!(provider.connection.settings.url(), "http://127.0.0.1:11434/api/chat");
    assert_eq!(provider.model(), None);
    let provider =
        Ollama::from_variables(|name| Some(if name == "OLLAMA_HOST" { "https://ollama.com" } else { "x" }.to_owned()))
            .unwrap();
    assert_eq!((provider.connection.settings.url(), provider.model()), ("https://ollama.com/api/chat", Some("x")));
    assert!(provider.connection.settings.key.is_some());
}
