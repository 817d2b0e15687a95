//! `opentool models` against servers that list some.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::json;

use super::*;

/// All variables of all providers.
fn variables() -> Vec<String> {
    let own = ["OPENAI", "AZURE_OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "OLLAMA"];
    let presets =
        ["GROQ", "OPENROUTER", "DEEPSEEK", "MISTRAL", "XAI", "TOGETHER", "FIREWORKS", "LMSTUDIO", "LLAMACPP", "VLLM"];
    let suffixes = ["API_KEY", "BASE_URL", "MODEL", "ENDPOINT"];
    let names = own.into_iter().chain(presets);
    let mut all: Vec<String> = names.flat_map(|name| suffixes.map(|suffix| format!("{name}_{suffix}"))).collect();
    all.extend(["OLLAMA_HOST", "GOOGLE_GEMINI_BASE_URL"].map(str::to_owned));
    all
}

/// A server that answers every request like this; returns its address.
fn serve(status: u16, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} So\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

fn models(arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
    let folder = TestFolder::new();
    let mut command = folder.command();
    for variable in variables() {
        command.env_remove(variable);
    }
    let output = command.envs(environment.iter().copied()).arg("models").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

const OPENAI: &str = r#"{"object":"list","data":[{"id":"tiny"},{"id":"large","context_length":8192}]}"#;
const OLLAMA: &str = r#"{"models":[{"name":"qwen3:8b"}]}"#;

#[test]
fn the_models_of_a_provider_are_listed() {
    let address = serve(200, OPENAI);
    for (provider, variable) in [
        ("openai", "OPENAI_BASE_URL"),
        ("openai-responses", "OPENAI_BASE_URL"),
        ("groq", "GROQ_BASE_URL"),
        ("azure", "AZURE_OPENAI_ENDPOINT"),
    ] {
        let ran = models(&[provider], &[(variable, &address)]);
        let listed = format!("{provider}:large  8192 tokens\n{provider}:tiny\n");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), listed.as_str()), "{}", ran.stderr);
    }
    let ran = models(&["ollama", "--json"], &[("OLLAMA_HOST", &serve(200, OLLAMA))]);
    let expected = json!([{ "id": "qwen3:8b", "provider": "ollama", "model": "ollama:qwen3:8b" }]);
    assert_eq!((ran.code, json(&ran.stdout)), (Some(0), expected), "{}", ran.stderr);
}

#[test]
fn all_providers_that_are_set_up_are_asked() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = format!("http://{gone}");
    let environment = [
        ("OPENAI_BASE_URL", &*serve(200, OPENAI)),
        ("OPENAI_API_KEY", "s3cret-key"),
        ("OLLAMA_HOST", &serve(200, OLLAMA)),
        ("LMSTUDIO_BASE_URL", &gone),
        ("LLAMACPP_BASE_URL", &serve(401, r#"{"error":"no key s3cret-key"}"#)),
        ("VLLM_BASE_URL", &gone),
    ];
    let ran = models(&[], &environment);
    assert_eq!(ran.stdout, "openai:large  8192 tokens\nopenai:tiny\nollama:qwen3:8b\n", "{}", ran.stderr);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("lmstudio: lmstudio cannot be reached"), "{}", ran.stderr);
    assert!(ran.stderr.contains("llamacpp: llamacpp answered 401"), "{}", ran.stderr);
}

#[test]
fn what_goes_wrong_has_its_exit_code() {
    let ran = models(&["acme"], &[]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("`acme` is no provider: it is one of openai, openai-responses, azure"),
        "{}",
        ran.stderr
    );
    let ran = models(&["groq"], &[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("GROQ_API_KEY is not set"), "{}", ran.stderr);
    let refused = serve(401, r#"{"error":{"message":"wrong key: s3cret-key"}}"#);
    let ran = models(&["groq"], &[("GROQ_BASE_URL", &refused), ("GROQ_API_KEY", "s3cret-key")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("groq answered 401: wrong key: …"), "{}", ran.stderr);
}
