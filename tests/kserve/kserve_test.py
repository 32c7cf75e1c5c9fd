#!/usr/bin/python3
"""Calls a real server with NVIDIA's tritonclient, as its users do.

Skipped where the package is not installed in .venv (deploy/setup.sh peers), unless OPSERVE_REQUIRE has tritonclient.
"""

import argparse
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "testing"))
from required import skip_without  # pylint: disable=wrong-import-position
from server_process import ServerProcess  # pylint: disable=wrong-import-position

try:
    import numpy as np
    import tritonclient.grpc as triton
    from tritonclient.utils import shared_memory
    from tritonclient.grpc import InferenceServerException
except ImportError:
    triton = None

LIMIT_S = 60
ROUND = "element_wise_round"
TO_ZERO = {"RoundingMode": "TOWARD_ZERO"}


def tensor(values, name="InputTensor"):
    kinds = {"float32": "FP32", "float16": "FP16", "float64": "FP64"}
    made = triton.InferInput(name, values.shape,
                             kinds.get(values.dtype.name, values.dtype.name.upper()))
    made.set_data_from_numpy(values)
    return made


class KserveTest(unittest.TestCase):
    server = None

    def setUp(self):
        self.client = triton.InferenceServerClient(self.server.address)
        self.addCleanup(self.client.close)

    def infer(self, model, values, **settings):
        if not isinstance(values, list):
            values = [tensor(values)]
        return self.client.infer(model, values, **settings).as_numpy("OutputTensor")

    def refused(self, call):
        with self.assertRaises(InferenceServerException) as raised:
            call()
        return str(raised.exception)

    def test_says_that_it_is_there(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready(ROUND))
        self.assertTrue(self.client.is_model_ready(ROUND, "1"))
        self.assertFalse(self.client.is_model_ready(ROUND, "2"))
        self.assertFalse(self.client.is_model_ready("resnet50"))
        self.assertEqual(self.client.get_server_metadata().name, "opserve")

    def test_every_operator_is_a_model(self):
        models = self.client.get_model_repository_index().models
        self.assertEqual(len(models), 92)
        self.assertEqual({model.state for model in models}, {"READY"})
        for model in models:
            metadata = self.client.get_model_metadata(model.name)
            config = self.client.get_model_config(model.name).config
            self.assertEqual([i.name for i in metadata.inputs], [i.name for i in config.input])
            self.assertEqual([o.name for o in metadata.outputs], [o.name for o in config.output])
            self.assertEqual(list(metadata.outputs[0].shape), [-1])
            self.assertEqual(config.max_batch_size, 0)

    def test_metadata_name_tensors_and_a_type(self):
        metadata = self.client.get_model_metadata("element_wise_if")
        self.assertEqual([(i.name, i.datatype) for i in metadata.inputs],
                         [("ConditionTensor", "UINT8"), ("ATensor", "FP32"), ("BTensor", "FP32")])
        self.assertEqual(metadata.outputs[0].datatype, "FP32")

    def test_the_types_of_metadata_go_together(self):
        types = {"FP32": np.float32, "UINT8": np.uint8, "INT8": np.int8, "INT32": np.int32,
                 "UINT32": np.uint32, "UINT64": np.uint64}
        tried = 0
        for model in self.client.get_model_repository_index().models:
            metadata = self.client.get_model_metadata(model.name)
            inputs = [tensor(np.ones(1, types[i.datatype]), i.name) for i in metadata.inputs]
            try:
                result = self.client.infer(model.name, inputs).get_response().outputs[0]
                self.assertEqual(result.datatype, metadata.outputs[0].datatype, model.name)
                tried += 1
            except InferenceServerException as error:
                self.assertIn("missing", str(error), "it wants attributes, and nothing else")
        self.assertGreater(tried, 50)

    def test_results_are_right_to_the_bit(self):
        random = np.random.default_rng(1)
        for dtype in (np.float32, np.float16):
            values = (random.standard_normal((17, 31)) * 100).astype(dtype)
            values[0, :4] = (np.inf, -np.inf, -0.25, 0.5)
            result = self.infer(ROUND, values, parameters=TO_ZERO)
            self.assertEqual(result.dtype, dtype)
            self.assertEqual(result.tobytes(), np.trunc(values).tobytes())

    def test_large_tensors_are_right_to_the_bit(self):
        values = np.random.default_rng(2).standard_normal(3 << 20, dtype=np.float32) * 100
        result = self.infer(ROUND, values, parameters=TO_ZERO)
        self.assertEqual(result.tobytes(), np.trunc(values).tobytes())

    def test_inputs_have_names_in_any_order(self):
        a = np.array([5, 7, 9], np.int32)
        b = np.array([1, 2, 3], np.int32)
        inputs = [tensor(b, "BTensor"), tensor(a, "ATensor")]
        self.assertEqual(self.infer("element_wise_subtract", inputs).tolist(), [4, 5, 6])

    def test_strides_repeat_an_input(self):
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        row = triton.InferInput("BTensor", [2, 3], "FP32")
        row._raw_content = np.array([1, 2, 3], np.float32).tobytes()
        row._input.parameters["strides"].string_param = "0,1"
        result = self.infer("element_wise_subtract", [tensor(a, "ATensor"), row])
        self.assertEqual(result.tolist(), (a - np.array([1, 2, 3])).tolist())

    def test_parameters_are_attributes(self):
        values = np.array([-2, -0.5, 0.5, 2], np.float32)
        self.assertEqual(
            self.infer("element_wise_clip", values, parameters={"Min": "-0.5", "Max": 1}).tolist(),
            [-0.5, -0.5, 0.5, 1])
        rows = np.array([[1, 1], [3, 3]], np.float32)
        self.assertEqual(
            self.infer("activation_softmax1", rows,
                       parameters={"Axes": "1", "feature_level": "5_1"}).tolist(),
            [[0.5, 0.5], [0.5, 0.5]])
        self.assertEqual(self.infer(ROUND, values, parameters={"RoundingMode": 1}).tolist(),
                         [-2, 0, 0, 2])

    def test_outputs_may_choose_their_type(self):
        output = triton.InferRequestedOutput("OutputTensor")
        output._output.parameters["datatype"].string_param = "UINT32"
        result = self.infer("element_wise_is_nan", np.array([1, np.nan], np.float32),
                            outputs=[output])
        self.assertEqual((result.dtype, result.tolist()), (np.uint32, [0, 1]))

    def test_contents_may_come_as_numbers(self):
        from tritonclient.grpc import service_pb2, service_pb2_grpc
        import grpc
        with grpc.insecure_channel(self.server.address) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            request = service_pb2.ModelInferRequest(model_name="element_wise_negate")
            request.inputs.add(name="InputTensor", datatype="INT8", shape=[3])
            request.inputs[0].contents.int_contents.extend([1, -2, 127])
            response = stub.ModelInfer(request, timeout=LIMIT_S)
            self.assertEqual(np.frombuffer(response.raw_output_contents[0], np.int8).tolist(),
                             [-1, 2, -127])
            request.inputs[0].contents.int_contents[1] = 300
            with self.assertRaises(grpc.RpcError) as raised:
                stub.ModelInfer(request, timeout=LIMIT_S)
            self.assertIn("300 is no INT8", raised.exception.details())

    def test_errors_say_what_is_wrong(self):
        values = np.array([1, 2], np.float32)
        cases = {
            "did you mean ELEMENT_WISE_ROUND?":
                lambda: self.infer("element_wise_rond", values),
            "There is no version \"7\"":
                lambda: self.infer(ROUND, values, parameters=TO_ZERO, model_version="7"),
            "RoundingMode is missing": lambda: self.infer(ROUND, values),
            "inputs[0].datatype: There is no type \"BF16\"":
                lambda: self.infer(ROUND, [self.claiming(values, "BF16", [2])]),
            "inputs[0].shape[0]: -1 is no size":
                lambda: self.infer(ROUND, [self.claiming(values, "FP32", [-1])]),
            "payloads[0]": lambda: self.infer(ROUND, [self.claiming(values, "FP32", [3])],
                                              parameters=TO_ZERO),
            "there are no sequences":
                lambda: self.infer(ROUND, values, sequence_id=3, sequence_start=True),
            "There is no output \"Y\"":
                lambda: self.infer(ROUND, values, outputs=[triton.InferRequestedOutput("Y")]),
            "\"NPU\" is none of AUTO, GPU, CPU":
                lambda: self.infer(ROUND, values, parameters={"device": "NPU", **TO_ZERO}),
        }
        for text, call in cases.items():
            with self.subTest(text):
                self.assertIn(text, self.refused(call))

    def claiming(self, values, datatype, shape):
        """Bytes of `values` that say something else of themselves."""
        made = tensor(values)
        made._input.datatype = datatype
        made._input.ClearField("shape")
        made._input.shape.extend(shape)
        return made

    def test_streams_answer_in_order_and_go_on_after_errors(self):
        answers = queue.Queue()
        self.client.start_stream(lambda result, error: answers.put((result, error)))
        for number in range(20):
            values = np.array([number + 0.75], np.float32)
            mode = "SIDEWAYS" if number == 10 else "TOWARD_ZERO"
            self.client.async_stream_infer(ROUND, [tensor(values)], request_id=str(number),
                                           parameters={"RoundingMode": mode})
        for number in range(20):
            result, error = answers.get(timeout=LIMIT_S)
            if number == 10:
                self.assertIn("SIDEWAYS", str(error))
                continue
            self.assertIsNone(error)
            self.assertEqual(result.get_response().id, str(number))
            self.assertEqual(result.as_numpy("OutputTensor").tolist(), [number])
        self.client.stop_stream()

    def test_asynchronous_calls_and_timeouts(self):
        answers = queue.Queue()
        values = np.array([2.5], np.float32)
        for _ in range(10):
            self.client.async_infer(ROUND, [tensor(values)], parameters=TO_ZERO,
                                    callback=lambda result, error: answers.put((result, error)))
        for _ in range(10):
            result, error = answers.get(timeout=LIMIT_S)
            self.assertIsNone(error)
            self.assertEqual(result.as_numpy("OutputTensor").tolist(), [2])
        self.assertEqual(
            self.infer(ROUND, values, parameters=TO_ZERO, timeout=60_000_000).tolist(), [2])

    def test_priorities_are_the_numbers_of_triton(self):
        values = np.array([2.5], np.float32)
        for priority in (1, 2, 3, 100):
            self.assertEqual(self.infer(ROUND, values, parameters=TO_ZERO, priority=priority).tolist(), [2], priority)

    def test_statistics_count(self):
        def stats():
            return self.client.get_inference_statistics("element_wise_abs").model_stats[0]
        before = stats()
        for _ in range(3):
            self.infer("element_wise_abs", np.array([-1], np.float32))
        self.refused(lambda: self.infer("element_wise_abs", np.array([1], np.float64)))
        after = stats()
        self.assertEqual(after.inference_count - before.inference_count, 3)
        done = after.inference_stats
        self.assertEqual(done.success.count - before.inference_stats.success.count, 3)
        self.assertEqual(done.fail.count - before.inference_stats.fail.count, 1)
        self.assertGreater(done.compute_infer.ns, before.inference_stats.compute_infer.ns)
        self.assertGreater(after.last_inference, 0)
        self.assertEqual(len(self.client.get_inference_statistics().model_stats), 92)

    def test_the_example_of_the_page_works(self):
        text = (ROOT / "docs/kserve.md").read_text(encoding="utf-8")
        example = text.split("```python\n")[1].split("```")[0]
        self.assertIn("127.0.0.1:50051", example)
        done = subprocess.run([sys.executable, "-"], capture_output=True, text=True, check=False,
                              input=example.replace("127.0.0.1:50051", self.server.address))
        self.assertEqual((done.stdout, done.returncode), ("[-1.  0.  2.]\n", 0), done.stderr)

    def test_shared_memory_needs_a_socket_file(self):
        self.client.unregister_system_shared_memory()
        self.assertEqual(len(self.client.get_system_shared_memory_status().regions), 0)
        self.assertIn("socket file", self.refused(
            lambda: self.client.register_system_shared_memory("r", "/none", 64)))

    def test_there_is_no_memory_of_cuda(self):
        self.client.unregister_cuda_shared_memory()
        self.assertEqual(len(self.client.get_cuda_shared_memory_status().regions), 0)
        self.assertIn("UNIMPLEMENTED", self.refused(
            lambda: self.client.register_cuda_shared_memory("r", b"x" * 64, 0, 64)))


class SharedMemoryTest(unittest.TestCase):
    """POSIX shared memory, by the names that clients give it."""

    socket = None
    VALUES = 1000

    def setUp(self):
        self.client = triton.InferenceServerClient(f"unix:{SharedMemoryTest.socket}")
        self.addCleanup(self.client.close)
        self.addCleanup(self.client.unregister_system_shared_memory)
        self.key = f"/opserve-kserve-{os.getpid()}-{self.id().rpartition('.')[2]}"
        self.bytes = self.VALUES * 4
        # Inputs, and from a whole cache line on the result.
        self.result_at = (self.bytes + 63) // 64 * 64
        self.memory = shared_memory.create_shared_memory_region("local", self.key, self.result_at + self.bytes)
        self.addCleanup(shared_memory.destroy_shared_memory_region, self.memory)
        self.values = np.linspace(-50, 50, self.VALUES, dtype=np.float32)
        shared_memory.set_shared_memory_region(self.memory, [self.values])

    def register(self, name="r", key=None, size=None, offset=0):
        self.client.register_system_shared_memory(name, key or self.key, size or self.result_at + self.bytes, offset)

    def infer(self, name="r", size=None, at=0, **settings):
        made = triton.InferInput("InputTensor", [self.VALUES], "FP32")
        made.set_shared_memory(name, size or self.bytes, at)
        return self.client.infer(ROUND, [made], parameters=TO_ZERO, **settings)

    def refused(self, call):
        with self.assertRaises(InferenceServerException) as raised:
            call()
        return str(raised.exception)

    def test_inputs_come_from_there_and_results_go_there(self):
        self.register()
        output = triton.InferRequestedOutput("OutputTensor")
        output.set_shared_memory("r", self.bytes, self.result_at)
        result = self.infer(outputs=[output])
        self.assertEqual(list(result.get_response().raw_output_contents), [b""], "there are no bytes in the answer")
        told = result.get_output("OutputTensor")
        self.assertEqual((told.datatype, list(told.shape), told.parameters["shared_memory_region"].string_param),
                         ("FP32", [self.VALUES], "r"))
        rounded = shared_memory.get_contents_as_numpy(self.memory, np.float32, [self.VALUES], self.result_at)
        self.assertEqual(rounded.tobytes(), np.trunc(self.values).tobytes())

    def test_results_may_have_more_room_than_they_take(self):
        room = 64 << 10
        memory = shared_memory.create_shared_memory_region("wide", f"{self.key}-wide", room)
        self.addCleanup(shared_memory.destroy_shared_memory_region, memory)
        shared_memory.set_shared_memory_region(memory, [np.full(room, 7, np.uint8)])
        self.register()
        self.register("wide", f"{self.key}-wide", room)
        output = triton.InferRequestedOutput("OutputTensor")
        output.set_shared_memory("wide", room)
        told = self.infer(outputs=[output]).get_output("OutputTensor")
        self.assertEqual(told.parameters["shared_memory_byte_size"].int64_param, self.bytes, "what it took")
        rounded = shared_memory.get_contents_as_numpy(memory, np.float32, [self.VALUES])
        self.assertEqual(rounded.tobytes(), np.trunc(self.values).tobytes())
        rest = shared_memory.get_contents_as_numpy(memory, np.uint8, [room - self.bytes], self.bytes)
        self.assertEqual(set(rest.tolist()), {7}, "no other byte was written")

    def test_the_room_for_a_result_may_begin_before_its_input(self):
        # What the result takes ends where the input begins, though the room for it goes on.
        memory = shared_memory.create_shared_memory_region("both", f"{self.key}-both", 512)
        self.addCleanup(shared_memory.destroy_shared_memory_region, memory)
        values = np.linspace(-3, 3, 16, dtype=np.float32)
        shared_memory.set_shared_memory_region(memory, [values], offset=64)
        self.register("both", f"{self.key}-both", 512)
        made = triton.InferInput("InputTensor", [16], "FP32")
        made.set_shared_memory("both", 64, 64)
        output = triton.InferRequestedOutput("OutputTensor")
        output.set_shared_memory("both", 512)
        self.client.infer(ROUND, [made], outputs=[output], parameters=TO_ZERO)
        rounded = shared_memory.get_contents_as_numpy(memory, np.float32, [16])
        self.assertEqual(rounded.tobytes(), np.trunc(values).tobytes())

    def test_the_result_may_come_in_the_answer_and_offsets_add_up(self):
        self.register(size=self.bytes - 64, offset=64)
        made = triton.InferInput("InputTensor", [100], "FP32")
        made.set_shared_memory("r", 400, 128)
        result = self.client.infer(ROUND, [made], parameters=TO_ZERO).as_numpy("OutputTensor")
        self.assertEqual(result.tobytes(), np.trunc(self.values[48:148]).tobytes())

    def test_one_input_may_be_there_and_another_in_the_request(self):
        self.register()
        there = triton.InferInput("ATensor", [self.VALUES], "FP32")
        there.set_shared_memory("r", self.bytes)
        result = self.client.infer("element_wise_subtract", [tensor(np.ones(self.VALUES, np.float32), "BTensor"), there])
        self.assertEqual(result.as_numpy("OutputTensor").tobytes(), (self.values - np.float32(1)).tobytes())

    def test_what_is_registered_is_told_and_given_up(self):
        self.register("first", size=4096)
        self.register("second", size=64, offset=128)
        told = self.client.get_system_shared_memory_status().regions
        self.assertEqual({name: (r.key, r.offset, r.byte_size) for name, r in told.items()},
                         {"first": (self.key, 0, 4096), "second": (self.key, 128, 64)})
        self.assertEqual(list(self.client.get_system_shared_memory_status("second").regions), ["second"])
        self.client.unregister_system_shared_memory("first")
        self.client.unregister_system_shared_memory("first")
        self.assertEqual(list(self.client.get_system_shared_memory_status().regions), ["second"])
        self.assertIn('no region "first"', self.refused(lambda: self.infer("first")))
        self.client.unregister_system_shared_memory()
        self.assertEqual(len(self.client.get_system_shared_memory_status().regions), 0)

    def test_errors_say_what_is_wrong(self):
        self.register()
        self.assertIn("already", self.refused(self.register))
        self.assertIn("no segment", self.refused(lambda: self.register("s", "/opserve-no-such-segment")))
        self.assertIn("no part of a segment", self.refused(lambda: self.register("s", offset=2**64 - 1)))
        # The fields are those of KServe's message.
        self.assertIn("key: The name", self.refused(lambda: self.register("s", "my-tensors")))
        self.assertIn("byte_size: The number of bytes", self.refused(lambda: self.register("s", size=1 << 20)))
        self.assertIn("are not in it", self.refused(lambda: self.infer(at=self.result_at + 64)))
        self.assertIn("bytes", self.refused(lambda: self.infer(size=self.bytes - 4)))
        made = triton.InferRequestedOutput("OutputTensor")
        made.set_shared_memory("r", self.bytes - 4, self.result_at)
        self.assertIn("bytes", self.refused(lambda: self.infer(outputs=[made])))
        # It still works.
        self.assertEqual(self.infer().as_numpy("OutputTensor").tobytes(), np.trunc(self.values).tobytes())

    def test_the_example_of_the_page_works(self):
        blocks = (ROOT / "docs/kserve.md").read_text(encoding="utf-8").split("```python\n")[1:]
        first, second = (block.split("```")[0] for block in blocks)
        example = first.replace("127.0.0.1:50051", f"unix:{self.socket}") + second
        done = subprocess.run([sys.executable, "-"], capture_output=True, text=True, check=False,
                              input=example.replace("/run/opserve/opserve.sock", str(self.socket)))
        self.assertEqual((done.stdout, done.returncode), ("[-1.  0.  2.]\n" * 2, 0), done.stderr)

    def test_names_are_bounded_per_user(self):
        # So many of the regions that there may be in all.
        most = 1024
        for i in range(most):
            self.register(f"r{i}", size=64)
        message = self.refused(lambda: self.register("more", size=64))
        self.assertIn(f"User {os.getuid()} has {most} regions", message)

    def test_what_one_connection_may_share_is_no_limit(self):
        # The server's --max-region-bytes is less.
        size = 64 << 10
        memory = shared_memory.create_shared_memory_region("large", f"{self.key}-large", size)
        self.addCleanup(shared_memory.destroy_shared_memory_region, memory)
        self.register("large", f"{self.key}-large", size)
        self.register("again", f"{self.key}-large", size)
        self.assertEqual(len(self.client.get_system_shared_memory_status().regions), 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--python", help="with tritonclient; the test runs itself there")
    options = parser.parse_args()
    if triton is None:
        if not options.python:
            sys.exit("tritonclient cannot be imported")
        found = subprocess.run([options.python, "-c", "import tritonclient.grpc"],
                               capture_output=True, check=False) if os.path.exists(
                                   options.python) else None
        if found is None or found.returncode != 0:
            skip_without("tritonclient", "tritonclient is not installed in .venv")
        return subprocess.run([options.python, __file__, "--server", options.server],
                              check=False).returncode
    with tempfile.TemporaryDirectory(prefix="opserve-kserve-") as folder:
        with ServerProcess(options.server, folder,
                           ["--kserve", "--devices", "none", "--posix-shared-memory"]) as server:
            KserveTest.server = server
            suite = unittest.defaultTestLoader.loadTestsFromTestCase(KserveTest)
            result = unittest.TextTestRunner().run(suite)
        if server.exit_code != 0:
            print(server.log())
            return 1
        SharedMemoryTest.socket = pathlib.Path(folder) / "socket"
        with ServerProcess(options.server, folder, ["--kserve", "--devices", "none", "--posix-shared-memory",
                                                    "--max-region-bytes=4KiB", "--max-regions=1",
                                                    f"--listen=unix:{SharedMemoryTest.socket}"]) as server:
            suite = unittest.defaultTestLoader.loadTestsFromTestCase(SharedMemoryTest)
            shared = unittest.TextTestRunner().run(suite)
        if server.exit_code != 0:
            print(server.log())
            return 1
        with ServerProcess(options.server, folder, ["--devices", "none"]) as server:
            client = triton.InferenceServerClient(server.address)
            try:
                client.is_server_live()
                print("a server without --kserve answers")
                return 1
            except InferenceServerException as error:
                assert "UNIMPLEMENTED" in str(error), error
    return 0 if result.wasSuccessful() and shared.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
