"""ASGI application of a node: counts requests, authenticates users, and calls the operations of the Browser Binding."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from content_server import browser
from content_server.browser import Answer, Call, Service
from content_server.errors import CmisError, InvalidArgument, NotSupported, ObjectNotFound
from content_server.forms import read_parameters
from content_server.metrics import MetricsPage, RequestCounters
from content_server.repository import Repository
from content_server.repository.content import Part, read_part
from content_server.users import Authenticator
from content_server.workers import WorkerPool

# Label `operation` of the metrics for requests without a known operation.
UNKNOWN = "unknown"


class Metering:
    """ASGI middleware that counts every request, and measures the time from its arrival to the last sent byte.

    Requests for metrics are not counted.
    """

    def __init__(self, app: ASGIApp, requests: RequestCounters, node: str) -> None:
        self._app = app
        self._requests = requests
        self._node = node.encode("latin-1", "replace")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/metrics":
            await self._app(scope, receive, send)
            return
        status = 500
        begin = time.perf_counter()
        self._requests.in_flight += 1
        scope["operation"] = UNKNOWN

        async def counting_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-content-server-node", self._node))
            await send(message)

        try:
            await self._app(scope, receive, counting_send)
        finally:
            self._requests.in_flight -= 1
            self._requests.finished(scope["operation"], status, time.perf_counter() - begin)


@dataclass(frozen=True)
class Binding:
    """HTTP endpoints of the CMIS Browser Binding."""

    repository: Repository
    workers: WorkerPool
    authenticator: Authenticator
    metrics: MetricsPage

    async def metrics_endpoint(self, _: Request) -> Response:
        """Return the metrics page; this runs on the event loop, so that busy worker threads cannot delay it."""
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def service_endpoint(self, request: Request) -> Response:
        """Answer `/browser` with the list of repositories."""
        return await self._answer(request, {"": ("getRepositories", browser.get_repositories)}, {}, "")

    async def repository_endpoint(self, request: Request) -> Response:
        """Answer `/browser/REPO`: a request for the repository, such as a query, or for a type definition."""
        selectors = {"": browser.REPOSITORY_SELECTORS["repositoryInfo"], **browser.REPOSITORY_SELECTORS}
        return await self._answer(request, selectors, browser.REPOSITORY_ACTIONS, "")

    async def object_endpoint(self, request: Request) -> Response:
        """Answer `/browser/REPO/root/PATH`: a request for an object."""
        selectors = {"": ("getDefault", browser.default_service), **browser.OBJECT_SELECTORS}
        path = request.path_params.get("path", "")
        return await self._answer(request, selectors, browser.OBJECT_ACTIONS, path)

    async def _answer(
        self,
        request: Request,
        selectors: dict[str, tuple[str, Service]],
        actions: dict[str, tuple[str, Service]],
        path: str,
    ) -> Response:
        try:
            return self._response(await self._perform(request, selectors, actions, path))
        except CmisError as error:
            return self._response(browser.error_answer(error))
        except ClientDisconnect:
            return Response(status_code=400)
        except UnicodeError:
            return self._response(browser.error_answer(InvalidArgument("the request has text that is not UTF-8")))
        except Exception:
            # The response contains no details of the error, because clients must not see them; the log contains them.
            traceback.print_exc(file=sys.stderr)
            return self._response(
                browser.error_answer(CmisError("internal error of the server; the server's log contains the details"))
            )

    async def _perform(
        self,
        request: Request,
        selectors: dict[str, tuple[str, Service]],
        actions: dict[str, tuple[str, Service]],
        path: str,
    ) -> Answer:
        header = request.headers.get("authorization")
        user = self.authenticator.remembered(header)
        if user is None:
            request.scope["operation"] = "login"
            user = await self.workers.run(self.authenticator.verify, header)
            request.scope["operation"] = UNKNOWN
        if request.path_params.get("repository", self.repository.id) != self.repository.id:
            raise ObjectNotFound(f"no repository {request.path_params['repository'][:80]}")
        if "\x00" in path:
            raise InvalidArgument("a path cannot contain the character NUL")
        parameters = await read_parameters(request)
        try:
            known, name = (actions, "cmisaction") if request.method == "POST" else (selectors, "cmisselector")
            chosen = known.get(parameters.values.get(name, ""))
            if chosen is None:
                raise NotSupported(f"{name} must be one of {', '.join(k for k in known if k) or 'none here'}")
            request.scope["operation"], service = chosen
            base_url = f"{request.url.scheme}://{request.url.netloc}"
            call = Call(self.repository, user, parameters, path, base_url, request.headers)
            return await self.workers.run(service, call)
        finally:
            if parameters.form is not None:
                await parameters.form.close()

    def _response(self, answer: Answer) -> Response:
        if answer.part is None:
            return Response(answer.body, answer.status, answer.headers, answer.media_type)
        headers = {**answer.headers, "Content-Length": str(answer.part.count)}
        return StreamingResponse(self._pieces(answer.part), answer.status, headers, answer.media_type)

    async def _pieces(self, part: Part) -> AsyncIterator[bytes]:
        end = part.offset + part.count
        for offset in range(part.offset, end, browser.PIECE):
            yield await self.workers.run(read_part, self.repository, part, offset, min(browser.PIECE, end - offset))


async def _http_error(_: Request, error: Exception) -> Response:
    """Return a CMIS exception for an unknown URL or HTTP method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    cause: CmisError = NotSupported("GET and POST only") if status == 405 else ObjectNotFound("no such URL")
    answer = browser.error_answer(cause)
    return Response(answer.body, answer.status, answer.headers, answer.media_type)


def create_application(binding: Binding, requests: RequestCounters, node: str) -> ASGIApp:
    """Return the ASGI application of a node."""
    methods = ["GET", "POST"]
    repository = "/browser/{repository}"
    root = f"{repository}/root"  # Root Folder URL of the Browser Binding (CMIS 1.1).
    routes = [
        Route(root, binding.object_endpoint, methods=methods),
        Route(f"{root}/{{path:path}}", binding.object_endpoint, methods=methods),
        Route(repository, binding.repository_endpoint, methods=methods),
        Route("/browser", binding.service_endpoint, methods=["GET"]),
        Route("/metrics", binding.metrics_endpoint, methods=["GET"]),
    ]
    application = Starlette(routes=routes, exception_handlers={HTTPException: _http_error})
    return Metering(application, requests, node)
