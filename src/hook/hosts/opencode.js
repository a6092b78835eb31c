// Written by agrail: asks the guard before each tool call. Remove it with: agrail install opencode --uninstall
// No other exports: the host drops a plugin with an export that is not a function, and then runs every call.
import { spawnSync } from "node:child_process"

const LINE = "COMMAND"

function ask(event) {
  const said = spawnSync("/bin/sh", ["-c", LINE], {
    input: JSON.stringify(event), encoding: "utf8", timeout: 118000, maxBuffer: 4 << 20,
  })
  if (said.error) throw new Error("agrail: the guard cannot be asked, so the call is blocked: " + said.error.message)
  if (said.status !== 0) throw new Error((said.stderr || "agrail: the guard gave no answer, so the call is blocked").trim())
}

// a subagent has a session of its own, whose results come back to the one above it
const above = new Map()
const root = (session) => (above.has(session) ? root(above.get(session)) : session)

export const AgrailGuard = async ({ directory }) => ({
  event: async ({ event }) => {
    const { id, parentID } = event?.properties?.info ?? {}
    if (event?.type === "session.created" && parentID && parentID !== id) above.set(id, parentID)
  },
  "chat.message": async ({ sessionID }, { parts }) => {
    // what an agent tells its subagent is not the word of the user
    if (above.has(sessionID)) return
    // what the user has written; the host adds the content of attached files as parts of its own
    const prompt = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
    ask({ hook_event_name: "UserPromptSubmit", session_id: root(sessionID), cwd: directory, prompt })
  },
  "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
    ask({
      hook_event_name: "PreToolUse", session_id: root(sessionID), tool_use_id: callID, cwd: directory, tool_name: tool,
      tool_input: args,
    })
  },
  "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
    const { output, content } = result ?? {}
    ask({
      hook_event_name: "PostToolUse", session_id: root(sessionID), tool_use_id: callID, cwd: directory, tool_name: tool,
      tool_input: args ?? {}, tool_response: output ?? content ?? "",
    })
  },
})
