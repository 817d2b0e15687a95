//! Images, sounds and files, per provider, in what the user says and in what tools return.

use opentool_chat::provider::{Anthropic, Gemini, Ollama, OpenAi, OpenAiResponses};
use opentool_chat::{
    AssistantMessage, Cause, ChatClient, ChatOptions, Media, Message, ModelRequest, Prompt, Provider, ReasoningEffort,
    ResponseFormat, ToolAnswer, ToolDefinitions, ToolMessage, TypedAnswers, UserMessage,
};
use opentool_core::{FnTool, Part, ToolCall, ToolOutput, Toolbox};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::Server;
use super::support::{ALL, Wire};

const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n";

fn image() -> Media {
    Media::from_bytes("image/png", PIXEL).unwrap().with_name("pixel.png")
}

fn pdf() -> Media {
    Media::from_bytes("application/pdf", "%PDF-").unwrap().with_name("report.pdf")
}

fn sound() -> Media {
    Media::from_bytes("audio/wav", "RIFF").unwrap()
}

/// What is sent of a conversation, streamed or not.
async fn sent(wire: Wire, messages: &[Message], options: &ChatOptions) -> Value {
    let mut bodies = Vec::new();
    for is_streamed in [false, true] {
        let server = Server::start([wire.whole("Hi")]).await;
        let provider = wire.provider(&server.url());
        let tools = ToolDefinitions::default();
        let request = ModelRequest::new(messages, options, &tools);
        match is_streamed {
            false => drop(provider.call(request).await.unwrap()),
            true => {
                use futures_util::StreamExt;
                for delta in provider.stream(request).collect::<Vec<_>>().await {
                    delta.unwrap();
                }
            }
        }
        let mut body = server.only_request().json();
        for name in ["stream", "stream_options"] {
            body.as_object_mut().unwrap().remove(name);
        }
        bodies.push(body);
    }
    assert_eq!(bodies[0], bodies[1], "{wire:?}");
    bodies.remove(0)
}

/// Asks with these media; returns the body, or the error before anything was sent.
async fn try_media(wire: Wire, media: Media) -> Result<Value, String> {
    let server = Server::start([wire.whole("Hi")]).await;
    let provider = wire.provider(&server.url());
    let message = UserMessage::new("What is this?").with_media(media);
    match ChatClient::new(provider).prompt(message).call().await {
        Ok(_) => Ok(server.only_request().json()),
        Err(error) => {
            assert!(matches!(error.cause(), Cause::Setup { .. }), "{error:?}");
            assert_eq!(server.seen().len(), 0, "nothing was sent");
            Err(error.to_string())
        }
    }
}

#[tokio::test]
async fn an_image_is_sent_in_each_provider_s_form() {
    let message = Message::from(
        UserMessage::new("Which?")
            .with_media(image())
            .with_text("or")
            .with_media(Media::from_url("image/jpeg", "https://photos.example/2.jpg").unwrap()),
    );
    for wire in ALL.into_iter().filter(|wire| *wire != Wire::Ollama) {
        let body = sent(wire, std::slice::from_ref(&message), &ChatOptions::new()).await;
        insta::assert_json_snapshot!(format!("image_{wire:?}"), body[wire.conversation()]);
    }
    // Ollama takes bytes beside one text.
    let message = Message::from(UserMessage::new("Which?").with_media(image()).with_text("This?"));
    let body = sent(Wire::Ollama, &[message], &ChatOptions::new()).await;
    let expected = json!([{ "role": "user", "content": "Which?\n\nThis?", "images": ["iVBORw0KGgo="] }]);
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn a_message_may_be_media_only() {
    for wire in ALL {
        let body = sent(wire, &[UserMessage::new("").with_media(image()).into()], &ChatOptions::new()).await;
        let text = body[wire.conversation()].to_string();
        assert!(text.contains("iVBORw0KGgo=") && !text.contains(r#""text":"""#), "{wire:?}: {text}");
    }
}

#[tokio::test]
async fn what_a_provider_cannot_take_is_refused_before_it_is_sent() {
    let (tiff, ogg) =
        (Media::from_bytes("image/tiff", "II*").unwrap(), Media::from_bytes("audio/ogg", "OggS").unwrap());
    let (video, zip) =
        (Media::from_bytes("video/mp4", "ftyp").unwrap(), Media::from_bytes("application/zip", "PK").unwrap());
    let (far_sound, far_pdf) = (
        Media::from_url("audio/wav", "https://a.example/b.wav").unwrap(),
        Media::from_url("application/pdf", "https://a.example/b.pdf").unwrap(),
    );
    for (wire, taken, refused) in [
        (Wire::OpenAi, vec![pdf(), sound()], vec![&ogg, &video, &zip, &far_sound, &far_pdf]),
        (Wire::Azure, vec![pdf(), sound()], vec![&tiff, &ogg, &video, &zip, &far_sound, &far_pdf]),
        (Wire::Responses, vec![pdf(), far_pdf.clone()], vec![&tiff, &ogg, &video, &far_sound]),
        (Wire::Anthropic, vec![pdf(), far_pdf.clone()], vec![&tiff, &ogg, &video, &zip, &far_sound]),
        (Wire::Gemini, vec![pdf(), sound(), far_sound.clone(), video.clone(), tiff.clone()], vec![]),
        (Wire::Ollama, vec![], vec![&tiff, &ogg, &video, &zip, &far_sound, &far_pdf]),
    ] {
        for media in taken {
            let body = try_media(wire, media.clone()).await.unwrap().to_string();
            let content = media.base64().or(media.url()).unwrap();
            assert!(body.contains(content), "{wire:?}, {media}: {body}");
        }
        for media in refused {
            let error = try_media(wire, media.clone()).await.unwrap_err();
            assert!(error.contains(&format!("cannot take {media}: it takes images")), "{wire:?}: {error}");
        }
    }
}

#[tokio::test]
async fn text_files_are_read_by_every_provider() {
    let notes = Media::from_bytes("text/markdown", "# Milk").unwrap().with_name("notes.md");
    for wire in ALL {
        let body = try_media(wire, notes.clone()).await.unwrap().to_string();
        let expected = if wire == Wire::Gemini { notes.base64().unwrap() } else { r"notes.md:\n```\n# Milk\n```" };
        assert!(body.contains(expected), "{wire:?}: {body}");
    }
}

#[tokio::test]
async fn media_of_a_tool_s_result_are_sent_or_named() {
    let camera = || {
        FnTool::new("camera", || {
            ToolOutput::Parts(vec![
                Part::text("One photo:"),
                Part::media("image/png", "iVBORw0KGgo="),
                Part::media("audio/ogg", "T2dnUw=="),
            ])
        })
    };
    for wire in ALL {
        let call = [("a", "camera", json!({}))];
        let server =
            Server::start([wire.stream(&wire.streamed("", "", &call)), wire.stream(&wire.streamed("", "Nice.", &[]))])
                .await;
        let request = ChatClient::new(wire.provider(&server.url())).prompt("Look.").tools(camera());
        let response = request.stream().finish().await.unwrap();
        assert_eq!(response.text(), "Nice.");
        let answer = &response.messages()[2].answers()[0];
        assert_eq!(&*answer.text, "One photo:\n[image/png, 8 bytes]\n[audio/ogg, 4 bytes]");
        assert_eq!(answer.media.len(), 2);
        let sent = server.seen()[1].json();
        let text = json!(&*answer.text);
        let conversation = &sent[wire.conversation()];
        match wire {
            Wire::OpenAi | Wire::Azure | Wire::Ollama => assert_eq!(conversation[2]["content"], text),
            Wire::Responses => {
                let output = json!([{ "type": "input_text", "text": text },
                    { "type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto" }]);
                assert_eq!(conversation[2]["output"], output);
            }
            Wire::Anthropic => {
                let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" });
                let content = json!([{ "type": "text", "text": text }, { "type": "image", "source": source }]);
                assert_eq!(conversation[2]["content"][0]["content"], content);
            }
            Wire::Gemini => {
                let parts = json!([{ "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } },
                    { "inlineData": { "mimeType": "audio/ogg", "data": "T2dnUw==" } }]);
                assert_eq!(conversation[2]["parts"][0]["functionResponse"]["parts"], parts);
            }
        }
    }
}

/// A message with media survives storage.
#[test]
fn media_in_messages_are_stored() {
    let message = Message::from(UserMessage::new("Hi").with_media(image()).with_text("there"));
    let stored = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message);
    let plain = serde_json::to_string(&Message::user("Hi")).unwrap();
    assert_eq!(plain, r#"{"role":"user","text":"Hi"}"#, "as it was stored before there were media");
    let broken = stored.replace("iVBORw0KGgo=", "?");
    assert!(serde_json::from_str::<Message>(&broken).is_err());
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" }, "degrees": { "type": "integer" } },
        "required": ["city"], "additionalProperties": false })
}

#[tokio::test]
async fn the_form_of_an_answer_is_sent_in_each_provider_s_dialect() {
    let format = ResponseFormat::new("Weather report", schema()).with_description("The weather.");
    assert_eq!(format.name, "Weather_report");
    let options = ChatOptions::new().with_response_format(format);
    for wire in ALL {
        let mut body = sent(wire, &[Message::user("Hello?")], &options).await;
        body.as_object_mut().unwrap().remove(wire.conversation());
        insta::assert_json_snapshot!(format!("format_{wire:?}"), body);
    }
}

#[tokio::test]
async fn a_schema_that_cannot_be_strict_is_sent_all_the_same() {
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let options = ChatOptions::new().with_response_format(ResponseFormat::new("counts", map));
    for wire in ALL {
        let body = sent(wire, &[Message::user("Hello?")], &options).await;
        assert!(body.to_string().contains("additionalProperties"), "{wire:?}: {body}");
        match wire {
            Wire::OpenAi | Wire::Azure => assert_eq!(body["response_format"]["json_schema"]["strict"], false),
            Wire::Responses => assert_eq!(body["text"]["format"]["strict"], false),
            Wire::Anthropic => assert_eq!(body.get("output_config"), None, "it is in the system prompt"),
            Wire::Gemini | Wire::Ollama => {}
        }
    }
}

#[test]
fn every_provider_says_how_it_holds_a_model_to_a_form() {
    let local = "http://127.0.0.1:9";
    let providers: Vec<(Box<dyn Provider>, TypedAnswers, TypedAnswers)> = vec![
        (Box::new(OpenAi::new("x")), TypedAnswers::Native, TypedAnswers::Native),
        (Box::new(OpenAi::new("x").base_url(local)), TypedAnswers::Native, TypedAnswers::ForcedTool),
        (Box::new(OpenAiResponses::new("x")), TypedAnswers::Native, TypedAnswers::Native),
        (Box::new(OpenAiResponses::new("x").base_url(local)), TypedAnswers::ForcedTool, TypedAnswers::ForcedTool),
        (Box::new(Anthropic::new("x")), TypedAnswers::Native, TypedAnswers::Native),
        (Box::new(Anthropic::new("x").base_url(local)), TypedAnswers::ForcedTool, TypedAnswers::ForcedTool),
        (Box::new(Gemini::new("x")), TypedAnswers::Native, TypedAnswers::ForcedTool),
        (Box::new(Ollama::new("x")), TypedAnswers::Native, TypedAnswers::Prompt),
        (Box::new(Ollama::new("x").typed_answers_by(TypedAnswers::Prompt)), TypedAnswers::Prompt, TypedAnswers::Prompt),
    ];
    for (provider, without, with) in providers {
        let name = provider.name();
        assert_eq!((provider.typed_answers(false), provider.typed_answers(true)), (without, with), "{name}");
    }
}

#[tokio::test]
async fn reasoning_is_asked_for_in_each_provider_s_words() {
    for wire in ALL {
        let mut asked = Vec::new();
        for options in [
            ChatOptions::new().with_reasoning_effort(ReasoningEffort::None),
            ChatOptions::new().with_reasoning_effort(ReasoningEffort::Minimal),
            ChatOptions::new().with_reasoning_effort(ReasoningEffort::High),
            ChatOptions::new().with_reasoning_budget(0),
            ChatOptions::new().with_reasoning_budget(5000),
            ChatOptions::new().with_reasoning_budget(5000).with_max_tokens(9000),
        ] {
            let mut body = sent(wire, &[Message::user("Hello?")], &options).await;
            for name in [wire.conversation(), "model", "store"] {
                body.as_object_mut().unwrap().remove(name);
            }
            asked.push(json!({ "options": options, "sent": body }));
        }
        insta::assert_json_snapshot!(format!("reasoning_{wire:?}"), asked);
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// The requests that the types of the official SDKs are held against, in `scripts/sdks`.
#[tokio::test]
async fn requests_are_those_that_the_official_types_describe() {
    let weather = FnTool::new("weather", |input: City| input.city).description("Tell the weather.");
    let tools = ToolDefinitions::from_toolbox(Toolbox::new().with(weather).unwrap());
    let call = AssistantMessage::new("Let me look.").with_tool_calls(vec![ToolCall::new(
        "call_1",
        "weather",
        r#"{"city":"Ulm"}"#,
    )]);
    let with_tools = vec![
        Message::system("Be terse."),
        Message::user("Weather in Ulm?"),
        call.into(),
        ToolMessage::new(vec![
            ToolAnswer::new("call_1", "weather", "See:\n[image/png, 8 bytes]").with_media(vec![image()]),
        ])
        .into(),
    ];
    let with_media = |wire| {
        let mut message = UserMessage::new("What is this?").with_media(image());
        if wire != Wire::Ollama {
            message = message.with_media(pdf());
        }
        if matches!(wire, Wire::OpenAi | Wire::Gemini) {
            message = message.with_media(sound());
        }
        vec![Message::from(message)]
    };
    let typed = ChatOptions::new()
        .with_response_format(ResponseFormat::new("weather", schema()))
        .with_reasoning_effort(ReasoningEffort::Low);
    let none = ToolDefinitions::default();
    for (wire, folder) in [
        (Wire::OpenAi, "openai-chat"),
        (Wire::Responses, "openai-responses"),
        (Wire::Anthropic, "anthropic"),
        (Wire::Gemini, "gemini"),
    ] {
        let requests = [
            ("request-tools", with_tools.clone(), ChatOptions::new().with_max_tokens(99), &tools),
            ("request-media", with_media(wire), ChatOptions::new(), &none),
            ("request-typed", vec![Message::user("Weather?")], typed.clone(), &none),
        ];
        for (name, messages, options, tools) in requests {
            let server = Server::start([wire.whole("Hi")]).await;
            let prompt = Prompt::new(messages).with_options(options);
            let request = ModelRequest::new(&prompt.messages, &prompt.options, tools);
            wire.provider(&server.url()).call(request).await.unwrap();
            let body = server.only_request().json();
            let path = format!("{}/tests/fixtures/wire/{folder}/{name}.json", env!("CARGO_MANIFEST_DIR"));
            if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
                std::fs::write(&path, format!("{body:#}\n")).unwrap();
            }
            let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(
                body,
                serde_json::from_str::<Value>(&golden).unwrap(),
                "{path}: INSTA_UPDATE=always rewrites it"
            );
        }
    }
}
