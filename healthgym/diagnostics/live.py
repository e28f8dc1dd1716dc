"""A run's report as a local page that renews itself while the run goes on."""

from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from healthgym.diagnostics.report import render
from healthgym.diagnostics.run import EVALUATIONS, METRICS, TRACES, Run, RunFolderError
from healthgym.diagnostics.verdict import verdict
from healthgym.errors import ConfigError

HOST = "127.0.0.1"
POLL_SECONDS = 2
_FOLLOW = """
<script>
let seen = null, failed = false;
async function follow() {
  try {
    const version = await (await fetch("version")).text();
    if (seen !== null && version !== seen) {
      const open = [...document.querySelectorAll("details")].map(one => one.open);
      const page = new DOMParser().parseFromString(await (await fetch("./")).text(), "text/html");
      document.querySelector("main").replaceWith(page.querySelector("main"));
      document.title = page.title;
      document.querySelectorAll("details").forEach((one, at) => { one.open = Boolean(open[at]); });
    }
    seen = version; failed = false;
  } catch { failed = true; }
  document.querySelector("#live").textContent = failed ? "the viewer has stopped" : "live";
  setTimeout(follow, SECONDS * 1000);
}
addEventListener("DOMContentLoaded", follow);
</script>
<style>#live { position: fixed; right: 14px; top: 12px; font-size: 12.5px; color: var(--soft); background: var(--card);
border: 1px solid var(--edge); border-radius: 99px; padding: 3px 11px; }</style>
"""


def live_server(run_dir: str | Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of a run's page on this machine alone; `serve_forever` runs it.

    The page asks for the version of the run's files every few seconds and takes its new content when that changed; the
    place in the page and what is unfolded stay. A run that has not begun yet is waited for.

    Args:
        run_dir: The run's folder.
        port: Port on 127.0.0.1; 0 takes a free one, see `server_address`.

    Raises:
        ConfigError: The port is taken.
    """
    folder = Path(run_dir)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages: dict[str, Callable[[], str]] = {
                "/": lambda: live_page(folder),
                "/version": lambda: version_of(folder),
            }
            if self.path not in pages:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            body = pages[self.path]().encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", f"text/{'html' if self.path == '/' else 'plain'}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Print no line a request."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise ConfigError(
            f"Port {port} on {HOST} cannot be used ({error.strerror}); give another one with --port"
        ) from None


def live_page(run_dir: Path) -> str:
    """Return the report as it stands, with what keeps it up to date."""
    try:
        run = Run.load(run_dir)
        page = render(run, verdict(run))
    except RunFolderError as error:
        page = f"<!doctype html><html><head><title>waiting</title></head><body><main><p>Waiting: {_escaped(error)}</p></main></body></html>"
    follow = _FOLLOW.replace("SECONDS", str(POLL_SECONDS))
    return page.replace("</head>", f"{follow}</head>", 1).replace("<main>", '<p id="live">live</p>\n<main>', 1)


def version_of(run_dir: Path) -> str:
    """Return a text that changes whenever the run's metrics, evaluations or traces do."""
    seen = []
    for name in (METRICS, EVALUATIONS, TRACES):
        path = run_dir / name
        if path.exists():
            about = path.stat()
            seen.append(f"{name}:{about.st_size}:{about.st_mtime_ns}")
    return " ".join(seen) or "nothing yet"


def _escaped(error: Exception) -> str:
    return str(error).replace("&", "&amp;").replace("<", "&lt;")
