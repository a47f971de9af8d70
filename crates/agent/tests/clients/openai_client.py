"""Talks to a proxy with the official client of OpenAI.

    openai_client.py BASE
"""
import json
import sys

import openai

LAMP = {
    "type": "function",
    "function": {
        "name": "lamp",
        "description": "Switches the lamp",
        "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
    },
}
SEARCH = [{"role": "user", "content": "search my notes for garden"}]
SWITCH = [{"role": "user", "content": "switch the lamp on"}]


def check(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def searched(toolyard):
    [call] = toolyard["calls"]
    check((call["tool"], call["arguments"], call["ok"]), ("notes__search_notes", {"query": "garden"}, True))


def main():
    base = sys.argv[1]
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="secret", max_retries=0)
    chat = client.chat.completions

    whole = chat.create(model="small", messages=SEARCH)
    check(whole.choices[0].message.content, "There is one.")
    check(whole.choices[0].finish_reason, "stop")
    check(whole.usage.total_tokens, 30)
    searched(whole.model_extra["toolyard"])

    chunks = list(chat.create(model="small", messages=SEARCH, stream=True, stream_options={"include_usage": True}))
    said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    check("".join(piece or "" for piece in said), "There is one.")
    check(chunks[-2].choices[0].finish_reason, "stop")
    searched(chunks[-2].model_extra["toolyard"])
    check(chunks[-1].usage.completion_tokens, 10)

    whole = chat.create(model="small", messages=SWITCH, tools=[LAMP])
    [call] = whole.choices[0].message.tool_calls
    check((call.function.name, json.loads(call.function.arguments)), ("lamp", {"on": True}))
    check(whole.choices[0].finish_reason, "tool_calls")

    with chat.stream(model="small", messages=SWITCH, tools=[LAMP]) as stream:
        final = stream.get_final_completion()
    [call] = final.choices[0].message.tool_calls
    check((call.function.name, json.loads(call.function.arguments)), ("lamp", {"on": True}))

    check([model.id for model in client.models.list()], ["small"])
    try:
        openai.OpenAI(base_url=f"{base}/v1", api_key="wrong", max_retries=0).models.list()
    except openai.AuthenticationError as error:
        check(error.code, "invalid_token")
    else:
        raise AssertionError("a wrong token was taken")


main()
