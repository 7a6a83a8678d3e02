"""Calls in other threads: those that Ctrl-C can abandon, and those that do not keep a process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any


def in_daemon_thread(f: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Call a function in a thread that does not keep the process alive."""
    future: Future[Any] = Future()

    def call() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(f(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True, name=f"call of {getattr(f, '__name__', 'a function')}").start()
    return future


def interruptibly(f: Callable[..., Any], *arguments: Any) -> Any:
    """Return f(*arguments), a long call without the GIL; Ctrl-C is answered at once, although the call goes on."""
    if threading.current_thread() is not threading.main_thread():
        return f(*arguments)
    future = in_daemon_thread(f, *arguments)
    _GOING_ON.append(future)
    future.add_done_callback(_GOING_ON.remove)
    # seconds until a thread that waits looks for Ctrl-C at the latest
    while not wait([future], 0.2).done:  # a signal just before a wait does not end it
        pass
    return future.result()


_GOING_ON: list[Future[Any]] = []


def a_call_goes_on() -> bool:
    """Tell whether a call that Ctrl-C abandoned still goes on: libraries may wait for it when the process exits."""
    return bool(_GOING_ON)
