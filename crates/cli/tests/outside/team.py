"""A team's day over MCP: a lead's server, a member's server, and the tools by the names that people use."""

import asyncio
import json
import os
import sys
import time
from contextlib import AsyncExitStack

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ATM = sys.argv[1]
TEAM = {"team_name": "shop"}


async def server(stack, *args):
    parameters = StdioServerParameters(command=ATM, args=["mcp", *args], env=dict(os.environ))
    streams = await stack.enter_async_context(stdio_client(parameters))
    session = await stack.enter_async_context(ClientSession(*streams))
    await session.initialize()
    return session


def failed(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", None) or False


async def call(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    assert not failed(result), (tool, arguments, result.content)
    return json.loads(result.content[0].text)


async def refused(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    assert failed(result), (tool, arguments, result.content)
    return result.content[0].text


async def day(stack):
    lead = await server(stack)
    made = await call(lead, "team_create", **TEAM, description="Builds a shop")
    assert made["lead_agent_id"] == "team-lead@shop" and os.path.exists(made["team_file_path"]), made

    started = await call(lead, "spawn_teammate", **TEAM, name="bob", prompt="Write the parser", plan_mode_required=True)
    assert (started["agent_id"], started["name"], started["team_name"]) == ("bob@shop", "bob", "shop"), started
    config = await call(lead, "read_config", **TEAM)
    bob_entry = config["members"][1]
    assert bob_entry["name"] == "bob" and "prompt" not in bob_entry and bob_entry["planModeRequired"], config
    status = await call(lead, "check_teammate", **TEAM, agent_name="bob", include_output=True)
    assert status["alive"] and status["their_unread_count"] == 1, status
    for _ in range(200):
        if "at work" in status["output"]:
            break
        status = await call(lead, "check_teammate", **TEAM, agent_name="bob", include_output=True)
    assert "--agent-name bob" in status["output"].replace("\n", ""), status

    parse = await call(lead, "task_create", **TEAM, subject="Parser", description="All of it", active_form="Parsing")
    test = await call(lead, "task_create", **TEAM, subject="Tests", description="Of it", metadata={"size": "small"})
    await call(lead, "task_update", **TEAM, task_id=test["id"], add_blocked_by=[parse["id"]])
    await call(lead, "task_update", **TEAM, task_id=parse["id"], owner="bob")

    bob = await server(stack, "--as", "bob@shop")
    mail = await call(bob, "read_inbox", **TEAM, agent_name="bob")
    assert [message["type"] for message in mail] == ["system_init", "task_assignment"], mail
    assert "lead" in (await refused(bob, "team_delete", **TEAM))
    assert "nobody else" in (await refused(bob, "read_inbox", **TEAM, agent_name="team-lead"))

    # The lead waits; bob hands in a plan; the lead is woken by it.
    waiting = asyncio.create_task(call(lead, "poll_inbox", **TEAM, agent_name="team-lead", timeout_ms=30000))
    tasks = await call(lead, "task_list", **TEAM)
    assert len(tasks) == 2, "a waiting call does not hold up another"
    plan = await call(bob, "send_message", type="plan_approval_request", content="1. types 2. code")
    start = time.monotonic()
    news = await waiting
    assert time.monotonic() - start < 20 and news[0]["type"] == "plan_approval_request", news
    await call(
        lead, "send_message", **TEAM, type="plan_approval_response", recipient="bob",
        request_id=plan["request_id"], approve=True,
    )
    answer = json.loads((await call(bob, "poll_inbox"))[0]["text"])
    assert answer["requestId"] == plan["request_id"], answer

    await call(bob, "claim_task", task_id=parse["id"])
    assert "waits for" in (await refused(bob, "task_update", task_id=test["id"], status="in_progress"))
    await call(bob, "task_update", task_id=parse["id"], status="completed")
    sent = await call(
        bob, "send_message", type="message", recipient="team-lead", content="The parser is done", summary="Parser done"
    )
    assert sent["success"], sent
    seen = await call(lead, "check_teammate", **TEAM, agent_name="bob")
    news = seen["pending_from"]
    assert news[0]["type"] == "task_completion" and news[1]["text"] == "The parser is done", seen
    # It is marked when the answer has left, so another server may look too early.
    for _ in range(200):
        track = await call(bob, "track", message_id=sent["id"])
        if track["stage"] == "seen":
            break
    assert track["stage"] == "seen", track
    await call(lead, "send_message", **TEAM, type="broadcast", content="Well done, all", summary="Thanks")
    assert (await call(bob, "poll_inbox"))[0]["text"] == "Well done, all"

    assert "active teammates" in (await refused(lead, "team_delete", **TEAM))
    asked = await call(lead, "send_message", **TEAM, type="shutdown_request", recipient="bob", content="Home time")
    await call(bob, "poll_inbox")
    await call(bob, "send_message", type="shutdown_response", request_id=asked["request_id"], approve=True)
    news = await call(lead, "poll_inbox", **TEAM, agent_name="team-lead")
    assert news[0]["type"] == "shutdown_approved", news
    gone = await call(lead, "process_shutdown_approved", **TEAM, agent_name="bob")
    assert gone["success"], gone
    assert len((await call(lead, "read_config", **TEAM))["members"]) == 1
    deleted = await call(lead, "team_delete", **TEAM)
    assert deleted["success"] and not os.path.exists(made["team_file_path"]), deleted


async def main():
    async with AsyncExitStack() as stack:
        await day(stack)
    print("all done")


asyncio.run(main())
