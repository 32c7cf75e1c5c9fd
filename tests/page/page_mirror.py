"""Shows a real server's page with a status of the test's own, which has more than one server has at a time."""

import copy
import http.server
import json
import threading
import urllib.request

LIMIT_S = 60
LOOK_S = 2
STATES = ["ready", "suspect", "lost", "recreating", "quarantined", "starting", "set aside"]
REASON = "DXGI_ERROR_DEVICE_HUNG: the device took more than its time for a batch of 64 requests"


def busy_status(status):
    """A server's status with a device in each state, and with rows in every table."""
    status = copy.deepcopy(status)
    processor = status["devices"][0]
    status["devices"] = [
        dict(processor, name=f"gpu{i}", state=state, reason="" if state == "ready" else REASON)
        for i, state in enumerate(STATES)]
    lease = {"number": 7, "client": "token:render-farm", "label": "nightly run", "device": "gpu0",
             "held": True, "position": 0, "age": 75.0, "left": 25.0}
    status["leases"] = [lease, dict(lease, number=8, device="", label="", held=False, position=1)]
    status["faults"] = [{"time": status["time"] - 90, "device": "gpu2", "state": state,
                         "reason": REASON} for state in ("lost", "suspect", "quarantined")]
    metrics = status["metrics"]
    for name, label in (("client_held_requests", "client"), ("client_held_bytes", "client"),
                        ("client_resident_bytes", "client"), ("user_region_bytes", "user")):
        metrics["opserve_" + name] = [{"labels": {label: f"token:render-farm/worker-{i}"}, "value": 3 << 20}
                                      for i in range(3)]
    metrics["opserve_held_requests"] = [{"labels": {}, "value": 999900}]
    metrics["opserve_held_requests_limit"] = [{"labels": {}, "value": 1000000}]
    metrics["opserve_errors_total"] = [{"labels": {"reason": "INVALID_REQUEST"}, "value": 12}]
    metrics["opserve_connections_closed_total"] = [
        {"labels": {"reason": "too_many_connections_of_an_identity"}, "value": 4}]
    return status


class PageMirror:
    """The page at `origin`, as its server sends it, for the time of a `with` block.

    `url` is where it is shown, with `status` in place of the server's, in which 2 s, and ever more requests, go by
    from one look to the next. While `is_gone` there is no answer.
    """

    def __init__(self, origin):
        with urllib.request.urlopen(origin, timeout=LIMIT_S) as answer:
            self._page = answer.read()
            self._headers = {name: answer.headers[name]
                             for name in ("Content-Type", "Content-Security-Policy")}
        with urllib.request.urlopen(origin + "status.json", timeout=LIMIT_S) as answer:
            self.status = busy_status(json.load(answer))
        self.is_gone = False
        self._looks = 0
        self._looked = threading.Condition()
        self._server = None
        self._thread = None

    @property
    def url(self):
        """Where the page is."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self):
        mirror = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                status, headers, body = mirror.answer(self.path)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                try:
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    # A page that is left does not take the answer it asked for.
                    self.close_connection = True

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path):
        """(status, headers, body) of a path."""
        if path == "/":
            return 200, self._headers, self._page
        if path == "/metrics":
            return 200, {"Content-Type": "text/plain"}, b"opserve_requests_total 1\n"
        if path != "/status.json":
            return 404, {}, b""
        with self._looked:
            self._looks += 1
            self._looked.notify_all()
            looks = self._looks
        if self.is_gone:
            return 503, {}, b""
        return 200, {"Content-Type": "application/json"}, json.dumps(self._status_at(looks)).encode()

    def _status_at(self, looks):
        status = copy.deepcopy(self.status)
        requests = 50 * looks * looks
        buckets = [[0.001, requests // 2], [0.01, requests], [None, requests]]
        counted = {"buckets": buckets, "count": requests, "sum": requests * 0.002}
        devices = [device["name"] for device in status["devices"]]
        status["time"] += LOOK_S * looks
        status["metrics"].update({
            "opserve_requests_total": [
                {"labels": {"operator": "ELEMENT_WISE_ROUND", "type": "FLOAT32", "device": name,
                            "code": "OK"}, "value": requests} for name in devices],
            "opserve_device_requests_total": [{"labels": {"device": name}, "value": requests}
                                              for name in devices],
            "opserve_device_pending_requests": [{"labels": {"device": name}, "value": looks % 9}
                                                for name in devices],
            "opserve_request_duration_seconds": [{"labels": {}, **counted}],
            "opserve_device_batch_requests": [{"labels": {}, **counted, "sum": requests * 4}]})
        return status

    def wait_for_look(self):
        """Returns once the page shows what was true when this was called, or came after."""
        with self._looked:
            # The next look may have been answered already; the one after it asks when that is shown.
            seen = self._looks + 2
            if not self._looked.wait_for(lambda: self._looks >= seen, LIMIT_S):
                raise TimeoutError("the page does not look at its server")
