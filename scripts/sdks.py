"""Reads the wire fixtures with the official Python SDKs, and holds our requests against their types."""

import base64
import json
import pathlib
import sys
import traceback

import anthropic
import openai
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google import genai
from google.genai import types
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import BaseModel, ConfigDict, TypeAdapter

ADDRESS, FIXTURES = sys.argv[1], pathlib.Path(sys.argv[2])
TEXT, LOOK, REFUSAL = "The answer is 42.", "Let me look.", "I cannot help with that."
CITIES = ["Zürich", "Rome"]
PIXEL = b"\x89PNG\r\n\x1a\n"


class Weather(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    degrees: int | None = None


def same(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def chat_completions():
    client = openai.OpenAI(api_key="x", base_url=f"{ADDRESS}/openai/v1", _strict_response_validation=True)
    said = [{"role": "user", "content": "Hello?"}]

    def ask(model):
        yield client.chat.completions.create(model=model, messages=said)
        with client.chat.completions.stream(model=model, messages=said) as stream:
            for _ in stream:
                pass
            yield stream.get_final_completion()

    for answer in ask("text"):
        same((answer.choices[0].message.content, answer.choices[0].finish_reason), (TEXT, "stop"))
    for answer in ask("tools"):
        message = answer.choices[0].message
        same((message.content, [json.loads(call.function.arguments)["city"] for call in message.tool_calls]), (LOOK, CITIES))
    for answer in ask("refusal"):
        same(answer.choices[0].message.refusal, REFUSAL)
    typed = client.chat.completions.parse(model="typed", messages=said, response_format=Weather)
    same(typed.choices[0].message.parsed, Weather(city="Ulm", degrees=12))
    with client.chat.completions.stream(model="typed", messages=said, response_format=Weather) as stream:
        for _ in stream:
            pass
        same(stream.get_final_completion().choices[0].message.parsed, Weather(city="Ulm", degrees=12))
    usage = client.chat.completions.create(model="text", messages=said).usage
    same((usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens), (10, 4))
    same(sorted(model.id for model in client.models.list()), ["gpt-5", "gpt-5-mini"])


def responses():
    client = openai.OpenAI(api_key="x", base_url=f"{ADDRESS}/openai/v1", _strict_response_validation=True)

    def ask(model):
        yield client.responses.create(model=model, input="Hello?")
        with client.responses.stream(model=model, input="Hello?") as stream:
            for _ in stream:
                pass
            yield stream.get_final_response()

    for answer in ask("text"):
        same((answer.output_text, answer.status), (TEXT, "completed"))
    for answer in ask("tools"):
        kinds = [item.type for item in answer.output]
        same(kinds, ["reasoning", "message", "function_call", "function_call"])
        same([json.loads(call.arguments)["city"] for call in answer.output[2:]], CITIES)
        same(answer.output[0].encrypted_content, "c2VhbGVk")
    for answer in ask("refusal"):
        same(answer.output[0].content[0].refusal, REFUSAL)
    typed = client.responses.parse(model="typed", input="Hello?", text_format=Weather)
    same(typed.output_parsed, Weather(city="Ulm", degrees=12))
    with client.responses.stream(model="typed", input="Hello?", text_format=Weather) as stream:
        for _ in stream:
            pass
        same(stream.get_final_response().output_parsed, Weather(city="Ulm", degrees=12))


def messages():
    client = anthropic.Anthropic(api_key="x", base_url=f"{ADDRESS}/anthropic", _strict_response_validation=True)
    said = [{"role": "user", "content": "Hello?"}]

    def ask(model):
        yield client.messages.create(model=model, messages=said, max_tokens=99)
        with client.messages.stream(model=model, messages=said, max_tokens=99) as stream:
            for _ in stream:
                pass
            yield stream.get_final_message()

    for answer in ask("text"):
        same((answer.content[0].text, answer.stop_reason), (TEXT, "end_turn"))
        same((answer.usage.cache_read_input_tokens, answer.usage.output_tokens), (10, 12))
    for answer in ask("tools"):
        thought, text, *calls = answer.content
        same((thought.signature, text.text, [call.input["city"] for call in calls]), ("c2lnbmVk", LOOK, CITIES))
    for answer in ask("refusal"):
        same((answer.content[0].text, answer.stop_reason), (REFUSAL, "refusal"))
    for answer in ask("paused"):
        same((answer.stop_reason, answer.content[1].input), ("pause_turn", {"query": "Ulm"}))
    for answer in ask("typed"):
        same(Weather.model_validate_json(answer.content[0].text), Weather(city="Ulm", degrees=12))
    same([model.id for model in client.models.list()], ["claude-sonnet-4-5-20250929"])


def gemini():
    client = genai.Client(api_key="x", http_options=types.HttpOptions(base_url=f"{ADDRESS}/gemini"))
    image = types.Part.from_bytes(data=PIXEL, mime_type="image/png")
    contents = ["Hello?", image]

    def ask(model, config=None):
        yield [client.models.generate_content(model=model, contents=contents, config=config)]
        yield list(client.models.generate_content_stream(model=model, contents=contents, config=config))

    def parts(chunks):
        return [part for chunk in chunks for part in chunk.candidates[0].content.parts]

    for chunks in ask("text"):
        same("".join(part.text for part in parts(chunks)), TEXT)
        same(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)
        same((chunks[-1].usage_metadata.cached_content_token_count, chunks[-1].usage_metadata.thoughts_token_count), (10, 4))
    for chunks in ask("tools"):
        calls = [part for part in parts(chunks) if part.function_call]
        same([call.function_call.args["city"] for call in calls], CITIES)
        same(calls[0].thought_signature, base64.b64decode("c2lnbmVk"))
        said = "".join(part.text or "" for part in parts(chunks) if not part.thought and not part.function_call)
        same(said, LOOK)
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Weather)
    for chunks in ask("typed", config):
        same(Weather.model_validate_json("".join(part.text for part in parts(chunks))), Weather(city="Ulm", degrees=12))
    for chunks in ask("blocked"):
        same(chunks[0].prompt_feedback.block_reason, types.BlockedReason.PROHIBITED_CONTENT)
    same(sorted(model.name for model in client.models.list())[0], "models/gemini-2.5-flash")


def requests():
    """What our providers send is what the types of the SDKs describe; a member that they do not know is an error."""

    def load(folder, name):
        return json.loads((FIXTURES / folder / f"request-{name}.json").read_text())

    def known(value, type_, name):
        # TypedDicts do not refuse unknown members by themselves.
        unknown = set(value) - set(type_.__annotations__) - {key for base in type_.__mro__ for key in getattr(base, "__annotations__", {})}
        assert not unknown, f"{name}: the types do not know {unknown}"
        TypeAdapter(type_).validate_python(value)

    for name in ["tools", "media", "typed"]:
        known(load("openai-chat", name), CompletionCreateParamsNonStreaming, f"openai-chat/{name}")
        known(load("openai-responses", name), ResponseCreateParamsNonStreaming, f"openai-responses/{name}")
        known(load("anthropic", name), MessageCreateParamsNonStreaming, f"anthropic/{name}")
        body = load("gemini", name)
        for content in body.pop("contents"):
            types.Content.model_validate(content)
        for tool in body.pop("tools", []):
            types.Tool.model_validate(tool)
        types.Content.model_validate(body.pop("systemInstruction", {}))
        types.GenerationConfig.model_validate(body.pop("generationConfig", {}))
        types.ToolConfig.model_validate(body.pop("toolConfig", {}))
        same(body, {})


failed = False
for check in [chat_completions, responses, messages, gemini, requests]:
    try:
        check()
        print(f"python: {check.__name__}: ok")
    except Exception as error:
        failed = True
        print(f"python: {check.__name__}: FAILED")
        # Of a union with many types pydantic says why the value is none of them, one by one.
        traceback.print_tb(error.__traceback__, limit=3)
        print("\n".join(f"{type(error).__name__}: {error}".splitlines()[:12]), file=sys.stderr)
sys.exit(failed)
