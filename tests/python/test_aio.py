"""asyncio: many calls under way on one thread."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import opserve

X = np.float32([1, -2, 3])


@pytest.mark.parametrize("by_stream", [False, True])
def test_many_calls_under_way_on_no_threads(client, by_stream):
    async def run(methods):
        return await asyncio.gather(*[methods.add(X, i) for i in range(3000)])

    async def main():
        if not by_stream:
            return await run(client.aio)
        async with client.aio.stream() as stream:
            return await run(stream)

    threads = threading.active_count()
    results = asyncio.run(main())
    # Those of a stream's end are the loop's own.
    assert threading.active_count() <= threads + 1
    assert all(np.array_equal(result, X + np.float32(i)) for i, result in enumerate(results))


def test_failures_are_raised_where_they_are_awaited(client):
    async def main():
        good = client.aio.abs(X)
        bad = client.aio.round(X, rounding_mode="UP")
        with pytest.raises(opserve.InvalidArgumentError):
            await bad
        return await good

    assert np.array_equal(asyncio.run(main()), np.abs(X))


def test_cancelling_gives_the_call_up(silent_client):
    async def main():
        future = silent_client.aio.abs(X)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(future, 0.05)
        assert future.cancelled()
        return future.call

    call = asyncio.run(main())
    with pytest.raises(opserve.CancelledError):
        call.result()


def test_loops_may_end_and_others_begin(client):
    async def leave_a_call():
        client.aio.abs(X)

    async def one():
        return await client.aio.abs(X)

    for _ in range(3):
        asyncio.run(leave_a_call())
        assert np.array_equal(asyncio.run(one()), np.abs(X))
    results = []
    threads = [threading.Thread(target=lambda: results.append(asyncio.run(one()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4


# Threads that begin and end loops while others look for such as have ended.
LOOPS_PROGRAM = """
import asyncio, sys, threading
import numpy, opserve

sys.setswitchinterval(1e-6)
client = opserve.connect(sys.argv[1])
x = numpy.float32([1, -2, 3])
raised = []

async def one():
    return await client.aio.abs(x)

def run():
    try:
        for _ in range(50):
            asyncio.run(one())
    except BaseException as error:
        raised.append(error)

threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(f"{raised[0]!r} and {len(raised) - 1} more" if raised else 0)
"""


def test_loops_of_many_threads_begin_and_end(server):
    done = subprocess.run([sys.executable, "-c", LOOPS_PROGRAM, server.address], stderr=subprocess.PIPE, text=True,
                          check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("watches", [True, False])
def test_what_a_handler_of_signals_raises_loses_no_call(client, monkeypatch, watches):
    """One runs while an error is made, and ends the loop, as that of SIGTERM may."""
    class Rang(SystemExit):
        pass

    class Loop(asyncio.SelectorEventLoop):
        def add_reader(self, descriptor, callback, *arguments):
            if not watches and callback.__module__ == "opserve._aio":
                raise NotImplementedError
            return super().add_reader(descriptor, callback, *arguments)

    make_error = opserve._errors.make_error
    made = []

    def make_error_and_ring(*arguments):
        made.append(arguments)
        if len(made) in (20, 30):
            raise Rang
        return make_error(*arguments)

    async def main():
        calls = [client.aio.round(X, rounding_mode="UP") for _ in range(100)]
        return await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)

    monkeypatch.setattr(opserve._errors, "make_error", make_error_and_ring)
    loop = Loop()
    try:
        task = loop.create_task(main())
        for _ in range(2):
            with pytest.raises(Rang):
                loop.run_until_complete(task)
        assert all(type(error) is opserve.InvalidArgumentError for error in loop.run_until_complete(task))
    finally:
        loop.close()


def test_what_else_a_result_raises_is_its_call_s_alone(client, monkeypatch):
    make_error = opserve._errors.make_error
    made = []

    def make_error_without_memory(*arguments):
        made.append(arguments)
        if len(made) == 5:
            raise MemoryError
        return make_error(*arguments)

    async def main():
        calls = [client.aio.round(X, rounding_mode="UP") for _ in range(10)]
        return await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60)

    monkeypatch.setattr(opserve._errors, "make_error", make_error_without_memory)
    kinds = [type(error) for error in asyncio.run(main())]
    assert sorted(kind.__name__ for kind in kinds) == ["InvalidArgumentError"] * 9 + ["MemoryError"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not list what a program has open")
def test_loops_that_end_with_a_call_under_way_are_given_up(silent_client):
    async def leave_a_call():
        return silent_client.aio.abs(X).call

    def run():
        call = asyncio.run(leave_a_call())
        call.cancel()
        with pytest.raises(opserve.CancelledError):
            call.result()

    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    run()
    before = descriptors()
    for _ in range(30):
        run()
    assert descriptors() <= before + 2


def test_loops_that_watch_no_descriptors(client):
    class Loop(asyncio.SelectorEventLoop):
        def add_reader(self, *_):
            raise NotImplementedError

    async def many():
        return await asyncio.gather(*[client.aio.add(X, i) for i in range(3000)])

    def waiting():
        return {thread for thread in threading.enumerate() if thread.name == "opserve-asyncio"}

    # On Windows every loop has one, and those of other tests may still be about to end.
    others = waiting()
    with asyncio.Runner(loop_factory=Loop) as runner:
        for _ in range(2):
            results = runner.run(many())
            assert all(np.array_equal(result, X + np.float32(i)) for i, result in enumerate(results))
        thread, = waiting() - others
    # The thread ends with its loop.
    del runner, results
    gc.collect()
    thread.join(60)
    assert thread not in waiting()


def test_out(client):
    async def main():
        out = np.empty_like(X)
        assert await client.aio.abs(X, out=out) is out
        return out

    assert np.array_equal(asyncio.run(main()), np.abs(X))


def test_sequence(client):
    async def main():
        async with client.aio.sequence() as steps:
            steps.add(steps.abs(X), 1)
            last = steps._steps  # the last step is the output
        assert last.outputs() == [1]
        return next(iter(steps._results.values()))

    assert np.array_equal(asyncio.run(main()), np.abs(X) + 1)


def test_sequences_of_a_stream(client):
    async def one(stream, i):
        async with stream.sequence() as steps:
            sum_ = steps.add(X, i)
            absolute = steps.abs(sum_)
            steps.output(absolute, sum_)
        return steps.result(absolute), steps.result(sum_)

    async def main():
        async with client.aio.stream() as stream:
            return await asyncio.gather(*[one(stream, i) for i in range(100)])

    for i, (absolute, sum_) in enumerate(asyncio.run(main())):
        assert np.array_equal(sum_, X + np.float32(i))
        assert np.array_equal(absolute, np.abs(sum_))


def test_arrays_are_given_up_when_their_calls_are_over(client):
    async def main():
        x = X.copy()
        kept = weakref.ref(x)
        await client.aio.abs(x)
        del x
        return kept

    kept = asyncio.run(main())
    client.abs(X)
    gc.collect()
    assert kept() is None


def test_arrays_live_as_long_as_calls_that_nobody_has(client):
    kept = []
    with client.stream() as stream:
        for _ in range(50):
            x = np.ones(1 << 18, np.float32)
            kept.append(weakref.ref(x))
            stream.abs(x)
            del x
    client.abs(X)
    gc.collect()
    assert [ref() for ref in kept] == [None] * 50
