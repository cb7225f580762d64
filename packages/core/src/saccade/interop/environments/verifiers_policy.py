"""What of the policy verifiers v1 sees: a harness that chats in this process, and turns as completions."""

import json
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import cache
from types import ModuleType
from typing import Any

from saccade.interop.environments.actions import calls_in
from saccade.types import Json

POLICY = "saccade_policy"
"""Name of the model, and the id of ``PolicyHarness`` among verifiers' plugins."""


def answer_of(web: ModuleType, text: str, tools: Sequence[str], *, is_streamed: bool) -> Any:
    """The policy's turn as a response of OpenAI's chat API, calls of tools apart."""
    calls = calls_in(text, tools)
    assert not isinstance(calls, str)
    message: dict[str, Json] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [{**call, "index": index} for index, call in enumerate(calls)]
    end = "tool_calls" if calls else "stop"
    # No tokens are counted here: they are the policy's.
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    answer = {"id": "turn", "object": "chat.completion", "created": 0, "model": POLICY, "usage": usage}
    if not is_streamed:
        return web.json_response({**answer, "choices": [{"index": 0, "message": message, "finish_reason": end}]})
    choice = {"index": 0, "delta": message, "finish_reason": end}
    chunk = json.dumps({**answer, "object": "chat.completion.chunk", "choices": [choice]})
    return web.Response(text=f"data: {chunk}\n\ndata: [DONE]\n\n", content_type="text/event-stream")


@cache
def policy_harness() -> Any:
    """The harness, where verifiers looks for it: a loop of chat that calls tools, in this process."""
    import httpx
    from verifiers.v1.dialects.chat import message_to_wire
    from verifiers.v1.harness import Harness, HarnessConfig
    from verifiers.v1.harnesses.utils.mcp import call_mcp, connect_mcp
    from verifiers.v1.runtimes import ProgramResult

    class PolicyHarness(Harness[HarnessConfig]):  # type: ignore[misc]
        CONFIG = HarnessConfig
        APPENDS_SYSTEM_PROMPT = SUPPORTS_MCP = SUPPORTS_RESUME = True
        EXECUTES_CODE = NEEDS_CONTAINER = False

        async def launch(
            self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: dict[str, str], data: Any
        ) -> Any:
            system, prompt = self.resolve_prompt(data)
            messages = [{"role": "system", "content": system}] if system else []
            opening = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else map(message_to_wire, prompt)
            messages += opening
            async with AsyncExitStack() as stack, httpx.AsyncClient(timeout=None) as client:
                servers = {"mcpServers": {name: {"url": url} for name, url in mcp_urls.items()}}
                tools, places, open_servers = await connect_mcp(servers, stack)
                body = {"model": ctx.model, "messages": messages, **({"tools": tools} if tools else {})}
                while True:
                    answer = await client.post(
                        f"{endpoint}/chat/completions", json=body, headers={"Authorization": f"Bearer {secret}"}
                    )
                    if answer.is_error:
                        return ProgramResult(exit_code=1, stdout="", stderr=answer.text)
                    said = answer.json()["choices"][0]["message"]
                    messages.append(said)
                    if not said.get("tool_calls"):
                        return ProgramResult(exit_code=0, stdout="", stderr="")
                    for call in said["tool_calls"]:
                        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                        content = await call_mcp(open_servers, places, name, arguments)
                        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    module = ModuleType(POLICY)
    module.PolicyHarness, module.__all__ = PolicyHarness, ["PolicyHarness"]  # type: ignore[attr-defined]
    sys.modules[POLICY] = module
    return PolicyHarness
