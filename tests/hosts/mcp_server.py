#!/usr/bin/env python3
"""An MCP server on standard input and output whose tools and answers are a file. Standard library only.

    mcp_server.py TOOLS.json CALLS.jsonl

TOOLS.json: a list of {"name", "description", "inputSchema", "readOnly", "answer"}. Each call is written to CALLS.jsonl.
"""
import json
import sys


def main():
    """Answers until standard input ends."""
    with open(sys.argv[1], encoding="utf-8") as file:
        tools = {tool["name"]: tool for tool in json.load(file)}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message, tools)}
        print(json.dumps(reply), flush=True)


def answer(message, tools):
    """The result or the error of one request."""
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return {"result": {"protocolVersion": params.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                           "serverInfo": {"name": "scripted", "version": "1"}}}
    if method == "tools/list":
        shown = [{"name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"],
                  "annotations": {"readOnlyHint": tool.get("readOnly", False)}} for tool in tools.values()]
        return {"result": {"tools": shown}}
    if method == "tools/call" and params.get("name") in tools:
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            file.write(json.dumps(params) + "\n")
        return {"result": {"content": [{"type": "text", "text": tools[params["name"]]["answer"]}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"no {method}"}}


if __name__ == "__main__":
    main()
