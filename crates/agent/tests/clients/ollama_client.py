"""Talks to a proxy with the official client of Ollama.

    ollama_client.py BASE
"""
import sys

import ollama

SEARCH = [{"role": "user", "content": "search my notes for garden"}]
SWITCH = [{"role": "user", "content": "switch the lamp on"}]


def lamp(on: bool) -> str:
    """Switches the lamp.

    Args:
        on: Whether it is to be on
    """
    raise AssertionError("nobody calls it here")


def check(seen, expected):
    assert seen == expected, f"{seen!r} is not {expected!r}"


def main():
    base = sys.argv[1]
    client = ollama.Client(host=base, headers={"Authorization": "Bearer secret"})

    whole = client.chat(model="small", messages=SEARCH)
    check((whole.message.content, whole.done, whole.done_reason), ("There is one.", True, "stop"))
    check((whole.prompt_eval_count, whole.eval_count), (20, 10))

    parts = list(client.chat(model="small", messages=SEARCH, stream=True))
    check("".join(part.message.content or "" for part in parts), "There is one.")
    check([part.done for part in parts][-2:], [False, True])

    whole = client.chat(model="small", messages=SWITCH, tools=[lamp])
    [call] = whole.message.tool_calls
    check((call.function.name, call.function.arguments), ("lamp", {"on": True}))

    parts = list(client.chat(model="small", messages=SWITCH, tools=[lamp], stream=True))
    [call] = [call for part in parts for call in part.message.tool_calls or []]
    check((call.function.name, call.function.arguments), ("lamp", {"on": True}))

    check([model.model for model in client.list().models], ["small"])
    try:
        ollama.Client(host=base, headers={"Authorization": "Bearer wrong"}).list()
    except ollama.ResponseError as error:
        check(error.status_code, 401)
    else:
        raise AssertionError("a wrong token was taken")


main()
