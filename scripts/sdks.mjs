// Reads the wire fixtures with the official Node SDKs.

import assert from "node:assert/strict";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const address = process.argv[2];
const [text, look, refusal] = ["The answer is 42.", "Let me look.", "I cannot help with that."];
const cities = ["Zürich", "Rome"];
const typed = { city: "Ulm", degrees: 12 };
const said = [{ role: "user", content: "Hello?" }];

async function chatCompletions() {
  const client = new OpenAI({ apiKey: "x", baseURL: `${address}/openai/v1` });
  const ask = async (model) => [
    await client.chat.completions.create({ model, messages: said }),
    await client.chat.completions.stream({ model, messages: said }).finalChatCompletion(),
  ];
  for (const answer of await ask("text")) assert.equal(answer.choices[0].message.content, text);
  for (const answer of await ask("tools")) {
    const { content, tool_calls: calls } = answer.choices[0].message;
    assert.equal(content, look);
    assert.deepEqual(calls.map((call) => JSON.parse(call.function.arguments).city), cities);
  }
  for (const answer of await ask("refusal")) assert.equal(answer.choices[0].message.refusal, refusal);
  for (const answer of await ask("typed")) assert.deepEqual(JSON.parse(answer.choices[0].message.content), typed);
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids.sort(), ["gpt-5", "gpt-5-mini"]);
}

async function responses() {
  const client = new OpenAI({ apiKey: "x", baseURL: `${address}/openai/v1` });
  const ask = async (model) => [
    await client.responses.create({ model, input: "Hello?" }),
    await client.responses.stream({ model, input: "Hello?" }).finalResponse(),
  ];
  for (const answer of await ask("text")) assert.equal(answer.output_text, text);
  for (const answer of await ask("tools")) {
    assert.deepEqual(answer.output.map((item) => item.type), ["reasoning", "message", "function_call", "function_call"]);
    assert.deepEqual(answer.output.slice(2).map((call) => JSON.parse(call.arguments).city), cities);
  }
  for (const answer of await ask("refusal")) assert.equal(answer.output[0].content[0].refusal, refusal);
  for (const answer of await ask("typed")) assert.deepEqual(JSON.parse(answer.output_text), typed);
}

async function messages() {
  const client = new Anthropic({ apiKey: "x", baseURL: `${address}/anthropic` });
  const ask = async (model) => [
    await client.messages.create({ model, messages: said, max_tokens: 99 }),
    await client.messages.stream({ model, messages: said, max_tokens: 99 }).finalMessage(),
  ];
  for (const answer of await ask("text")) assert.equal(answer.content[0].text, text);
  for (const answer of await ask("tools")) {
    assert.equal(answer.content[0].signature, "c2lnbmVk");
    assert.deepEqual(answer.content.slice(2).map((call) => call.input.city), cities);
  }
  for (const answer of await ask("refusal")) assert.equal(answer.stop_reason, "refusal");
  for (const answer of await ask("paused")) {
    assert.equal(answer.stop_reason, "pause_turn");
    assert.deepEqual(answer.content[1].input, { query: "Ulm" });
  }
  for (const answer of await ask("typed")) assert.deepEqual(JSON.parse(answer.content[0].text), typed);
}

async function gemini() {
  const client = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: `${address}/gemini` } });
  const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
  const contents = [{ role: "user", parts: [{ text: "Hello?" }, image] }];
  const ask = async (model) => {
    const chunks = [];
    for await (const chunk of await client.models.generateContentStream({ model, contents })) chunks.push(chunk);
    return [[await client.models.generateContent({ model, contents })], chunks];
  };
  const parts = (chunks) => chunks.flatMap((chunk) => chunk.candidates[0].content.parts);
  const spoken = (chunks) => parts(chunks).filter((part) => !part.thought).map((part) => part.text ?? "").join("");
  for (const chunks of await ask("text")) assert.equal(spoken(chunks), text);
  for (const chunks of await ask("tools")) {
    const calls = parts(chunks).filter((part) => part.functionCall);
    assert.equal(spoken(chunks), look);
    assert.deepEqual(calls.map((part) => part.functionCall.args.city), cities);
    assert.equal(calls[0].thoughtSignature, "c2lnbmVk");
  }
  for (const chunks of await ask("typed")) assert.deepEqual(JSON.parse(spoken(chunks)), typed);
  for (const chunks of await ask("blocked")) assert.equal(chunks[0].promptFeedback.blockReason, "PROHIBITED_CONTENT");
}

let failed = false;
for (const check of [chatCompletions, responses, messages, gemini]) {
  try {
    await check();
    console.log(`node: ${check.name}: ok`);
  } catch (error) {
    failed = true;
    console.log(`node: ${check.name}: FAILED`);
    console.error(error);
  }
}
process.exit(failed ? 1 : 0);
