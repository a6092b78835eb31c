#!/usr/bin/env python3
"""A scripted model endpoint for driving coding agents headless. Standard library only.

    endpoint.py SCRIPT.json [--port N] [--log FILE] [--port-file FILE] [--background TEXT] [--max-s S]

Listens on 127.0.0.1 and prints `PORT` (0 chooses one). It speaks

* the Anthropic Messages API, `POST */messages`, streamed (SSE) or not, and `*/messages/count_tokens`;
* the OpenAI Responses API, `POST */responses`, streamed (SSE) or not;
* the OpenAI Chat Completions API, `POST */chat/completions`, streamed (SSE) or not;
* the Gemini API, `POST *:generateContent` and `*:streamGenerateContent` (SSE).

The script is a JSON list of turns; a turn is one of

    {"text": "..."}                                   the model says this and stops
    {"tool": "Bash", "input": {"command": "ls"}}      one tool call
    {"tool": "apply_patch", "raw": "*** Begin..."}    one call of a custom (free-form) tool of Codex
    {"calls": [turn, turn]}                           several tool calls in one reply

with `"namespace"` beside `tool` where Codex groups tools (MCP servers). Each request that carries the
conversation takes the next turn; after the last one every answer is the text "done". A request is
taken for a background one (a title, a quota probe, a count of tokens), and answered without taking
a turn but with the text of --background, when it offers no tools (newer models of Codex get
theirs as an item of the input). In strings of a turn `${NAME}` is replaced by that variable of the
environment, and `$LAST{REGEX}` by the first group of REGEX in the newest tool result, so that a
script can name an id that the host has made (Codex: `$LAST{session ID (\\d+)}`).

Each request is logged as one line of JSON: {"n", "path", "turn", "body"}; `turn` is null for
background requests. The tool results that the host has sent back are in the bodies.
"""
import argparse
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def tool_results(body):
    """Texts of the tool results in a request body, oldest first: Anthropic's `messages` or OpenAI's `input`."""
    found = []
    for message in body.get("messages") or []:
        content = message.get("content")
        if message.get("role") == "tool":
            found.append(flat(content))
            continue
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                found.append(flat(block.get("content")))
    items = body.get("input")
    for item in items if isinstance(items, list) else []:
        if str(item.get("type", "")).endswith("_output"):
            found.append(flat(item.get("output")))
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            if "functionResponse" in part:
                found.append(json.dumps(part["functionResponse"].get("response")))
    return found


def offers_tools(body):
    """Whether this request carries the conversation: background requests offer no tools."""
    items = body.get("input")
    return bool(body.get("tools")) or any(
        item.get("type") == "additional_tools" for item in (items if isinstance(items, list) else []))


def flat(content):
    """The text of a content that is a string or a list of blocks."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", block)) if isinstance(block, dict) else str(block) for block in content)
    return content if isinstance(content, str) else json.dumps(content)


def filled(value, last):
    """The turn with `${NAME}` and `$LAST{REGEX}` replaced. A number stays one: "$LAST{(\\d+)}" alone becomes an int."""
    if isinstance(value, dict):
        return {key: filled(inner, last) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, last) for inner in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\$LAST\{(.*)\}", value)
    if whole:
        hit = re.search(whole.group(1), last)
        text = hit.group(1) if hit else ""
        return int(text) if text.isdigit() else text
    return re.sub(r"\$\{(\w+)\}", lambda name: os.environ.get(name.group(1), ""), value)


class Script:
    """The turns, who is next, and the log. Safe for several threads."""

    def __init__(self, turns, log, background="ok"):
        self.turns, self.log, self.background = turns, log, background
        self.next = self.count = 0
        self.lock = threading.Lock()

    def answer(self, path, body):
        """The list of parts ({"text"} or {"tool", ...}) that answers this request."""
        with self.lock:
            self.count += 1
            turn = None
            parts = [{"text": self.background}]
            if offers_tools(body):
                turn = self.next
                self.next += 1
                parts = [{"text": "done"}]
                if turn < len(self.turns):
                    last = (tool_results(body) or [""])[-1]
                    parts = [filled(part, last) for part in self.turns[turn].get("calls", [self.turns[turn]])]
            if self.log:
                self.log.write(json.dumps({"n": self.count, "path": path, "turn": turn, "body": body}) + "\n")
                self.log.flush()
            return self.count, parts


def anthropic(number, parts, model):
    """The whole message, and the events that stream it."""
    content = []
    for place, part in enumerate(parts):
        if "tool" in part:
            content.append({"type": "tool_use", "id": f"toolu_{number:04}{place:04}", "name": part["tool"],
                            "input": part.get("input", {})})
        else:
            content.append({"type": "text", "text": part["text"]})
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 10}
    whole = {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "model": model, "content": content,
             "stop_reason": stop, "stop_sequence": None, "usage": usage}
    events = [("message_start", {"message": {**whole, "content": [], "stop_reason": None}})]
    for index, block in enumerate(content):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append(("content_block_start", {"index": index, "content_block": start}))
        events.append(("content_block_delta", {"index": index, "delta": delta}))
        events.append(("content_block_stop", {"index": index}))
    events.append(("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}))
    events.append(("message_stop", {}))
    return whole, [(name, {"type": name, **data}) for name, data in events]


def openai(number, parts, model):
    """The whole response, and the events that stream it."""
    items = []
    for place, part in enumerate(parts):
        call = {"id": f"it_{number:04}{place:04}", "call_id": f"call_{number:04}{place:04}"}
        if "raw" in part:
            items.append({"type": "custom_tool_call", **call, "name": part["tool"], "input": part["raw"]})
        elif "tool" in part:
            items.append({"type": "function_call", **call, "name": part["tool"],
                          "arguments": json.dumps(part.get("input", {}))})
        else:
            items.append({"type": "message", "id": call["id"], "role": "assistant",
                          "content": [{"type": "output_text", "text": part["text"], "annotations": []}]})
        if "namespace" in part:
            items[-1]["namespace"] = part["namespace"]
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 10, "output_tokens_details": None,
             "total_tokens": 20}
    whole = {"id": f"resp_{number:04}", "object": "response", "status": "completed", "model": model,
             "output": items, "usage": usage}
    events = [("response.created", {"response": {"id": whole["id"], "status": "in_progress"}})]
    for index, item in enumerate(items):
        events.append(("response.output_item.added", {"output_index": index, "item": item}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append(("response.completed", {"response": whole}))
    return whole, [(name, {"type": name, **data}) for name, data in events]


def chat(number, parts, model):
    """The whole completion, and the chunks that stream it."""
    calls, text = [], ""
    for place, part in enumerate(parts):
        if "tool" in part:
            calls.append({"index": place, "id": f"call_{number:04}{place:04}", "type": "function",
                          "function": {"name": part["tool"], "arguments": json.dumps(part.get("input", {}))}})
        else:
            text += part["text"]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    stop = "tool_calls" if calls else "stop"
    base = {"id": f"chat_{number:04}", "created": 1, "model": model}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    whole = {**base, "object": "chat.completion", "usage": usage,
             "choices": [{"index": 0, "message": message, "finish_reason": stop}]}
    chunk = {**base, "object": "chat.completion.chunk"}
    return whole, [{**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                   {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}]


def gemini(_number, parts, model):
    """The whole answer, which is also the only chunk of its stream."""
    said = [{"functionCall": {"name": part["tool"], "args": part.get("input", {})}, "thoughtSignature": "c2tpcA=="}
            if "tool" in part else {"text": part["text"]} for part in parts]
    whole = {"candidates": [{"content": {"role": "model", "parts": said}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
             "modelVersion": model}
    return whole, [whole]


class Handler(BaseHTTPRequestHandler):
    """One connection; `script` is set on the class."""

    protocol_version = "HTTP/1.1"
    script = None

    def log_message(self, *_):
        """Nothing on standard error: the log is the script's."""

    def send(self, status, kind, data):
        """One whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self):
        """Hosts look whether somebody is there."""
        self.send(200, "application/json", b"")

    def do_GET(self):
        """Lists of models and the like: empty ones."""
        self.send(200, "application/json", b'{"data": [], "models": []}')

    def do_POST(self):
        """A request for a model."""
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            return self.send(400, "application/json", b'{"error": {"message": "not JSON"}}')
        if path.endswith("/count_tokens"):
            return self.send(200, "application/json", b'{"input_tokens": 10}')
        if path.endswith("/messages"):
            speak = anthropic
        elif path.endswith("/responses"):
            speak = openai
        elif path.endswith("/chat/completions"):
            speak = chat
        elif path.endswith("enerateContent"):
            speak = gemini
        elif path.endswith(":countTokens"):
            return self.send(200, "application/json", b'{"totalTokens": 10}')
        else:
            return self.send(404, "application/json", b'{"error": {"message": "no such route"}}')
        number, parts = self.script.answer(path, body)
        whole, events = speak(number, parts, body.get("model", "scripted"))
        if not (body.get("stream") or "stream" in path):
            return self.send(200, "application/json", json.dumps(whole).encode())
        if speak in (chat, gemini):
            end = "data: [DONE]\n\n" if speak is chat else ""
            stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end
            return self.send(200, "text/event-stream", stream.encode())
        stream = "".join(f"event: {name}\ndata: {json.dumps(event)}\n\n" for name, event in events)
        self.send(200, "text/event-stream", stream.encode())


def main():
    """Reads the arguments and serves until killed, or for --max-s seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("script", help="JSON list of turns")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", help="file that gets each request, one a line")
    parser.add_argument("--port-file", help="file that gets the port")
    parser.add_argument("--background", default="ok",
                        help="answer to background requests; '<block>no' allows in Claude Code's mode auto")
    parser.add_argument("--max-s", type=float, default=600, help="ends by itself after this long")
    args = parser.parse_args()
    with open(args.script, encoding="utf-8") as file:
        turns = json.load(file)
    Handler.script = Script(turns, open(args.log, "w", encoding="utf-8") if args.log else None, args.background)
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    if args.port_file:
        with open(args.port_file + ".tmp", "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
        os.replace(args.port_file + ".tmp", args.port_file)
    threading.Timer(args.max_s, lambda: os._exit(3)).start()
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
