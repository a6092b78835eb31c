"""Ask a running `agrail serve` before each action. Only the standard library.

    agrail serve &
    python3 examples/http_client.py 'rm -rf /etc' 'ls /tmp'
"""

import json
import sys
import urllib.error
import urllib.request

URL = "http://127.0.0.1:8642/v1/check"


def check(action, request="", url=URL):
    """The verdict on an action. What cannot be asked is denied: no answer is no permission."""
    body = json.dumps({"action": action, "context": {"request": request, "agent": "example"}}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=30) as response:
            return json.load(response)
    except (urllib.error.URLError, TimeoutError, ValueError) as problem:
        return {"decision": "deny", "reason": f"the guard gave no answer: {problem}"}


if __name__ == "__main__":
    for command in sys.argv[1:] or ["ls /tmp"]:
        verdict = check({"type": "shell", "command": command}, request="tidy up")
        print(f"{verdict['decision']:5} {command}: {verdict['reason']}")
