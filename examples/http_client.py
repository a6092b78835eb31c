"""Ask a running `agrail serve` before each action. Needs only the standard library.

    agrail serve &
    python3 examples/http_client.py 'rm -rf /etc' 'ls /tmp'
"""

import http.client
import json
import sys
import urllib.error
import urllib.request

URL = "http://127.0.0.1:8642/v1/check"


def check(action, request="", url=URL):
    """The verdict on an action. Without an answer from the guard the action is denied: no answer is no permission."""
    body = json.dumps({"action": action, "context": {"request": request, "agent": "example"}}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=30) as response:
            verdict = json.load(response)
        if verdict["decision"] in ("allow", "ask", "deny"):
            return verdict
        problem = f"no decision: {verdict['decision']}"
    except urllib.error.HTTPError as error:
        problem = f"{error}: {error.read(500).decode(errors='replace')}"
    except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError) as error:
        problem = error or type(error).__name__
    return {"decision": "deny", "reason": f"the guard gave no answer: {problem}"}


if __name__ == "__main__":
    for command in sys.argv[1:] or ["ls /tmp"]:
        verdict = check({"type": "shell", "command": command}, request="tidy up")
        print(f"{verdict['decision']:5} {command}: {verdict['reason']}")
