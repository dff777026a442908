#!/usr/bin/env bash
# The steps of deploy/Dockerfile in a clean root made by debootstrap, where no container engine runs: install, user, read-only root, health check.
#   scripts/try_image.sh ROOT [PORT]     as root; ROOT is made when it is not there
set -euo pipefail
root=$1 port=${2:-18765} source=$(cd "$(dirname "$0")/.." && pwd)
[ -d "$root/usr" ] || debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root"
inside() { chroot "$root" /usr/bin/env -i PATH=/opt/footnotes/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"; }
install -d "$root/source"
cp -r "$source"/pyproject.toml "$source"/README.md "$source"/LICENSE "$source"/src "$root/source/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
wanted=$(sed -n 's/.*--no-compile "\(.*\)".*/\1/p' "$source/deploy/Dockerfile")
inside python3 -m venv /opt/footnotes
if [ -n "${WHEELS:-}" ]; then # what was downloaded before, for a root without a network
    install -d "$root/wheels" && cp "$WHEELS"/* "$root/wheels/"
    inside sh -c "cd /source && pip install -q --no-compile --no-index --find-links /wheels '$wanted'"
else
    inside sh -c "cd /source && pip install -q --no-cache-dir --no-compile '$wanted'"
fi
inside pip uninstall -q -y hf-xet pip
find "$root/opt/footnotes" -type d \( -name __pycache__ -o -name tests \) -prune -exec rm -rf {} +
find "$root/opt/footnotes" -name '*.pyi' -delete
find "$root/opt/footnotes" -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
inside id footnotes >/dev/null 2>&1 || inside useradd --uid 10001 --home-dir /data --shell /usr/sbin/nologin footnotes
inside install -d -o footnotes -g footnotes -m 0700 /data
echo "installed: $(du -sm "$root/opt/footnotes" | cut -f1) MB in /opt/footnotes"

# Only /data and /tmp can be written, as the manifests have it, and nobody is root.
run() {
    unshare --mount sh -c '
        mount --bind "$1" "$1" && mount --bind "$1/data" "$1/data" && mount -t tmpfs tmp "$1/tmp" && mount -o remount,bind,ro "$1"
        root=$1; shift
        exec chroot --userspec=10001 "$root" /usr/bin/env -i PATH=/opt/footnotes/bin:/usr/bin:/bin LANG=C.UTF-8 HOME=/data \
            PYTHONDONTWRITEBYTECODE=1 FOOTNOTES_LIBRARY=/data/library FOOTNOTES_MODELS_DIR=/data/models "$@"' sh "$root" "$@"
}
run python3 -c '
import ctypes, pathlib, sys
broken = []
for file in pathlib.Path("/opt/footnotes").rglob("*.so*"):
    try:
        ctypes.CDLL(str(file))
    except OSError as error:  # one that needs another beside it is loaded by that one
        broken += [str(error)] if "ELF" in str(error) or "invalid" in str(error) else []
sys.exit("\n".join(broken) or None)
'
if run touch /opt/footnotes/x 2>/dev/null; then echo "the root can be written"; exit 1; fi
cp -r "$source/samples" "$root/data/" && chmod -R a+rX "$root/data/samples"
run footnotes add /data/samples
run footnotes ask "How long is the notice period after the probation period?"
run footnotes serve --port "$port" & server=$!
# The server is the child of the shell that waits for it in the background.
stop() {
    children=$(pgrep -P "$server" || true)
    kill $children "$server" 2>/dev/null || true
}
trap stop EXIT
for _ in $(seq 120); do
    if run python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/livez', timeout=4)" 2>/dev/null; then
        echo "healthy"; exit 0
    fi
    sleep 1
done
echo "the server does not answer"; exit 1
